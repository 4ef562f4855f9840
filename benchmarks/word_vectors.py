"""Word vectors beside gensim's Word2Vec and FastText, at equal settings, on real Chinese reviews: words a second, quality.

    python benchmarks/word_vectors.py [--quick] [--rounds 5] [--threads 1 2] [--corpus shopping_reviews] [--peers FOLDER]

Speed: both train one epoch over the same sentences, in turn (A B, A B, ...), in one process. A word is one of the
vocabulary in the sentences, whether or not subsampling leaves it out. The first ratio is that of the training alone; Sampan
has numbered the words before, with the vocabulary, while gensim looks each up as it trains, so "all" is the ratio of
everything, from lists of strings to the end of the first epoch. Quality: both train with the same settings; the loss
of held-out pairs is computed here, with the same negatives for both; the classes of held-out reviews are told by ridge
regression from the mean of their words' vectors.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import numpy as np  # noqa: E402

from sampan import datasets  # noqa: E402
from sampan.datasets.corpora import chinese_words  # noqa: E402
from sampan.text.word_vectors import WordVectors  # noqa: E402

ASKED = ("房间", "早餐", "便宜", "手机", "电池", "好吃", "苹果", "作者", "洗发水", "客服")
SUBWORDS = (1, 2)
KINDS = {"skip-gram": None, "with subwords": SUBWORDS}
DIM, WINDOW, NEGATIVE, LEAST, BUCKETS = 100, 5, 5, 5, 2**18
Sentences = Sequence[Sequence[str]]


def gensim_model(subwords: tuple[int, int] | None, threads: int, epochs: int) -> Any:
    """gensim's model with our settings, its own defaults elsewhere, which are the same."""
    gensim = importlib.import_module("gensim.models")  # a peer, which lives apart
    settings: dict[str, Any] = dict(
        vector_size=DIM, window=WINDOW, negative=NEGATIVE, min_count=LEAST, sg=1, sample=1e-3
    )
    settings |= dict(workers=threads, epochs=epochs, seed=1)
    if subwords is None:
        return gensim.Word2Vec(**settings)
    return gensim.FastText(min_n=subwords[0], max_n=subwords[1], bucket=BUCKETS, **settings)


def our_model(subwords: tuple[int, int] | None, threads: int, epochs: int) -> WordVectors:
    return WordVectors(
        DIM, WINDOW, NEGATIVE, LEAST, epochs, subwords=subwords, buckets=BUCKETS, threads=threads
    )


def our_epoch(sentences: Sentences, subwords: tuple[int, int] | None, threads: int) -> tuple[float, float]:
    """Seconds of the training, and of everything."""
    began = time.perf_counter()
    training = our_model(subwords, threads, 1).train(sentences)  # the vocabulary
    ready = time.perf_counter()
    for _ in training:
        pass
    ended = time.perf_counter()
    return ended - ready, ended - began


def gensim_epoch(sentences: Sentences, subwords: tuple[int, int] | None, threads: int) -> tuple[float, float]:
    began = time.perf_counter()
    model = gensim_model(subwords, threads, 1)
    model.build_vocab(sentences)
    ready = time.perf_counter()
    model.train(sentences, total_examples=model.corpus_count, epochs=1)
    ended = time.perf_counter()
    return ended - ready, ended - began


def speed(sentences: Sentences, rounds: int, threads: Sequence[int]) -> None:
    print(
        "| model | threads | Sampan, words/s | gensim, words/s | ratio | ratio, all | spread of the ratio |"
    )
    print("|---|---|---|---|---|---|---|")
    counts: dict[str, int] = {}
    for sentence in sentences:
        for word in sentence:
            counts[word] = counts.get(word, 0) + 1
    words = sum(count for count in counts.values() if count >= LEAST)
    for kind, subwords in KINDS.items():
        for number in threads:
            our_epoch(sentences[:200], subwords, number)  # compiled
            gensim_epoch(sentences[:200], subwords, number)
            ours, theirs = [], []
            for _ in range(rounds):
                ours.append(our_epoch(sentences, subwords, number))
                theirs.append(gensim_epoch(sentences, subwords, number))
            ratios = sorted(b[0] / a[0] for a, b in zip(ours, theirs, strict=True))
            whole = statistics.median(b[1] / a[1] for a, b in zip(ours, theirs, strict=True))
            rates = [words / min(t[0] for t in times) for times in (ours, theirs)]
            print(
                f"| {kind} | {number} | {rates[0]:,.0f} | {rates[1]:,.0f} | {statistics.median(ratios):.2f} | {whole:.2f} "
                f"| {ratios[0]:.2f} to {ratios[-1]:.2f} |",
                flush=True,
            )


# --- quality --------------------------------------------------------------------------------------------------------


class Learned:
    """What one of the two programs learned: `inputs` and `targets` [words, dim] of `words`, seconds, neighbours."""

    def __init__(
        self, name: str, words: list[str], inputs: Any, targets: Any, seconds: float, similar: Any
    ) -> None:
        self.name, self.numbers, self.seconds = name, {word: i for i, word in enumerate(words)}, seconds
        self.inputs, self.targets = np.asarray(inputs, np.float64), np.asarray(targets, np.float64)
        self.similar: Callable[[str, int], list[tuple[str, float]]] = similar


def learned(sentences: Sentences, epochs: int, subwords: tuple[int, int] | None, gensim: bool) -> Learned:
    kind = next(name for name, value in KINDS.items() if value == subwords)
    began = time.perf_counter()
    if gensim:
        model = gensim_model(subwords, 1, epochs)
        model.build_vocab(sentences)
        model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
        seconds = time.perf_counter() - began
        found = model.wv
        return Learned(f"gensim, {kind}", found.index_to_key, found.vectors, model.syn1neg, seconds,
                       lambda word, most: found.most_similar(word, topn=most))  # fmt: skip
    ours = our_model(subwords, 1, epochs).fit(sentences)
    targets = ours._outputs[:, :DIM]
    return Learned(
        f"Sampan, {kind}", ours.words, ours.vectors, targets, time.perf_counter() - began, ours.similar
    )


def held_out_loss(model: Learned, sentences: Sentences, counts: dict[str, int], most: int = 100_000) -> float:
    """Mean loss of a pair within 5 places, with 5 negatives by count ** 0.75: the same pairs and negatives for all."""
    words = sorted(model.numbers)  # the order of the numbers is each program's own
    rows = np.array([model.numbers[word] for word in words])
    place = {word: i for i, word in enumerate(words)}
    pairs = []
    for sentence in sentences:
        known = [place[word] for word in sentence if word in place]
        pairs += [
            (a, b)
            for i, a in enumerate(known)
            for j, b in enumerate(known)
            if i != j and abs(i - j) <= WINDOW
        ]
        if len(pairs) >= most:
            break
    weights = np.array([counts[word] for word in words]) ** 0.75
    rng = np.random.default_rng(0)
    negatives = rng.choice(len(words), (len(pairs), NEGATIVE), p=weights / weights.sum())
    a, b = rows[np.array(pairs).T]
    good = (model.inputs[a] * model.targets[b]).sum(1)
    bad = np.einsum("nd,nkd->nk", model.inputs[a], model.targets[rows[negatives]])
    return float((np.logaddexp(0, -good) + np.logaddexp(0, bad).sum(1)).mean())


def class_accuracy(model: Learned, parts: Sequence[Sentences], labels: Sequence[Any]) -> float:
    """Of held-out texts, by ridge regression from the mean of their words' vectors."""
    from sklearn.linear_model import RidgeClassifier

    means = []
    for sentences in parts:
        rows = [[model.numbers[w] for w in sentence if w in model.numbers] for sentence in sentences]
        means.append(np.array([model.inputs[r].mean(0) if r else np.zeros(DIM) for r in rows]))
    scale = means[0].std()
    return float(RidgeClassifier().fit(means[0] / scale, labels[0]).score(means[1] / scale, labels[1]))


def quality(parts: Sequence[Sentences], labels: Sequence[Any], epochs: int, theirs: bool) -> None:
    counts: dict[str, int] = {}
    for sentence in parts[0]:
        for word in sentence:
            counts[word] = counts.get(word, 0) + 1
    print(f"\n{epochs} epochs over {len(parts[0]):,} reviews, one thread; {len(parts[1]):,} held out.\n")
    print(
        "| model | s | loss of held-out pairs | class of held-out reviews | neighbours shared with gensim's |"
    )
    print("|---|---|---|---|---|")
    found = []
    for subwords in KINDS.values():
        reference = learned(parts[0], epochs, subwords, True) if theirs else None
        for model in filter(None, (learned(parts[0], epochs, subwords, False), reference)):
            found.append(model)
            known = [
                word for word in sorted(counts, key=lambda w: -counts[w])[100:1100] if word in model.numbers
            ]
            shared = "-"
            if reference is not None and model is not reference:
                same = [
                    len({w for w, _ in model.similar(k, 10)} & {w for w, _ in reference.similar(k, 10)})
                    for k in known
                ]
                shared = f"{np.mean(same):.1f} of 10"
            print(
                f"| {model.name} | {model.seconds:.1f} | {held_out_loss(model, parts[1], counts):.3f} "
                f"| {class_accuracy(model, parts, labels):.3f} | {shared} |",
                flush=True,
            )
    print("\n| word | " + " | ".join(model.name for model in found) + " |")
    print("|---" * (1 + len(found)) + "|")
    for word in ASKED:
        if all(word in model.numbers for model in found):
            near = [" ".join(w for w, _ in model.similar(word, 6)) for model in found]
            print(f"| {word} | " + " | ".join(near) + " |")


def read_by_gensim(sentences: Sentences) -> str:
    """Whether gensim reads our files, bit by bit, and we read its."""
    import tempfile

    gensim = importlib.import_module("gensim.models")
    ours = our_model(None, 1, 1).fit(sentences)
    with tempfile.TemporaryDirectory() as folder:
        for binary in (False, True):
            path = Path(folder) / f"vectors{binary}"
            ours.save_word2vec(path, binary)
            theirs = gensim.KeyedVectors.load_word2vec_format(str(path), binary=binary)
            assert theirs.index_to_key == ours.words
            np.testing.assert_array_equal(theirs.vectors, ours.vectors)
            theirs.save_word2vec_format(str(path), binary=binary)
            again = WordVectors.load_word2vec(path)
            assert again.words == ours.words
            np.testing.assert_array_equal(again.vectors, ours.vectors)
    return "gensim reads our word2vec files, text and binary, bit for bit, and we read gensim's."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="fewer texts, rounds and epochs: seconds, and noise"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--corpus", default="shopping_reviews", help="a set of labelled texts in Chinese")
    parser.add_argument(
        "--peers", type=Path, default=HERE.parent / ".venv-peers", help="an environment with gensim"
    )
    options = parser.parse_args()
    sys.path += [str(path) for path in (*options.peers.glob("lib/python*/site-packages"), options.peers)]
    try:
        peer = f"gensim {importlib.import_module('gensim').__version__}"
    except ImportError:
        peer = ""
    bundle = datasets.load_texts(options.corpus)
    limits, rounds, epochs = ((3000, 1000), 2, 2) if options.quick else ((20_000, 5000), options.rounds, 5)
    texts, labels = [], []
    for part, limit in zip((bundle.train, bundle.test), limits, strict=True):
        kept = np.random.default_rng(0).permutation(len(part))[
            :limit
        ]  # the file has one kind of goods after the other
        texts.append([part.texts[i] for i in kept])
        labels.append(part.labels[kept])
    began = time.perf_counter()
    parts = [chinese_words(part) for part in texts]
    print("## Word vectors\n")
    print(
        f"{options.corpus}: {len(texts[0]):,} reviews, {sum(map(len, parts[0])):,} words, cut by jieba in "
        f"{time.perf_counter() - began:.0f} s. dim {DIM}, window {WINDOW}, {NEGATIVE} negatives, words of {LEAST} times or more, "
        f"sample 1e-3, subwords of {SUBWORDS[0]} and {SUBWORDS[1]} characters.\n"
    )
    if peer:
        print(f"{peer}. {read_by_gensim(parts[0][:300])}\n")
        speed(parts[0], rounds, options.threads)
    else:
        print(f"gensim is not in {options.peers}: no comparison.")
    quality(parts, labels, epochs, bool(peer))


if __name__ == "__main__":
    main()
