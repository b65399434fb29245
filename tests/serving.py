"""Serve a folder as a host does that reads the file ``_headers``."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


def headers(folder: Path) -> dict[str, str]:
    """The headers that ``_headers`` names for all addresses."""
    lines = (folder / "_headers").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "/*"
    return dict(line.strip().split(": ", 1) for line in lines[1:])


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *args, sent: dict[str, str], **options) -> None:
        self.sent = sent
        super().__init__(*args, **options)

    def end_headers(self) -> None:
        for name, value in self.sent.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_) -> None:
        pass


@contextmanager
def serve(folder: Path, **sent: str) -> Iterator[str]:
    """The address, without a slash at its end, of a server that runs in this block."""
    handler = partial(_Handler, directory=str(folder), sent=sent)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
