"""Figures of sparse matrices: what is drawn is what SciPy, SciPy's correlation or plain loops find there."""

import numpy as np
import pytest
import scipy.sparse
from scipy.signal import correlate2d

import sampan
from sampan import visual

CLOUD = np.zeros((5, 6), bool)
CLOUD[[0, 1, 1, 2, 2, 2, 3, 4], [5, 1, 2, 1, 2, 3, 3, 0]] = True


def coo(matrix):
    found = scipy.sparse.coo_array(matrix)
    return sampan.sparse.sparse_coo_tensor(np.stack(found.coords), found.data, matrix.shape)


@pytest.mark.parametrize("layout", ["coo", "csr", "scipy", "scipy csr"])
def test_spy_marks_each_entry_of_a_small_matrix(layout):
    matrix = np.zeros((4, 6), np.float32)
    matrix[[0, 1, 3], [5, 0, 2]] = 1.5
    forms = {"coo": coo, "scipy": scipy.sparse.coo_array, "scipy csr": scipy.sparse.csr_matrix}
    figure = visual.spy(coo(matrix).to_sparse_csr() if layout == "csr" else forms[layout](matrix), "named")
    (drawn,) = figure.data
    assert np.array_equal(~np.isnan(np.array(drawn.z)), matrix != 0)
    assert list(drawn.x) == list(range(6)) and list(drawn.y) == list(range(4))
    top, bottom = figure.layout.yaxis.range[::-1]
    assert top < bottom, "row 0 stands at the top"
    assert figure.layout.title.text == "named: 4 x 6, 3 entries, 12.5 % of all places"


@pytest.mark.parametrize("shape", [(301, 40), (40, 700), (600, 600)])
def test_spy_counts_the_entries_of_a_large_matrix(shape):
    matrix = scipy.sparse.random_array(shape, density=0.02, rng=np.random.default_rng(3), format="coo")
    (drawn,) = visual.spy(matrix, largest=100).data
    down, across = (-(-n // 100) for n in shape)
    dense, expected = matrix.toarray() != 0, np.zeros(np.array(drawn.z).shape)
    for i, j in np.ndindex(expected.shape):
        expected[i, j] = dense[i * down : (i + 1) * down, j * across : (j + 1) * across].mean()
    assert np.array(drawn.customdata).sum() == matrix.nnz
    assert np.allclose(np.nan_to_num(10.0 ** np.array(drawn.z, float)), expected)
    assert max(expected.shape) <= 100


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 3), (900, 900)])
def test_spy_of_nothing(shape):
    empty = np.zeros((2, 0), np.int64)
    (drawn,) = visual.spy(sampan.sparse.sparse_coo_tensor(empty, np.zeros(0, np.float32), shape)).data
    assert np.isnan(np.array(drawn.z)).all()


def test_spy_refuses():
    with pytest.raises(TypeError, match="got ndarray"):
        visual.spy(np.eye(3))
    with pytest.raises(ValueError, match=r"\[rows, columns\], got \[3\]"):
        visual.spy(sampan.sparse.sparse_coo_tensor([[1]], [2.0], [3]))
    with pytest.raises(ValueError, match="largest: expected 1 or more, got 0"):
        visual.spy(coo(np.eye(3)), largest=0)


@pytest.mark.parametrize(("kernel", "dilation"), [(3, 1), (3, 2), ((1, 3), 1), (5, 1), (1, 1)])
def test_a_rulebook_joins_what_a_loop_over_the_cloud_joins(kernel, dilation):
    figure = visual.rulebook(CLOUD, kernel, dilation)
    lengths = (kernel, kernel) if isinstance(kernel, int) else kernel
    rows, cols = np.nonzero(CLOUD)
    number = {place: i for i, place in enumerate(zip(rows.tolist(), cols.tolist(), strict=True))}
    panels, pairs, joined = iter(figure.data), 0, 0
    for i in range(lengths[0]):
        for j in range(lengths[1]):
            step = dilation * (i - lengths[0] // 2), dilation * (j - lengths[1] // 2)
            found = {e: number.get((r + step[0], c + step[1])) for (r, c), e in number.items()}
            hover = [
                f"entry {e} reads entry {of}" if of is not None else f"entry {e}: no entry there"
                for e, of in found.items()
            ]
            assert list(next(panels).hovertext) == hover
            pairs += sum(of is not None for of in found.values())
            joined += sum(of is not None for of in found.values()) if step != (0, 0) else 0
    assert not list(panels)
    window = np.zeros([dilation * (n - 1) + 1 for n in lengths])
    window[::dilation, ::dilation] = 1
    counted = correlate2d(CLOUD.astype(float), window, mode="same")[CLOUD].sum()
    assert pairs == counted and figure.layout.title.text.endswith(f"{pairs} pairs")
    assert sum(note.showarrow for note in figure.layout.annotations) == joined


def test_an_arrow_comes_from_the_entry_that_is_read():
    two = np.array([[True, True]])
    arrows = [note for note in visual.rulebook(two, (1, 3)).layout.annotations if note.showarrow]
    left, right = arrows  # offset -1: entry 1 reads entry 0; offset 1: entry 0 reads entry 1
    assert left.ax < left.x and right.ax > right.x


def test_a_rulebook_of_a_sparse_tensor():
    matrix = coo(CLOUD.astype(np.float32))
    assert visual.rulebook(matrix).layout == visual.rulebook(CLOUD).layout


@pytest.mark.parametrize(
    ("pattern", "more", "words"),
    [
        (np.zeros((3, 3), bool), {}, "with 0"),
        (np.ones((7, 7), bool), {}, "1 to 40 entries"),
        (np.ones(4, bool), {}, r"shape \[4\]"),
        (CLOUD, {"kernel": 2}, "odd lengths"),
        (CLOUD, {"kernel": 7}, "25 places at most"),
        (CLOUD, {"kernel": (3, 3, 3)}, "odd lengths"),
    ],
)
def test_a_rulebook_that_cannot_be_drawn(pattern, more, words):
    with pytest.raises(ValueError, match=words):
        visual.rulebook(pattern, **more)


TABLE = {
    "density": [0.001, 0.01, 0.1],
    "sparse seconds": [1e-5, 1e-4, 1e-3],
    "dense seconds": [5e-4, 5e-4, 5e-4],
    "sparse bytes": [8e3, 8e4, 8e5],
    "dense bytes": [4e6, 4e6, 4e6],
}


def test_costs_mark_where_the_two_cross():
    figure = visual.costs(TABLE, "named")
    assert [(line.name, list(line.y)) for line in figure.data] == [
        (name.split()[0], TABLE[name])
        for name in ("sparse seconds", "dense seconds", "sparse bytes", "dense bytes")
    ]
    (line,) = figure.layout.shapes  # memory does not cross within the table
    assert np.isclose(line.x0, 0.05) and line.xref == "x"
    assert [note.text.strip() for note in figure.layout.annotations] == ["sparse pays below 5 %"]


def test_crossing_is_found_between_two_measurements():
    density = np.array([0.01, 0.04, 0.16, 0.64])
    assert np.isclose(visual.crossing(density, density**1.5, np.full(4, 0.1**1.5)), 0.1)
    assert visual.crossing(density, density, np.full(4, 9.0)) is None
    assert visual.crossing(density, density + 1, np.full(4, 0.5)) is None
    noisy = [1.0, 3.0, 1.0, 3.0]  # above the last crossing dense stays cheaper
    assert 0.16 < visual.crossing(density, noisy, np.full(4, 2.0)) < 0.64


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"density": [0.1, 0.01, 0.2]}, "must ascend"),
        ({"sparse bytes": [1.0, 2.0]}, "as long as density"),
        ({"dense seconds": [1.0, 0.0, 2.0]}, "positive numbers"),
        ({"dense seconds": [1.0, np.nan, 2.0]}, "positive numbers"),
    ],
)
def test_costs_refuse_a_broken_table(change, words):
    with pytest.raises(ValueError, match=words):
        visual.costs({**TABLE, **change})
    with pytest.raises(ValueError, match="'density'"):
        visual.costs({})
