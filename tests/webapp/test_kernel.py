"""What a learner's code can see: an environment without secrets, whoever starts the kernel."""

from __future__ import annotations

import json
import queue
from pathlib import Path

import pytest
from jupyter_client.kernelspec import NoSuchKernel
from jupyter_client.manager import KernelManager

from studio.environment import clean_environment
from studio.paths import JUPYTER_SHARE
from studio.server.kernels import StudioKernels


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
        "VOILA_REQUEST_URL": "http://127.0.0.1/?token=x",
        "HTTPS_PROXY": "http://user:password@proxy",
        "SSH_AUTH_SOCK": "/tmp/agent",
    }
    assert clean_environment({**kept, **dropped}) == kept


@pytest.fixture
def specs(monkeypatch: pytest.MonkeyPatch) -> StudioKernels:
    monkeypatch.setenv("JUPYTER_PATH", str(JUPYTER_SHARE))
    return StudioKernels(allowed_kernelspecs={"sampan"}, ensure_native_kernel=False)


def test_only_the_studios_kernel(specs: StudioKernels) -> None:
    assert list(specs.find_kernel_specs()) == ["sampan"]
    with pytest.raises(NoSuchKernel):
        specs.get_kernel_spec("python3")


def test_a_kernel_sees_no_secret(
    specs: StudioKernels, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_CLOUD_TOKEN", "do-not-tell")
    monkeypatch.setenv("DATABASE_URL", "postgres://user:do-not-tell@host")
    monkeypatch.setenv("SAMPAN_DATA", str(tmp_path))
    manager = KernelManager(kernel_name="sampan", kernel_spec_manager=specs, transport_encryption="auto")
    manager.start_kernel(cwd=str(tmp_path))
    try:
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=60)
        environment = _value(client, "dict(__import__('os').environ)")
        client.stop_channels()
    finally:
        manager.shutdown_kernel(now=True)
    assert "do-not-tell" not in json.dumps(environment)
    assert environment["SAMPAN_DATA"] == str(tmp_path)


def _value(client: object, expression: str) -> dict[str, str]:
    client.execute(f"import json; print(json.dumps({expression}))")  # type: ignore[attr-defined]
    text = ""
    while True:
        try:
            message = client.get_iopub_msg(timeout=30)  # type: ignore[attr-defined]
        except queue.Empty:
            raise AssertionError(f"the kernel said only {text!r}") from None
        if message["msg_type"] == "stream":
            text += message["content"]["text"]
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle" and text:
            value: dict[str, str] = json.loads(text)
            return value
