"""Makes a call on a library and digests the answer; uses only the common API of both libraries.

An answer is plain data (JSON): {"raised": class, "why": text}, {"unsupported": text} where the library has no
kernel for the dtype on this device, or {"out": digests, "grad": digests}. A digest of an array is its dtype, its
shape and its values, or, beyond 12 of them, three projections on random directions and their length.
"""

from __future__ import annotations

import functools
import math
import types
import warnings
from typing import Any

import numpy as np

from .spec import Array, Call, Made
from .surface import CLASSES, MISSING, area_of, find

WHOLE = 12  # values up to this many are kept as they are
NO_KERNEL = (
    "is not registered",
    "not implemented for",
    "CUDA",
    "cuda",
    "compiled with",
    "kernel not found",
    "static",
)
FLOATS = ("float16", "bfloat16", "float32", "float64")
TOLERANCE = {
    "float16": 4e-3,
    "bfloat16": 2e-2,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float64": 1e-7,
    "complex128": 1e-7,
}
FLOOR = {
    "float16": 1e-3,
    "bfloat16": 1e-2,
    "float32": 2e-6,
    "complex64": 2e-6,
}  # smaller numbers count as 0


def dtype_name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


@functools.cache
def _directions(count: int) -> np.ndarray:
    return np.random.default_rng(count).standard_normal((3, count))


def digest_of(values: np.ndarray, dtype: str, loose: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {"t": dtype, "s": list(values.shape)}
    if loose:
        return found
    flat = values.ravel()
    if flat.dtype.kind == "c":
        flat = np.stack([flat.real, flat.imag], -1).ravel()
    flat = flat.astype(np.float64)
    if flat.size <= WHOLE:
        found["v"] = [_number(v) for v in flat]
        return found
    finite = np.where(np.isnan(flat), 7.0, np.clip(flat, -1e300, 1e300))
    finite = np.where(np.isinf(flat), 3.0 * np.sign(flat), finite)
    with np.errstate(all="ignore"):
        found["p"] = [_number(v) for v in _directions(flat.size) @ finite]
        found["n"] = _number(np.linalg.norm(finite))
    found["x"] = [int(np.isnan(flat).sum()), int(np.isinf(flat).sum())]
    return found


def _number(value: float) -> Any:
    if not math.isfinite(value):
        return str(float(value))
    return int(value) if value == int(value) and abs(value) < 1e15 else float(f"{value:.9g}")


def tensor_digest(tensor: Any, loose: bool = False) -> dict[str, Any]:
    name = dtype_name(tensor.dtype)
    with_values = tensor.detach()
    if name in ("bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"):
        with_values = with_values.astype("float32")
    return digest_of(np.asarray(with_values.numpy()), name, loose)


def digest(value: Any, tensor: type, loose: bool = False) -> Any:
    """Of anything that a call returns."""
    if isinstance(value, tensor):
        return tensor_digest(value, loose)
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [digest(v, tensor, loose) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[str(k), digest(v, tensor, loose)] for k, v in value.items()]}
    if isinstance(value, np.ndarray):
        return {"numpy": digest_of(value, str(value.dtype), loose)}
    if isinstance(value, (bool, np.bool_)):
        return {"is": bool(value)}
    if isinstance(value, (int, float, np.number)):
        return {"number": None if loose else _number(float(value))}
    if value is None or isinstance(value, str):
        return {"is": value}
    if type(value).__name__ == "DataType":
        return {"dtype": dtype_name(value)}
    return {"a": type(value).__name__}


def _tensors(value: Any, tensor: type) -> list[Any]:
    if isinstance(value, tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in _tensors(v, tensor)] if isinstance(value, (list, tuple)) else []


class _Builder:
    """Arguments as one library's own objects; records all arrays, and the tensors that need a gradient."""

    def __init__(self, library: types.ModuleType, grad: bool, in_place: bool) -> None:
        self.library, self.grad, self.in_place = library, grad, in_place
        self.place = 0
        self.arrays: list[Any] = []
        self.leaves: list[Any] = []
        self.first: Any = None

    def build(self, spec: Any) -> Any:
        if isinstance(spec, Array | Made):
            made = self.tensor(spec) if isinstance(spec, Array) else spec.make(self.library)
            self.arrays.append(made)
            return made
        if isinstance(spec, (list, tuple)):
            return type(spec)([self.build(s) for s in spec])
        if isinstance(spec, dict):
            return {k: self.build(s) for k, s in spec.items()}
        return spec

    def tensor(self, spec: Array) -> Any:
        self.place += 1
        values = spec.values(self.place)
        if spec.numpy:
            return values
        made = self.library.to_tensor(values)
        if dtype_name(made.dtype) != spec.dtype:
            made = made.astype(spec.dtype)
        if self.grad and spec.grad and (spec.dtype in FLOATS or "complex" in spec.dtype):
            made.stop_gradient = False
            self.leaves.append(made)
            if self.in_place and self.first is None:
                made = made.clone()  # a leaf cannot be written in place
        if self.first is None:
            self.first = made
        return made


def perform(library: types.ModuleType, name: str, call: Call) -> dict[str, Any]:
    """The library's answer to one call."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return _perform(library, name, call)
        except Exception as error:  # whatever it raises is its answer
            return _refusal(error)


def _refusal(error: Exception) -> dict[str, Any]:
    text = str(error)
    if any(part in text for part in NO_KERNEL):
        return {"unsupported": text[:200]}
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    why = next((line for line in lines if "Error:" in line), lines[0] if lines else "")
    return {"raised": type(error).__name__, "why": why[:160]}


def called(library: types.ModuleType, name: str, call: Call, grad: bool) -> tuple[Any, _Builder, Any]:
    """What a call returns, its arguments, and the Layer that was called. grad: inputs need gradients."""
    in_place = name.endswith("_") and not name.endswith("__") and call.program is None
    builder = _Builder(library, grad, in_place)
    layer = None
    settings = dict(call.settings)
    if call.layer is not None:
        layer = find(library, name)(
            *map(builder.build, call.args), **{k: builder.build(v) for k, v in settings.items()}
        )
        _fill(library, layer)
        result = layer(
            *map(builder.build, call.layer), **{k: builder.build(v) for k, v in call.layer_settings.items()}
        )
    else:
        args = [builder.build(a) for a in call.args]
        settings = {k: builder.build(v) for k, v in settings.items()}
        if call.program is not None:
            result = call.program(library, *args, **settings)
        elif area_of(name) in CLASSES:
            result = getattr(args[0], name.rpartition(".")[2])
            result = (
                result(*args[1:], **settings)
                if callable(result) and not isinstance(result, library.Tensor)
                else result
            )
        else:
            result = find(library, name)(*args, **settings)
    return result, builder, layer


def _perform(library: types.ModuleType, name: str, call: Call) -> dict[str, Any]:
    result, builder, layer = called(library, name, call, call.grad)
    if layer is not None:
        builder.leaves += [p for p in layer.parameters() if not p.stop_gradient]
        result = [result, [[k, list(v.shape)] for k, v in layer.state_dict().items()]]
    elif builder.in_place:
        result = [result, builder.first]
    loose = not call.values
    answer: dict[str, Any] = {"out": digest(result, library.Tensor, loose)}
    if call.grad and builder.leaves:
        answer["grad"] = _gradients(library, result, builder.leaves, loose)
    return answer


def _fill(library: types.ModuleType, layer: Any) -> None:
    """The same weights in both libraries: in [0.2, 0.8), from the index in the state and the shape."""
    for place, tensor in enumerate(layer.state_dict().values()):
        name = dtype_name(tensor.dtype)
        if name in FLOATS:
            values = Array(
                tuple(tensor.shape), "float64" if name == "float64" else "float32", 0.2, 0.8
            ).values(place)
            tensor.set_value(library.to_tensor(values).astype(name))


def _gradients(library: types.ModuleType, result: Any, leaves: list[Any], loose: bool) -> Any:
    outputs, seen = [], set()
    for out in _tensors(result, library.Tensor):
        if (
            not out.stop_gradient
            and id(out) not in seen
            and dtype_name(out.dtype) in (*FLOATS, "complex64", "complex128")
        ):
            outputs.append(out)
            seen.add(id(out))
    if not outputs:
        return []
    weights = []
    for place, out in enumerate(outputs):
        name = dtype_name(out.dtype)
        kind = name if name.startswith("complex") else "float64" if name == "float64" else "float32"
        values = Array(tuple(out.shape), kind, 0.5, 1.5).values(100 + place)
        weights.append(library.to_tensor(values).astype(name))
    try:
        library.autograd.backward(outputs, weights)
    except Exception as error:
        return _refusal(error)
    return [None if leaf.grad is None else tensor_digest(leaf.grad, loose) for leaf in leaves]


def compare(expected: Any, got: Any, tolerance: float | None = None) -> str:
    """What differs between two answers, or nothing. expected is PaddlePaddle's."""
    if "unsupported" in expected or "crashed" in expected:
        return ""
    if "raised" in expected:
        return (
            ""
            if "raised" in got or "unsupported" in got
            else f"raises {expected['raised']} ({expected['why']})"
        )
    if "out" not in got:
        return f"does not raise {got.get('raised')}: {got.get('why', got.get('unsupported'))}"
    where = _differs(expected["out"], got["out"], tolerance, "out")
    gradients = expected.get("grad")
    if where or not isinstance(gradients, list):
        return where
    found = got.get("grad", [])
    if isinstance(found, dict):
        return f"backward does not raise {found.get('raised')}: {found.get('why', found.get('unsupported'))}"
    return _differs({"list": gradients}, {"list": found}, tolerance, "grad")


def _differs(a: Any, b: Any, tolerance: float | None, where: str) -> str:
    if a is None or b is None:
        return "" if a is b else f"{where}: {_brief(a)} here {_brief(b)}"
    if set(a) != set(b):
        return f"{where}: {_brief(a)} here {_brief(b)}"
    for kind in ("list", "tuple"):
        if kind in a:
            if len(a[kind]) != len(b[kind]):
                return f"{where}: {len(a[kind])} entries here {len(b[kind])}"
            places = enumerate(zip(a[kind], b[kind], strict=True))
            return next((d for i, (x, y) in places if (d := _differs(x, y, tolerance, f"{where}[{i}]"))), "")
    if "dict" in a:
        if [k for k, _ in a["dict"]] != [k for k, _ in b["dict"]]:
            return f"{where}: keys {[k for k, _ in a['dict']]} here {[k for k, _ in b['dict']]}"
        pairs = zip(a["dict"], b["dict"], strict=True)
        return next((d for (k, x), (_, y) in pairs if (d := _differs(x, y, tolerance, f"{where}.{k}"))), "")
    if "numpy" in a:
        return _differs(a["numpy"], b["numpy"], tolerance, where)
    if "number" in a and a["number"] is not None:
        same = close([a["number"]], [b["number"]], tolerance or 1e-4, 1e-6)
        return "" if same else f"{where}: {_brief(a)} here {_brief(b)}"
    if "t" not in a:
        return "" if a == b else f"{where}: {_brief(a)} here {_brief(b)}"
    if (a["t"], a["s"]) != (b["t"], b["s"]):
        return f"{where}: {a['t']}{a['s']} here {b['t']}{b['s']}"
    tolerance = tolerance or TOLERANCE.get(a["t"], 1e-9)
    floor = FLOOR.get(a["t"], 1e-9)
    if "v" in a and not close(a["v"], b["v"], tolerance, floor):
        return f"{where}: {_brief(a)} here {_brief(b)}"
    if "p" in a:
        if a["x"] != b["x"]:
            return f"{where}: {a['x']} nan and inf here {b['x']}"
        length = 4 * float(a["n"]) * tolerance + floor * math.sqrt(math.prod(a["s"]))
        if not all(abs(float(x) - float(y)) <= length for x, y in zip(a["p"], b["p"], strict=True)):
            return f"{where}: {_brief(a)} here {_brief(b)}"
    return ""


def close(a: list[Any], b: list[Any], tolerance: float, floor: float) -> bool:
    """Number by number, within tolerance of the number and, less strictly, of the largest of them."""
    first, second = np.array(a, np.float64), np.array(b, np.float64)
    finite = np.isfinite(first)
    if not (
        np.array_equal(finite, np.isfinite(second))
        and np.array_equal(first[~finite], second[~finite], equal_nan=True)
    ):
        return False
    first, second = first[finite], second[finite]
    span = np.abs(first).max(initial=0)
    apart = np.abs(first / 2 - second / 2)  # halves: the largest numbers do not overflow
    return bool((apart <= tolerance * (np.abs(first) / 2 + 0.05 * span) + floor / 2).all())


def _brief(value: Any) -> str:
    if isinstance(value, dict) and "t" in value:
        return f"{value['t']}{value['s']} {value.get('v', value.get('p', ''))}"
    return str(value)[:120]


__all__ = ["MISSING", "compare", "digest", "perform"]
