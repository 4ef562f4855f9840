"""`save` and `load`: files that answer as the layer does, for inputs of any size."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import nn
from sampan.jit import InputSpec, load, save, saving, to_static
from sampan.jit.control_flow import flow_calls

pytestmark = pytest.mark.servers


class Several(nn.Layer):
    """Dropout, sizes of the input, a dictionary, an optional argument and a second method."""

    shift: Any

    def __init__(self) -> None:
        super().__init__()
        self.a, self.drop = nn.Linear(4, 4), nn.Dropout(0.5)
        self.register_buffer("shift", paddle.ones([4]))

    @to_static
    def forward(self, x: Any, y: Any = None, scale: float = 2.0) -> Any:
        h = self.drop(self.a(x) + self.shift) * scale
        return {
            "h": h,
            "flat": h.reshape([x.shape[0] * 2, 2]),
            "z": paddle.zeros([x.shape[0], 3]),
            "y": y,
            "k": 3,
        }

    @to_static(input_spec=[InputSpec([None, 4])])
    def classes(self, x: Any) -> Any:
        return self.a(x).argmax(-1)


def test_a_layer_with_several_methods(tmp_path: Path) -> None:
    net = Several()
    save(net, tmp_path / "net", [InputSpec([None, 4], name="image"), InputSpec([None, 2])])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.json", "net.safetensors"] and net.training
    read: Any = load(tmp_path / "net")
    x, y = paddle.randn([3, 4]), paddle.randn([7, 2])
    net.eval()
    with paddle.no_grad():
        wanted, found = net(x, y), read(x, y=y)
    assert found.keys() == wanted.keys() and found["k"] == 3 and found["y"] is y
    for name in ("h", "flat", "z"):
        assert torch.allclose(found[name].data, wanted[name].data, atol=1e-6)
    assert torch.equal(read.classes(x).data, net.classes(x).data)
    assert set(read.state_dict()) == set(net.state_dict())
    content = json.loads((tmp_path / "net.json").read_text())
    assert [i["name"] for i in content["functions"]["forward"]["inputs"]] == ["image", "y"]
    # It is trained on, and saved again.
    optimizer = paddle.optimizer.SGD(0.1, read.parameters())
    losses = []
    for _ in range(5):
        loss = ((read(x, y)["h"] - 1) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    with pytest.raises(ValueError, match=r"image: expected float32\[-1, 4\], got float32\[2, 5\]"):
        read(paddle.ones([2, 5]), y)
    with pytest.raises(TypeError, match="missing the argument 'x'"):
        read(y=y)


def test_any_length_and_tied_lengths(tmp_path: Path) -> None:
    net = nn.TransformerEncoderLayer(8, 2, 16)
    save(net, tmp_path / "net", [InputSpec([None, None, 8]), InputSpec([None, 1, None, None], "bool")])
    read = load(tmp_path / "net")
    net.eval()
    x, mask = paddle.randn([3, 9, 8]), paddle.randn([3, 1, 9, 9]) > -1
    with paddle.no_grad():
        assert torch.allclose(read(x, mask).data, net(x, mask).data, atol=1e-6)
        with pytest.raises(ValueError, match="expected the same length"):
            read(x, paddle.ones([3, 1, 8, 9], "bool"))


def test_a_function_and_the_shapes_of_its_last_call(tmp_path: Path) -> None:
    weight = paddle.to_tensor([2.0, 3.0])
    static = to_static(lambda x: (x * weight).sum())
    static(paddle.ones([2]))
    save(static, tmp_path / "f")
    assert load(tmp_path / "f")(paddle.to_tensor([1.0, 1.0])).item() == 5


class Ways(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        y = self.a(x)
        if y.mean() > 0:
            y = self.b(y)
        elif x.sum() > 0:
            y = y * 2
        n = paddle.static.nn.cond(x.max() > 1, lambda: x.sum(), lambda: x.mean())
        return {"y": y, "n": n}


def test_every_way_through_the_function_is_saved(tmp_path: Path) -> None:
    paddle.seed(3)
    net = Ways()
    save(net, tmp_path / "net", [InputSpec([None, 4])])
    read: Any = load(tmp_path / "net")
    assert {call.name for call in flow_calls(read.program())} == {"cond"} and not read.forward.loaded.others
    taken = set()
    for i in range(24):
        x = paddle.randn([i % 5 + 1, 4]) * 2
        for train in (True, False):
            with paddle.set_grad_enabled(train):
                wanted, found = net(x), read(x)
            assert torch.allclose(found["y"].data, wanted["y"].data, atol=1e-6)
            assert torch.allclose(found["n"].data, wanted["n"].data, atol=1e-6)
        taken.add((net.a(x).mean().item() > 0, x.sum().item() > 0, x.max().item() > 1))
    assert len(taken) > 3


def doubled(x: Any) -> Any:
    while x.sum() < 10:
        x = x * 2
        if x.max() > 5:
            break
    return x


def many_ways(x: Any) -> Any:
    return x * sum(bool(x.max() > number) for number in range(5))


def lacks_files(folder: Path) -> bool:
    return list(folder.iterdir()) == []


def test_a_break_of_a_loop_over_values_is_in_the_file(tmp_path: Path) -> None:
    save(doubled, tmp_path / "f", [InputSpec([None, 4])])
    loaded = load(tmp_path / "f")
    for value in (0.1, 0.7, 3.0, 6.0, -1.0 / 64):
        x = paddle.full([2, 4], abs(value))
        assert np.array_equal(loaded(x).numpy(), doubled(x).numpy())


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (many_ways, r"test_saving\.py:\d+: more than 16 ways through the function, by bool\(\)"),
        (lambda x: x * float(x.max()), r"item\(\) of a Tensor decides"),
        (lambda x: x * float(np.random.rand()), "random numbers outside"),
        (lambda x: x.reshape([2, 4]), "shape"),
        (lambda x: x + 1 if x.shape[0] < 4 else x * 2, r"test_saving\.py:\d+: add for .* multiply for"),
        (lambda x: x.add_(x), "writes into an argument"),
    ],
)
def test_what_no_file_stands_for_is_refused(function: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        save(function, tmp_path / "f", [InputSpec([None, 4])])
    assert lacks_files(tmp_path)


def test_bad_specs(tmp_path: Path) -> None:
    net = nn.Linear(4, 2)
    for spec, message in (
        (None, "expected an InputSpec for each argument"),
        ([InputSpec([2, 4]), InputSpec([2])], "expected at most 1, got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            save(net, tmp_path / "f", spec)
    with pytest.raises(TypeError, match="expected a Layer or a function"):
        save(3, tmp_path / "f")
    with pytest.raises(ValueError, match="unknown settings"):
        save(net, tmp_path / "f", [InputSpec([2, 4])], nonsense=1)
    assert lacks_files(tmp_path)


def test_a_file_that_answers_otherwise_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = saving._write

    def damaged(draft: Path, content: Any, names: Any, outside: Any) -> None:
        for tensor in outside.tensors:
            tensor.data.add_(1e-3)
        write(draft, content, names, outside)
        for tensor in outside.tensors:
            tensor.data.sub_(1e-3)

    monkeypatch.setattr(saving, "_write", damaged)
    with pytest.raises(ValueError, match="is not that of the layer"):
        save(nn.Linear(4, 2), tmp_path / "f", [InputSpec([None, 4])])
    assert lacks_files(tmp_path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net"
    save(nn.Linear(4, 2), path, [InputSpec([None, 4])])
    text, weights = Path(f"{path}.json"), Path(f"{path}.safetensors")
    whole, tensors = text.read_text(), weights.read_bytes()

    def refused(message: str, content: str = whole, data: bytes = tensors) -> None:
        text.write_text(content)
        weights.write_bytes(data)
        with pytest.raises(ValueError, match=message):
            load(path)

    refused("damaged", whole[: len(whole) // 2])
    refused("damaged", data=tensors[:50])
    refused("not a Program of Sampan", '{"a": 1}')
    refused("version 99", whole.replace('"version": 2', '"version": 99'))
    refused("is not an operator", whole.replace('"affine"', '"os.system"'))
    refused("reads p1", json.dumps({**json.loads(whole), "tensors": json.loads(whole)["tensors"][:1]}))
    refused("damaged", whole.replace('"takes"', '"tokes"'))
    refused("damaged", "[" * 100_000)
    weights.unlink()
    text.write_text(whole)
    with pytest.raises(ValueError, match="damaged"):
        load(path)
    with pytest.raises(ValueError, match=r"no file nothing\.json"):
        load(tmp_path / "nothing")
