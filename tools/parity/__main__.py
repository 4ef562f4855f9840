"""`python -m tools.parity [names] [options]`: compare, print a summary by area and the mismatches, and record.

Names are full names, or areas, with `*` for anything: `paddle.abs`, `paddle.nn.functional.*`; none means all.
Without PaddlePaddle's venv (`--recorded`) it compares with what is recorded.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections import Counter, defaultdict
from fnmatch import fnmatchcase
from typing import Any

from . import aliasing, cases, records, surface, table
from .oracle import ROOT, UNSTEADY, Oracle
from .perform import compare, perform
from .spec import Call, Family


class Comparison:
    """Goes through names; keeps counts by area and the list of mismatches."""

    def __init__(self, oracle: Oracle | None, patterns: list[str], drawn: int) -> None:
        self.oracle, self.patterns, self.drawn = oracle, patterns, drawn
        self.library = importlib.import_module("sampan")
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.mismatches: dict[tuple[str, str], list[str]] = {}
        self.errors: dict[str, list[str]] = {}

    def wanted(self, name: str) -> bool:
        return not self.patterns or any(
            fnmatchcase(name, p) or surface.area_of(name) == p for p in self.patterns
        )

    def surfaces(self) -> None:
        """Which names are there, and their signatures."""
        every = surface.names()
        if self.oracle is not None:
            records.write("signatures", self.oracle.ask("signatures", every))
        for name in filter(self.wanted, every):
            count = self.counts[surface.area_of(name)]
            count["names"] += 1
            theirs, ours = records.signatures().get(name), surface.signature(self.library, name)
            if ours is surface.MISSING:
                self.note(name, "missing", "")
                continue
            count["present"] += 1
            if surface.same(theirs, ours):
                count["signature"] += 1
            else:
                self.note(name, "signature", f"{surface.shown(theirs)}\n      here {surface.shown(ours)}")

    def note(self, name: str, kind: str, text: str, call: Any = "") -> None:
        if table.reasoned(name, kind, call, text):
            self.counts[surface.area_of(name)]["reasoned"] += 1
        else:
            self.mismatches.setdefault((name, kind), []).append(text)

    def answers(self) -> None:
        """The calls of the case tables, and drawn ones."""
        for file, names in cases.load().items():
            wanted = {name: calls for name, calls in names.items() if self.wanted(name)}
            if not wanted:
                continue
            record = {name: answers for name, answers in records.read(file).items() if name in names}
            shared = {name: found for name, found in records.aliasing(file).items() if name in names}
            for name, calls in wanted.items():
                if self.oracle is not None:
                    found = self.oracle.answers(file, name, len(calls))
                    record[name] = self.renewed(record.get(name, {}), calls, found)
                    relations = self.oracle.aliases(file, name, len(calls))
                    keys = [cases.key(i, c) for i, c in enumerate(calls)]
                    shared[name] = dict(zip(keys, relations, strict=True))
                if surface.find(self.library, name) is not surface.MISSING:
                    self.name(name, calls, record.get(name, {}))
                    self.aliases(name, calls, shared.get(name, {}))
            if self.oracle is not None:
                records.write(file, record)
                records.write(records.ALIASING.format(file), shared)

    def renewed(self, old: dict[str, Any], calls: list[Call], found: list[Any]) -> dict[str, Any]:
        """The record of a name; equivalent answers keep their recorded digits, and answers
        that change from call to call are left out."""
        new = {cases.key(i, c): a for i, (c, a) in enumerate(zip(calls, found, strict=True))}
        kept = {k for k, a in new.items() if k in old and not compare(old[k], a) and not compare(a, old[k])}
        kept |= {k for k in new if old.get(k) == UNSTEADY}
        return {k: old[k] if k in kept else a for k, a in new.items()}

    def name(self, name: str, calls: list[Call], recorded: dict[str, Any]) -> None:
        count = self.counts[surface.area_of(name)]
        for index, call in enumerate(calls):
            expected = recorded.get(cases.key(index, call))
            if expected is None:
                self.note(name, "answer", f"{call}: not recorded")
                continue
            got = perform(self.library, name, call)
            count["calls"] += 1
            text = compare(expected, got, call.tolerance)
            if text:
                self.note(name, "answer", f"{call}: {text}", call)
            elif "raised" in expected and expected["raised"] != got.get("raised", "TypeError"):
                self.errors.setdefault(name, []).append(
                    f"{call}: {expected['raised']} here {got.get('raised', 'no kernel')}"
                )
        if self.oracle is not None and self.drawn and isinstance(calls, Family) and calls.draw:
            from . import draw

            made, worst = draw.mismatches(calls.draw, lambda call: self.differs(name, call), self.drawn)
            count["drawn"] += made
            for call, text in worst:
                self.note(name, "answer", f"drawn {call}: {text}", call)

    def aliases(self, name: str, calls: list[Call], recorded: dict[str, Any]) -> None:
        """Which arrays of each call share memory."""
        for index, call in enumerate(calls):
            key = cases.key(index, call)
            if key not in recorded:
                self.note(name, "aliasing", f"{call}: not recorded")
            elif text := aliasing.differs(self.library, name, call, recorded[key]):
                self.note(name, "aliasing", f"{call}: {text}", call)

    def differs(self, name: str, call: Call) -> str:
        assert self.oracle is not None
        expected = self.oracle.ask("call", name, call)
        text = compare(expected, perform(self.library, name, call), call.tolerance) if expected else ""
        return "" if table.reasoned(name, "answer", call, text) else text

    def report(self, verbose: bool) -> None:
        for (name, kind), texts in sorted(self.mismatches.items(), key=lambda item: (item[0][1], item[0][0])):
            if kind != "missing":
                shown = texts if verbose else texts[:3]
                more = "" if len(shown) == len(texts) else f"\n    ... and {len(texts) - len(shown)} more"
                print(f"{kind} {name}\n    " + "\n    ".join(shown) + more)
        missing = defaultdict(list)
        for name, kind in sorted(self.mismatches):
            if kind == "missing":
                missing[surface.area_of(name)].append(name.rpartition(".")[2])
        for area, names in missing.items():
            print(f"missing in {area}: {' '.join(names)}")
        if verbose:
            for name, texts in self.errors.items():
                print(f"other error {name}\n    " + "\n    ".join(texts))
        wrong = Counter((surface.area_of(name), kind) for name, kind in self.mismatches)
        head = ("names", "present", "signature", "calls", "drawn", "wrong", "reasoned")
        print(f"\n{'area':32}" + "".join(f"{h:>10}" for h in head))
        total: Counter[str] = Counter()
        for area, count in self.counts.items():
            count["wrong"] = wrong[area, "answer"]
            total += count
            print(f"{area:32}" + "".join(f"{count[h]:10}" for h in head))
        print(f"{'all':32}" + "".join(f"{total[h]:10}" for h in head))
        print(
            "(wrong: names with an answer that differs; reasoned: differences that tests/parity/differences.py explains)"
        )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.parity", description=__doc__)
    parser.add_argument("names", nargs="*", help="full names or areas, with * for anything")
    parser.add_argument(
        "--paddle", default=str(ROOT / ".venv-paddle" / "bin" / "python"), help="PaddlePaddle's Python"
    )
    parser.add_argument("--recorded", action="store_true", help="compare with the records instead")
    parser.add_argument("--drawn", type=int, default=20, help="drawn calls a family; 0 for none")
    parser.add_argument("--verbose", action="store_true", help="every mismatch, and errors of another class")
    parser.add_argument(
        "--owe", action="store_true", help="put every mismatch on the list of what is to be done"
    )
    options = parser.parse_args()
    os.chdir(ROOT)
    oracle = None if options.recorded else Oracle(options.paddle)
    comparison = Comparison(oracle, options.names, options.drawn)
    comparison.surfaces()
    comparison.answers()
    if oracle is not None:
        oracle.close()
    comparison.report(options.verbose)
    if not options.names and oracle is not None:
        owed = set(comparison.mismatches)
        table.write_not_yet(owed if options.owe else owed & table.not_yet())
    return 1 if comparison.mismatches else 0


if __name__ == "__main__":
    sys.exit(main())
