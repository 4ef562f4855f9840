"""The Sparse page without a browser: its matrices, what it measures and refuses, its shapes and its network. Oracles: SciPy."""

from __future__ import annotations

import json
import re
import threading
import time
from typing import Any

import numpy as np
import pytest

from sampan.datasets.point_clouds import PARTS
from studio import i18n
from studio.views.sparse import compare, matrices, measure, shapes
from studio.views.sparse import figures as show
from studio.views.sparse.cloud import CloudPart
from studio.views.sparse.compare import ComparePart
from studio.views.sparse.matrices import DENSITIES, MADE, SIZES, Matrix, TooManyEntries, made
from studio.views.sparse.measure import FORMATS, OPERATORS, Measurement, Row, Side
from studio.views.sparse.page import SparsePage
from studio.views.sparse.training import CloudRun


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMPAN_DATA", raising=False)


# --- matrices -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize(("size", "density"), [(128, 0.05), (128, 1.0), (8192, 1e-4), (512, 0.5)])
def test_made_matrices_have_the_density_that_was_asked_for(name: str, size: int, density: float) -> None:
    csr = made(name, size, density).csr
    asked = round(density * size * size)
    step = {"banded": size, "blocks": matrices.BLOCK**2}.get(name, asked // 100 + 1)
    assert abs(csr.nnz - asked) <= step
    assert csr.has_canonical_format and (csr.data != 0).all() and csr.dtype == np.float32
    again = made(name, size, density).csr
    assert (again != csr).nnz == 0


def test_made_matrices_are_of_their_kind() -> None:
    band = made("banded", 256, 0.05).csr.tocoo()
    assert abs(band.row - band.col).max() < 10
    blocks = made("blocks", 256, 0.05).csr.toarray().reshape(16, 16, 16, 16).swapaxes(1, 2)
    filled = (blocks != 0).mean((2, 3))
    assert set(np.unique(filled)) <= {0.0, 1.0}
    lengths = np.diff(made("powerlaw", 1024, 0.01).csr.indptr)
    assert lengths[:32].mean() > 4 * lengths.mean()
    assert np.diff(made("uniform", 1024, 0.01).csr.indptr).std() < 5


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(TooManyEntries, match=r"at most 2,000,000 entries, got 42,949,673"):
        made("uniform", 65536, 0.01)
    with pytest.raises(ValueError, match="density: expected above 0 and at most 1, got 0"):
        made("uniform", 128, 0)
    with pytest.raises(ValueError, match=r"name: expected one of .*'cora'"):
        made("cora", 128, 0.1)


def test_real_matrices_are_what_the_data_hold(no_data: None) -> None:
    assert matrices.available() == ["words", "digits"]
    words = matrices.real("words")
    assert words.real and words.csr.sum() > 13_000 and 0.001 < words.density < 0.01
    digits = matrices.real("digits").csr
    assert digits.shape == (1437, 64) and 0.4 < matrices.real("digits").density < 0.6
    with pytest.raises(
        FileNotFoundError, match=r"planetoid/cora\.npz was not found in the folders of SAMPAN_DATA"
    ):
        matrices.REAL["cora_links"]()


def test_planetoid_is_read_where_it_is(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMPAN_DATA", str(tmp_path))
    (tmp_path / "planetoid").mkdir()
    np.savez(
        tmp_path / "planetoid" / "cora.npz",
        crows=np.array([0, 2, 2, 3], np.int32), cols=np.array([0, 4, 1], np.int32),
        values=np.array([1, 2, 3], np.float32), num_features=np.int64(5), labels=np.zeros(3, np.int16),
        edge_index=np.array([[0, 1, 1], [1, 0, 0]], np.int32),
    )  # fmt: skip
    assert matrices.available() == ["words", "digits", "cora_links", "cora_words"]
    assert np.array_equal(
        matrices.REAL["cora_words"]().toarray(), [[1, 0, 0, 0, 2], [0] * 5, [0, 3, 0, 0, 0]]
    )
    assert np.array_equal(matrices.REAL["cora_links"]().toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])


# --- measuring ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", FORMATS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_sparse_and_dense_do_the_same_work(layout: str, operator: str) -> None:
    matrix = made("powerlaw", 128, 0.05)
    calls = measure.prepare(matrix, layout, operator)
    sparse, dense = calls.sparse(calls.fresh()), calls.dense(calls.fresh())
    assert calls.same(sparse, dense) < 1e-5
    a = matrix.csr.astype(np.float64)
    expected = {
        "squared": lambda: (a @ a).toarray(),
        "add": lambda: (a + a[::-1]).toarray(),
        "transpose": lambda: a.T.toarray(),
        "coalesce": a.toarray,
    }
    if operator in expected:
        assert np.allclose(sparse.to_dense().numpy(), expected[operator](), atol=1e-4)
        assert sparse.is_sparse_csr() == (layout == "csr")
    if operator == "softmax":
        rows = np.asarray(sparse.to_dense().numpy().sum(1))
        assert np.allclose(rows[np.diff(a.indptr) > 0], 1, atol=1e-5)
    if operator == "sampled":
        assert sparse.nnz() == a.nnz


def test_a_difference_is_seen() -> None:
    calls = measure.prepare(made("uniform", 128, 0.05), "csr", "add")
    sparse, dense = calls.sparse(calls.fresh()), calls.dense(calls.fresh())
    assert calls.same(sparse, dense * 1.01) == pytest.approx(0.0099, rel=0.01)


def test_a_product_with_itself_of_one_that_is_not_square_is_with_its_transpose() -> None:
    matrix = Matrix("digits", made("uniform", 128, 0.1).csr[:40].tocsr())
    calls = measure.prepare(matrix, "csr", "squared")
    expected = (matrix.csr @ matrix.csr.T).toarray()
    assert np.allclose(calls.sparse(None).to_dense().numpy(), expected, atol=1e-4)
    assert measure.product_steps(matrix.csr) == sum(int(n) ** 2 for n in np.bincount(matrix.csr.indices))
    square = made("powerlaw", 128, 0.1).csr
    lengths = np.diff(square.indptr)
    assert measure.product_steps(square) == sum(int(lengths[c]) for c in square.indices)


def test_memory_is_what_the_arrays_take() -> None:
    matrix = made("uniform", 256, 0.05)
    count = matrix.csr.nnz
    tensor = measure.tensors(matrix, "csr")
    assert measure.held(tensor.values()) == 4 * count
    plain = measure.held(tensor)
    assert plain >= 4 * count + 8 * count + 8 * 257  # values, columns, rows
    tensor.pattern.by_rows.turned  # noqa: B018, kept with the pattern from now on
    assert measure.held(tensor) > plain
    (row,) = finished(Measurement([lambda: matrix], "csr", "product", rounds=1)).rows
    assert row.dense is not None and row.dense.matrix == 4 * 256 * 256
    assert row.sparse is not None and row.sparse.result == row.dense.result == 4 * 256 * 64


def finished(measurement: Measurement) -> Measurement:
    assert measurement.start().join(60)
    assert measurement.state == "done", measurement.error
    assert measurement.fraction == 1 and measurement.seconds_left is None
    return measurement


def test_what_does_not_fit_is_not_measured_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = finished(Measurement([lambda: made("uniform", 8192, 1e-5)], "coo", "transpose", rounds=1)).rows
    assert row.dense is None and row.sparse is not None
    assert (row.refused, row.needs) == ("dense_bytes", 4.0 * 8192**2)
    assert measure.dense_refused((4096, 4096), "squared") == ("dense_steps", 4096.0**3)
    assert measure.dense_refused((4096, 4096), "product") == ("", 0.0)
    monkeypatch.setattr(measure, "SPARSE_STEPS", 100)
    (row,) = finished(Measurement([lambda: made("uniform", 128, 0.1)], "csr", "squared", rounds=1)).rows
    assert row.sparse is row.dense is None and row.refused == "sparse_steps" and row.needs > 100
    monkeypatch.setattr(measure, "SPARSE_STEPS", 1e9)
    monkeypatch.setattr(measure, "SPARSE_ENTRIES", 100)
    (row,) = finished(Measurement([lambda: made("uniform", 128, 0.1)], "csr", "squared", rounds=1)).rows
    assert row.refused == "sparse_entries"
    for lang in i18n.LANGUAGES:
        assert "{" not in show.comparison(row, "csr", 1, 5, lang)


def test_a_measurement_ends_when_it_is_cancelled_and_tells_of_its_failure() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def first_change(_: Measurement) -> None:
        begun.set()
        go_on.wait(10)

    plan = [lambda: made("uniform", 256, 0.01)] * 50
    measurement = Measurement(plan, "csr", "product", first_change).start()
    assert begun.wait(30) and measurement.state == "running"
    measurement.cancel()
    go_on.set()
    assert measurement.join(30) and measurement.state == "cancelled"
    assert len(measurement.rows) < 50 and 0 < measurement.fraction < 1

    broken = Measurement([lambda: 1 / 0], "csr", "product").start()  # type: ignore[list-item, return-value]
    assert broken.join(10) and broken.state == "failed" and "ZeroDivisionError" in broken.error
    with pytest.raises(ValueError, match="layout, operator"):
        Measurement([], "bsr", "product")


# --- words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_memory_breaks_even_where_notebook_05_says(layout: str) -> None:
    """At a density of one half: a value and a 4-byte index take the space of two dense numbers."""
    from sampan.visual.sparsity import crossing

    densities = [0.1, 0.3, 0.45, 0.55, 0.7]
    plan = [lambda d=d: made("uniform", 512, d) for d in densities]
    rows = finished(Measurement(plan, layout, "product", rounds=1)).rows
    sides = [(row.sparse, row.dense) for row in rows]
    assert all(sparse is not None and dense is not None for sparse, dense in sides)
    at = crossing(
        [row.density for row in rows],
        [float(s.matrix) for s, _ in sides],
        [float(d.matrix) for _, d in sides],
    )
    assert at == pytest.approx(0.5, abs=0.01)
    for row in rows:
        assert row.sparse is not None
        assert row.sparse.matrix == 8 * row.entries + 4 * 513
        assert row.sparse.kept >= row.sparse.matrix  # the transposed pattern is kept too


def row(sparse: tuple[float, int], dense: tuple[float, int]) -> Row:
    return Row(0.01, 100, Side(*sparse, 10, 10), Side(*dense, 10, 10))


@pytest.mark.parametrize(
    ("sparse", "dense", "said"),
    [
        ((1e-3, 100), (14e-3, 6000), "Sparse is 14 times as fast as dense and takes 1/60 of its memory."),
        (
            (3e-3, 2000),
            (1e-3, 1000),
            "Sparse takes 3.0 times as long as dense and takes 2.0 times its memory.",
        ),
        ((1e-3, 1000), (1.05e-3, 950), "Sparse is about as fast as dense and takes about the same memory."),
    ],
)
def test_the_verdict(sparse: Any, dense: Any, said: str) -> None:
    assert show.verdict(row(sparse, dense), "en") == said
    assert "{" not in show.verdict(row(sparse, dense), "zh")


def test_figures_as_people_read_them() -> None:
    assert [show.size(n) for n in (812, 14_540, 2**20 * 3.4, 2**34)] == [
        "812 B",
        "14.2 kB",
        "3.4 MB",
        "16 GB",
    ]
    assert [show.share(d).replace("\u00a0", " ") for d in (1, 0.5, 0.0142, 1e-5, 1e-9)] == [
        "100 %",
        "50 %",
        "1.42 %",
        "0.001 %",
        "1e-07 %",
    ]
    assert show.large(13935) == "13,935" and show.large(6.87e10) == "6.9e+10"


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_the_curve_says_where_the_two_cross(lang: str) -> None:
    rows = [
        Row(d, 1, Side(d * 1e-2, int(1e6 * d), int(2e6 * d), 1), Side(1e-3, 400_000, 400_000, 1))
        for d in (0.001, 0.01, 0.1, 1.0)
    ]
    figure, said = show.curve(rows, lang)
    assert "10\u00a0%" in said and "40\u00a0%" in said  # 1e-2 d = 1e-3, 1e6 d = 4e5
    assert i18n.t("sparse.crossing.kept", lang, share="20\u00a0%") in said  # 2e6 d = 4e5
    drawn = json.loads(figure)
    axis = drawn["layout"]["yaxis"]
    assert axis["ticktext"] == ["10 µs", "100 µs", "1 ms", "10 ms"]
    assert axis["tickvals"] == pytest.approx([1e-5, 1e-4, 1e-3, 1e-2])
    assert "ticktext" not in drawn["layout"]["yaxis2"]  # bytes
    assert {trace["name"] for trace in drawn["data"]} == {
        i18n.t(f"sparse.curve.{k}", lang) for k in ("sparse", "dense")
    }
    assert all(trace["line"]["color"].startswith("var(--sp-") for trace in drawn["data"])
    half = [*rows[:2], Row(0.1, 1, None, None, "sparse_steps", 1e9)]
    assert i18n.t("sparse.curve.left_out", lang, count=1) in show.curve(half, lang)[1]
    assert i18n.t("sparse.no_crossing.bytes", lang) in show.curve(half, lang)[1]
    assert show.curve(half[1:], lang) == ("", "")


# --- the page -------------------------------------------------------------------------------------------------


def settled(part: ComparePart) -> ComparePart:
    part.wait()
    return part


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_the_matrices_part_measures_what_is_chosen(lang: str, no_data: None) -> None:
    part = ComparePart(lang)
    part.begin()
    settled(part)
    assert (
        'data-matrix="powerlaw"' in part.about.value
        and i18n.t("sparse.origin.made", lang) in part.about.value
    )
    assert 'data-side="dense"' in part.result.value and part.status.value == "" == part.message.value
    figure = json.loads(part.pattern.figure)
    assert figure["data"][0]["type"] == "heatmap"
    assert figure["layout"]["xaxis"]["title"]["text"] == i18n.t("sparse.axis.column", lang)

    part.name.value = "digits"
    settled(part)
    assert "1,437 × 64" in part.about.value and i18n.t("sparse.origin.real", lang) in part.about.value
    assert part.density.layout.display == "none" and part.sweep.disabled

    part.name.value = "uniform"
    part.size.index, part.density.index = SIZES.index(128), len(DENSITIES) - 1  # full: nothing is saved
    settled(part)
    line = part.result.value.split('data-line="matrix"')[1].split("</tr>")[0]
    found = dict(re.findall(r'data-side="(\w+)" data-value="([\d.e+-]+)"', line))
    assert float(found["sparse"]) > float(found["dense"]) == 4 * 128 * 128
    assert part.density.layout.display == ""
    done = part.measurement
    assert done is not None and done.rows[0].error is not None and done.rows[0].error < 1e-5
    for operator in OPERATORS:
        part.operator.value = operator
    settled(part)
    assert i18n.t("sparse.explain.coalesce", lang) in part.what.value  # the last that was asked for


def test_too_much_is_refused_and_the_next_choice_works(no_data: None) -> None:
    part = ComparePart("zh")
    part.begin()
    part.size.index, part.density.index = len(SIZES) - 1, DENSITIES.index(0.01)
    settled(part)
    assert i18n.t("sparse.error.entries", "zh", count="42,949,673", most="2,000,000") in part.message.value
    assert part.result.value == "" == part.pattern.figure
    part.density.index = DENSITIES.index(1e-5)
    settled(part)
    assert part.message.value == "" and i18n.t("sparse.only_sparse", "zh") in part.result.value
    assert "16 GB" in part.result.value and "64 MB" in part.result.value


def test_a_sweep_is_drawn_or_cancelled(monkeypatch: pytest.MonkeyPatch, no_data: None) -> None:
    part = ComparePart("en")
    part.begin()
    settled(part)
    monkeypatch.setattr(compare, "SWEEP_SIZE", 128)
    part.ask(sweep=True)
    settled(part)
    assert len(json.loads(part.curve.figure)["data"]) == 4
    assert part.curve.summary.startswith("Product with a dense matrix, Power law, 128 × 128, CSR.")

    before = part.curve.figure
    slow = threading.Event()
    monkeypatch.setattr(compare, "made", lambda *given: slow.set() or time.sleep(0.2) or made(*given))
    part.ask(sweep=True)
    assert slow.wait(10)
    part.cancel()
    settled(part)
    assert part.measurement is not None and part.measurement.state == "cancelled"
    assert part.curve.figure == before and 'data-state="cancelled"' in part.status.value


def test_a_damaged_file_is_said_and_the_page_goes_on(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planetoid").mkdir()
    (tmp_path / "planetoid" / "citeseer.npz").write_bytes(b"PK but not a zip")
    monkeypatch.setenv("SAMPAN_DATA", str(tmp_path))
    part = ComparePart("en")
    part.begin()
    part.name.value = "citeseer_links"
    settled(part)
    assert i18n.t("sparse.error.unexpected", "en") in part.message.value
    assert "citeseer.npz is not a complete .npz file" in part.message.value
    part.name.value = "banded"
    settled(part)
    assert part.message.value == "" and 'data-matrix="banded"' in part.about.value


def test_an_error_is_on_the_page(monkeypatch: pytest.MonkeyPatch, no_data: None) -> None:
    part = ComparePart("zh")
    part.begin()
    settled(part)
    monkeypatch.setitem(matrices._PLACES, "banded", lambda *_: 1 / 0)
    part.name.value = "banded"
    settled(part)
    assert "ZeroDivisionError" in part.message.value and "<details>" in part.message.value

    page = SparsePage("en")
    monkeypatch.setattr(page.compare, "begin", lambda: 1 / 0)
    page.open()
    assert i18n.t("sparse.error.library", "en") in page.compare.status.value
    assert not page.cloud.start.disabled  # the other part stands


# --- the cloud ------------------------------------------------------------------------------------------------


def test_shapes_come_with_their_parts(no_data: None) -> None:
    assert shapes.available() == []
    for name in shapes.MADE:
        one, other = (shapes.shape(name, 24, number) for number in range(2))
        assert one.grid.shape == (24, 24, 24) and one.parts is not None
        assert len(one.places) == one.grid.sum() == len(one.parts)
        assert not np.array_equal(one.grid, other.grid) and not one.real
    with pytest.raises(KeyError):
        shapes.shape("boat", 24)
    data, held_out = shapes.learned_from("made", 16, 8)
    assert len(data.labels) == 8 and len(held_out.labels) == shapes.HELD_OUT
    grids = {grid.tobytes() for grid in data.grids}
    assert not grids & {grid.tobytes() for grid in held_out.grids}


def test_a_network_learns_and_predicts_the_places_of_a_shape() -> None:
    looks: list[Any] = []
    shape = shapes.shape("lamp", 16)
    run = CloudRun("made", 16, 10.0, on_look=lambda r: looks.append(r.predict(shape.grid)), shapes=32).start()
    assert run.join(120) and run.state == "done", run.error
    standing = run.standing()
    assert standing.fraction == 1 and standing.steps > 3 and standing.loss is not None
    assert len(run.curves["loss"].points()[0]) > 3 and len(looks) >= 2
    assert standing.iou is not None and 0 <= standing.iou <= 1
    first, last = run.curves["loss"].points()[1][0], run.curves["loss"].points()[1][-1]
    assert last < first
    found = run.predict(shape.grid)
    assert found.shape == (shape.grid.sum(),) and set(found) <= set(range(len(PARTS)))
    for lang in i18n.LANGUAGES:
        figure, _ = show.shape_cloud(shape, found, lang)
        names = {trace["name"] for trace in json.loads(figure)["data"]}
        assert names <= {i18n.t(f"sparse.part.{part}", lang) for part in PARTS}
        assert "{" not in show.training(standing, 3.0, lang)


def test_a_run_that_is_cancelled_can_be_used_and_one_that_fails_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = threading.Event()
    run = CloudRun("made", 16, 600.0, on_change=lambda _: begun.set(), shapes=32).start()
    with pytest.raises(RuntimeError, match="predict: expected a trained network, got a run that is"):
        run.predict(np.zeros((16, 16, 16), bool))
    assert begun.wait(60)
    run.cancel()
    assert run.join(60) and run.state == "cancelled" and run.can_predict

    monkeypatch.setattr("studio.views.sparse.training.learned_from", lambda *_: 1 / 0)
    failed = CloudRun("made", 16, 1.0).start()
    assert failed.join(10) and failed.state == "failed" and "ZeroDivisionError" in failed.error
    with pytest.raises(ValueError, match="multiple of 8"):
        CloudRun("made", 20, 1.0)
    with pytest.raises(ValueError, match="source: expected one of made, real"):
        CloudRun("boats", 16, 1.0)


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_the_cloud_part_shows_trains_and_colours(
    lang: str, monkeypatch: pytest.MonkeyPatch, no_data: None
) -> None:
    part = CloudPart(lang)
    assert part.start.disabled
    part.begin()
    assert (
        'data-shape="chair"' in part.about.value
        and json.loads(part.true.figure)["data"][0]["type"] == "scatter3d"
    )
    assert part.found.figure == "" and not part.start.disabled and len(part.source.options) == 1

    small = shapes.learned_from("made", 16, 32)
    monkeypatch.setattr("studio.views.sparse.training.learned_from", lambda *_: small)
    part.resolution.index = 0
    part.draw()
    part.seconds.options = [("1", 1)]
    part.train()
    assert part.start.disabled and not part.stop.disabled
    assert part.run is not None and part.run.join(120)
    assert part.run.state == "done", part.run.error
    assert 'data-state="done"' in part.status.value and not part.start.disabled
    assert part.loss.live[0]["x"] and len(part.quality.live) == 2
    assert json.loads(part.found.figure)["data"] and "%" in part.found.summary and part.quality.summary
    assert i18n.t("sparse.found.other", lang, resolution=16) not in part.found.summary
    part.resolution.index = 1
    part.draw()
    assert i18n.t("sparse.found.other", lang, resolution=16) in part.found.summary

    monkeypatch.setattr("studio.views.sparse.cloud.shape", lambda *_: 1 / 0)
    part.draw()
    assert "ZeroDivisionError" in part.message.value and part.true.figure == ""


def test_a_large_cloud_says_that_it_is_thinned() -> None:
    grid = np.ones((32, 32, 32), bool)
    figure, said = show.shape_cloud(shapes.Shape("bunny", grid, None), None, "en")
    assert "20,000 of 32,768 points" in said and len(figure) < 1_000_000
    assert show.shape_verdict(np.zeros(3), None, "en") == i18n.t("sparse.found.unknown", "en")
