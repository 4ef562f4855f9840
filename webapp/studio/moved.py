"""Exercises of the course that are in another notebook now than before."""

from __future__ import annotations

# Slot: (the notebook that it was in, the notebook that it is in).
MOVED = {
    "kernels.sparse.sddmm": ("05_sparse", "05b_sparse_training"),
    "sparse.operators.spmm": ("05_sparse", "05b_sparse_training"),
    "sparse.rulebook.neighbours": ("05_sparse", "05b_sparse_training"),
    "optimizer.Adagrad.update_rows": ("06_embeddings", "06b_embeddings_training"),
    "kernels.cpu_embedding_cache.ask": ("06_embeddings", "06b_embeddings_training"),
}


def moves() -> dict[tuple[str, str], frozenset[str]]:
    """{(from, to): slots}"""
    return {pair: frozenset(slot for slot, its in MOVED.items() if its == pair) for pair in MOVED.values()}
