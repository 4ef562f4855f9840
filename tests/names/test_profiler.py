"""Profiler: which steps are recorded, what is written and printed."""

import json
import re

import pytest
from sampan.profiler import ProfilerState, SortedKeys

import sampan
from sampan import profiler


def work():
    x = sampan.ones([8, 8])
    x.stop_gradient = False
    (x @ x).sum().backward()


def test_a_schedule_by_hand():
    state = profiler.make_scheduler(closed=1, ready=1, record=2, repeat=2, skip_first=1)
    letters = {"CLOSED": "c", "READY": "r", "RECORD": "R", "RECORD_AND_RETURN": "!"}
    assert "".join(letters[state(step).name] for step in range(11)) == "ccrR!crR!cc"
    with pytest.raises(ValueError, match="record of 1 or more"):
        profiler.make_scheduler(closed=0, ready=0, record=0)


def test_operators_of_the_chosen_steps(tmp_path):
    finished = []
    write = profiler.export_chrome_tracing(str(tmp_path), "worker")

    def ready(p):
        finished.append((p.step_num, len(p.spans)))
        write(p)

    with profiler.Profiler(scheduler=(2, 4), on_trace_ready=ready) as p:
        for _ in range(6):
            with profiler.RecordEvent("whole step"):
                work()
            p.step(num_samples=8)
    assert [step for step, _ in finished] == [3]
    (path,) = tmp_path.glob("*.json")
    events = profiler.load_profiler_result(str(path))
    names = [event["name"] for event in events]
    assert names.count("whole step") == 2
    assert any(name.endswith("_grad") for name in names)
    assert {"name", "ph", "ts", "dur"} <= set(events[0])
    assert all(event["dur"] >= 0 for event in events)
    assert re.fullmatch(r" batch_cost: [\d.]+ s ips: [\d.]+ images/s", p.step_info("images"))
    assert p.step_info() == ""  # since the last call


def test_without_a_schedule_everything_is_recorded_and_given_at_the_end():
    finished = []
    p = profiler.Profiler(on_trace_ready=finished.append)
    p.start()
    work()
    p.step()
    work()
    p.stop()
    p.stop()
    assert finished == [p]
    names = [name for name, _, _ in p.spans]
    assert names.count("sum") == 2


def test_a_timer_records_no_operators():
    with profiler.Profiler(timer_only=True) as p:
        work()
        p.step()
    assert p.spans == []
    assert re.fullmatch(r" batch_cost: 0[\d.]+ s ips: [\d.]+ steps/s", p.step_info())


def test_nothing_is_watched_outside():
    from sampan.engine.apply import observers

    with profiler.Profiler():
        assert len(observers) == 1
    assert not observers


@pytest.mark.parametrize(
    "key", [SortedKeys.CPUTotal, SortedKeys.CPUAvg, SortedKeys.CPUMax, SortedKeys.CPUMin]
)
def test_the_summary_is_sorted(key, capsys):
    p = profiler.Profiler()
    p.spans = [("a", 0.0, 1.0), ("b", 1.0, 0.5), ("b", 2.0, 0.7), ("c", 3.0, 0.1)]
    p.summary(sorted_by=key, time_unit="s")
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "calls", "total", "s", "avg", "s", "max", "s", "min", "s"]
    table = {row.split()[0]: list(map(float, row.split()[1:])) for row in rows}
    assert table["b"] == [2, 1.2, 0.6, 0.7, 0.5]
    order = {"CPUTotal": "bac", "CPUAvg": "abc", "CPUMax": "abc", "CPUMin": "cba"}[key.name]
    assert "".join(table) == order


def test_files_are_json_only(tmp_path):
    p = profiler.Profiler()
    p.spans = [("a", 1.0, 0.5)]
    p.export(str(tmp_path / "trace.json"))
    event = json.loads((tmp_path / "trace.json").read_text())["traceEvents"][0]
    assert (event["ts"], event["dur"]) == (1e6, 5e5)
    with pytest.raises(ValueError, match="'json'"):
        p.export(str(tmp_path / "trace.pb"), format="pb")
    assert ProfilerState.RECORD_AND_RETURN.value == 3
