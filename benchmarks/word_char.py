"""Words, characters or both, on texts with words that no training text has.

    SAMPAN_DATA=... python -m benchmarks.word_char [--sets news_titles hotel_reviews shopping_reviews] [--seeds 5] [--quick]

Real Chinese texts, segmented into words by jieba. A word is "new" if it is in no training text; numbers and names count as
words. The column "with new words" has the texts with at least one new word, "many" those in which at least a fifth of the
words are new; a column with fewer than 50 texts is empty. All rows have the same network (sampan.models.word_char: mean of
the words' vectors, a linear layer) and training. The width of the vectors is the largest with which a row has no more
parameters than "word" with width 64: there are fewer characters than words, so "char" is wider. The word vocabulary holds
words that occur at least twice, so words that occur once train the vector of "unknown". "word, new ones cut" is the simple
solution without a second channel: a word that is not in the vocabulary is replaced by its characters, as
JiebaTokenizer.encode does.

A seed determines the initial weights and the order of the texts. Accuracy in percent: mean over the seeds ± standard
deviation; the last column is the difference from "word" with the same seed, on the texts with new words. The number of epochs
is the same for all and was fixed before the test part was used. Under five minutes on two idle cores.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
SETS = ("news_titles", "hotel_reviews", "shopping_reviews")
KINDS = ("word", "word, new ones cut", "char", "concat", "gate", "sum")
WIDTH = 64  # of "word"; its number of parameters is the limit of the others
MANY, FEW = 0.2, 50  # fraction of new words; smallest number of texts of a column
TEXTS = 10_000  # the largest number for training, and for testing
WORDS = 150  # of a text; the rest is truncated
EPOCHS = {"news_titles": 6, "hotel_reviews": 6, "shopping_reviews": 4}


@dataclass
class Prepared:
    """Encoded texts of a set: for each kind (train, test), and numbers for the table."""

    data: dict[str, tuple[Any, Any]]
    sizes: dict[str, tuple[int, int]]  # words and characters in the vocabularies of a kind
    classes: int
    new: np.ndarray[Any, Any]  # share of new words of each test text


def sentences_of(name: str, texts: int) -> tuple[Any, ...]:
    """(training sentences, labels, test sentences, labels, number of classes) of a real set, segmented by jieba."""
    from sampan.datasets import load_texts
    from sampan.text import JiebaTokenizer

    bundle, jieba = load_texts(name), JiebaTokenizer()
    parts: list[Any] = []
    for part in (bundle.train, bundle.test):
        chosen = np.sort(np.random.default_rng(7).permutation(len(part))[:texts])
        words = [[w for w in jieba.cut(part.texts[i]) if not w.isspace()] for i in chosen]
        parts += [words, part.labels[chosen]]
    return (*parts, len(bundle.card.classes))


def prepared(train: Any, labels: Any, test: Any, answers: Any, classes: int) -> Prepared:
    """Vocabularies from the training sentences alone, and both parts as ids."""
    from sampan.models.word_char import WordCharTexts
    from sampan.text import Vocabulary

    words = Vocabulary.build(train, least=2)
    chars = Vocabulary.build(list("".join(s)) for s in train)
    known = {word for sentence in train for word in sentence}
    rest = [c for c in chars if c not in words]
    fallback = Vocabulary([*list(words)[2:], *rest])  # words, and every character
    cut = [
        [[piece for w in sentence for piece in ([w] if w in words else w)] for sentence in part]
        for part in (train, test)
    ]
    plain = [WordCharTexts(s, y, words, chars, WORDS) for s, y in ((train, labels), (test, answers))]
    pieces = [
        WordCharTexts(s, y, fallback, chars, WORDS) for s, y in zip(cut, (labels, answers), strict=True)
    ]
    new = np.array([np.mean([w not in known for w in s]) if s else 0.0 for s in test])
    return Prepared(
        {kind: tuple(pieces if "cut" in kind else plain) for kind in KINDS},
        {kind: (len(fallback if "cut" in kind else words), len(chars)) for kind in KINDS},
        classes,
        new,
    )


# --- training, in processes of one thread each ------------------------------------------------------------------

_set: Prepared


def _begin(given: Prepared) -> None:
    global _set
    import torch

    torch.set_num_threads(1)
    _set = given


def network_of(kind: str, width: int, about: Prepared, pooling: str) -> Any:
    from sampan.models.word_char import WordCharClassifier

    return WordCharClassifier(*about.sizes[kind], about.classes, width, kind.split(",")[0], pooling)


def parameters_of(network: Any) -> int:
    return sum(int(p.size) for p in network.parameters())


def width_of(kind: str, budget: int, about: Prepared, pooling: str) -> int:
    """The largest width whose network has no more parameters than the budget."""
    low, high = 2, 4096
    while low < high:
        middle = (low + high + 1) // 2
        if parameters_of(network_of(kind, middle, about, pooling)) <= budget:
            low = middle
        else:
            high = middle - 1
    return low


def right(kind: str, width: int, seed: int, epochs: int, pooling: str) -> Any:
    """bool [test texts]: which ones a network trained with this seed classifies correctly."""
    import sampan
    from sampan.models.word_char import predict, train

    sampan.seed(seed)
    network = network_of(kind, width, _set, pooling)
    learned, tested = _set.data[kind]
    for _ in train(network, learned, epochs, seed=seed):
        pass
    return predict(network, tested) == tested.labels


def spread(values: Any) -> str:
    """Mean and standard deviation over the seeds, in percent."""
    found = 100 * np.asarray(values, np.float64)
    return f"{found.mean():.2f}" + (f" ± {found.std(ddof=1):.2f}" if len(found) > 1 else "")


def table(
    about: Prepared, widths: dict[str, int], counts: dict[str, int], found: dict[str, Any]
) -> list[str]:
    """The rows of a set as Markdown; found: kind -> bool [seeds, test texts]."""
    new, many = about.new > 0, about.new >= MANY
    head = ["channels", "width", "parameters", f"with new words ({new.sum():,})"]
    head += [
        f"many ({many.sum():,})",
        f"without ({(~new).sum():,})",
        f"all ({len(new):,})",
        "new words, over word",
    ]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for kind, hits in found.items():
        cells = [kind, str(widths[kind]), f"{counts[kind]:,}"]
        cells += [
            spread(hits[:, part].mean(1)) if part.sum() >= FEW else "-"
            for part in (new, many, ~new, new | ~new)
        ]
        gain = hits[:, new].mean(1) - found["word"][:, new].mean(1)
        lines.append(
            f"| {' | '.join(cells)} | {'-' if kind == 'word' else '+' * int(gain.mean() >= 0) + spread(gain)} |"
        )
    return lines


def compared(about: Prepared, seeds: int, epochs: int, pooling: str, processes: int) -> list[str]:
    """Every kind with every seed, and their table."""
    budget = parameters_of(network_of("word", WIDTH, about, pooling))
    widths = {kind: width_of(kind, budget, about, pooling) for kind in KINDS}
    counts = {kind: parameters_of(network_of(kind, widths[kind], about, pooling)) for kind in KINDS}
    with ProcessPoolExecutor(processes, get_context("spawn"), _begin, (about,)) as pool:
        asked = {
            kind: [pool.submit(right, kind, widths[kind], seed, epochs, pooling) for seed in range(seeds)]
            for kind in KINDS
        }
        found = {kind: np.stack([a.result() for a in answers]) for kind, answers in asked.items()}
    return table(about, widths, counts, found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, help="instead of each set's own")
    parser.add_argument("--texts", type=int, default=TEXTS, help="to train on at most, and to test on")
    parser.add_argument("--pooling", choices=("mean", "max", "conv"), default="mean")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="news titles alone, 3,000 texts, two seeds")
    options = parser.parse_args()
    if options.quick:
        options.sets, options.seeds, options.texts = ["news_titles"], 2, 3000
    from sampan.datasets import available

    missing = [name for name in options.sets if name not in available()]
    if missing:
        sys.exit(
            f"needs {', '.join(missing)}: set SAMPAN_DATA to the folder that holds them (see their cards)"
        )
    pools = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    os.environ.update(dict.fromkeys(pools, "1"))  # inherited by the processes
    began = time.perf_counter()
    for name in options.sets:
        cut = sentences_of(name, options.texts)
        about, epochs = prepared(*cut), options.epochs or EPOCHS[name]
        words, chars = about.sizes["word"]
        print(
            f"\n**{name}**: {len(cut[0]):,} texts to train on, {len(cut[2]):,} to test; {words:,} words and {chars:,} characters in "
            f"the vocabularies; {options.seeds} seeds, {epochs} epochs, characters pooled by {options.pooling}\n"
        )
        lines = compared(about, options.seeds, epochs, options.pooling, options.processes)
        print("\n".join(lines), flush=True)
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
