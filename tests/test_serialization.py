"""save and load: what goes through, what is refused, and that no failure costs an older file.

Files whose names end in .safetensors are in that format, all others are pickles that Paddle reads."""

import io
import json
import math
import pickle
import resource
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import safetensors.torch
import torch

import sampan as paddle
from sampan import nn
from sampan.serialization import NoSuchFile

DTYPES = [
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64",
    "complex128",
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 3), (), (0, 4)])
def test_every_dtype_and_shape(dtype, shape, tmp_path):
    buffer = (torch.rand(shape, generator=torch.Generator().manual_seed(1)) * 5).to(getattr(torch, dtype))
    paddle.save({"x": paddle.Tensor(buffer)}, tmp_path / "f")
    x = paddle.load(tmp_path / "f")["x"]
    assert x.data.dtype is buffer.dtype and x.data.shape == buffer.shape and torch.equal(x.data, buffer)


def test_nesting_and_plain_values(tmp_path):
    given = {
        "numbers": [1, -(2**70), 0.1, 1e-320, float("inf"), True, None, "text 舢板"],
        "tuple": (1, (2.5, [])),
        5: {"inner": {}},
        "array": np.arange(6, dtype=np.int16).reshape(2, 3)[:, ::2],
        "scalar": np.float32(2.5),
    }
    paddle.save(given, tmp_path / "f.safetensors")
    found = paddle.load(tmp_path / "f.safetensors")
    array, scalar = found.pop("array"), found.pop("scalar")
    np.testing.assert_array_equal(array, given.pop("array"))
    assert isinstance(array, np.ndarray) and array.dtype == np.int16 and scalar == given.pop("scalar")
    assert found == given
    paddle.save(float("nan"), tmp_path / "f.safetensors")
    assert math.isnan(paddle.load(tmp_path / "f.safetensors"))


def test_a_state_dict_with_views_and_shared_memory(tmp_path):
    base = torch.arange(12.0).reshape(3, 4)
    state = {"whole": paddle.Tensor(base), "again": paddle.Tensor(base), "column": paddle.Tensor(base[:, 1])}
    paddle.save(state, tmp_path / "f.safetensors")
    found = paddle.load(tmp_path / "f.safetensors")
    assert found["again"].data_ptr() == found["whole"].data_ptr()  # stored once
    assert found["column"].numpy().tolist() == [1, 5, 9]
    parameter = nn.Linear(2, 2).weight
    paddle.save(parameter, tmp_path / "p.safetensors")
    loaded = paddle.load(tmp_path / "p.safetensors")
    assert loaded.name == parameter.name and not loaded.stop_gradient
    assert isinstance(paddle.load(tmp_path / "p.safetensors", return_numpy=True), np.ndarray)


def test_a_header_of_any_length_is_told_from_a_pickle(tmp_path):
    """The length stands first, and 0x0280 to 0x0580 are also how pickles begin."""
    path, seen = str(tmp_path / "saved.safetensors"), set()
    for count in range(1, 1500, 8):
        paddle.save({"text": "x" * count}, path)
        with open(path, "rb") as file:
            seen.add(int.from_bytes(file.read(2), "little"))
        assert paddle.load(path)["text"] == "x" * count
    assert {0x0280, 0x0380, 0x0480, 0x0580} <= seen


def test_other_programs_can_read_the_arrays(tmp_path):
    x = torch.rand(5, 3)
    paddle.save({"x": paddle.Tensor(x)}, tmp_path / "f.safetensors")
    (read,) = safetensors.torch.load_file(tmp_path / "f.safetensors").values()
    assert torch.equal(read, x)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({"net": nn.Linear(1, 1)}, r"obj\['net'\] is a Linear.*state_dict"),
        ({"f": [1, len]}, r"obj\['f'\]\[1\] is a builtin_function"),
        ({1.5: 2}, "key of type float"),
        ({"a": np.array(["x"])}, "dtype <U1"),
        ({1, 2}, "obj is a set"),
    ],
)
def test_what_cannot_be_saved_is_named_and_an_older_file_stays(value, what, tmp_path):
    paddle.save([1], tmp_path / "f")
    with pytest.raises(TypeError, match=what):
        paddle.save(value, tmp_path / "f")
    assert paddle.load(tmp_path / "f") == [1]


def saved(tmp_path):
    path = tmp_path / "f.safetensors"
    paddle.save({"x": paddle.arange(1000), "n": 3}, path)
    return path, path.read_bytes()


@pytest.mark.parametrize("name", ["f", "f.safetensors"])
def test_a_file_cut_off_anywhere_is_refused(name, tmp_path):
    path = tmp_path / name
    paddle.save({"x": paddle.arange(1000), "n": 3}, path)
    content = path.read_bytes()
    for length in [0, 1, 7, 8, 20, len(content) // 2, len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"load: .*f"):
            paddle.load(path)


def test_a_changed_byte_anywhere_is_refused(tmp_path):
    path, content = saved(tmp_path)
    start = 8 + int.from_bytes(content[:8], "little")
    for position in [start, start + 4000, len(content) - 1, content.index(b'\\"n\\"') + 2]:
        changed = bytearray(content)
        changed[position] ^= 1
        path.write_bytes(changed)
        with pytest.raises(ValueError, match="load"):
            paddle.load(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"hello, this is no checkpoint", b"PK\x03\x04" + bytes(50), np.random.default_rng(0).bytes(100)],
    ids=["nothing", "a text", "a zip file", "noise"],
)
def test_foreign_files_are_refused(content, tmp_path):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(ValueError, match="load"):
        paddle.load(tmp_path / "f")


def test_foreign_safetensors_newer_formats_and_absent_files(tmp_path):
    safetensors.torch.save_file({"x": torch.ones(2)}, tmp_path / "f")
    with pytest.raises(ValueError, match="another program"):
        paddle.load(tmp_path / "f")
    with pytest.raises(FileNotFoundError, match="no file"):
        paddle.load(tmp_path / "absent")


def test_a_newer_format_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("sampan.serialization.FORMAT", 99)
    paddle.save([1], tmp_path / "f.safetensors")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="format 99, this version reads 1"):
        paddle.load(tmp_path / "f.safetensors")


FULL = """
import resource, sys
import sampan as paddle
path = sys.argv[1]
paddle.save({"old": 1}, path)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
try:
    paddle.save({"x": paddle.zeros([1_000_000])}, path)
except OSError as error:
    print(type(error).__name__, error)
"""


def test_a_disk_that_fills_up_costs_nothing(tmp_path):
    """The kernel refuses to let the file grow past 100 kB: what a full disk or a quota does."""
    assert hasattr(resource, "RLIMIT_FSIZE")
    path = tmp_path / "f"
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True)
    assert "OSError" in done.stdout and "nothing was changed: File too large" in done.stdout
    assert paddle.load(path) == {"old": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["f"]  # no half file is left


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError):
        paddle.save([1], tmp_path / "file" / "below")


KILLED = """
import os, signal, sys
import torch
from sampan import serialization
def stop(*args):
    os.kill(os.getpid(), signal.SIGKILL)
serialization.os.fsync = stop
serialization.save({"new": serialization.Tensor(torch.zeros(1000))}, sys.argv[1])
"""


def test_a_kill_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "f"
    paddle.save({"old": 1}, path)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)])
    assert done.returncode == -9
    assert paddle.load(path) == {"old": 1}


def test_the_nesting_is_plain_json(tmp_path):
    _, content = saved(tmp_path)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    tree = json.loads(header["__metadata__"]["sampan"])
    assert tree["format"] == 1 and tree["tree"]["dict"][1] == ["n", 3]


def test_open_files_and_paddles_kinds_of_errors(tmp_path):
    file = io.BytesIO()
    paddle.save({"a": paddle.ones([2])}, file)
    file.seek(0)
    assert paddle.load(file)["a"].tolist() == [1, 1]
    with pytest.raises(ValueError, match="no file"):
        paddle.load(tmp_path / "nothing")
    with pytest.raises(ValueError, match="state_dict"):
        paddle.save(nn.Linear(1, 1), tmp_path / "layer")
    with pytest.raises(ValueError, match="protocol"):
        paddle.save({}, tmp_path / "f", protocol=5)


def test_a_stream_holds_several_and_each_load_takes_the_next():
    """As with Paddle, which documents two objects in one BytesIO; at the end there is nothing, and it says so."""
    stream = io.BytesIO(b"head")
    stream.seek(4)
    saved = [
        {"w": paddle.ones([3, 2]), "z": paddle.to_tensor([1 + 2j])},
        paddle.arange(5),
        [1, "two", None],
        {},
    ]
    for value in saved:
        paddle.save(value, stream)
    with pytest.raises(EOFError, match="at its end"):
        paddle.load(stream)
    stream.seek(4)
    first, second, third, fourth = (paddle.load(stream) for _ in saved)
    assert first["w"].tolist() == [[1, 1]] * 3 and first["z"].tolist() == [1 + 2j]
    assert second.tolist() == [0, 1, 2, 3, 4] and third == [1, "two", None] and fourth == {}
    with pytest.raises(EOFError, match="at its end"):
        paddle.load(stream)


@pytest.mark.parametrize("cut", [1, 8, 9, 30, -1])
def test_a_stream_that_is_cut_off_or_no_file_of_ours_is_refused(cut):
    whole = io.BytesIO()
    paddle.save({"w": paddle.ones([3, 2])}, whole)
    with pytest.raises(ValueError, match="load: "):
        paddle.load(io.BytesIO(whole.getvalue()[:cut]))
    with pytest.raises(ValueError, match="load: "):
        paddle.load(io.BytesIO(whole.getvalue()[:8] + b"{" + b"}" * 400))
    with pytest.raises(ValueError, match="load: "):
        paddle.load(io.BytesIO(b"x" * 50))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_empty_numpy_arrays_come_back(tmp_path, shape):
    paddle.save({"empty": np.empty(shape, np.int64)}, tmp_path / "file.safetensors")
    found = paddle.load(tmp_path / "file.safetensors")["empty"]
    assert found.shape == shape and found.dtype == np.int64


# --- the bytes that Paddle reads ---


def pickled(value, protocol=4):
    """What `save` writes, read by Python's own unpickler; Paddle 3.3.1 wrote the same of the same objects."""
    stream = io.BytesIO()
    paddle.save(value, stream, protocol)
    return pickle.loads(stream.getvalue())


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_a_state_dict_is_arrays_and_a_table_of_names(protocol):
    net = nn.Linear(2, 1)
    found = pickled(net.state_dict(), protocol)
    table = {"weight": net.weight.name, "bias": net.bias.name}
    assert found.pop("StructuredToParameterName@@") == table and type(found) is dict
    assert {k: (type(v), v.dtype, v.shape) for k, v in found.items()} == {
        "weight": (np.ndarray, np.float32, (2, 1)),
        "bias": (np.ndarray, np.float32, (1,)),
    }
    assert pickled({}) == {"StructuredToParameterName@@": {}}


def test_the_state_of_an_optimizer_keeps_its_scheduler_as_a_dictionary():
    net = nn.Linear(2, 1)
    rule = paddle.optimizer.Adam(paddle.optimizer.lr.StepDecay(0.1, 2), parameters=net.parameters())
    net(paddle.ones([1, 2])).sum().backward()
    rule.step()
    found = pickled(rule.state_dict())
    assert found["LR_Scheduler"] == {"last_epoch": 0, "last_lr": 0.1}
    names = {
        f"{net.weight.name}_{kind}_0" for kind in ("moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc")
    }
    assert (
        names <= set(found["StructuredToParameterName@@"])
        and "LR_Scheduler" not in found["StructuredToParameterName@@"]
    )


def test_other_nestings_hold_pairs_of_name_and_array():
    x, w = paddle.ones([2]), nn.Linear(2, 1).weight
    (name, array), n, plain = pickled([w, 3, {"x": x}])
    assert name == w.name and array.shape == (2, 1) and n == 3 and plain["x"][0] == x.name
    model = pickled({"model": {"w": w}, "epoch": 3})
    assert model["model"]["w"][0] == w.name and model["epoch"] == 3 and list(model) == ["model", "epoch"]
    half = pickled({"h": paddle.to_tensor([1.0, -2.0], "bfloat16"), "z": paddle.to_tensor(2.5)})
    assert half["h"].dtype == np.uint16 and half["h"].tolist() == [0x3F80, 0xC000]
    assert half["z"].shape == () and half["z"] == 2.5


def test_what_comes_back_from_it_is_what_paddle_gives():
    x = paddle.ones([2])
    stream = io.BytesIO()
    paddle.save({"x": [x], "array": np.ones(2), "tuple": (1, x)}, stream)
    paddle.save({"array": np.ones(2)}, stream)  # without a Tensor every array becomes one
    stream.seek(0)
    first, second = paddle.load(stream), paddle.load(stream)
    assert type(first["array"]) is np.ndarray and first["x"][0].name == x.name and first["tuple"][0] == 1
    assert first["tuple"][1].tolist() == [1, 1] and isinstance(second["array"], paddle.Tensor)


def test_one_memory_is_stored_once(tmp_path):
    x = paddle.ones([1000])
    paddle.save({"x": x, "tied": paddle.Tensor(x.data), "row": x[:3]}, tmp_path / "f")
    assert (tmp_path / "f").stat().st_size < 5000
    assert paddle.load(tmp_path / "f")["row"].tolist() == [1, 1, 1]


def test_files_of_earlier_versions_are_read_under_any_name(tmp_path):
    paddle.save({"x": paddle.ones([2])}, tmp_path / "f.safetensors")
    (tmp_path / "f.safetensors").rename(tmp_path / "net.pdparams")
    assert paddle.load(tmp_path / "net.pdparams")["x"].tolist() == [1, 1]
    with pytest.raises(TypeError, match="uint16 has no form in Paddle's files"):
        paddle.save({"x": paddle.ones([2]).astype("uint16")}, tmp_path / "f")


def test_a_file_removed_while_it_is_read_is_absent(tmp_path):
    path, stop = tmp_path / "x.safetensors", threading.Event()

    def replace():
        while not stop.is_set():
            paddle.save({"x": paddle.ones([2])}, str(path))
            path.unlink()

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        outcomes = set()
        until = time.monotonic() + 20
        while len(outcomes) < 2 and time.monotonic() < until:
            for _ in range(200):
                try:
                    outcomes.add(paddle.load(str(path))["x"].tolist() == [1.0, 1.0])
                except NoSuchFile:
                    outcomes.add(None)
    finally:
        stop.set()
        writer.join()
    assert outcomes == {True, None}
