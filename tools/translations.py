"""What is missing or outdated in the Chinese of the notebooks.

python -m tools.translations                        every notebook of the course
python -m tools.translations --accept NOTEBOOK ...  the Chinese cells have been read and are up to date
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from studio.grading.release import read, write
from studio.grading.translation import accept, faults
from studio.paths import NOTEBOOKS


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path)
    parser.add_argument("--accept", action="store_true", help="record the Chinese as up to date")
    options = parser.parse_args(arguments)
    found = False
    for path in options.notebooks or sorted(NOTEBOOKS.glob("[0-9]*.ipynb")):
        notebook = read(path)
        if options.accept and accept(notebook):
            write(notebook, path)
        for fault in faults(notebook):
            found = True
            print(f"{path.name}: {fault}")
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
