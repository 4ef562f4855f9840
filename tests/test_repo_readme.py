"""The README and the map are correct: the example runs and learns, and the paths they name exist."""

import contextlib
import io
import re

from tools.size import ROOT

README = (ROOT / "README.md").read_text()
MAP = (ROOT / "docs" / "map.md").read_text()
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


def test_the_example_runs_and_reads_handwriting():
    example = next(
        block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "import sampan" in block
    )
    assert len([line for line in example.splitlines() if line.strip()]) <= 18
    names: dict = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(example, "README.md", "exec"), names)
    assert names["model"].evaluate(names["digits"].test, verbose=0)["acc"] > 0.95
    assert names["x"].grad.numpy().tolist() == [2.0, 4.0]
    assert "acc" in printed.getvalue()


def test_the_places_on_the_map_exist():
    named = re.findall(r"`([a-z_/]+(?:/|\.py))`", MAP)
    assert len(named) > 12
    missing = [
        name for name in named if not any((ROOT / base / name).exists() for base in ("", "lib/sampan"))
    ]
    assert not missing


def test_every_make_target_it_names_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)", README))
    assert {"studio", "test", "lint", "course", "docs", "bench", "size", "lock"} <= targets
    assert {"studio", "test", "docs"} <= named <= targets


def test_it_is_read_in_two_minutes():
    """Other facts are in docs/. At 250 words per minute, tables excluded."""
    prose = re.sub(r"^\|.*$|```.*?```", "", README, flags=re.MULTILINE | re.DOTALL)
    assert len(prose.split()) < 450


def test_every_file_that_a_page_links_to_exists():
    missing = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
        if not (page.parent / target).exists() and target != "reference/index.rst"  # which make docs writes
    ]
    assert missing == []


def test_its_pictures_are_small():
    pictures = re.findall(r"!\[[^\]]+\]\((docs/[a-z]+\.png)\)", README)
    assert len(pictures) == 7
    assert {name: size for name in pictures if (size := (ROOT / name).stat().st_size) > 150_000} == {}
