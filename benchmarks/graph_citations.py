"""Cora and Citeseer on the public split: accuracy beside published figures, and time.

Part of `benchmarks.graph_results`. The published figures of GCN are of Kipf and Welling 2017, those of GAT of Velickovic et al.
2018, those of GraphSAGE of Feng et al. 2020, "Graph Random Neural Networks".
"""

from __future__ import annotations

import time

import numpy as np

from sampan.datasets import load_graph
from sampan.models.citations import train_citations

PUBLISHED = {
    "cora": {"GCN": 0.815, "GAT": 0.830, "GraphSAGE": 0.789},
    "citeseer": {"GCN": 0.703, "GAT": 0.725, "GraphSAGE": 0.674},
}


def results(data: str, seeds: int | None, quick: bool) -> None:
    papers = load_graph(data)
    count = seeds or (1 if quick else 10)
    print(f"## {papers.card.title}: {papers.graph.num_nodes:,} papers, public split, {count} seeds\n")
    print("| network | test accuracy | of the last epoch | published | s for a run | ms an epoch, median |")
    print("|---|---|---|---|---|---|")
    for name, published in PUBLISHED[data].items():
        best, last, seconds, epochs = [], [], [], []
        for seed in range(count):
            began = before = time.perf_counter()
            for epoch in train_citations(papers, name, seed):  # noqa: B007
                now = time.perf_counter()
                epochs.append(now - before)
                before = now
            best.append(epoch.best)
            last.append(epoch.test)
            seconds.append(time.perf_counter() - began)
        cells = [f"{np.mean(v):.4f} ± {np.std(v):.4f}" for v in (best, last)]
        print(
            f"| {name} | {' | '.join(cells)} | {published:.3f} | {np.median(seconds):.1f} | {1000 * np.median(epochs):.1f} |",
            flush=True,
        )
    print()
