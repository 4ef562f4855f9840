"""A kernel has a lease, limits and an environment without secrets, however it is started; the lease is always released."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from jupyter_client.kernelspec import NoSuchKernel
from jupyter_client.manager import AsyncKernelManager, KernelManager
from nbclient import NotebookClient
from sqlalchemy.exc import OperationalError
from traitlets.config import Config

from studio import identity
from studio.compute import here, machine, record
from studio.compute.binding import environment_of, full, limits_of
from studio.compute.lease import Ask, Lease, Place
from studio.compute.machine import Device
from studio.compute.provisioner import NoSession
from studio.compute.zygote.client import Zygote
from studio.environment import clean_environment
from studio.paths import JUPYTER_SHARE
from studio.server.kernels import StudioKernels
from tests.webapp.running import until

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def specs() -> Iterator[StudioKernels]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(JUPYTER_SHARE))
        yield StudioKernels(allowed_kernelspecs={"sampan"}, ensure_native_kernel=False)


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A workspace of its own, two CPU slots, and secrets around."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAMPAN_HOME", str(folder))
        patch.delenv("SAMPAN_STORE", raising=False)
        patch.setenv("SAMPAN_CPU_SLOTS", "2")
        patch.setenv("SAMPAN_THREADS", "3")
        patch.setenv("MY_CLOUD_TOKEN", "do-not-tell")
        patch.setenv("DATABASE_URL", "postgres://user:do-not-tell@host")
        yield folder
        here.store().close()


@pytest.fixture(scope="module")
def kernel(specs: StudioKernels, home: Path) -> Iterator[KernelManager]:
    """One kernel for all that only look."""
    manager = KernelManager(kernel_name="sampan", kernel_spec_manager=specs, transport_encryption="auto")
    environment = {**os.environ, "JPY_SESSION_NAME": "lessons/one.ipynb"}
    manager.start_kernel(cwd=str(home), env=environment)
    yield manager
    manager.shutdown_kernel(now=True)


def value(manager: KernelManager, expression: str, before: str = "") -> Any:
    """What an expression is inside the kernel, after some lines."""
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        client.execute(f"{before}\nimport json; print(json.dumps({expression}))")
        while True:
            try:
                message = client.get_iopub_msg(timeout=30)
            except queue.Empty:
                raise AssertionError("the kernel said nothing") from None
            assert message["msg_type"] != "error", message["content"]
            if message["msg_type"] == "stream":
                return json.loads(message["content"]["text"])
    finally:
        client.stop_channels()


def leases() -> list[Lease]:
    return here.store().leases()


def test_clean_environment() -> None:
    kept = {
        "PATH": "/bin",
        "HOME": "/h",
        "LC_ALL": "C",
        "SAMPAN_DATA": "/d",
        "OMP_NUM_THREADS": "2",
        "TZ": "UTC",
    }
    kept["QUERY_STRING"] = "lang=zh"
    dropped = {
        "JPY_API_TOKEN": "x",
        "JUPYTER_TOKEN": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "SAMPAN_TOKEN": "x",
        "SAMPAN_API_KEY": "x",
        "SAMPAN_TICKET": "x",
        "SAMPAN_STORE": "postgresql://sampan:password@host/db",
        "VOILA_REQUEST_URL": "http://127.0.0.1/?token=x",
        "HTTPS_PROXY": "http://user:password@proxy",
        "SSH_AUTH_SOCK": "/tmp/agent",
    }
    assert clean_environment({**kept, **dropped}) == kept


def test_only_the_studios_kernel(specs: StudioKernels) -> None:
    assert list(specs.find_kernel_specs()) == ["sampan"]
    with pytest.raises(NoSuchKernel):
        specs.get_kernel_spec("python3")


def test_a_kernel_runs_under_a_lease_of_its_own(kernel: KernelManager) -> None:
    (lease,) = leases()
    assert kernel.provisioner is not None
    assert lease.holder == machine.holder(kernel.provisioner.pid)
    assert (lease.ask.purpose, lease.ask.title, lease.device[:4]) == ("notebook", "lessons/one.ipynb", "cpu:")
    about = record.read(here.state(), lease.id)
    assert about is not None
    assert (about.kernel, about.device, about.ends) == (kernel.kernel_id, lease.device, lease.ends)


def test_a_kernel_sees_no_secret_and_what_it_may_use(kernel: KernelManager) -> None:
    environment = value(kernel, "dict(__import__('os').environ)")
    assert "do-not-tell" not in json.dumps(environment)
    (lease,) = leases()
    assert environment["SAMPAN_SESSION"] == str(record.path(here.state(), lease.id))
    assert environment["CUDA_VISIBLE_DEVICES"] == ""
    assert environment["OMP_NUM_THREADS"] == environment["NUMBA_NUM_THREADS"] == "3"
    assert environment["OMP_WAIT_POLICY"] == os.environ.get("OMP_WAIT_POLICY", "PASSIVE")


def test_a_kernel_is_bound_by_limits(kernel: KernelManager) -> None:
    (lease,) = leases()
    limits = value(kernel, "[getrlimit(n)[1] for n in (RLIMIT_DATA, RLIMIT_CORE)]", "from resource import *")
    assert limits == [lease.ask.memory, 0]
    grow = f"""
try:
    bytearray({lease.ask.memory})
except MemoryError:
    refused = True
"""
    assert value(kernel, "refused", grow) is True


def test_the_debugger_answers(kernel: KernelManager) -> None:
    """It is a process beside the kernel: neither the limits nor the clean environment are in its way."""
    client = kernel.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        asked = {
            "type": "request",
            "command": "initialize",
            "seq": 1,
            "arguments": {"clientID": "t", "adapterID": ""},
        }
        client.control_channel.send(client.session.msg("debug_request", asked))
        reply = client.get_control_msg(timeout=60)
        assert reply["msg_type"] == "debug_reply" and reply["content"]["success"] is True, reply["content"]
    finally:
        client.stop_channels()


def test_nbclient_runs_a_notebook_under_a_lease(specs: StudioKernels, kernel: KernelManager) -> None:
    before = leases()
    code = "import json, os\nprint(json.load(open(os.environ['SAMPAN_SESSION']))['purpose'])"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    client = NotebookClient(notebook, kernel_name="sampan", timeout=60)
    client.execute()
    assert notebook.cells[0].outputs[0].text == "notebook\n"
    assert leases() == before


def test_from_the_warm_process_it_is_the_same(
    specs: StudioKernels, kernel: KernelManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.compute.zygote.client.WARM", ("ipykernel.kernelapp",))
    before = leases()

    async def run(warm: int) -> None:
        manager = new(specs)
        manager.transport_encryption = "auto"
        await manager.start_kernel(env={**os.environ, "SAMPAN_TICKET": "0" * 32})
        written = os.stat(manager.connection_file)
        client = manager.client()
        client.start_channels()
        try:
            pid = manager.provisioner.pid  # type: ignore[union-attr]
            assert psutil.Process(pid).ppid() == warm
            (lease,) = [lease for lease in leases() if lease not in before]
            assert lease.holder == machine.holder(pid)
            await client.wait_for_ready(timeout=60)
            assert os.stat(manager.connection_file).st_mtime_ns == written.st_mtime_ns  # read at any moment
            # One long sleep would now and then sleep on: a signal just before the system call does not end it.
            code = (
                "import os, time\nfrom resource import *\nprint(getrlimit(RLIMIT_DATA)[1], os.environ['SAMPAN_SESSION'][-37:-5],"
                " 'do-not-tell' in str(os.environ), os.environ.get('SAMPAN_TICKET'), flush=True)\nwhile True: time.sleep(0.01)"
            )
            client.execute(code)
            while (message := await client.get_iopub_msg(timeout=30))["msg_type"] != "stream":
                assert message["msg_type"] != "error", message["content"]
            assert message["content"]["text"].split() == [str(lease.ask.memory), lease.id, "False", "None"]
            await manager.interrupt_kernel()
            while (reply := await client.get_shell_msg(timeout=30))["msg_type"] != "execute_reply":
                pass  # answers to "are you ready?"
            assert reply["content"]["ename"] == "KeyboardInterrupt"
            await manager.restart_kernel(now=True)
            (again,) = [lease for lease in leases() if lease not in before]
            assert again.id == lease.id and again.holder != lease.holder
        finally:
            client.stop_channels()
            await manager.shutdown_kernel(now=True)

    studio = Zygote(here.state())
    with studio.kept():
        until((here.state() / "zygote.sock").exists)
        asyncio.run(run(studio._running[0].pid))  # type: ignore[index]
    assert leases() == before


def new(specs: StudioKernels, **settings: Any) -> AsyncKernelManager:
    """A kernel that is not started yet; `settings` of the provisioner."""
    return AsyncKernelManager(
        kernel_name="sampan", kernel_spec_manager=specs, config=Config(SessionProvisioner=settings)
    )


def test_a_kernel_that_is_interrupted_while_it_starts_starts_all_the_same(specs: StudioKernels) -> None:
    manager = KernelManager(kernel_name="sampan", kernel_spec_manager=specs)
    manager.start_kernel()
    try:
        manager.interrupt_kernel()
        assert value(manager, "6 * 7") == 42
    finally:
        manager.shutdown_kernel(now=True)


def test_a_restart_keeps_the_lease_and_the_end_gives_it_back(specs: StudioKernels) -> None:
    before = leases()

    async def run() -> None:
        manager = new(specs)
        await manager.start_kernel()
        (first,) = [lease for lease in leases() if lease not in before]
        await manager.restart_kernel(now=True)
        (second,) = [lease for lease in leases() if lease not in before]
        assert second.id == first.id and second.holder != first.holder
        os.kill(manager.provisioner.pid, signal.SIGKILL)  # type: ignore[union-attr]
        deadline = time.monotonic() + 60
        while manager.provisioner._runs:  # type: ignore[union-attr]
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)
        await manager.provisioner._looking  # type: ignore[union-attr]
        # Nobody asked whether it lives. Whoever looks until it is started again finds it in our hands.
        (third,) = [lease for lease in leases() if lease not in before]
        assert third.id == first.id and third.holder == machine.holder(os.getpid())
        await manager.restart_kernel(now=True)
        (fourth,) = [lease for lease in leases() if lease not in before]
        assert fourth.id == first.id and fourth.holder == machine.holder(manager.provisioner.pid)  # type: ignore[union-attr]
        await manager.shutdown_kernel(now=True)
        assert record.read(here.state(), first.id) is None

    asyncio.run(run())
    assert leases() == before


def test_a_session_that_dies_while_the_store_is_out_of_reach_leaves_no_task_that_failed(
    specs: StudioKernels, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        manager = new(specs)
        await manager.start_kernel()

        def unreachable(*_: object) -> None:
            raise OperationalError("UPDATE", {}, Exception("unable to open database file"))

        with monkeypatch.context() as patch:
            patch.setattr(here.store(), "bind", unreachable)
            os.kill(manager.provisioner.pid, signal.SIGKILL)  # type: ignore[union-attr]
            deadline = time.monotonic() + 60
            while manager.provisioner._looking is None:  # type: ignore[union-attr]
                assert time.monotonic() < deadline
                await asyncio.sleep(0.02)
            await manager.provisioner._looking  # type: ignore[union-attr]
        assert "keeping the lease of a session that ended failed" in caplog.text
        await manager.shutdown_kernel(now=True)

    asyncio.run(run())


def test_a_start_without_a_free_place_says_why_and_leaves_the_queue(
    specs: StudioKernels, kernel: KernelManager
) -> None:
    other = here.store().take(Ask("ann", "notebook", memory=1 << 20))
    assert isinstance(other, Lease)
    here.store().bind(other.id, machine.holder(os.getpid()))
    try:
        with pytest.raises(NoSession) as refusal:
            asyncio.run(new(specs, wait_s=0.2).start_kernel())
        assert refusal.value.status_code == 503
        assert "All places are in use" in refusal.value.sentence and "没有空位" in refusal.value.sentence_zh
        assert here.store().queue() == []
    finally:
        here.store().release(other.id)


def test_a_ticket_is_redeemed_once(specs: StudioKernels, kernel: KernelManager) -> None:
    asked = Ask(identity.local().name, "page", "train", seconds=600)
    granted = here.store().take(asked)
    assert isinstance(granted, Lease)

    async def run() -> None:
        manager = new(specs)
        environment = {
            **os.environ,
            "QUERY_STRING": f"lang=zh&ticket={granted.id}",
            "SCRIPT_NAME": "/studio/page/train",
        }
        await manager.start_kernel(env=environment)
        try:
            bound = next(lease for lease in leases() if lease.id == granted.id)
            assert bound.holder == machine.holder(manager.provisioner.pid)  # type: ignore[union-attr]
            assert bound.ask == asked
            with pytest.raises(NoSession):  # the same address again: a second lease, and both slots are taken
                await new(specs, wait_s=0.0).start_kernel(env=environment)
            assert next(lease for lease in leases() if lease.id == granted.id) == bound
        finally:
            await manager.shutdown_kernel(now=True)

    asyncio.run(run())
    assert len(leases()) == 1


def test_a_failed_launch_gives_the_lease_back(
    specs: StudioKernels, kernel: KernelManager, tmp_path: Path
) -> None:
    before = leases()
    with pytest.raises(OSError, match="nowhere"):
        asyncio.run(new(specs).start_kernel(cwd=str(tmp_path / "nowhere")))
    assert leases() == before


def test_the_sentence_for_a_full_machine_says_when() -> None:
    told = [full(Place("t", 2, 3, wait)).sentence for wait in (None, 30.0, 300.0, 7 * 3600.0)]
    assert [sentence.split(". ")[1] for sentence in told] == [
        "Try again when another session has ended.",
        "One should be free in about 1 min.",
        "One should be free in about 5 min.",
        "One should be free in about 7 h.",
    ]
    assert "7 小时" in full(Place("t", 2, 3, 7 * 3600.0)).sentence_zh


def test_what_this_machine_can_never_give_is_said_in_words(specs: StudioKernels) -> None:
    with pytest.raises(NoSession, match="no GPU"):
        asyncio.run(new(specs, kind="gpu").start_kernel())


def test_a_simulated_gpu_is_asked_for_and_never_mistaken_for_one(specs: StudioKernels) -> None:
    async def run(**settings: Any) -> str:
        manager = new(specs, **settings)
        await manager.start_kernel()
        try:
            return str(manager.provisioner.lease.device)  # type: ignore[union-attr]
        finally:
            await manager.shutdown_kernel(now=True)

    devices = (*here.store().machine.devices, Device("sim:0", "gpu", "simulated GPU"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(here.store(), "machine", replace(here.store().machine, devices=devices))
        assert asyncio.run(run(kind="gpu")) == "sim:0"
        assert asyncio.run(run()).startswith("cpu:")


def test_a_session_sees_its_gpu_by_uuid_and_its_part_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What NVML would tell of two cards; no card is needed to see what a kernel would be given."""
    cards = [
        Device("gpu:0", "gpu", "H200", 139 << 30, "GPU-aaaa"),
        Device("gpu:1", "gpu", "H200", 139 << 30, "GPU-bbbb"),
    ]
    monkeypatch.setattr(machine, "gpus", lambda: cards)
    half = Lease("a1", Ask("ann", "notebook", kind="gpu", share=0.5, memory=4 << 30), "gpu:1", 0.0, 9.0)
    variables = environment_of(half, Path("/state"))
    assert variables["CUDA_VISIBLE_DEVICES"] == "GPU-bbbb"
    assert variables["PYTORCH_ALLOC_CONF"] == "per_process_memory_fraction:0.5"
    whole = replace(half, ask=replace(half.ask, share=1.0))
    assert "PYTORCH_ALLOC_CONF" not in environment_of(whole, Path("/state"))
    assert limits_of(half).memory > half.ask.memory  # CUDA maps a lot
    cpu = replace(half, device="cpu:0", ask=Ask("ann", "notebook"))
    assert environment_of(cpu, Path("/state"))["CUDA_VISIBLE_DEVICES"] == ""


SERVER = """
import asyncio
from jupyter_client.manager import AsyncKernelManager
from studio.server.kernels import StudioKernels

async def run():
    specs = StudioKernels(allowed_kernelspecs={"sampan"}, ensure_native_kernel=False)
    manager = AsyncKernelManager(kernel_name="sampan", kernel_spec_manager=specs)
    await manager.start_kernel()
    print(manager.provisioner.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(run())
"""


def test_a_kernel_dies_with_whoever_started_it_and_its_lease_comes_back(kernel: KernelManager) -> None:
    """kill -9 of the server's process, so that it cannot clean up."""
    before = leases()
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        held = machine.holder(int(server.stdout.readline()))
        assert len(leases()) == len(before) + 1
        server.kill()
    until(lambda: not machine.alive(held), 30)
    until(lambda: leases() == before)


def test_a_server_is_killed_in_the_middle_of_a_grant(kernel: KernelManager) -> None:
    before = leases()
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as server:
        until(
            lambda: len(leases()) > len(before)
        )  # granted this moment; its kernel is not there yet, or just so
        server.kill()
    until(lambda: leases() == before)
