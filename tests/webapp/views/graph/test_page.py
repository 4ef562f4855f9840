"""The Graph page without a browser: its graphs, uploads, layout, samples, training, meta-paths and stream. Oracles: plain
loops, networkx, dense NumPy products."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import replace
from html import escape
from pathlib import Path

import networkx
import numpy as np
import pytest

from sampan.models.fraud import FraudDetector
from studio import i18n
from studio.views.graph import data, stream, training, upload
from studio.views.graph.explore import ExplorePart
from studio.views.graph.figures import MOST_MARKS, marks_of
from studio.views.graph.fraud import FOLLOW_S, NEWEST, FraudPart
from studio.views.graph.layout import PAIRWISE, Layout, _mesh, _pairs, attraction
from studio.views.graph.page import GraphPage
from studio.views.graph.paths import FIRST, PathsPart
from studio.views.graph.sample import neighbourhood
from studio.views.graph.stream import FraudRun
from studio.views.graph.train import TrainPart
from studio.views.graph.training import GcnRun, plane
from studio.views.graph.upload import MOST_BYTES, BadFile, read_edges
from studio.views.graph.walks import BadPath, count, next_steps, parsed

PAGES = Path(__file__).parents[4] / "webapp" / "pages"


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMPAN_DATA", raising=False)
    data.load.cache_clear()
    data.typed.cache_clear()


# --- graphs ---------------------------------------------------------------------------------------------------


def test_what_is_bundled_is_always_offered() -> None:
    assert data.available()[:3] == list(data.BUNDLED) and set(data.BUNDLED[::2]) <= set(data.learnable())
    assert data.MADE_TYPED in data.typed_available() and stream.MADE in stream.available()
    with pytest.raises(KeyError, match="no graph nothing"):
        data.load("nothing")
    about = json.loads((PAGES / "graph.ipynb").read_text("utf-8"))["metadata"]["sampan"]
    assert about["title"] == "Graph" and about["title_zh"] == "图"


def test_bundled_graphs_are_those_of_networkx() -> None:
    club = networkx.karate_club_graph()
    shown = data.load(data.KARATE)
    assert sorted(zip(shown.graph.sources.tolist(), shown.graph.targets.tolist(), strict=True)) == sorted(
        [*club.edges, *((b, a) for a, b in club.edges)]
    )
    assert [int(club.nodes[n]["club"] == "Officer") for n in club] == shown.groups.tolist()
    novel, played = networkx.les_miserables_graph(), data.load(data.NOVEL)
    named = {frozenset(played.names[end] for end in pair) for pair in played.drawn()[0].tolist()}
    assert named == {frozenset(pair) for pair in novel.edges}


def test_a_large_graph_is_drawn_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = data.load(data.MADE)
    ends, whole = shown.drawn()
    assert len(ends) == whole == 20_000 and shown.graph.num_edges == 40_000 and ends.dtype == np.uint32
    assert (ends[:, 0] < ends[:, 1]).all() and len(np.unique(ends, axis=0)) == whole
    monkeypatch.setattr(data, "MOST_DRAWN", 500)
    part, whole = shown.drawn()
    assert len(part) == 500 and whole == 20_000
    assert {tuple(pair) for pair in part.tolist()} <= {tuple(pair) for pair in ends.tolist()}
    assert not np.intersect1d(shown.train, shown.test).size
    same = shown.groups[ends[:, 0]] == shown.groups[ends[:, 1]]
    assert 0.7 < same.mean() < 1


# --- a visitor's own graph ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "a,b\nb,c\n", "source,target\na,b\nb,c", "a;b\nb;c", "a\tb\t0.5\nb\tc\t1\n", "# edges\n\na b\nb   c\n",
        "\ufeffa,b\r\nb,c\r\n", '"a","b"\n"b","c"\n', "# a comment\nSource;Target;Weight\na;b;1\nb;c;1\n",
    ],
)  # fmt: skip
def test_edges_are_read_in_every_usual_form(text: str) -> None:
    shown = read_edges(text.encode(), "mine.csv")
    pairs = {
        (shown.names[a], shown.names[b])
        for a, b in zip(shown.graph.sources, shown.graph.targets, strict=True)
    }
    assert pairs == {("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")} and shown.names == ["a", "b", "c"]


def test_quoted_names_may_have_separators_and_quotes() -> None:
    shown = read_edges(b'"Smith, John","Doe; Jane"\n"Doe; Jane" , "the ""Fox"""\n')
    assert shown.names == ["Smith, John", "Doe; Jane", 'the "Fox"'] and shown.graph.num_edges == 4
    assert read_edges(b'O"Neil,b\nb,c\n').names == ['O"Neil', "b", "c"]


def test_a_first_line_of_words_above_numbers_is_a_header() -> None:
    assert read_edges(b"id1,id2\n1,2\n2,3\n").names == ["1", "2", "3"]
    assert read_edges(b"Ann,Ben\nBen,1\n").names == ["Ann", "Ben", "1"]
    assert read_edges(b"Ann,Ben\n").names == ["Ann", "Ben"]
    assert read_edges(b"1,2\n2,3\n").names == ["1", "2", "3"]


def test_names_with_blanks_loops_and_other_scripts_are_kept() -> None:
    shown = read_edges("小明,Jean Valjean\n小明,小明\n".encode())
    assert shown.names == ["小明", "Jean Valjean"]
    assert shown.graph.num_edges == 3  # the loop once
    assert shown.drawn()[1] == 1


@pytest.mark.parametrize(
    ("content", "reason", "said"),
    [
        (b"", "empty", {}),
        (b"source,target\n", "empty", {}),
        (b"a,b\nalone\n", "line", {"line": "2"}),
        (b"a,b\n\n,b\n", "line", {"line": "3"}),
        (b'a,b\n"c,d\n', "line", {"line": "2"}),
        (b"a,b\n" + b"x" * 61 + b",b\n", "name", {"line": "2"}),
        ("é,b".encode("latin-1"), "encoding", {"place": "0"}),
        (b"PK\x00\x03,b", "encoding", {"place": "2"}),
        (b"a,b\n" * (MOST_BYTES // 4 + 1), "bytes", {"count": "4,000,004"}),
        (b"a,b\n" * 100_001, "edges", {}),
        (b"".join(b"%d,%d\n" % (i, i + 30_000) for i in range(10_001)), "nodes", {"line": "10,001"}),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_said(content: bytes, reason: str, said: dict[str, str]) -> None:
    with pytest.raises(BadFile) as caught:
        read_edges(content)
    assert caught.value.reason == reason and said.items() <= caught.value.values.items()
    for lang in i18n.LANGUAGES:
        assert i18n.t(f"graph.upload.{reason}", lang, **caught.value.values)


# --- places ---------------------------------------------------------------------------------------------------


def test_forces_are_those_of_plain_loops() -> None:
    rng = np.random.default_rng(0)
    x, masses = rng.standard_normal((40, 2)) * 5, 1 + rng.random(40)
    ends = rng.integers(0, 40, (90, 2))
    repelled, drawn = np.zeros((40, 2)), np.zeros((40, 2))
    for i in range(40):
        for j in range(40):
            if i != j:
                repelled[i] += masses[j] * (x[i] - x[j]) / max(((x[i] - x[j]) ** 2).sum(), 1e-3)
    for a, b in ends:
        drawn[a] += x[b] - x[a]
        drawn[b] += x[a] - x[b]
    assert np.allclose(_pairs(x, masses), repelled) and np.allclose(attraction(x, ends), drawn)
    many = rng.uniform(-50, 50, (800, 2))
    heavy = 1 + rng.random(800)
    exact, near = _pairs(many, heavy), _mesh(many, heavy)
    assert np.linalg.norm(near - exact) < 0.15 * np.linalg.norm(exact)


@pytest.mark.parametrize("size", [30, PAIRWISE // 2 + 50])
def test_neighbours_are_placed_near_each_other(size: int) -> None:
    """Two cliques-like halves joined by one edge end up apart, in pairs and through the mesh."""
    rng = np.random.default_rng(1)
    half = [rng.integers(0, size, (6 * size, 2)) + shift for shift in (0, size)]
    ends = np.concatenate([*half, [[0, size]]])
    tellings: list[float] = []
    layout = Layout(ends[ends[:, 0] != ends[:, 1]], 2 * size, lambda w: tellings.append(w.fraction)).start()
    assert layout.join(60) and layout.state == "done", layout.error
    points = layout.points
    assert points.shape == (2 * size, 2) and points.dtype == np.float32 and np.isfinite(points).all()
    first, second = points[:size], points[size:]
    assert np.linalg.norm(first.mean(0) - second.mean(0)) > 1.5 * max(first.std(), second.std())
    assert tellings[-1] == 1


def test_a_layout_without_edges_and_one_that_is_cancelled() -> None:
    for nodes in (1, 3):
        layout = Layout(np.empty((0, 2), np.uint32), nodes).start()
        assert layout.join(30) and layout.state == "done" and layout.points.shape == (nodes, 2)
        assert np.isfinite(layout.points).all()
    shown = data.load(data.MADE)
    started = Layout(shown.drawn()[0], shown.graph.num_nodes, lambda w: w.cancel()).start()
    assert started.join(30) and started.state == "cancelled" and started.step < started.steps


# --- samples --------------------------------------------------------------------------------------------------


def test_all_neighbours_are_those_of_networkx() -> None:
    club, shown = networkx.karate_club_graph(), data.load(data.KARATE)
    found = neighbourhood(shown.graph, 11, [-1, -1], 0)
    far = networkx.single_source_shortest_path_length(club, 11, 2)
    assert found.hops == far
    assert set(zip(found.messages(2)[0].tolist(), found.messages(2)[1].tolist(), strict=True)) == {
        (other, 11) for other in club[11]
    }
    first = Counter(found.messages(1)[1].tolist())
    assert first == {node: club.degree[node] for node in far if far[node] < 2}
    assert len(found.messages(0)[0]) == sum(found.edge_counts) == len(found.messages(1)[0])


def test_a_fan_out_bounds_each_node_and_a_seed_repeats() -> None:
    graph = data.load(data.MADE).graph
    found = neighbourhood(graph, 17, [4, 3], 5)
    again, other = neighbourhood(graph, 17, [4, 3], 5), neighbourhood(graph, 17, [4, 3], 6)
    assert max(Counter(found.targets.tolist()).values()) <= 4 and found.layers == 2
    assert np.array_equal(found.sources, again.sources) and not np.array_equal(found.nodes, other.nodes)
    marks, left = marks_of(neighbourhood(graph, 17, [-1, -1, -1], 0), 0)
    assert len(marks["edges"]) == MOST_MARKS and left > 0


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_a_visitor_looks_at_nodes(lang: str) -> None:
    part = ExplorePart(lang)
    part.ask()
    assert part.shown is None  # the library is not there yet
    part.begin()
    part.wait()
    assert len(part.view.points) == 8 * 34 and len(part.view.ends) == 8 * 78 and len(part.view.slots) == 34
    assert part.status.value == "" and part.message.value == ""
    part.view.selected = 5
    assert part.found is not None and part.found.node == 5 and 'data-layer="0"' in part.said.value
    groups, hops, silent = (
        [i18n.t(f"graph.{key}", lang, hop=2) for key in keys]
        for keys in (
            ["group.instructor", "group.president"],
            ["legend.chosen", "legend.hop"],
            ["legend.silent"],
        )
    )  # the legend names the colours that are seen
    assert all(it in part.legend.value for it in hops)
    assert not any(it in part.legend.value for it in groups + silent)
    part.layer.index = 2
    assert (
        'data-layer="2"' in part.said.value
        and f'data-messages="{part.found.edge_counts[0]}"' in part.said.value
    )
    assert part.found.node_counts[2] and all(it in part.legend.value for it in silent)
    part.fan_outs[1].value = 0
    assert hops[1] not in part.legend.value
    assert part.found.layers == 1 and part.layer.index == 1 and len(part.layer.texts) == 2
    part.node.value = "34"
    assert part.view.selected == 33
    before = part.found
    part.draw_again()
    assert part.found is not before
    part.node.value = "<b>"
    assert "&lt;b&gt;" in part.message.value and part.view.selected == 33
    part.view.selected = -1
    assert part.found is None and part.view.marks == {} and part.again.disabled
    assert all(it in part.legend.value for it in groups)


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_a_visitor_uploads(lang: str) -> None:
    part = ExplorePart(lang)
    part.begin()
    part.wait()
    part.upload(b"Ann,<img>\n", "<script>.csv")
    part.wait()
    assert part.name.value == "own" and part.shown is not None and part.shown.names == ["Ann", "<img>"]
    assert "&lt;script&gt;" in part.about.value and "<script>" not in part.about.value
    part.choose(0)
    assert "&lt;img&gt;" in part.said.value and "<img>" not in part.said.value
    part.upload(b"x,y\ny,z\n", "second.csv")
    part.wait()
    assert part.shown.names == ["x", "y", "z"] and part.view.selected == -1
    part.upload(b"alone", "bad.csv")
    assert 'role="alert"' in part.message.value and part.shown.names == ["x", "y", "z"]
    part._file(part.file, {"too_large": 9_000_000}, [])
    assert "9,000,000" in part.message.value


def test_a_node_without_edges_receives_nothing() -> None:
    part = ExplorePart("en")
    part.begin()
    part.name.value = data.MADE
    part.wait()
    alone = int(np.flatnonzero(np.bincount(part.shown.graph.targets, minlength=4_000) == 0)[0])
    part.choose(alone)
    assert part.found is not None and part.found.hops == {alone: 0} and part.found.edge_counts == (0, 0)
    assert f"No edge leads to #{alone}: it receives no messages." in part.said.value
    assert part.view.marks == {"nodes": [[alone, 2]], "edges": []}


def test_a_node_with_an_edge_to_itself_is_its_own_neighbour() -> None:
    part = ExplorePart("en")
    part.begin()
    part.wait()
    part.upload(b"a,b\nc,c\n", "own.csv")
    part.wait()
    part.choose(2)
    assert part.found is not None and part.found.hops == {2: 0} and part.found.edge_counts == (1, 0)
    assert "Neighbours of c: 1. Edges in the sample: 1; nodes: 1." in part.said.value
    assert part.view.marks["edges"] == [[2, 2, 2]]


# --- learning -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [4, 64])
def test_sparse_and_dense_features_learn_the_same(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without dropout the two are one computation."""
    monkeypatch.setattr("studio.views.graph.training.DROPPED", 0.0)
    made = training._network

    def seeded(*args: object) -> object:
        network, numbers = made(*args), np.random.default_rng(1)
        for parameter in network.parameters():
            parameter.set_value(0.1 * numbers.standard_normal(parameter.shape).astype(np.float32))
        return network

    monkeypatch.setattr(training, "_network", seeded)
    rng = np.random.default_rng(0)
    shown = data.load(data.KARATE)
    words = (rng.random((34, 200)) < 0.02).astype(np.float32) + np.eye(34, 200, dtype=np.float32)
    shown, losses = replace(shown, features=words), []
    for share in (0.0, 1.0):  # below which share of nonzeros the features are sparse
        monkeypatch.setattr("studio.views.graph.training.SPARSE", share)
        run = GcnRun(shown, width, 10).start()
        assert run.join(120) and run.state == "done", run.error
        losses.append(run.curves["loss"].points()[1])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-4)


def test_a_gcn_learns_the_sides_of_the_club() -> None:
    looks: list[int] = []
    run = GcnRun(data.load(data.KARATE), 16, 60, on_look=lambda r: looks.append(r.epoch)).start()
    assert run.join(120) and run.state == "done", run.error
    assert run.right is not None and run.right > 0.8 > run.largest
    epochs, losses = run.curves["loss"].points()
    assert losses[-1] < losses[0] and epochs[-1] <= 60 and looks[-1] == 60
    assert run.look is not None and run.look.points.shape == (34, 2) and run.look.predicted.shape == (34,)
    sides = [run.look.points[run.shown.groups == side].mean(0) for side in (0, 1)]
    assert np.linalg.norm(sides[0] - sides[1]) > 0.5 * run.look.points.std()


def test_a_run_is_cancelled_and_wrong_settings_are_named() -> None:
    shown = data.load(data.KARATE)
    run = GcnRun(shown, 16, 100_000, on_change=lambda r: r.cancel() if r.state == "running" else None).start()
    assert run.join(120) and run.state == "cancelled" and run.epoch < 100_000 and run.look is not None
    with pytest.raises(ValueError, match="width, epochs: expected 2 and 1 or more, got 1 and 5"):
        GcnRun(shown, 1, 5)
    with pytest.raises(ValueError, match="expected a graph with groups to learn, got les_miserables"):
        GcnRun(data.load(data.NOVEL), 16, 5)


def test_a_plane_keeps_the_two_largest_directions() -> None:
    rows = np.random.default_rng(0).standard_normal((50, 7)).astype(np.float32) * np.arange(1, 8)
    values = np.linalg.svd(rows - rows.mean(0), compute_uv=False)
    assert np.allclose(np.linalg.norm(plane(rows), axis=0), values[:2], rtol=1e-4)


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_a_visitor_trains(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    part = TrainPart(lang)
    part.train()
    assert part.run is None
    part.begin()
    part.name.value, part.epochs.index = data.KARATE, 0
    part.train()
    assert part.run is not None and part.run.join(60)
    assert 'data-state="done"' in part.status.value and not part.start.disabled and part.stop.disabled
    assert len(part.view.points) == 8 * 34 and len(part.accuracy.live) == 2 and part.accuracy.summary
    monkeypatch.setattr("studio.views.graph.training._network", lambda *_: 1 / 0)
    part.train()
    assert part.run.join(60) and i18n.t("graph.error.training", lang) in part.status.value
    assert not part.start.disabled


# --- meta-paths -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [*FIRST[data.MADE_TYPED], "venue, paper", "author -> paper → cites → paper, venue"]
)
def test_paths_are_counted_as_dense_products_count_them(path: str) -> None:
    graph, _ = data.typed(data.MADE_TYPED)
    dense = None
    whole = {"author -> paper → cites → paper, venue": "author,writes,paper,cites,paper,published_in,venue"}
    for step in graph.steps(parsed(whole.get(path, path), graph)):
        one = np.zeros((graph.node_types[step.kind[0]], graph.node_types[step.kind[2]]))
        relation = graph.relations[step.kind]
        np.add.at(one, (relation.sources, relation.targets), 1)
        one = one.T if step.inverse else one
        dense = one if dense is None else dense @ one
    found = count(graph, parsed(path, graph), 3)
    assert dense is not None and found.instances == dense.sum() and found.pairs == (dense > 0).sum()
    assert np.array_equal(found.from_node, dense[3])
    top = found.top(5)
    assert [number for _, number in top] == sorted((number for _, number in top), reverse=True)


def test_pairs_are_not_counted_where_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, _ = data.typed(data.MADE_TYPED)
    path = ["author", "paper", "venue", "paper", "author"]
    whole = count(graph, path)
    monkeypatch.setattr("studio.views.graph.walks.MOST_PAIRS", 100)
    bounded = count(graph, path)
    assert whole.pairs and bounded.pairs is None and bounded.instances == whole.instances
    with pytest.raises(ValueError, match=r"node: expected 0 to 299 of author, got 300"):
        count(graph, path, 300)
    assert ("published_in", "venue") in next_steps(graph, "paper")
    assert ("published_in⁻¹", "paper") in next_steps(graph, "venue")


@pytest.mark.parametrize(
    ("text", "reason", "values"),
    [
        ("", "short", {}),
        ("author", "short", {}),
        ("author paper", "type", {"name": "author paper", "kinds": "author, paper, venue"}),
        ("author → paper → nothing", "type", {"name": "nothing"}),
        ("author → venue", "step", {"step": "author → venue", "kind": "author", "steps": "writes → paper"}),
        ("paper → writes → author", "step", {"step": "paper → writes → author"}),
        ("author → paper → " * 5 + "author", "long", {"most": 8}),
        ("author → " + "x" * 500, "long", {}),
    ],
)
def test_what_is_wrong_with_a_path_is_said(text: str, reason: str, values: dict[str, object]) -> None:
    graph, _ = data.typed(data.MADE_TYPED)
    with pytest.raises(BadPath) as caught:
        count(graph, parsed(text, graph))
    assert caught.value.reason == reason and values.items() <= caught.value.values.items()
    for lang in i18n.LANGUAGES:
        assert i18n.t(f"graph.path.{reason}", lang, **caught.value.values)


def test_capital_letters_and_steps_backwards_are_understood() -> None:
    graph, _ = data.typed(data.MADE_TYPED)
    assert parsed("Author -> PAPER", graph) == ["author", "paper"]
    there, back = (
        count(graph, parsed(f"paper → {relation} → paper", graph), 5) for relation in ("cites", "cites⁻¹")
    )
    cites = graph.relations["paper", "cites", "paper"]
    assert there.from_node.sum() == (cites.sources == 5).sum()
    assert back.from_node.sum() == (cites.targets == 5).sum()


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_a_visitor_edits_a_path(lang: str) -> None:
    part = PathsPart(lang)
    part.begin()
    part.name.value = data.MADE_TYPED
    part.wait()
    assert part.count is not None and part.count.path == ["author", "paper", "author"]
    part.shorten()
    part.wait()
    assert part.count is not None and part.count.path == ["author", "paper"]
    assert "venue" in [value for _, value in part.step.options]
    part.step.value = "venue"
    part.append()
    part.wait()
    assert part.path.value == "author → paper → venue" and part.count.path[-1] == "venue"
    part.path.value = "paper"
    part.wait()
    steps = [value for _, value in part.step.options]
    assert "cites → paper" in steps and "cites⁻¹ → paper" in steps and "author" in steps
    part.path.value = "author → paper → venue"
    part.node.value = "author 12"
    part.wait()
    assert part.count.node == 11
    part.node.value = "<i>"
    part.wait()
    assert "&lt;i&gt;" in part.message.value
    part.node.value = ""
    for wrong in ("", "author", "author, venue", "<b> → paper", "author, paper, author, "):
        part.path.value = wrong
        part.wait()
        fine = wrong.endswith("author, ")
        assert ('role="alert"' in part.message.value) is not fine and "<b>" not in part.message.value
        assert (part.count is None) is not fine


# --- the stream -----------------------------------------------------------------------------------------------


@pytest.fixture
def short_stream(monkeypatch: pytest.MonkeyPatch) -> list:
    events = stream.made_events(60, 900)
    monkeypatch.setattr(stream, "made_events", lambda: events)
    return events


def test_a_stream_is_judged_before_it_is_known(short_stream: list, monkeypatch: pytest.MonkeyPatch) -> None:
    run = FraudRun(stream.MADE, 0).start()
    assert run.join(300) and run.state == "done", run.error
    tally, rest = run.tally(), short_stream[720:]
    assert tally.events == len(rest) == 180 and tally.negative == sum(e.rating < 0 for e in rest)
    assert 0 < tally.hits <= tally.alarms <= 180 and 0 < tally.p50 <= tally.p99 <= tally.worst
    assert run.detector.graph.num_edges == 900  # all have been stored
    for alarm in run.alarms:
        assert np.isnan(alarm.reason.event.rating) and alarm.right == (rest[alarm.number].rating < 0)
        assert run.detector.is_alarm(alarm.reason.score)
        assert all(edge.time < rest[alarm.number].time for edge in alarm.reason.edges)


def test_a_stream_keeps_its_speed_and_stops(short_stream: list) -> None:
    run = FraudRun(stream.MADE, 100, most=30).start()
    assert run.join(300) and run.state == "done" and run.seconds >= 0.28
    slow = FraudRun(
        stream.MADE, 0.01, on_change=lambda r: r.cancel() if r.state == "running" else None
    ).start()
    assert slow.join(60) and slow.state == "cancelled"
    with pytest.raises(ValueError, match="rate: expected 0 or more"):
        FraudRun(stream.MADE, -1)
    with pytest.raises(ValueError, match="source: expected one of"):
        FraudRun("nothing", 1)


@pytest.mark.parametrize("lang", i18n.LANGUAGES)
def test_a_visitor_reads_a_reason(lang: str, short_stream: list) -> None:
    part = FraudPart(lang)
    part.begin()
    part.source.value, part.rate.value = stream.MADE, 0
    part.play()
    assert part.run is not None and part.run.join(300) and part.run.state == "done", part.run.error
    assert 'data-state="done"' in part.status.value and not part.start.disabled and part.chart.summary
    assert len(part.alarm.options) > 1 and len(part.chart.live) == 2
    first, last = part.alarm.options[1][1], part.alarm.options[-1][1]
    assert part.alarm.value == NEWEST and f'data-alarm="{first}"' in part.said.value
    part.alarm.value = last
    assert f'data-alarm="{last}"' in part.said.value
    options = part.alarm.options
    part.run.alarms.appendleft(part.run.alarms[1])  # a newer one: it changes nothing
    part._follow(part.run)
    assert part.alarm.options == options and f'data-alarm="{last}"' in part.said.value
    part.alarm.value = NEWEST
    assert f'data-alarm="{part.run.alarms[0].number}"' in part.said.value and part.alarm.value == NEWEST
    people = len(part.view.points) // 8
    assert len(part.view.names) == people and [0, 1, 2] in part.view.marks["edges"]
    assert all(max(a, b) < people for a, b, _ in part.view.marks["edges"])
    assert len(part.view.marks["edges"]) == part.said.value.count(
        "<tr>"
    )  # one row is the head, one edge the event
    alone = replace(part.run.alarms[0], reason=replace(part.run.alarms[0].reason, edges=[]))
    part._draw(alone)
    assert len(part.view.names) == 2 and escape(i18n.t("graph.reason.none", lang)) in part.said.value


def test_an_alarm_stays_long_enough_to_be_read(short_stream: list, monkeypatch: pytest.MonkeyPatch) -> None:
    part = FraudPart("en")
    part.begin()
    part.source.value, part.rate.value = stream.MADE, 0
    part.play()
    assert part.run is not None and part.run.join(300) and len(part.run.alarms) > 2
    run, shown = part.run, part.said.value
    run.state = "running"  # as if more were arriving
    run.alarms.appendleft(run.alarms[1])
    part._follow(run)
    assert part.said.value == shown
    part._listed_at -= FOLLOW_S
    part._follow(run)
    assert part.said.value != shown


def test_latency_counts_from_the_arrival(short_stream: list, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 1,000 a second a rating that takes 5 ms holds up those behind it."""
    run = FraudRun(stream.MADE, 1000, most=60)
    judge = FraudDetector.score

    def slow(self: FraudDetector, event: object) -> float:
        time.sleep(0.005)
        return judge(self, event)

    monkeypatch.setattr(FraudDetector, "score", slow)
    run.start()
    assert run.join(300) and run.state == "done", run.error
    assert run.tally().worst > 60 * (5 - 1) and run.tally().p50 > 30 * (5 - 1) * 0.9


# --- the page -------------------------------------------------------------------------------------------------


def test_an_error_is_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    page = GraphPage("zh")
    monkeypatch.setattr(page.explore, "begin", lambda: 1 / 0)
    page.open()
    assert i18n.t("graph.error.library", "zh") in page.explore.status.value
    assert "<details>" in page.explore.status.value and not page.train.start.disabled  # the other parts stand
    page.paths.wait()
    assert page.paths.count is not None
    part = ExplorePart("en")
    monkeypatch.setattr(data, "load", lambda _: 1 / 0)
    part.begin()
    part.wait()
    assert (
        i18n.t("graph.error.graph", "en") in part.message.value and "ZeroDivisionError" in part.message.value
    )


def test_a_limit_of_the_page_is_a_limit_of_the_file_field() -> None:
    part = ExplorePart("en")
    assert part.file.most == upload.MOST_BYTES and part.file.accept == upload.ENDINGS
