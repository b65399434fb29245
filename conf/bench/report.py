"""Write the figures of a benchmark as a table and a plot."""

from pathlib import Path


def line(figure: dict) -> str:
    """A figure as a line of text."""
    if figure["seconds"] is None:
        return f"{figure['contender']}, {figure['lessons']}: stopped after 20 minutes"
    page = f", largest page {figure['page'] / 1000:.0f} kB" if figure["page"] else ""
    return (
        f"{figure['contender']}, {figure['lessons']}: {figure['processor']:.1f} s of processor, "
        f"{figure['seconds']:.1f} s by the clock, {figure['memory']} MiB{page}"
    )


def ratios(figures: list[dict]) -> list[tuple[str, int, str]]:
    """What the figures come to: (what is compared, lessons, ratio as text), by processor time."""
    cost = {(figure["contender"], figure["lessons"]): figure["processor"] for figure in figures}
    memory = {(figure["contender"], figure["lessons"]): figure["memory"] for figure in figures}
    sizes = sorted({lessons for name, lessons in cost if name == "ours"})
    found = []
    for size in sizes:
        mine = cost["ours", size]
        found.append(
            ("cold / floor", size, mine / (cost["scripts", size] + cost["plain pages", size]))
        )
        for name in ("stock sphinx-gallery", "myst_nb", "nbsphinx"):
            if (name, size) in cost:
                other = cost[name, size]
                found.append((f"cold / {name}", size, mine / other if other else None))
        unchanged = cost["plain pages, nothing changed", size]
        found.append(
            (
                "nothing changed / plain pages",
                size,
                cost["ours, nothing changed", size] / unchanged,
            )
        )
        edit = cost["one script", 1] + unchanged
        found.append(
            ("one lesson edited / its floor", size, cost["ours, one lesson edited", size] / edit)
        )
    small = 100 if 100 in sizes else sizes[0]
    for size in sizes:
        if size > small:
            growth = cost["ours", size] / size / (cost["ours", small] / small)
            found.append((f"cost of a lesson / the same at {small}", size, growth))
            more = memory["ours", size] / memory["ours", small]
            found.append((f"peak memory / the same at {small}", size, more))
    return [
        (name, size, f"{ratio:.2f}" if ratio is not None else "stopped after 20 minutes")
        for name, size, ratio in found
    ]


def table(measured: dict) -> str:
    """The ratios as a MyST table, one row a comparison and one column a size."""
    rows: dict[str, dict[int, str]] = {}
    for name, size, ratio in ratios(measured["figures"]):
        rows.setdefault(name, {})[size] = ratio
    sizes = sorted({size for row in rows.values() for size in row})
    lines = [
        "| Ratio | " + " | ".join(f"{size} lessons" for size in sizes) + " |",
        "| --- |" + " ---: |" * len(sizes),
        *(
            f"| {name} | " + " | ".join(row.get(size, "") for size in sizes) + " |"
            for name, row in rows.items()
        ),
    ]
    versions = ", ".join(f"{name} {number}" for name, number in measured["versions"].items())
    return "\n".join(
        [
            *lines,
            "",
            f"Measured on {measured['date']} with `{measured['command']}`: {measured['machine']}, {versions}.",
            "",
        ]
    )


def plot(measured: dict, file: Path) -> None:
    """Seconds of processor for each lesson, over the number of lessons."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "benchmark"
    figure, axes = plt.subplots(figsize=(6.4, 3.6))
    floor: dict[int, float] = {}
    curves: dict[str, list[tuple[int, float]]] = {}
    for row in measured["figures"]:
        if row["processor"] is None or "," in row["contender"] or row["contender"] == "one script":
            continue
        if row["contender"] in ("scripts", "plain pages"):
            floor[row["lessons"]] = floor.get(row["lessons"], 0) + row["processor"]
        else:
            points = curves.setdefault(row["contender"], [])
            points.append((row["lessons"], row["processor"] / row["lessons"]))
    curves["floor"] = [(size, total / size) for size, total in sorted(floor.items())]
    for name, points in curves.items():
        axes.plot(*zip(*points, strict=True), marker="o", label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("lessons")
    axes.set_ylabel("processor seconds a lesson")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(file, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def write(folder: Path, measured: dict) -> None:
    """Write ``benchmark.txt`` and ``benchmark.svg``, which the internals page shows."""
    (folder / "benchmark.txt").write_text(table(measured), encoding="utf-8")
    plot(measured, folder / "benchmark.svg")
