"""How far a reader walks: calls inside the library, files, and moves between files. They may only fall."""

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import sampan as paddle
from sampan.engine import tape

HERE = str(Path(paddle.__file__).parent)


@pytest.fixture(autouse=True)
def no_leaf_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a fresh process, where no leaf was asked to report its gradient."""
    monkeypatch.setattr(tape, "leaves_report", False)


def walk(program: Callable[[], None]) -> tuple[int, int, int]:
    """(calls, files, moves from one file to another) of a program that has run before."""
    program()
    program()
    files: list[str] = []

    def called(frame, event, argument):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith((HERE, "<elementwise", "<activation")):
            files.append(file)

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        program()
    finally:
        sys.setprofile(before)
    return len(files), len(set(files)), sum(a != b for a, b in pairwise(files))


def leaf(*shape: int):
    made = paddle.randn(shape)
    made.stop_gradient = False
    return made


def test_a_product_a_sum_and_the_way_back() -> None:
    x, y = leaf(3), leaf(3)
    assert walk(lambda: (x * y).sum().backward()) <= (20, 6, 12)


def test_a_linear_layer() -> None:
    layer, x = paddle.nn.Linear(4, 4), paddle.randn([2, 4])
    assert walk(lambda: layer(x)) <= (10, 7, 8)


def test_a_table_and_its_step() -> None:
    table, ids = paddle.nn.Embedding(100, 8, sparse=True), paddle.to_tensor([1, 2, 3])
    optimizer = paddle.optimizer.SGD(0.1, parameters=table.parameters())

    def program() -> None:
        table(ids).sum().backward()
        optimizer.step()
        optimizer.clear_grad()

    assert walk(program) <= (57, 19, 35)


def test_a_sparse_product_and_the_way_back() -> None:
    matrix = paddle.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2]).to_sparse_csr()
    matrix.stop_gradient = False
    x = leaf(2, 3)
    assert walk(lambda: paddle.sparse.matmul(matrix, x).sum().backward()) <= (66, 13, 39)
