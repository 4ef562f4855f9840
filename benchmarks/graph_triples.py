"""WN18RR: filtered ranks of ComplEx on the test triples, heads and tails, beside published figures.

Part of `benchmarks.graph_results`. Published: TransE as in Sun et al. 2019, "RotatE"; ComplEx as in Dettmers et al. 2018,
"Convolutional 2D Knowledge Graph Embeddings"; RotatE as in Sun et al. 2019; ComplEx with N3 and 2,000 numbers a row as in
Lacroix et al. 2018. The number of epochs was chosen on the validation triples.
"""

from __future__ import annotations

import time

import numpy as np

from sampan.datasets import load_graph
from sampan.models.knowledge_graph import (
    Metrics,
    filtered_ranks,
    train_knowledge_graph,
    triples_of,
    with_inverses,
)

PUBLISHED = """| TransE | 0.226 | - | - | 0.501 | - |
| ComplEx, Dettmers et al. | 0.44 | 0.41 | 0.46 | 0.51 | - |
| RotatE | 0.476 | 0.428 | 0.492 | 0.571 | - |
| ComplEx, N3, rank 2,000 | 0.48 | - | - | 0.57 | - |"""
DIM, EPOCHS = 128, 20


def results(data: str, seeds: int | None, quick: bool) -> None:
    graph = load_graph(data)
    relations = int(graph.graph.edge_feat["relation"].max()) + 1
    known = with_inverses(
        np.concatenate([triples_of(graph, part) for part in ("train", "valid", "test")]), relations
    )
    questions = with_inverses(triples_of(graph, "test"), relations)
    count, epochs = seeds or 1, 2 if quick else EPOCHS
    print(f"## {graph.card.title}: {len(questions):,} questions, {count} seeds\n")
    print("| network | MRR | Hits@1 | Hits@3 | Hits@10 | s for a run |")
    print("|---|---|---|---|---|---|")
    print(PUBLISHED)
    found, seconds = [], []
    for seed in range(count):
        began = time.perf_counter()
        for epoch in train_knowledge_graph(graph, DIM, epochs, batch_size=250, seed=seed):  # noqa: B007  used after the loop
            pass
        seconds.append(time.perf_counter() - began)
        metrics = Metrics.of(filtered_ranks(epoch.network, questions, known))
        found.append([metrics.mrr, metrics.hits_at_1, metrics.hits_at_3, metrics.hits_at_10])
    cells = [
        f"{np.mean(v):.3f}" + (f" ± {np.std(v):.3f}" if count > 1 else "") for v in zip(*found, strict=True)
    ]
    print(
        f"| Sampan, ComplEx, N3, {DIM} complex numbers | {' | '.join(cells)} | {np.median(seconds):.0f} |\n",
        flush=True,
    )
