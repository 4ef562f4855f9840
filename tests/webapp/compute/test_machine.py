"""What a machine lends, and how it is known that a process still runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pynvml
import pytest

from studio import compute
from studio.compute import machine
from studio.compute.lease import Holder
from studio.compute.machine import (
    Device,
    Machine,
    alive,
    default_slots,
    holder,
    started,
    this_machine,
    visible,
)
from tests.webapp.compute.conftest import GIB

pytestmark = pytest.mark.servers

CARDS = [Device(f"gpu:{n}", "gpu", "NVIDIA H200", 141 * GIB, f"GPU-{n}{n}{n}{n}-aaaa") for n in range(3)]


def test_a_learner_can_have_a_few_things_open() -> None:
    assert default_slots(cores=1, memory=16 * GIB) == default_slots(cores=2, memory=16 * GIB) == 4
    assert default_slots(cores=8, memory=64 * GIB) == 16
    assert default_slots(cores=8, memory=4 * GIB) == 4  # no more than fit in memory
    assert default_slots(cores=2, memory=GIB // 2) == 1


def test_one_slot_more_is_kept_for_grading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMPAN_CPU_SLOTS", "3")
    slots = [device for device in this_machine().devices if device.kind == "cpu"]
    assert [(slot.id, slot.grading_only) for slot in slots] == [
        ("cpu:0", False),
        ("cpu:1", False),
        ("cpu:2", False),
        ("cpu:3", True),
    ]


@pytest.mark.parametrize("text", ["none", "0", "-1", "2.5", "inf", "nan"])
def test_a_number_of_slots_that_means_nothing(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SAMPAN_CPU_SLOTS", text)
    with pytest.raises(ValueError, match=f"SAMPAN_CPU_SLOTS must be .*, got '{text}'"):
        this_machine()


def test_simulated_gpus_only_when_asked_for_and_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMPAN_SIMULATED_GPUS", raising=False)
    assert not any(device.id.startswith("sim:") for device in this_machine().devices)
    monkeypatch.setenv("SAMPAN_SIMULATED_GPUS", "2")
    simulated = [device for device in this_machine().devices if device.id.startswith("sim:")]
    assert [(gpu.id, gpu.kind, gpu.name) for gpu in simulated] == [
        ("sim:0", "gpu", "simulated GPU"),
        ("sim:1", "gpu", "simulated GPU"),
    ]


def test_no_driver_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", missing)
    assert machine.gpus() == []


def test_gpus_through_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    """NVML's functions stand in for the driver, which the machines that run the tests need not have."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for name, answer in {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: len(CARDS),
        "nvmlDeviceGetHandleByIndex": lambda n: CARDS[n],
        "nvmlDeviceGetUUID": lambda card: card.uuid,
        "nvmlDeviceGetName": lambda card: card.name,
        "nvmlDeviceGetMemoryInfo": lambda card: SimpleNamespace(total=card.memory),
    }.items():
        monkeypatch.setattr(pynvml, name, answer)
    assert machine.gpus() == CARDS
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    assert machine.gpus() == CARDS[2:]


def test_only_the_gpus_that_this_process_may_see() -> None:
    assert visible(CARDS, None) == CARDS
    assert visible(CARDS, "") == visible(CARDS, "-1") == []
    assert visible(CARDS, "0, GPU-2222") == [CARDS[0], CARDS[2]]
    assert visible(CARDS, "1,-1,2") == [
        CARDS[1]
    ]  # as CUDA reads it: what follows an unknown one does not count


def test_a_device_by_its_name() -> None:
    two = Machine(tuple(CARDS[:2]), GIB)
    assert two.device("gpu:1") is CARDS[1]
    with pytest.raises(KeyError, match=r"no device 'gpu:7'; it has gpu:0, gpu:1"):
        two.device("gpu:7")


def test_every_slot_can_have_its_part_of_the_memory() -> None:
    three = Machine(tuple(Device(f"cpu:{n}", "cpu") for n in range(3)), 12 * GIB)
    assert three.slot_memory == 8 * GIB and three.promised == 24 * GIB
    assert Machine(three.devices[:1], 12 * GIB).slot_memory == 12 * GIB


def test_a_process_and_its_start() -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        own = holder(process.pid)
        assert alive(own) and own.started == started(process.pid) > 0
        assert not alive(Holder(own.pid, own.started + 1))
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not alive(own)  # a zombie holds nothing
    with pytest.raises(LookupError, match=f"there is no process {own.pid}"):
        holder(own.pid)


def test_a_name_with_parentheses_does_not_confuse() -> None:
    code = "import pathlib, time; pathlib.Path('/proc/self/comm').write_text(') R 1 ('); print(flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        before = started(process.pid)
        process.stdout.readline()
        assert started(process.pid) == before is not None
        process.kill()


def test_a_hidden_process_counts_as_running(monkeypatch: pytest.MonkeyPatch) -> None:
    def hidden(pid: int) -> float:
        raise PermissionError(pid)

    monkeypatch.setattr(machine, "started", hidden)
    assert alive(Holder(1, 1.0))


def test_every_setting_is_described() -> None:
    folder = Path(compute.__file__).parent
    asked = {
        name
        for file in (*folder.glob("*.py"), folder.parent / "uploads" / "store.py")
        for name in re.findall(r'(?:whole|number|os\.environ\.get)\("(SAMPAN_\w+)"', file.read_text("utf-8"))
    }
    described = set(re.findall(r"^    (SAMPAN_\w+)", compute.__doc__ or "", flags=re.MULTILINE))
    assert described == asked and len(asked) > 5
