"""My engine: the functions of the exercises that a learner has passed, in the library's place.

The Studio writes the file `my_engine/<slot>.py` in the workspace when a check passes that exercise.
"""

import os
from pathlib import Path

from . import slots
from .language import say

FOLDER = "my_engine"


def engine(whose: str = "mine", folder: str | os.PathLike[str] | None = None) -> dict[str, str]:
    """Puts the learner's functions into the library (`whose="mine"`), or the library's own back ("library").

    folder: where the functions are; by default `my_engine` in the working directory or above it.
    Returns the error by slot of each file that does not run; the library's version stays in that place.
    Raises `ValueError` for another `whose`, `FileNotFoundError` where there is no such folder.
    """
    if whose not in ("mine", "library"):
        raise ValueError(f"engine: whose must be 'mine' or 'library', got {whose!r}")
    if whose == "library":
        for slot in slots.filled().values():
            slot.take_out()
        return {}
    failed, files = {}, sorted((_nearest() if folder is None else Path(folder)).glob("*.py"))
    for path in files:
        try:
            exec(
                compile(path.read_text("utf-8"), path, "exec"), {"__name__": path.stem, "__file__": str(path)}
            )
        except Exception as error:
            failed[path.stem] = f"{type(error).__name__}: {error}"
    mine = len(files) - len(failed)
    print(say((f"Functions of yours in the library: {mine}", f"库中由你编写的函数：{mine} 个")))
    return failed


def _nearest() -> Path:
    here = Path.cwd()
    found = [place / FOLDER for place in (here, *here.parents) if (place / FOLDER).is_dir()]
    if not found:
        raise FileNotFoundError(f"engine: no folder {FOLDER!r} in {here} or above: no exercise is passed yet")
    return found[0]
