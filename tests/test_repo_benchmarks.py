"""The benchmark compares like with like, and its arithmetic is right."""

import importlib
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks import embedding_rows, machine, run, side_by_side, worker
from benchmarks.embedding_rows.steps import RULES, WHOLE
from benchmarks.embedding_rows.tables import SKEW, skewed
from benchmarks.rows import Row, all_rows

# The large networks are left to the command, which compares before it times, and to their own tests.
COMPARED = [
    name for name, row in all_rows().items() if row.torch and not name.startswith(("ResNet", "MobileNet"))
]


@pytest.mark.parametrize("name", COMPARED)
def test_both_programs_of_a_row_compute_the_same(name):
    row = all_rows()[name]
    ours = worker.third_value(row.paddle(importlib.import_module("sampan")))
    theirs = worker.third_value(row.torch(torch))
    assert math.isfinite(theirs)
    assert ours == pytest.approx(theirs, rel=1e-3, abs=1e-3)


def test_every_row_of_the_plan_is_there():
    names = " ".join(all_rows())
    for size in (8, 64, 256):
        for operator in ("add", "mul", "matmul", "chain of 5"):
            assert f"{operator}, {size} square, forward and backward" in names
    for text in ("784-256-10, batch 32", "LeNet step, batch 64", "1e6 parameters in 50", "DataLoader"):
        assert text in names
    assert all_rows()["chain of 5, 8 square, forward and backward"].goal == 0.6


def test_rounds_are_interleaved_and_alternate():
    order = []
    measured = run.Measured("row", 1.0)
    run.interleave(measured, ["a", "b"], 3, lambda name: order.append(name) or 1.0)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert measured.seconds == {"a": [1.0] * 3, "b": [1.0] * 3}


def test_a_ratio_is_taken_within_a_round():
    """A machine that slows down to a tenth in the middle changes every time and no ratio."""
    slow = [1, 1, 10, 10, 10]
    seconds = {"sampan": [0.3 * s for s in slow], "torch": [0.6 * s for s in slow]}
    measured = run.Measured("row", 0.5, seconds)
    assert measured.ratio("torch") == pytest.approx((0.5, 0.5, 0.5))
    assert measured.met and not run.Measured("row", 0.49, seconds).met
    assert measured.ratio("paddle") is None and "| - |" in run.line(measured)
    spread = run.Measured("row", 1.0, {"sampan": [1, 2, 3, 4, 5], "torch": [1, 1, 1, 1, 1]})
    assert spread.ratio("torch") == (2, 3, 4) and "3.00 (2.00 to 4.00)" in run.line(spread)


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.5 s"), (0.0125, "12.5 ms"), (3.4e-6, "3.4 µs"), (5e-7, "0.5 µs")]
)
def test_times_are_written_readably(seconds, text):
    assert run.duration(seconds) == text


class Answers:
    """A framework's process that answers from a list."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def ask(self, action, row):
        if self.value is None:
            return {"error": "AttributeError: no such operator"}
        return {"value": self.value, "calls": 1, "peak": 0} if action == "prepare" else {"seconds": 1.0}


ROW = Row("row", lambda fw: None, None)
RATES = machine.Machine(dict.fromkeys(machine.SIZES, 1e9), dict.fromkeys(machine.TABLES, 1e8), 1e10)


def test_another_answer_or_a_failure_is_never_timed():
    peers = {
        name: Answers(name, value) for name, value in {"sampan": 2.0, "torch": 1.0, "paddle": None}.items()
    }
    measured = run.measure_row(ROW, peers, rounds=2)
    assert measured.errors["sampan"] == "computes 2 where 1 is expected"
    assert "no such operator" in measured.errors["paddle"]
    assert list(measured.seconds) == ["torch"] and not measured.met
    text = run.report([measured], {"torch": "1"}, 2, load=0.25)
    assert (
        "0 of 1 goals met." in text and "failed" in text and "computes 2" in text and "0.2 (a quiet" in text
    )


def test_a_row_without_a_counterpart_in_pytorch_is_measured_against_the_other_peer():
    absent = Answers("torch", 1.0)
    absent.ask = lambda action, row: {"absent": True}
    peers = {"sampan": Answers("sampan", 2.0), "torch": absent, "paddle": Answers("paddle", 2.0)}
    measured = run.measure_row(ROW, peers, rounds=2)
    assert not measured.errors and measured.met and measured.ratio("torch") is None
    assert "| row | 1 s | - | 1 s | - | 1.00" in run.line(measured) and measured.over_limit is None


def test_a_row_with_a_stated_limit_is_held_to_it():
    """Twice PyTorch's time and 1.2 times what the machine allows: the second decides."""
    measured = run.Measured("row", 1.0, {"sampan": [0.6] * 3, "torch": [0.3] * 3}, within=1.25, limit=0.5)
    assert (
        measured.over_limit == 1.2 and measured.met and "| 1.20 | 1.25 x limit | met |" in run.line(measured)
    )
    measured.within = 1.1
    assert not measured.met
    measured.limit = 1e-7  # a call costs more than that
    assert measured.over_limit is None and "|  | 1.00 | **not met** |" in run.line(measured)


def test_the_limit_is_the_larger_of_bytes_and_flops_for_each_operator():
    a, b = torch.ones(100, 200), torch.ones(200, 300)
    with machine.Work(RATES) as work:
        torch.mm(a, b)
    assert work.seconds == pytest.approx(2 * 100 * 200 * 300 / 1e10)
    with machine.Work(RATES) as work:
        a.t()[:50].view(50, 100)  # moves nothing
        torch.empty(1000)
    assert work.seconds == 0
    with machine.Work(RATES) as work:
        b.add_(torch.ones(1).expand(300))  # read and written; what is broadcast is read once
    assert work.seconds == pytest.approx(4 * (2 * 200 * 300 + 1 + 1) / 1e9)
    leaf = torch.ones(1000, requires_grad=True)
    with machine.Work(RATES) as work:
        leaf.exp().sum().backward()
    assert work.seconds > 4 * 5 * 1000 / 1e9  # exp reads and writes, sum reads, and so does what follows


def test_rates_of_this_machine_are_measured():
    found = machine.Machine.measured()
    assert min(found.copied.values()) > 1e7 and min(found.scattered.values()) > 1e7 and found.flops > 1e8
    assert "GB/s" in str(found) and len(machine.processor().split(", ")) >= 2


def test_the_summary_names_the_mean_and_the_worst():
    rows = [run.Measured(f"row {k}", 1.0, {"sampan": [2.0**k], "torch": [1.0]}) for k in range(-3, 4)]
    (text,) = run.summary(rows)
    assert "PyTorch: 1.00 over 7 rows" in text
    assert text.index("row 3 (8.00)") < text.index("row -1 (0.50)") and "row -2" not in text
    assert run.summary([]) == []


@pytest.mark.alone
def test_peak_memory_is_what_a_program_holds():
    worker.forget_peak()
    before = worker.resident("VmRSS")
    block = torch.ones(2**24)
    assert 60 * 2**20 < worker.resident("VmHWM") - before < 90 * 2**20
    del block


def test_the_whole_command(tmp_path, capfd):
    out = tmp_path / "RESULTS.md"
    assert run.main(["--rounds", "2", "--only", "add, 8 square, forward", "--out", str(out)]) == 0
    text = out.read_text()
    assert text.count("| add, 8 square") == 2 and "import, in a fresh process" not in text
    assert (
        "Measured rates: copy" in text and "of 2 goals met." in text and f"torch {torch.__version__}" in text
    )
    assert [path.name for path in tmp_path.iterdir()] == ["RESULTS.md"]


def test_a_sparse_row_is_compared_before_it_is_timed_and_its_ratio_is_that_of_the_best_peer():
    row = side_by_side.Row("row", 2.0, {"sampan": lambda: np.ones(2), "other": lambda: np.ones(2) * 2})
    with pytest.raises(AssertionError, match="row: other"):
        side_by_side.prepared(row, None)
    row = side_by_side.Row("row", 2.0, {"sampan": lambda: np.ones(2), "other": lambda: np.ones(2)}, moved=3e6)
    times, peaks = side_by_side.measured(row, 3, None)
    assert {name: len(found) for name, found in times.items()} == {"sampan": 3, "other": 3}
    assert set(peaks) == {"sampan", "other"} and min(peaks.values()) >= 0
    times = {"sampan": [1e-3] * 3, "slow": [9e-3] * 3, "best": [3e-3, 2e-3, 4e-3]}
    shown = side_by_side.line(row, 2, times, dict.fromkeys(times, 2**20))
    assert "| row | 2 | 1.0 ± 0% | best | 3.00 | 2.00 | met |" in shown
    assert "best 3.0 ± 67%" in shown and "|  | slow" in shown and "| 1 / 1 / 1 |" in shown
    assert "| met | 0.33 |" in side_by_side.line(
        row, 2, times, dict.fromkeys(times, 0), RATES
    )  # 3 MB at 1 GB/s
    row = replace(row, gathered=1e5, table=machine.MIB)
    assert "| met | 0.25 |" in side_by_side.line(row, 2, times, dict.fromkeys(times, 0), RATES)
    row = replace(row, floor=("best", 0.5))  # which is then no peer, but the limit: half of 3 ms
    floored = side_by_side.line(row, 2, times, dict.fromkeys(times, 0), RATES)
    assert "| slow | 9.00 |" in floored and "| met | 0.67 |" in floored
    row = replace(row, floor=("", 1.0))
    slower = side_by_side.line(row, 1, times | {"sampan": [2e-3] * 3}, dict.fromkeys(times, 0))
    assert "| 1.50 | 2.00 | **not met** |" in slower


def test_every_sparse_row_of_the_plan_is_there():
    text = (run.HERE / "sparse_rows.py").read_text()
    for part in (
        "CSR product forward", "gradient of the dense side", "forward and both gradients", "SDDMM", "row softmax", "coalesce 2M",
        "add 1M + 1M", "sparse x sparse, forward and backward", "with search", "map kept, forward and backward", "strided, with search",
        "sparse attention", "block-sparse attention",
    ):  # fmt: skip
        assert part in text


def test_every_embedding_row_of_the_plan_is_there():
    text = " ".join(row.name for family in embedding_rows.FAMILIES for row in family())
    for part in (
        "lookup, 1M x 64", "lookup, 10M x 64", "repeated ids merged", *(f"{name} step, 1M" for name in RULES),
        *(f"backward and {name} step, 10M" for name in WHOLE), "sparse beside dense, lazy Adam", "bag sum forward",
        "bag sum, forward and SGD", "40 batches of 100k ids out of 1e8", "LRU of 100k rows", "longest stall", "memory-mapped", "int8",
        "DynamicEmbedding",
    ):  # fmt: skip
        assert part in text


def test_skewed_ids_are_skewed_and_each_rank_has_an_id_of_its_own():
    ids = skewed(1000, 200_000, 0)
    counts = np.sort(np.bincount(ids, minlength=1000))[::-1]
    share = np.arange(1, 1001) ** -SKEW
    np.testing.assert_allclose(counts[:50] / 200_000, (share / share.sum())[:50], rtol=0.15)
    assert ids.min() >= 0 and len(np.unique(np.arange(1000) * 2_654_435_761 % 1000)) == 1000


def test_a_value_may_be_given_afterwards_and_a_program_may_time_itself(capsys):
    called = []
    row = side_by_side.Row(
        "row", 1.0, {"sampan": lambda: lambda: called.append(1) or np.ones(2), "other": lambda: np.ones(2)}
    )
    side_by_side.measured(row, 2, None)
    assert called == [1]  # once, outside of what is timed
    row = side_by_side.Row(
        "row", 1.0, {"sampan": lambda: 0.25, "limit": lambda: 0.5}, timed=True, note=lambda: "known now"
    )
    times, peaks = side_by_side.measured(row, 3, None)
    assert times == {"sampan": [0.25] * 3, "limit": [0.5] * 3}
    assert "| row (known now) | 1 | 250.0 ± 0% | limit | 2.00 | 1.00 | met |" in side_by_side.line(
        row, 1, times, peaks
    )
