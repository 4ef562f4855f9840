"""`save` and `load`: Tensors in nested dictionaries and lists, in one file that holds no code.

The file is in the safetensors format: any program that reads safetensors reads the arrays. Its metadata carry
the nesting as JSON and a SHA-256 over all of it, so that a cut-off or changed file is refused. Writing is atomic:
another file under the name stays whole until the new one is on the disk.
"""

import contextlib
import hashlib
import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open

from .pickled import is_pickle, read_pickled
from .tensor import Tensor, WrongKind

FORMAT = 1
_CODES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
    torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip
_UNKNOWN = ("uint16", "uint32", "uint64", "longdouble")  # NumPy's that torch's files do not know


# Kinds of tensors from other rooms: the room's name, its class, and how to take one apart into what can be saved, and back.
kinds: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {}
_ROOMS = ("sparse",)  # a file that holds such a kind brings its room along; no other name is imported


class NoSuchFile(FileNotFoundError, ValueError):
    """Nothing to load; Paddle says ValueError."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write, which takes the name `path` at the end of the block, whole or not at all.

    Raises OSError (a full disk, a folder without permission); then what was under the name is as it was.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the new name itself must survive a power cut
    finally:
        os.close(folder)


def save(obj: Any, path: Any, protocol: int = 4, **configs: Any) -> None:
    """Write `obj` to `path`: Tensors, arrays, numbers, strings, None, in lists, tuples and dictionaries.

    path: a name, or an open binary file. protocol: of Paddle's pickles; there are none here, so it changes nothing.
    Raises TypeError, before anything is written, for anything else (a whole Layer: save its `state_dict()`),
    and OSError when the disk is full; an older file under the name is then untouched.
    """
    if not 1 < protocol < 5:
        raise ValueError(f"protocol: expected 2, 3 or 4, got {protocol}")
    buffers: dict[Any, tuple[str, torch.Tensor]] = {}
    tree = json.dumps({"format": FORMAT, "tree": _encode(obj, buffers, "obj")})
    # Largest items first, so that each array starts at a multiple of its item's size.
    ordered = sorted(buffers.values(), key=lambda entry: -entry[1].element_size())
    header: dict[str, Any] = {"__metadata__": {"sampan": tree, "sha256": _digest(tree, ordered)}}
    position = 0
    for key, buffer in ordered:
        end = position + buffer.numel() * buffer.element_size()
        facts = {"dtype": _CODES[buffer.dtype], "shape": list(buffer.shape)}
        header[key] = {**facts, "data_offsets": [position, end]}
        position = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    try:
        with contextlib.nullcontext(path) if hasattr(path, "write") else replacing(path) as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for _, buffer in ordered:
                file.write(_bytes(buffer))
    except OSError as error:
        why = f"save: nothing was changed: {os.strerror(error.errno or 0)}"
        raise OSError(error.errno, why, str(path)) from error


def load(path: Any, return_numpy: bool = False, **configs: Any) -> Any:
    """What `save` wrote, on the CPU. return_numpy: arrays in place of Tensors.

    path: a name, or a binary stream, which is read from where it stands to the end of what one `save` wrote.
    Paddle's own `.pdparams` and `.pdopt` are read too, by an unpickler that admits arrays and plain values only;
    keep_name_table=True keeps the table of names that Paddle writes into them.
    Raises FileNotFoundError, EOFError for a stream at its end, and ValueError for a file that is cut off, changed or
    of another kind.
    """
    if hasattr(path, "read"):
        with tempfile.NamedTemporaryFile() as file:
            file.writelines(_next(path))
            file.flush()
            return load(file.name, return_numpy, **configs)
    if not os.path.exists(path):
        raise NoSuchFile(f"load: there is no file {os.fspath(path)!r}")
    if is_pickle(path):
        content = _pickled_tensors(read_pickled(path), return_numpy)
        if isinstance(content, dict) and not configs.get("keep_name_table"):
            content.pop("StructuredToParameterName@@", None)  # Paddle's own record of the names
        return content
    try:
        with safe_open(os.fspath(path), framework="pt", device="cpu") as file:
            metadata = file.metadata() or {}
            names = list(file.keys())
            # Copies: the file may be replaced while they are in use.
            buffers = {name: file.get_tensor(name).clone() for name in names}
    except FileNotFoundError:  # somebody has taken it away since
        raise NoSuchFile(f"load: there is no file {os.fspath(path)!r}") from None
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"load: {os.fspath(path)!r} is cut off or no file of this library: {error}"
        ) from None
    if "sampan" not in metadata:
        raise ValueError(f"load: {os.fspath(path)!r} is another program's safetensors file: no nesting")
    tree = metadata["sampan"]
    if _digest(tree, list(buffers.items())) != metadata.get("sha256"):
        raise ValueError(f"load: {os.fspath(path)!r} is damaged: its content does not fit its checksum")
    content = json.loads(tree)
    if content["format"] > FORMAT:
        formats = f"has format {content['format']}, this version reads {FORMAT}"
        raise ValueError(f"load: {os.fspath(path)!r} {formats}")
    return _decode(content["tree"], buffers, return_numpy)


def _next(stream: Any) -> Iterator[bytes]:
    """What one `save` wrote into a stream: the header's length, the header, the arrays. All that is left of another's."""
    start = stream.read(9)  # a byte of the header with it, which tells ours from a pickle
    if not start:
        raise EOFError("load: the stream is at its end: seek(0) first, to read what was written to it")
    yield start
    if start[4:] != b"\0\0\0\0{":
        yield stream.read()
        return
    yield (header := stream.read(int.from_bytes(start[:8], "little") - 1))
    with contextlib.suppress(
        ValueError, LookupError, TypeError, AttributeError
    ):  # a damaged one `load` refuses
        facts = json.loads(b"{" + header)
        yield stream.read(
            max((f["data_offsets"][1] for name, f in facts.items() if name != "__metadata__"), default=0)
        )


def _bytes(buffer: torch.Tensor) -> Any:
    flat = (
        buffer.reshape(-1) if buffer.numel() else buffer.new_empty(0)
    )  # NumPy's empty arrays have strides of 0
    return flat.view(torch.uint8).numpy().data


def _digest(tree: str, entries: list[tuple[str, torch.Tensor]]) -> str:
    """Over the nesting and every array, in the order of their names."""
    digest = hashlib.sha256(tree.encode())
    for name, buffer in sorted(entries, key=lambda entry: entry[0]):
        digest.update(f"{name} {buffer.dtype} {list(buffer.shape)}".encode())
        digest.update(_bytes(buffer))
    return digest.hexdigest()


def _encode(value: Any, buffers: dict[Any, tuple[str, torch.Tensor]], where: str) -> Any:
    """`value` as JSON in which an array stands as its name in `buffers`. One memory is stored once."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Tensor | torch.Tensor | np.ndarray | np.generic):
        if isinstance(value, Tensor):
            buffer, facts = value.data, {"stop_gradient": value.stop_gradient, "name": value._name}
        elif isinstance(value, torch.Tensor):
            buffer, facts = value.detach(), {}
        else:
            array = np.asarray(value)
            if array.dtype.kind not in "biufc" or array.dtype.name in _UNKNOWN:
                raise TypeError(f"save: {where} is an array of dtype {array.dtype}, which cannot be saved")
            buffer, facts = torch.from_numpy(np.array(array)), {"array": True}
        if buffer.is_complex():
            buffer, facts["complex"] = torch.view_as_real(buffer.resolve_conj()), True
        key = (buffer.data_ptr(), buffer.shape, buffer.stride(), buffer.dtype) if buffer.numel() else object()
        if key not in buffers:
            buffers[key] = (str(len(buffers)), buffer.cpu().contiguous())
        return {"buffer": buffers[key][0], **facts}
    if isinstance(value, dict):
        for key in value:
            if type(key) not in (str, int):
                kind = type(key).__name__
                raise TypeError(f"save: {where} has a key of type {kind}; expected strings or numbers")
        return {"dict": [[k, _encode(v, buffers, f"{where}[{k!r}]")] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_encode(v, buffers, f"{where}[{i}]") for i, v in enumerate(value)]}
    for name, (its_class, apart, _) in kinds.items():
        if isinstance(value, its_class):
            return {"kind": name, "parts": _encode(apart(value), buffers, where)}
    hint = "; save its state_dict()" if hasattr(value, "state_dict") else ""
    raise WrongKind(
        f"save: {where} is a {type(value).__name__}; expected Tensors, arrays, numbers, strings, lists, "
        f"dictionaries{hint}"
    )


def _decode(node: Any, buffers: dict[str, torch.Tensor], return_numpy: bool) -> Any:
    if not isinstance(node, dict):
        return node
    if "dict" in node:
        return {k: _decode(v, buffers, return_numpy) for k, v in node["dict"]}
    if "list" in node:
        return [_decode(v, buffers, return_numpy) for v in node["list"]]
    if "tuple" in node:
        return tuple(_decode(v, buffers, return_numpy) for v in node["tuple"])
    if node.get("kind") in _ROOMS:
        import_module(f".{node['kind']}", __package__)
        return kinds[node["kind"]][2](_decode(node["parts"], buffers, return_numpy))
    buffer = buffers[node["buffer"]]
    if node.get("complex"):
        buffer = torch.view_as_complex(buffer)
    tensor = Tensor(buffer, stop_gradient=node.get("stop_gradient", True))
    if return_numpy or node.get("array"):
        return tensor.numpy()
    tensor._name = node.get("name")
    return tensor


def _pickled_tensors(value: Any, return_numpy: bool) -> Any:
    """Paddle's nesting with its arrays as Tensors; a pair (name, array) is a named one."""
    if isinstance(value, tuple) and [type(v) for v in value] == [str, np.ndarray]:
        made = _pickled_tensors(value[1], return_numpy)
        if isinstance(made, Tensor):
            made.name = value[0]
        return made
    if isinstance(value, np.ndarray):
        if value.dtype == np.uint16 and not return_numpy:  # how Paddle writes bfloat16: its upper 16 bits
            return Tensor(torch.from_numpy(value.view(np.int16).copy()).view(torch.bfloat16))
        stays = return_numpy or value.dtype.kind not in "biufc"
        return value if stays else Tensor(torch.from_numpy(value.copy()))
    if isinstance(value, dict):
        return {k: _pickled_tensors(v, return_numpy) for k, v in value.items()}
    if isinstance(value, list):
        return [_pickled_tensors(v, return_numpy) for v in value]
    return value
