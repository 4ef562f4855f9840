"""A small site of the reference, built as `make docs` builds the whole: one page, in seconds."""

import subprocess
import sys
from pathlib import Path

from tools.size import ROOT

ONLY = "sampan.learn"


def build(folder: Path) -> Path:
    """The folder of the built pages. Fails with Sphinx's words at its first warning."""
    source, built = folder / "source", folder / "built"
    source.mkdir()
    (source / "index.rst").write_text("Start\n=====\n\n.. toctree::\n\n   reference/index\n")
    command = ["sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-c", str(ROOT / "docs")]
    command += ["-D", f"reference_only={ONLY}", str(source), str(built)]
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return built
