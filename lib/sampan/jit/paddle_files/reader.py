"""Reading the pair of files: bytes to checked operators and arrays. Nothing of a file is executed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import torch

from ...dtype import as_device
from ...engine.errors import InvalidArgument

# The numbers of dtypes in a tensor's description, and their names in the Program.
_DTYPES = {
    0: torch.bool, 1: torch.int16, 2: torch.int32, 3: torch.int64, 4: torch.float16, 5: torch.float32,
    6: torch.float64, 20: torch.uint8, 21: torch.int8, 22: torch.bfloat16, 23: torch.complex64,
    24: torch.complex128,
}  # fmt: skip  # a table
_KINDS = {
    "bool": torch.bool, "i8": torch.int8, "ui8": torch.uint8, "i16": torch.int16, "i32": torch.int32,
    "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
    "f64": torch.float64, "c64": torch.complex64, "c128": torch.complex128,
}  # fmt: skip  # a table
_DIALECTS = {"0": "builtin", "1": "pd_op", "2": "cf", "3": "custom_op", "4": "dist"}
_LARGEST = 2**28  # bytes of a Program, whose parameters are in the other file


@dataclass
class Op:
    """An operator of a Program: "pd_op.relu", its settings, the numbers of the values it reads and makes.

    0 stands for an input that is left out.
    """

    name: str
    settings: dict[str, Any]
    inputs: list[int]
    outputs: list[int]

    def get(self, name: str, default: Any = None) -> Any:
        """A setting."""
        return self.settings.get(name, default)


@dataclass
class Parameter:
    """A parameter or buffer of a Program, by the number of its value.

    stored: whether the other file has it; one that it has not, such as the state of a dropout, is 0.
    """

    value: int
    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    trainable: bool
    stored: bool


@dataclass
class File:
    """What a pair of files holds: the parameters, their buffers by name, and the operators in order."""

    parameters: list[Parameter]
    buffers: dict[str, torch.Tensor]
    ops: list[Op]


def read(content: dict[str, Any], file: Path) -> File:
    """The Program of a JSON file's content with the parameters in `file`. InvalidArgument where it is not
    what PaddlePaddle writes."""
    base = content.get("base_code")
    if not isinstance(base, dict) or base.get("magic") != "pir":
        raise InvalidArgument("not a Program of PaddlePaddle 3")
    regions = content["program"]["regions"]
    if len(regions) != 1 or len(regions[0]["blocks"]) != 1:
        raise InvalidArgument(f"expected one block of operators, got {len(regions)} regions")
    entries = regions[0]["blocks"][0]["ops"]
    parameters = [_parameter(entry) for entry in entries if entry["#"] == "p"]
    ops = [_op(entry) for entry in entries if entry["#"] != "p"]
    _check_order(parameters, ops)
    buffers = {name: buffer.to(as_device(None)) for name, buffer in _buffers(parameters, file).items()}
    return File(parameters, buffers, ops)


def checked_size(file: Path) -> None:
    """Refuse a Program that is larger than any that PaddlePaddle writes."""
    if file.stat().st_size > _LARGEST:
        raise InvalidArgument(f"{file.name}: expected at most {_LARGEST} bytes, got {file.stat().st_size}")


def _parameter(entry: dict[str, Any]) -> Parameter:
    made = entry["O"]
    form, dims, *_ = made["TT"]["D"]
    flags = entry.get("OA") or [1, 1, 0]
    shape = tuple(_int(n) for n in dims)
    kind, name = _kind(form["#"]), str(entry["A"][3])
    return Parameter(_int(made["%"]), name, shape, kind, not flags[1], bool(flags[0]))


def _kind(name: str) -> torch.dtype:
    short = name.rpartition("t_")[2]
    if short not in _KINDS:
        raise InvalidArgument(f"dtype {name!r} is not read")
    return _KINDS[short]


def _int(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgument(f"expected a whole number, got {value!r:.40}")
    return value


def _op(entry: dict[str, Any]) -> Op:
    dialect, _, name = str(entry["#"]).partition(".")
    settings = {one["N"]: _setting(one["AT"]) for one in entry["A"]}
    inputs, outputs = ([_int(one["%"]) for one in entry[part]] for part in ("I", "O"))
    return Op(f"{_DIALECTS.get(dialect, dialect)}.{name}", settings, inputs, outputs)


def _setting(form: dict[str, Any]) -> Any:
    """The value of a setting; None for one of a kind that no operator here asks for."""
    kind, value = str(form["#"]).rpartition("a_")[2], form.get("D")
    if kind == "array":
        return [_setting(part) for part in value or []]
    if kind in ("f32", "f64"):
        return float(value)  # type: ignore[arg-type]  # another kind raises TypeError, which the caller reports
    if kind in ("i32", "i64", "index", "i16", "i8"):
        return _int(value)
    if kind == "intarray":
        return [_int(part) for part in value or []]
    return value if kind in ("str", "bool", "dtype") and isinstance(value, (str, bool)) else None


def _check_order(parameters: list[Parameter], ops: list[Op]) -> None:
    """Refuse a Program that reads what nothing has made before, or makes a value twice."""
    made = {0}
    names: set[str] = set()
    for parameter in parameters:
        if parameter.value in made or parameter.name in names:
            raise InvalidArgument(f"parameter {parameter.name!r} is there twice")
        made.add(parameter.value)
        names.add(parameter.name)
    for place, op in enumerate(ops):
        missing = [value for value in op.inputs if value not in made]
        if missing:
            raise InvalidArgument(f"operator {place} ({op.name}) reads %{missing[0]} before it is made")
        if twice := [value for value in op.outputs if value in made]:
            raise InvalidArgument(f"operator {place} ({op.name}) makes %{twice[0]} again")
        made.update(op.outputs)


# --- parameters ---


def _buffers(parameters: list[Parameter], file: Path) -> dict[str, torch.Tensor]:
    """The buffers of the parameters, which a file holds in the order of their names."""
    stored = [parameter for parameter in parameters if parameter.stored]
    found = {p.name: torch.zeros([], dtype=p.dtype) for p in parameters if not p.stored}
    if not stored:
        return found
    if not file.is_file():
        raise InvalidArgument(f"no file {file.name} beside it, which has the parameters")
    needed = sum(prod(p.shape) * p.dtype.itemsize for p in stored if all(n >= 0 for n in p.shape))
    size = file.stat().st_size
    if size < needed:
        raise InvalidArgument(f"{file.name}: cut off: {size} bytes, and the parameters alone have {needed}")
    data, start = file.read_bytes(), 0
    for parameter in sorted(stored, key=lambda p: p.name):
        start, found[parameter.name] = _buffer(data, start, parameter, file.name)
    if start != len(data):
        raise InvalidArgument(f"{file.name}: {len(data) - start} bytes after the last parameter")
    return found


def _buffer(data: bytes, start: int, parameter: Parameter, file: str) -> tuple[int, torch.Tensor]:
    """Where a tensor that begins at `start` ends, and its content."""
    where = f"{file}: {parameter.name}"
    if start + 16 > len(data):
        raise InvalidArgument(f"{where}: cut off")
    version, levels, again = struct.unpack_from("<IQI", data, start)
    if version or levels or again:
        raise InvalidArgument(f"{where}: damaged: expected version 0 without levels, got {version}, {levels}")
    start += 16
    (length,) = struct.unpack_from("<i", data, start) if start + 4 <= len(data) else (-1,)
    if not 0 <= length <= len(data) - start - 4:
        raise InvalidArgument(f"{where}: damaged: a description of {length} bytes")
    start += 4
    dtype, shape = _description(data[start : start + length], where)
    if shape != parameter.shape or dtype is not parameter.dtype:
        raise InvalidArgument(
            f"{where}: it is {dtype} {list(shape)}, in the Program {parameter.dtype} {list(parameter.shape)}"
        )
    start += length
    count = prod(shape) * dtype.itemsize
    if start + count > len(data):
        raise InvalidArgument(f"{where}: cut off: expected {count} bytes, got {len(data) - start}")
    if not count:
        return start, torch.empty(shape, dtype=dtype)
    content = torch.frombuffer(bytearray(data[start : start + count]), dtype=torch.uint8)
    return start + count, content.view(dtype).reshape(shape)


def _description(data: bytes, where: str) -> tuple[torch.dtype, tuple[int, ...]]:
    """dtype and shape in a protobuf of field 1, a number of `_DTYPES`, and field 2, the lengths."""
    dtype, shape = -1, []
    numbers = _varints(data, where)
    for tag in numbers:
        if tag == 0x08:
            dtype = next(numbers, -1)
        elif tag == 0x10:
            shape.append(next(numbers, -1))
        else:
            raise InvalidArgument(f"{where}: damaged: field {tag >> 3} in its description")
    if dtype not in _DTYPES or any(not 0 <= n < 2**40 for n in shape):
        raise InvalidArgument(f"{where}: damaged: dtype {dtype}, shape {shape}")
    return _DTYPES[dtype], tuple(shape)


def _varints(data: bytes, where: str) -> Iterator[int]:
    value, shift = 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value, shift = 0, 0
        elif shift > 63:
            break
    if shift:
        raise InvalidArgument(f"{where}: damaged: a number without an end")
