"""What the Studio's processes leave out of their imports."""

import subprocess
import sys

import pytest

SHOW = "import sys; print('nbformat' in sys.modules, 'lark' in sys.modules)"


@pytest.mark.parametrize(
    "module", ["studio.grading.service", "studio.gradebook.run", "studio.lean, jupyter_server"]
)
def test_notebooks_are_read_without_the_grammar_of_addresses(module: str) -> None:
    """It takes longer to build than most exercises take to grade; `lark` is what it is built with."""
    done = subprocess.run(
        [sys.executable, "-c", f"import {module}, nbformat; {SHOW}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "False"]


@pytest.mark.parametrize(
    "modules",
    ["studio.lean, studio.server.app, studio.server.routes", "studio.hub.serve", "studio.gradebook.run"],
)
def test_servers_do_not_import_what_computes(modules: str) -> None:
    """torch and numba would cost each of them two seconds and 190 MB."""
    code = (
        f"import sys, {modules}; print(*{{'sampan', 'torch', 'numba', 'scipy', 'pandas'}} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_nbformat_alone_does_build_it() -> None:
    done = subprocess.run([sys.executable, "-c", f"import nbformat; {SHOW}"], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True"], "then `studio.lean` is of no use any more"


def test_what_the_gradebook_needs_is_imported_after_the_start() -> None:
    code = (
        "import asyncio, logging, sys, studio.server\nstudio.server.FIRST_PAGE_S = 0\n"
        "asyncio.run(studio.server._afterwards(logging.getLogger()))\nprint('nbgrader.api' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"], done.stderr
