"""N-gram models and posteriors for tests: ARPA texts, a scorer written from the definition, random log
probabilities, and exact decoding by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

LN10 = math.log(10.0)
Model = dict[tuple[str, ...], tuple[float, float]]


def random_model(words: Sequence[str], order: int, seed: int, unknown: bool = True) -> Model:
    """log10 scores and backoffs of n-grams over the words, each with its beginning and its end.

    The numbers are those of no distribution: a scorer must not depend on that.
    """
    rng = np.random.default_rng(seed)
    every = [*words, "<s>", "</s>", *(["<unk>"] if unknown else [])]
    found: Model = {(word,): _numbers(rng) for word in every}
    for size in range(2, order + 1):
        shorter = [key for key in found if len(key) == size - 1 and key[-1] != "</s>"]
        for key in shorter:
            for word in every:
                whole = (*key, word)
                if word != "<s>" and whole[1:] in found and rng.random() < 0.5:
                    found[whole] = _numbers(rng)
    return found


def _numbers(rng: np.random.Generator) -> tuple[float, float]:
    return round(-float(rng.uniform(0.1, 3)), 4), round(-float(rng.uniform(0, 1)), 4)


def arpa(model: Model) -> str:
    order = max(map(len, model))
    levels = [[key for key in model if len(key) == size] for size in range(1, order + 1)]
    lines = ["\\data\\", *(f"ngram {n}={len(keys)}" for n, keys in enumerate(levels, 1)), ""]
    for n, keys in enumerate(levels, 1):
        lines.append(f"\\{n}-grams:")
        for key in keys:
            score, backoff = model[key]
            lines.append("\t".join([str(score), " ".join(key), *([str(backoff)] if n < order else [])]))
        lines.append("")
    return "\n".join([*lines, "\\end\\", ""])


def written(folder: Path, model: Model) -> Path:
    path = folder / "model.arpa"
    path.write_text(arpa(model), encoding="utf-8")
    return path


def log_probability(model: Model, context: Sequence[str], word: str) -> float:
    """log10 of P(word | context) by the definition of backoff."""
    order = max(map(len, model))
    if (word,) not in model:
        word = "<unk>"
    context = tuple(w if (w,) in model else "<unk>" for w in context)[max(len(context) - order + 1, 0) :]
    if (*context, word) in model:
        return model[(*context, word)][0]
    if not context:
        return -100.0
    return model.get(context, (0.0, 0.0))[1] + log_probability(model, context[1:], word)


def sentence_scores(model: Model, words: Sequence[str], start: bool, end: bool) -> list[float]:
    """Natural log probabilities of the words of a sentence."""
    given = [*(["<s>"] if start else []), *words, *(["</s>"] if end else [])]
    begin = 1 if start else 0
    return [log_probability(model, given[:i], given[i]) * LN10 for i in range(begin, len(given))]


def log_probs(frames: int, tokens: int, seed: int, spread: float = 1.5) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(frames, tokens)) * spread
    return x - np.log(np.exp(x).sum(1, keepdims=True))


def every_text(logs: np.ndarray, blank: int = 0) -> dict[tuple[int, ...], float]:
    """The log probability of every list of ids, summed over all paths."""
    found: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(logs.shape[1]), repeat=logs.shape[0]):
        ids = tuple(k for k, _ in itertools.groupby(path) if k != blank)
        score = float(sum(logs[t, k] for t, k in enumerate(path)))
        found[ids] = float(np.logaddexp(found.get(ids, -np.inf), score))
    return found


def ranked(
    logs: np.ndarray, bonus: Callable[[tuple[int, ...]], float], blank: int = 0
) -> list[tuple[list[int], float]]:
    """(ids, log probability + bonus) of every list of ids, best first."""
    found = [(list(ids), score + bonus(ids)) for ids, score in every_text(logs, blank).items()]
    return sorted(found, key=lambda each: -each[1])
