"""Drive Firefox over WebDriver BiDi, which it speaks by itself: no driver program is needed.

Playwright can drive only its own build of Firefox, and Debian has no geckodriver.
"""

import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pages import axe_source
from sweep import CHECKS
from websockets.sync.client import connect

PREFERENCES = """
user_pref("remote.active-protocols", 1);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("app.update.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
"""


class Firefox:
    """One tab of Firefox, with the methods that ``sweep`` uses."""

    def __init__(self, socket):
        self.socket = socket
        self.number = 0
        self.theme, self.text = "light", 16
        self.errors: list[str] = []
        self.foreign: list[str] = []
        capabilities = self.ask("session.new", capabilities={})["capabilities"]
        self.version = capabilities["browserVersion"]
        self.tab = self.ask("browsingContext.getTree")["contexts"][0]["context"]
        self.ask("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])

    def ask(self, method: str, **parameters):
        """Send a command and return its result; notes the events that arrive before it."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        self.socket.send(json.dumps(command))
        while True:
            answer = json.loads(self.socket.recv(timeout=120))
            if answer.get("id") == self.number:
                if answer["type"] == "error":
                    raise RuntimeError(f"{method}: {answer['message']}")
                return answer["result"]
            self._note(answer.get("method"), answer.get("params", {}))

    def _note(self, event: str | None, details: dict) -> None:
        if event == "log.entryAdded" and details["level"] == "error":
            self.errors.append(str(details["text"]))
        elif event == "network.beforeRequestSent":
            url = details["request"]["url"]
            if not url.startswith(("file:", "data:", "about:", "http://127.0.0.1:")):
                self.foreign.append(url)

    def evaluate(self, expression: str):
        """Evaluate JavaScript; its value comes back as JSON."""
        result = self.ask(
            "script.evaluate",
            expression=f"Promise.resolve({expression}).then((v) => JSON.stringify(v ?? null))",
            target={"context": self.tab},
            awaitPromise=True,
        )
        if result["type"] == "exception":
            raise RuntimeError(result["exceptionDetails"]["text"])
        return json.loads(result["result"]["value"])

    def dress(self, theme: str, width: int, text: int) -> None:
        self.ask(
            "browsingContext.setViewport",
            context=self.tab,
            viewport={"width": width, "height": 740},
        )
        self.theme, self.text = theme, text
        self._dress_page()

    def _dress_page(self) -> None:
        # The theme's own switch; Firefox has no command for the system's setting.
        self.evaluate(f"void (document.body.dataset.theme = '{self.theme}')")
        size = f"{self.text}px" if self.text > 16 else ""
        self.evaluate(f"void (document.documentElement.style.fontSize = '{size}')")

    def open(self, address: str) -> None:
        self.ask("browsingContext.navigate", context=self.tab, url=address, wait="complete")
        self.evaluate(f"void ({_as_call(CHECKS)})")
        self._dress_page()

    def check(self, name: str) -> list[str]:
        # A headless Firefox never has the focus, so it shows none.
        if name == "focus":
            return []
        return self.evaluate(f"PageChecks.{name}()")

    def axe(self) -> list[tuple[str, str]]:
        if self.evaluate("typeof axe") == "undefined":
            self.evaluate(f"void ({_as_call(axe_source())})")
        # Chromium's sweep has looked at contrast.
        options = "{preload: false, rules: {'color-contrast': {enabled: false}}}"
        found = self.evaluate(f"axe.run('html', {options}).then((run) => run.violations)")
        return [(rule["id"], node["html"][:120]) for rule in found for node in rule["nodes"]]


def _as_call(script: str) -> str:
    return f"(0, eval)({json.dumps(script)})"


@contextmanager
def firefox() -> Iterator[Firefox]:
    """A headless Firefox with a profile of its own."""
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        raise SystemExit("no Firefox on this machine")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as profile:
        (Path(profile) / "user.js").write_text(PREFERENCES)
        command = [program, "--headless", "--no-remote", "--profile", profile]
        process = subprocess.Popen(
            [*command, f"--remote-debugging-port={port}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with _connect(f"ws://127.0.0.1:{port}/session") as socket_:
                yield Firefox(socket_)
        finally:
            process.terminate()
            process.wait(20)


def _connect(address: str):
    for _ in range(120):
        try:
            return connect(address, max_size=None)
        except OSError:
            time.sleep(0.5)
    raise SystemExit("Firefox did not answer within a minute")
