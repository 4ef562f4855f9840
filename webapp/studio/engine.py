"""My engine: the learner's functions of all passed exercises, as files in the workspace.

`sampan.learn.my_engine("mine")` puts them into the library, in a notebook or on a page.
"""

from __future__ import annotations

from pathlib import Path

from .grading.verdict import Verdict
from .runtime import write_atomically

FOLDER = "my_engine"  # as in `sampan.learn.my_engine`, which the server does not import


def keep(workspace: Path, lesson_id: str, verdict: Verdict) -> None:
    """Writes `my_engine/<slot>.py` for every exercise that is passed; an earlier version is replaced."""
    folder = workspace / FOLDER
    for slot, source in verdict.programs.items():
        folder.mkdir(exist_ok=True)
        write_atomically(folder / f"{slot}.py", f"# From {lesson_id}.ipynb, checked.\n\n{source}".encode())


def mine(workspace: Path) -> set[str]:
    """The slots of which the learner's function is there."""
    return {path.stem for path in (workspace / FOLDER).glob("*.py")}
