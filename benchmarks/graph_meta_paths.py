"""Areas of authors on DBLP by meta-paths, beside a GCN that sees all nodes, their words and all edges, but no types.

Part of `benchmarks.graph_results`. Dropout and the number of the GCN's layers were chosen on the validation authors. HAN (Wang et al. 2019, Table 3, 80 % of the labels for training) has macro-F1 0.931; it splits other
authors, so the figures are near and not the same experiment.
"""

from __future__ import annotations

import time

import numpy as np

import sampan
from sampan.datasets import load_graph
from sampan.models.meta_paths import (
    DBLP_PATHS,
    DeepGCN,
    MetaPathAttention,
    author_words,
    path_routes,
    split_labelled,
    train_authors,
    without_types,
)

LAYERS = 3  # of the GCN; 2 and 4 are worse
DROPOUT = 0.8  # with 0.5 the attention prefers APA, which fits the training authors best


def results(data: str, seeds: int | None, quick: bool) -> None:
    authors = load_graph(data)
    count, epochs = seeds or (1 if quick else 5), 5 if quick else 60
    graph, labels = authors.graph, authors.labels
    words, routes = author_words(graph), {name: path_routes(graph, path) for name, path in DBLP_PATHS.items()}
    plain, all_words, all_labels = without_types(graph, labels)
    chosen = {name: ({name: routes[name]}, words, labels) for name in routes}
    chosen = {
        "GCN, no types": ({}, all_words, all_labels),
        **chosen,
        "all three": (routes, words, labels),
    }
    print(f"## {authors.card.title}: {int((labels >= 0).sum()):,} authors in 4 areas, {count} seeds\n")
    print("| paths | labels for training | macro-F1 | micro-F1 | weights | s for a run |")
    print("|---|---|---|---|---|---|")
    for share in (0.2, 0.8):
        for name, (paths, features, classes) in chosen.items():
            macro, micro, weights, seconds = [], [], [], []
            for seed in range(count):
                began = time.perf_counter()
                sampan.seed(seed)
                network = (
                    MetaPathAttention(paths, features.shape[1], 4, dropout=DROPOUT)
                    if paths
                    else DeepGCN(plain, features.shape[1], 4, LAYERS)
                )
                parts = split_labelled(classes, share, 0.1, seed)
                *_, last = train_authors(network, features, classes, parts, epochs)
                macro.append(last.macro)
                micro.append(last.micro)
                weights.append(list(last.weights.values()))
                seconds.append(time.perf_counter() - began)
            shown = " / ".join(f"{w:.2f}" for w in np.mean(weights, 0)) or "-"
            cells = [f"{np.mean(v):.4f} ± {np.std(v):.4f}" for v in (macro, micro)]
            print(
                f"| {name} | {share:.0%} | {' | '.join(cells)} | {shown} | {np.median(seconds):.1f} |",
                flush=True,
            )
    print()
