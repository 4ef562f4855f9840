"""What models on graphs reach on real data, beside published figures and simpler methods.

python -m benchmarks.graph_results [fraud] [cora] [citeseer] [dblp] [wn18rr] [movielens] [--seeds N] [--quick]

The data come from SAMPAN_DATA; a part whose data are not there says so.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from importlib import import_module

from sampan import datasets
from sampan.transport.threads import use_threads

# name -> (module with `results(data, seeds, quick)`, data set that it needs)
PARTS = {
    "fraud": ("graph_fraud", "bitcoin_otc"),
    "cora": ("graph_citations", "cora"),
    "citeseer": ("graph_citations", "citeseer"),
    "dblp": ("graph_meta_paths", "dblp_four_area"),
    "wn18rr": ("graph_triples", "wn18rr"),
    "movielens": ("graph_recommendation", "movielens_latest_small"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*PARTS, []], help="all by default")
    parser.add_argument("--quick", action="store_true", help="one seed, fewer epochs, less data")
    parser.add_argument("--seeds", type=int, help="how many; a part has its own number by default")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    use_threads(options.threads)
    print(f"{options.threads} threads of {os.cpu_count()} cores\n")
    for name in options.names or PARTS:
        module, data = PARTS[name]
        if data not in datasets.available():
            print(f"{name}: skipped, {data} is not in SAMPAN_DATA.\n")
            continue
        results: Callable[[str, int | None, bool], None] = import_module(f"benchmarks.{module}").results
        results(data, options.seeds, options.quick)


if __name__ == "__main__":
    main()
