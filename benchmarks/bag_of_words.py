"""The text model with sparse and with dense rows, and scikit-learn on the same features, on real Chinese texts.

    python -m benchmarks.bag_of_words [--sets hotel_reviews news_titles shopping_reviews] [--epochs 5] [--hidden 0]

Each path runs in a separate process, so that its memory can be measured, with the same initial weights, batches and
optimizer. Dense rows are filled batch by batch; the column "whole set dense" is the size of the whole set. Peak MiB is the
increase of the process's memory by training, about 20 MiB of which belong to the allocator and the libraries; the size of
the largest batch is exact.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
SETS = ("hotel_reviews", "news_titles", "shopping_reviews")
PATHS = ("sparse", "dense", "scikit-learn")
BATCH = 64


def measured(path: str, name: str, epochs: int, hidden: int, texts: int | None) -> dict[str, Any]:
    """Train one path on one set; accuracy on the test part, seconds and peak memory of the training alone."""
    import numpy as np

    import sampan as paddle
    from benchmarks.worker import forget_peak, resident
    from sampan import datasets
    from sampan.models.bag_of_words import BagOfWords, NGrams, Rows

    bundle = datasets.load_texts(name)
    train, test = bundle.train, bundle.test
    kept = slice(texts)
    labels = train.labels[kept]
    grams = NGrams().fit(train.texts[kept])
    rows, tested = grams(train.texts[kept]), grams(test.texts)
    facts = {"texts": len(labels), "features": rows.shape[1], "entries": rows.nnz()}
    if path == "scikit-learn":
        from sklearn.linear_model import LogisticRegression

        forget_peak()
        before, began = resident("VmRSS"), time.perf_counter()
        regression = LogisticRegression(C=10, max_iter=300).fit(paddle.sparse.to_scipy(rows), labels)
        seconds, peak = time.perf_counter() - began, resident("VmHWM") - before
        accuracy = regression.score(paddle.sparse.to_scipy(tested), test.labels)
        return facts | {"accuracy": accuracy, "seconds": seconds, "peak": peak, "rate": None, "batch": None}
    dense = path == "dense"
    data = Rows(rows, labels, dense)

    def fitted(data: Any, epochs: int) -> Any:
        paddle.seed(1)
        network = BagOfWords(rows.shape[1], len(bundle.card.classes), hidden)
        adam = paddle.optimizer.Adam(0.003 if hidden else 0.01, parameters=network.parameters())
        model = paddle.Model(network)
        model.prepare(adam, paddle.nn.CrossEntropyLoss(), paddle.metric.Accuracy())
        model.fit(data, batch_size=BATCH, epochs=epochs, verbose=0)
        return model

    fitted(paddle.io.Subset(data, list(range(BATCH + 1))), 1)  # compiles the loops before the measurement
    forget_peak()
    before, began = resident("VmRSS"), time.perf_counter()
    model = fitted(data, epochs)
    seconds, peak = time.perf_counter() - began, resident("VmHWM") - before
    accuracy = model.evaluate(Rows(tested, test.labels, dense), batch_size=256, verbose=0)["acc"]
    entries = int(
        np.sort(np.diff(rows.crows().numpy()))[-BATCH:].sum()
    )  # indices in int64, values in float32
    batch = BATCH * rows.shape[1] * 4 if dense else entries * 12 + (BATCH + 1) * 8
    return facts | {
        "accuracy": accuracy, "seconds": seconds, "peak": peak, "rate": len(labels) * epochs / seconds, "batch": batch,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--hidden", type=int, default=0, help="0: a linear classifier")
    parser.add_argument("--texts", type=int, help="train on the first so many only")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--path", choices=PATHS, help="measure this path here, and print it as JSON")
    options = parser.parse_args()
    if options.path:
        found = measured(options.path, options.sets[0], options.epochs, options.hidden, options.texts)
        print(json.dumps(found))
        return
    pools = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    environment = os.environ | dict.fromkeys(pools, str(options.threads))
    more = ["--texts", str(options.texts)] if options.texts else []
    print(
        f"{options.epochs} epochs, batches of {BATCH}, {options.threads} threads, hidden {options.hidden}\n"
    )
    print(
        "| set | texts x features (share filled) | whole set dense | path | accuracy | s | texts/s | batch MiB | peak MiB |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in options.sets:
        for path in PATHS:
            command = [sys.executable, "-m", "benchmarks.bag_of_words", "--path", path, "--sets", name]
            command += ["--epochs", str(options.epochs), "--hidden", str(options.hidden), *more]
            text = subprocess.run(
                command, check=True, capture_output=True, text=True, env=environment, cwd=ROOT
            )
            f = json.loads(text.stdout.splitlines()[-1])
            whole = f["texts"] * f["features"]
            rate, batch = (f"{f['rate']:,.0f}", f"{f['batch'] / 2**20:.2f}") if f["rate"] else ("-", "-")
            print(
                f"| {name} | {f['texts']:,} x {f['features']:,} ({f['entries'] / whole:.3%}) | {whole * 4 / 2**30:.1f} GiB "
                f"| {path} | {f['accuracy']:.4f} | {f['seconds']:.1f} | {rate} | {batch} | {f['peak'] / 2**20:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
