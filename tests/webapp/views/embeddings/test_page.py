"""The Embeddings page without a browser: what it learns from, its runs, map, searches and cache. Oracles: NumPy in float64, a
cache made of an OrderedDict."""

from __future__ import annotations

import io
import json
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest

from sampan.datasets.interactions import leave_last_out, zipf
from sampan.visual import embeddings
from studio import i18n
from studio.views.embeddings import data, figures, hits, vector_map
from studio.views.embeddings.cache import CachePart
from studio.views.embeddings.figures import DOT, NAMED
from studio.views.embeddings.films import LEAST, SHOWN, FilmsPart
from studio.views.embeddings.hits import SHARES, SKEWS, HitMeasurement
from studio.views.embeddings.page import EmbeddingsPage
from studio.views.embeddings.shipped import DIM, FILE, WORDS, packed, shipped
from studio.views.embeddings.training import DIMS, FilmRun, Table, WordRun, popular_hit_rate
from studio.views.embeddings.vector_map import Projection, VectorMap, aligned, shown
from studio.views.embeddings.vectors import close
from studio.views.embeddings.words import WordsPart


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMPAN_DATA", raising=False)


@pytest.fixture
def small_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "LOG_ROWS", 1500)
    monkeypatch.setattr(data, "LOG_ITEMS", 900)


def until(found: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether `found` becomes true in time."""
    end = time.monotonic() + seconds
    while not found() and time.monotonic() < end:
        time.sleep(0.02)
    return found()


def table(rows: int = 40, dim: int = 8, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    counts = np.arange(rows, 0, -1)
    return Table([f"w{i}" for i in range(rows)], rng.standard_normal((rows, dim)).astype(np.float32), counts)


def labels_on(view: VectorMap) -> list[str]:
    """Beside points of the map."""
    return [note["text"] for note in json.loads(view.plot.figure)["layout"]["scene"]["annotations"]]


def listed(html: str) -> list[str]:
    """The labels of a list."""
    return [unescape(label) for label in re.findall(r'data-label="([^"]+)"', html)]


def marked_on(view: VectorMap) -> set[str]:
    """The points that stand out."""
    traces = json.loads(view.plot.figure)["data"]
    return {
        label
        for trace in traces
        if trace["marker"].get("symbol") == "diamond"
        for label in trace["hovertext"]
    }


# --- what it learns from --------------------------------------------------------------------------------------


def test_what_is_bundled_is_always_offered() -> None:
    assert data.texts() == ["coriolanus"] and data.logs() == [data.MADE]
    assert data.language("coriolanus") == "en" and data.language("hotel_reviews") == "zh"
    assert len(data.sentences("coriolanus")) > 400
    log = data.ratings(data.MADE)
    assert (len(log), log.num_items, log.origin) == (data.LOG_ROWS, data.LOG_ITEMS, "made")
    with pytest.raises(KeyError, match="no log films"):
        data.ratings("films")


# --- rows -----------------------------------------------------------------------------------------------------


def test_the_nearest_rows_are_those_of_the_largest_cosine() -> None:
    made = table()
    rows = made.vectors.astype(np.float64)
    cosines = rows @ rows[7] / np.linalg.norm(rows, axis=1) / np.linalg.norm(rows[7])
    expected = [i for i in np.argsort(-cosines) if i != 7][:5]
    found = made.nearest(7, 5)
    assert [number for number, _ in found] == expected
    assert [cosine for _, cosine in found] == pytest.approx([cosines[i] for i in expected], abs=1e-6)
    twice = Table(["a", "b", "a"], np.eye(3, dtype=np.float32), np.array([3, 2, 1]))
    assert twice.number("a") == 0 and twice.number("c") is None and len(twice.nearest(0, 9)) == 2


def test_an_analogy_is_the_row_nearest_to_the_sum_of_three() -> None:
    made = table()
    unit = made.vectors.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    wanted = unit[4] - unit[3] + unit[9]
    cosines = unit @ wanted / np.linalg.norm(wanted)
    expected = [i for i in np.argsort(-cosines) if i not in (3, 4, 9)][:5]
    found = made.analogy(3, 4, 9, 5)
    assert [number for number, _ in found] == expected
    assert [cosine for _, cosine in found] == pytest.approx([cosines[i] for i in expected], abs=1e-6)


def test_the_shipped_rows_are_those_of_their_card() -> None:
    rows = shipped()
    assert len(rows.labels) == WORDS == len(set(rows.labels)) and rows.vectors.shape == (WORDS, DIM)
    assert (np.diff(rows.counts) <= 0).all() and np.isfinite(rows.vectors).all()
    card = (FILE.parent / "README.md").read_text("utf-8")
    assert (
        f"{WORDS:,} words" in card and "public domain" in card and "studio.views.embeddings.shipped" in card
    )
    again = np.load(io.BytesIO(packed(rows)), allow_pickle=False)
    assert np.array_equal(again["vectors"], rows.vectors.astype(np.float16))


def test_the_most_frequent_points_are_named_and_no_two_names_overlap() -> None:
    rng = np.random.default_rng(0)
    points = rng.standard_normal((500, 3)).astype(np.float32)
    points[1] = points[0] + 1e-3  # beside the most frequent one
    chosen = figures._apart(points, [f"word {i}" for i in range(500)], (1.6, 1.6, 1.6))
    assert chosen[0] == 0 and 1 not in chosen and chosen == sorted(chosen) and 10 < len(chosen) <= NAMED
    x, y = figures._on_screen(points, np.array([1.6, 1.6, 1.6]))
    for k, a in enumerate(chosen):
        for b in chosen[:k]:
            assert abs(x[a] - x[b]) > 40 or abs(y[a] - y[b]) > 15
    ends = np.array([[0, 0, 0], [2, 2, 2]], np.float32)  # plotly's camera looks at the middle of the box
    x, y = figures._on_screen(np.vstack([ends, [[1, 1, 1]]]).astype(np.float32), np.array([1.6, 1.6, 1.6]))
    assert (x[2], y[2]) == pytest.approx((0, 0), abs=1e-9)
    assert y[1] > y[2] > y[0]


def test_the_baseline_recommends_the_same_films_to_all(small_log: None) -> None:
    train, held = leave_last_out(data.ratings(data.MADE))
    counts = np.bincount(train.items, minlength=data.LOG_ITEMS)
    rated = {(u, i) for u, i in zip(train.users.tolist(), train.items.tolist(), strict=True)}
    hits_found = 0
    for user, item in zip(held.users.tolist(), held.items.tolist(), strict=True):
        others = (i for i in range(len(counts)) if i != item and (user, i) not in rated)
        hits_found += sum(counts[i] >= counts[item] for i in others) < 10
    assert popular_hit_rate(train, held, counts) == pytest.approx(hits_found / len(held))


def test_films_are_coloured_by_their_first_genre_and_cold_ones_apart() -> None:
    part = FilmsPart("zh")
    run = FilmRun(data.MADE, 8, 2)
    run.updates, run.order = np.array([9, 9, 0]), np.array([2, 0, 1])
    run.ratings = SimpleNamespace(genres=[("Sci-Fi", "Drama"), ("War",), ()])
    part.run = run
    assert part._groups(table(3)) == ["无类型", "科幻", i18n.t("embeddings.cold.group.cold", "zh")]


def test_a_text_in_the_visitor_s_language_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sampan.datasets.available", lambda: ["hotel_reviews", "coriolanus", "tinyshakespeare"]
    )
    monkeypatch.setattr(data, "find_spec", lambda _: True)
    assert data.texts("en")[0] == "tinyshakespeare" and data.texts("zh")[0] == "hotel_reviews"


def test_a_map_does_not_jump() -> None:
    rng = np.random.default_rng(0)
    before = rng.standard_normal((30, 3)).astype(np.float32)
    q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    turned = (before @ q).astype(np.float32)
    numbers = np.arange(30)
    assert np.allclose(aligned(turned, before, numbers, numbers), before, atol=1e-5)
    part = aligned(turned[10:], before[:20], numbers[10:], numbers[:20])  # 10 of them in common
    assert np.allclose(part, before[10:], atol=1e-5)
    assert np.array_equal(aligned(turned, before, numbers, numbers + 100), turned)


def test_the_map_has_the_most_frequent_rows_and_some_of_all_others() -> None:
    assert np.array_equal(shown(500), np.arange(500))
    chosen = shown(9724)
    assert len(chosen) == 800 and np.array_equal(chosen[:600], np.arange(600)) and chosen[-1] == 9723
    assert (np.diff(chosen) > 0).all() and np.diff(chosen[600:]).max() < 60


def test_what_looks_like_a_label() -> None:
    labels = ["Toy Story (1995)", "Toy Story 2 (1999)", "Heat (1995)", "房间", "大房间"]
    assert close("toy story", labels)[:2] == labels[:2]
    assert close("hea", labels) == ["Heat (1995)"] and close("房", labels) == ["房间", "大房间"]
    assert close("Heet (1995)", labels)[0] == "Heat (1995)" and close("zzzz", labels) == []


# --- runs -----------------------------------------------------------------------------------------------------


def test_words_are_learned_and_the_table_is_the_model_s() -> None:
    looks: list[int] = []
    run = WordRun("coriolanus", 16, 3, on_look=lambda r: looks.append(len(r.table.labels))).start()
    assert run.join(120) and run.state == "done", run.error
    assert run.table is not None and run.table.labels == run.model.words and looks
    assert np.array_equal(run.table.vectors, run.model.vectors) and run.table.vectors.shape[1] == 16
    assert (np.diff(run.table.counts) <= 0).all() and run.epoch == 3 and run.fraction == 1
    seconds, losses = run.curves["loss"].points()
    assert losses[-1] < losses[0] and (np.diff(seconds) >= 0).all()
    assert run.words_per_second is not None and run.words_per_second > 0 and run.curves["speed"].points()[0]


def test_a_run_that_is_cancelled_can_be_used_and_one_that_fails_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = WordRun(
        "coriolanus", 16, 1000, on_change=lambda r: r.cancel() if r.state == "running" else None
    ).start()
    assert run.join(120) and run.state == "cancelled" and run.fraction < 0.5
    assert run.table is not None and len(run.model.similar(run.table.labels[0], most=3)) == 3
    monkeypatch.setattr(data, "sentences", lambda _: 1 / 0)
    failed = WordRun("coriolanus", 16, 1).start()
    assert failed.join(10) and failed.state == "failed" and "ZeroDivisionError" in failed.error
    with pytest.raises(ValueError, match="dim, epochs: expected 1 or more, got 0 and 2"):
        WordRun("coriolanus", 0, 2)


def test_films_are_learned_and_cold_rows_are_those_nobody_had(small_log: None) -> None:
    run = FilmRun(data.MADE, 8, 2, title_of="film {}".format).start()
    assert run.join(120) and run.state == "done", run.error
    assert run.table is not None
    log = data.ratings(data.MADE)
    train, _ = leave_last_out(log)
    counts = np.bincount(train.items, minlength=log.num_items)
    assert np.array_equal(run.table.counts, np.sort(counts)[::-1])
    assert np.array_equal(run.table.counts, counts[run.order])
    assert run.table.labels[0] == f"film {counts.argmax()}"
    assert np.array_equal(run.table.vectors, run.model.item_vectors()[run.order])
    assert (run.updates[run.table.counts == 0] == 0).all(), "never used, so no step has updated them"
    assert (run.updates[run.table.counts >= 2] > 0).all()
    assert run.popular is not None and 0 < run.popular < 1
    assert run.hit_rate is not None and 0 <= run.hit_rate <= 1 and len(run.curves["hit_rate"]) >= 2


# --- the map --------------------------------------------------------------------------------------------------


@pytest.mark.alone
def test_t_sne_is_placed_or_stopped() -> None:
    small = Projection(table(60).vectors).start()
    assert small.join(60) and small.state == "done", small.error
    assert small.points is not None and small.points.shape == (60, 3)
    large = Projection(table(4000, 32).vectors).start()
    time.sleep(0.3)
    began = time.monotonic()
    large.cancel()
    assert large.join(60) and large.state == "cancelled" and large.points is None
    assert time.monotonic() - began < 40, "it would have taken longer to its end"


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_the_map_marks_and_changes_its_way(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_map, "FREQUENT", 20)
    monkeypatch.setattr(vector_map, "SPREAD", 5)
    view = VectorMap(lang, "words")
    view.mark([1])  # nothing is there yet
    assert view.plot.figure == "" and view.method.disabled
    made = table(60)
    view.show(made, ["even", "odd"] * 30)
    figure = json.loads(view.plot.figure)
    assert {trace.get("name") for trace in figure["data"]} >= {"even", "odd"}
    assert {note["text"] for note in figure["layout"]["scene"]["annotations"]} <= set(made.labels)
    assert view.plot.summary.startswith(i18n.t("embeddings.words.map.shown", lang, shown="25", all="60"))
    view.mark([0, 33])
    assert labels_on(view) == ["w0", "w33"]
    assert "26" in view.plot.summary  # w33 was not among the 25

    view.mark([0])
    view.method.value = "tsne"
    assert view.projection is not None and not view.stop.disabled
    assert view.projection.join(60) and view.projection.state == "done"
    assert i18n.t("embeddings.map.tsne", lang) in view.plot.summary and view.stop.disabled
    view.mark([0, 31])
    assert i18n.t("embeddings.map.missing", lang, count=1) in view.plot.summary
    view.show(table(60, seed=1))  # other rows: the old places are nothing any more
    assert view.method.value == "pca" and i18n.t("embeddings.map.tsne", lang) not in view.plot.summary

    by_pca = embeddings.projected
    monkeypatch.setattr(
        embeddings, "projected", lambda rows, way="pca": by_pca(rows) if way == "pca" else 1 / 0
    )
    view.method.value = "tsne"
    until(lambda: "ZeroDivisionError" in view.status.value)
    assert view.method.value == "pca"


# --- the parts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_the_words_part_trains_finds_and_solves(lang: str) -> None:
    part = WordsPart(lang)
    assert part.start.disabled
    part.neighbours()
    part.analogy()
    assert i18n.t("embeddings.words.error.untrained", lang) in part.found.value
    assert i18n.t("embeddings.words.error.untrained", lang) in part.solved.value
    part.begin()
    assert i18n.t("embeddings.words.shipped", lang) in unescape(part.status.value)
    assert labels_on(part.map) and part.curves.layout.display == "none"  # a map, and no empty axes
    part.asked.value = "king"
    assert "henry" in listed(part.found.value)
    part.asked.value = ""
    assert "Shakespeare" in part.about.value or "莎士比亚" in part.about.value
    assert i18n.t("train.origin.real", lang) in part.about.value
    assert {"en": "public domain", "zh": "公有领域"}[lang] in part.about.value
    part.dim.index, part.epochs.index = 0, 1
    part.train()
    assert part.start.disabled and not part.stop.disabled and part.curves.layout.display == ""
    assert part.run is not None and part.run.join(120) and part.run.state == "done", part.run.error
    assert 'data-state="done"' in part.status.value and not part.start.disabled and part.stop.disabled
    assert (
        part.graphs["loss"].live[0]["y"] and part.graphs["speed"].live[0]["y"] and part.graphs["loss"].summary
    )
    assert json.loads(part.map.plot.figure)["data"]

    part.asked.value = "rome"
    expected = part.run.model.similar("rome", most=10)
    assert listed(part.found.value) == [word for word, _ in expected]
    assert ('<span lang="en">' in part.found.value) == (lang == "zh")
    assert labels_on(part.map) == ["rome", *(word for word, _ in expected[:5])]
    assert marked_on(part.map) == {"rome", *(word for word, _ in expected)}
    for typed in ("ROME", "ｒｏｍｅ"):
        part.asked.value = typed
        assert listed(part.found.value) == [word for word, _ in expected], typed
    part.asked.value = "长" * 3000
    assert 'role="alert"' in part.found.value and len(part.found.value) < 500
    part.asked.value = "romes"
    assert 'role="alert"' in part.found.value and "rome" in part.found.value
    part.asked.value = "bicycle"
    assert 'role="alert"' in part.found.value and "bicycle" in part.found.value
    part.asked.value = " "
    assert part.run.table is not None
    assert i18n.t("embeddings.words.error.empty", lang, example=part.run.table.labels[0]) in part.found.value

    assert [term.value for term in part.terms] == ["we", "our", "you"]
    for term, word in zip(part.terms, ("he", "his", "you"), strict=True):
        term.value = word
    part.analogy()
    best = part.run.model.analogy("he", "his", "you", most=10)
    assert listed(part.solved.value) == [word for word, _ in best]
    part.terms[0].value = "<b>"
    part.analogy()
    assert "&lt;b&gt;" in part.solved.value and "<b>" not in part.solved.value
    part.terms[0].value = ""
    part.analogy()
    assert i18n.t("embeddings.words.error.terms", lang) in part.solved.value


def test_who_cancels_while_the_text_is_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    read = threading.Event()
    monkeypatch.setattr(data, "sentences", lambda _: [["a"]] if read.wait(30) else 1 / 0)
    part = WordsPart("en")
    part.begin()
    part.train()
    part.cancel()
    assert i18n.t("embeddings.train.stopping", "en") in part.message.value and part.stop.disabled
    read.set()
    assert part.run is not None and part.run.join(30) and part.run.state == "cancelled", part.run.error
    assert part.message.value == "" and not part.start.disabled
    said = i18n.t("embeddings.train.cancelled_early", "en")
    assert said in part.status.value and part.graphs["loss"].summary == said


def test_what_is_asked_while_it_learns_is_answered_at_the_next_look() -> None:
    part = WordsPart("en")
    part.begin()
    part.dim.index, part.epochs_offered = DIMS.index(64), (2000,) * 7  # type: ignore[misc]
    part.train()
    run = part.run
    assert run is not None
    for _ in range(600):
        if run.table is not None or not run.alive:
            break
        time.sleep(0.05)
    assert run.alive and run.table is not None, run.error
    part.asked.value = "rome"
    assert i18n.t("embeddings.found.soon", "en") in part.found.value or "data-label" in part.found.value
    part.analogy()
    assert i18n.t("embeddings.error.wait", "en") in part.solved.value
    part.cancel()
    assert run.join(60) and run.state == "cancelled" and "data-label" in part.found.value


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_the_films_part_trains_recommends_and_shows_cold_rows(lang: str, small_log: None) -> None:
    part = FilmsPart(lang)
    part.begin()
    assert i18n.t("train.origin.made", lang) in part.about.value
    part.recommended()  # nothing yet
    part.dim.index, part.epochs.index = 0, 1
    part.train()
    run = part.run
    assert isinstance(run, FilmRun) and run.join(120) and run.state == "done", run
    assert run.table is not None and 'data-user="1"' in part.advice.value
    first = part.advice.value
    part.next_user()
    assert 'data-user="1"' not in part.advice.value and part.advice.value != first
    user = part.user.value - 1
    wanted = [part._title(item) for item, _ in run.model.recommend(user, most=10)]
    found = re.findall(r"<span>([^<]+)</span>", part.advice.value.split('data-kind="recommended"')[1])
    assert found == wanted
    everything = [item for item, _ in run.model.recommend(user, most=10_000)]
    for item in set(run.held.items[run.held.users == user]) & set(
        everything
    ):  # in a made log a person can have one twice
        assert f" {everything.index(item) + 1:,} " in part.advice.value

    few = int((run.updates < 5).sum())
    assert LEAST[part.least.index] == 5
    assert (
        i18n.t("embeddings.cold.said", lang, count=few, all=900, least=5, share="\0").split("\0")[0]
        in part.cold.value
    )
    names = {trace.get("name") for trace in json.loads(part.map.plot.figure)["data"]}
    assert i18n.t("embeddings.cold.group.cold", lang) in names
    cold = next(
        trace
        for trace in json.loads(part.map.plot.figure)["data"]
        if trace.get("name") == i18n.t("embeddings.cold.group.cold", lang)
    )
    drawn = {label for label in cold["hovertext"]}
    coldest = np.argsort(run.updates, kind="stable")[: min(few, SHOWN)]
    assert {run.table.labels[i] for i in coldest} - marked_on(part.map) <= drawn
    assert cold["marker"]["opacity"] == 1 and cold["marker"]["size"] > DOT
    part.least.index = 0
    assert f"{int((run.updates < 1).sum()):,}" in part.cold.value

    label = part._title(int(run.order[3]))
    part.asked.value = label
    expected = [run.table.labels[i] for i, _ in run.table.nearest(3, 10)]
    assert listed(part.found.value) == expected
    part.asked.value = "xyz"
    assert i18n.t("embeddings.films.error.unknown_alone", lang, label="xyz", count="900") in part.found.value


def test_one_part_learns_at_a_time(small_log: None) -> None:
    page = EmbeddingsPage("en")
    for part in (page.words, page.films):
        part.begin()
    page.words.epochs.index = len(page.words.epochs_offered) - 1
    page.words.train()
    page.films.train()
    assert i18n.t("embeddings.error.busy", "en") in page.films.message.value and page.films.run is None
    page.words.cancel()
    assert page.words.run is not None and page.words.run.join(60)
    page.films.train()
    assert page.films.message.value == "" and page.films.run is not None
    page.films.cancel()
    assert page.films.run.join(60)


def test_an_error_is_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    page = EmbeddingsPage("en")
    monkeypatch.setattr(page.words, "begin", lambda: 1 / 0)
    monkeypatch.setattr("studio.views.embeddings.hits.LOOKUPS", 200)
    page.open()
    assert i18n.t("embeddings.error.library", "en") in page.words.status.value
    assert page.films.start.disabled and page.cache.measurement is None  # only the opened tab has begun
    page.tabs.selected = "films"
    assert until(lambda: not page.films.start.disabled)  # the other parts stand
    page.tabs.selected = "cache"
    assert until(lambda: page.cache.measurement is not None)
    page.cache.wait()
    part = WordsPart("zh")
    part.begin()
    monkeypatch.setattr(data, "sentences", lambda _: 1 / 0)
    part.train()
    assert part.run is not None and part.run.join(10)
    assert i18n.t("embeddings.error.training", "zh") in part.status.value and "<details>" in part.status.value
    assert not part.start.disabled


# --- the cache ------------------------------------------------------------------------------------------------


def test_the_hit_rate_is_that_of_a_cache_of_least_recently_used_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hits, "LOOKUPS", 6000)
    monkeypatch.setattr(hits, "WARM_UP", 2048)
    measurement = HitMeasurement(0.8, shares=(1, 20, 100)).start()
    assert measurement.join(60) and measurement.state == "done", measurement.error
    ids = zipf(2048 + 6000, hits.ROWS, 0.8, np.random.default_rng(0))
    for row in measurement.rows:
        kept, found, cache = round(row.share * hits.ROWS), 0, OrderedDict[int, None]()
        for at, number in enumerate(ids.tolist()):
            if number in cache:
                cache.move_to_end(number)
                found += at >= 2048
            else:
                cache[number] = None
                if len(cache) > kept:
                    cache.popitem(last=False)
        assert row.lru == pytest.approx(found / 6000, abs=1e-12)
        assert row.best == pytest.approx((ids[2048:] < kept).mean())
    assert measurement.rows[-1].best == 1 and measurement.rows[-1].evicted == 0
    with pytest.raises(ValueError, match="skew: expected 0 or more, got -1"):
        HitMeasurement(-1)


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_the_cache_part_measures_what_the_slider_says_last(
    lang: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hits, "LOOKUPS", 1000)
    monkeypatch.setattr(hits, "WARM_UP", 512)
    part = CachePart(lang)
    part.ask()
    assert part.measurement is None  # the library is not there yet
    part.begin()
    for index in range(30, len(SKEWS)):
        part.skew.index = index
    part.wait()
    assert 'data-skew="2.00"' in part.result.value and part.status.value == ""
    high = float(re.findall(r'data-rate="([\d.]+)"', part.result.value)[0])
    assert [len(series["x"]) for series in part.chart.live] == [len(SHARES)] * 2
    part.skew.index = 0
    part.wait()
    low = float(re.findall(r'data-rate="([\d.]+)"', part.result.value)[0])
    assert low < 0.3 < high
    part.share.index = len(SHARES) - 1
    assert f"{hits.ROWS:,}" in part.result.value and part._chosen().share == 1
    monkeypatch.setattr("sampan.datasets.interactions.zipf", lambda *_: 1 / 0)
    part.skew.index = 5
    part.wait()
    assert i18n.t("embeddings.error.cache", lang) in part.status.value
