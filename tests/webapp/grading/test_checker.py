"""A check through the interface that a local and a remote grader share: bytes and names in, a verdict out."""

from __future__ import annotations

import asyncio

import nbformat
import pytest

from studio.grading import release
from studio.grading.bubble import available
from studio.grading.checker import Assignment, LocalChecker
from studio.grading.client import GradingError, Step
from studio.paths import NOTEBOOKS

pytestmark = pytest.mark.servers
NOTEBOOK = "00_orientation"


@pytest.mark.skipif(
    available() is not None, reason="needs the sandbox: bubblewrap, libseccomp, user namespaces"
)
def test_bytes_in_a_verdict_out() -> None:
    instructor = release.read(NOTEBOOKS / f"{NOTEBOOK}.ipynb")
    steps: list[Step] = []

    async def check() -> None:
        checker = LocalChecker(NOTEBOOKS)
        try:
            assert await checker.ready() is None
            assignment = Assignment("course", NOTEBOOK)
            solved = await checker.check(nbformat.writes(instructor).encode(), assignment, steps.append)
            assert solved.complete and solved.earned == solved.points > 0 and solved.sandboxed
            untouched = nbformat.writes(release.release(instructor)).encode()
            assert (await checker.check(untouched, assignment, steps.append)).earned == 0
            with pytest.raises(GradingError) as caught:
                await checker.check(b"{", assignment, steps.append)
            assert caught.value.kind == "broken"
            with pytest.raises(GradingError, match="99_nothing"):
                await checker.check(untouched, Assignment("course", "99_nothing"), steps.append)
        finally:
            await checker.grader.close()

    asyncio.run(check())
    assert {step.kind for step in steps} == {"cell", "exercise"}
