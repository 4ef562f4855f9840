"""Bitcoin OTC as a stream: is an arriving rating negative? Accuracy with and without the graph, and latency.

Part of `benchmarks.graph_results`. The first 60 % in time train, the next 20 % choose the threshold, the last 20 % test.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from sampan.datasets import load_graph
from sampan.models import fraud
from sampan.models.fraud_features import GROUPS, columns
from sampan.models.recommender_ranking import auc

Array = np.ndarray[Any, Any]
TRAIN, VALID = 0.6, 0.2
RATE = 200  # events a second


@dataclass(frozen=True)
class Split:
    """Features of every event before it was observed, [events, columns], whether each is negative, and where the parts end."""

    rows: Array
    negative: Array
    first: int
    end: int


def replayed(events: list[fraud.Event]) -> Split:
    detector, rows = fraud.FraudDetector(), []
    for event in events:
        rows.append(detector.features(event))
        detector.observe(event)
    negative = np.array([event.rating < 0 for event in events])
    return Split(np.stack(rows), negative, int(len(events) * TRAIN), int(len(events) * (TRAIN + VALID)))


def average_precision(scores: Array, wanted: Array) -> float:
    """The mean precision at each wanted one, from the highest score down."""
    order = wanted[np.argsort(-scores, kind="stable")]
    return float((np.cumsum(order) / np.arange(1, len(order) + 1))[order].mean())


def flagged(scores: Array, count: int) -> Array:
    chosen = np.zeros(len(scores), bool)
    chosen[np.argsort(-scores, kind="stable")[:count]] = True
    return chosen


def judged(scores: Array, wanted: Array, count: int) -> dict[str, float]:
    """Figures where the `count` highest scores are flagged; accuracy is the share of all that are flagged if and only if wanted."""
    alarm = flagged(scores, count)
    right = int((alarm & wanted).sum())
    return {
        "accuracy": float((alarm == wanted).mean()),
        "precision": right / count,
        "recall": right / int(wanted.sum()),
        "AUC": auc(scores, wanted),
        "average precision": average_precision(scores, wanted),
    }


def table(split: Split, seeds: range) -> None:
    """The same classifier with more and more columns; every row flags as many test events."""
    valid, test = slice(split.first, split.end), slice(split.end, None)
    wanted, names = split.negative[test], columns()
    found: dict[tuple[str, ...], list[Array]] = {}
    shares = []
    sets: list[tuple[str, ...]] = [tuple(GROUPS)[:size] for size in range(1, len(GROUPS) + 1)]
    for groups in sets:
        chosen = split.rows[:, [names.index(name) for name in columns(groups)]]
        for seed in seeds:
            network = fraud.fit_classifier(chosen[: split.first], split.negative[: split.first], seed=seed)
            found.setdefault(groups, []).append(network.predict(chosen[test]))
            if groups == sets[-1]:
                edge = fraud.alarm_threshold(network.predict(chosen[valid]), split.negative[valid])
                shares.append(float((found[groups][-1] >= edge).mean()))
    count = round(float(np.mean(shares)) * len(wanted))
    print(
        f"{len(wanted):,} test ratings, {wanted.mean():.1%} negative; {len(seeds)} seeds. The threshold of the validation part flags "
        f"{np.mean(shares):.1%} of them; every row flags the {count:,} highest scores. Flagging none is {1 - wanted.mean():.4f} "
        "accurate.\n"
    )
    heads = ["accuracy", "precision", "recall", "AUC", "average precision"]
    print(f"| what the classifier sees | columns | {' | '.join(heads)} |\n|---|---|{'---|' * len(heads)}")
    means = {}
    for groups, every in found.items():
        rows = [judged(scores, wanted, count) for scores in every]
        means[groups] = float(np.mean([row["accuracy"] for row in rows]))
        cells = [f"{np.mean([r[h] for r in rows]):.4f} ± {np.std([r[h] for r in rows]):.4f}" for h in heads]
        print(f"| {' + '.join(groups)} | {len(columns(groups))} | {' | '.join(cells)} |", flush=True)
    own, history, whole = (100 * means[groups] for groups in sets)
    print(
        f"\nWith the graph {whole - own:.1f} points more accurate than by counts, ages and times alone. Most of it comes from "
        f"the earlier ratings of the two people, the edges at its ends: {history - own:.1f}. The neighbours of these two add "
        f"{whole - history:.1f}.\n"
    )


def paced(detector: fraud.FraudDetector, events: list[fraud.Event]) -> dict[str, Array]:
    """Seconds from the arrival of each event until it is scored, explained if it is an alarm, and observed: an event that
    waits for the one before it has waited from its own arrival on."""
    done: dict[str, list[float]] = {"scored": [], "end to end": [], "work": [], "work, processor time": []}
    began = time.perf_counter()
    for number, event in enumerate(events):
        arrival = began + number / RATE
        time.sleep(max(arrival - time.perf_counter(), 0))
        taken, used = time.perf_counter(), time.process_time()
        score = detector.score(event)
        done["scored"].append(time.perf_counter() - arrival)
        if detector.is_alarm(score):
            detector.reason(event)
        detector.observe(event)
        done["end to end"].append(time.perf_counter() - arrival)
        done["work"].append(time.perf_counter() - taken)
        done["work, processor time"].append(time.process_time() - used)
    return {name: np.array(values) for name, values in done.items()}


def latency(events: list[fraud.Event], quick: bool) -> None:
    began = time.perf_counter()
    for progress in fraud.train_fraud(events, TRAIN, VALID):  # noqa: B007
        pass
    seconds = time.perf_counter() - began
    detector = progress.detector
    test = events[int(len(events) * (TRAIN + VALID)) :][: 1000 if quick else None]
    found = paced(detector, test)
    print(f"Replay and training: {seconds:.0f} s. {len(test):,} test events, {RATE} a second, in ms:\n")
    print("| time | p50 | p99 | longest |\n|---|---|---|---|")
    for name, values in found.items():
        cells = [f"{1000 * float(np.quantile(values, q)):.2f}" for q in (0.5, 0.99, 1)]
        print(f"| {name} | {' | '.join(cells)} |")
    print(flush=True)


def results(data: str, seeds: int | None, quick: bool) -> None:
    print("## Fraud: negative ratings of Bitcoin OTC\n")
    events = fraud.events_of(load_graph(data))
    table(replayed(events), range(seeds or (1 if quick else 5)))
    latency(events, quick)
