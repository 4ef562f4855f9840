"""What the README shows is true: its example runs and learns, and the places it names exist."""

import contextlib
import io
import re

from tools.size import ROOT

README = (ROOT / "README.md").read_text()


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
    named = re.findall(r"`([a-z_/]+(?:/|\.py))`", README.split("## The map")[1].split("**Data.**")[0])
    assert len(named) > 12
    missing = [
        name for name in named if not any((ROOT / base / name).exists() for base in ("", "lib/sampan"))
    ]
    assert not missing


def test_every_make_target_it_names_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)", README))
    assert {"studio", "test", "lint", "course", "bench", "size", "lock"} <= targets
    assert {"studio", "test"} <= named <= targets
