"""Checkpoints, `save` and `load`: Tensors in nested dictionaries and lists, in a file that runs no code.

A file is a pickle as Paddle writes it, which Paddle reads too. Under a name that ends in `.safetensors`, and
for sparse tensors, it is in the safetensors format. The metadata hold the nesting as JSON and a SHA-256
checksum, so that a changed file is refused. Writing is atomic: an existing file is replaced only after the
new one is on the disk.
"""

import contextlib
import hashlib
import json
import os
import pickle
import tempfile
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open

from .engine.tensor import InvalidType, Tensor, is_tensor, to_numpy
from .pickled import is_pickle, read_pickled

FORMAT = 1
TABLE = "StructuredToParameterName@@"  # where Paddle writes the names of a state_dict's tensors
_CODES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
_UNKNOWN = ("uint16", "uint32", "uint64", "longdouble")  # NumPy's that torch's files do not know


# Kinds of tensors from other rooms: the room's name, its class, and how to take one apart into what can be
# saved, and back.
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


def sha256_of(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def locked(path: str | os.PathLike[str]) -> IO[bytes]:
    """An open file that this process alone has until it is closed, or until the process ends.

    Raises BlockingIOError where another has it. Windows has no such lock: there it is a file.
    """
    file = open(path, "wb")  # noqa: SIM115  the caller closes it
    with contextlib.suppress(ImportError):
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the system opens it when its holder dies
        except BlockingIOError:
            file.close()
            raise
    return file


def save(obj: Any, path: Any, protocol: int = 4, **configs: Any) -> None:
    """Write `obj` to `path`: Tensors, arrays, numbers, strings, None, in lists, tuples and dictionaries.

    path: a name, or an open binary file. protocol: of the pickle, 2 to 4.
    Raises TypeError, before anything is written, for anything else (a whole Layer: save its `state_dict()`),
    and OSError when the disk is full; an older file under the name is then untouched.
    """
    if not 1 < protocol < 5:
        raise ValueError(f"protocol: expected 2, 3 or 4, got {protocol}")
    classes = tuple(kind[0] for kind in kinds.values())
    if str(path).endswith(".safetensors") or _any(obj, lambda value: isinstance(value, classes)):
        save_with_checksum(obj, path)
        return
    content = _for_paddle(obj)
    with _to_write(path) as file:
        pickle.dump(content, file, protocol)


@contextlib.contextmanager
def _to_write(path: Any) -> Iterator[IO[bytes]]:
    """An open file as it is; of a name one that takes it at the end of the block."""
    try:
        with contextlib.nullcontext(path) if hasattr(path, "write") else replacing(path) as file:
            yield file
    except OSError as error:
        why = f"save: nothing was changed: {os.strerror(error.errno or 0)}"
        raise OSError(error.errno, why, str(path)) from error


def save_with_checksum(obj: Any, path: Any) -> None:
    """`save` in the safetensors format, under any name: `load` refuses the file where one bit of it has
    changed."""
    buffers: dict[Any, tuple[str, torch.Tensor]] = {}

    def keep(value: Any) -> dict[str, Any]:
        return _kept(value, buffers)

    tree = json.dumps({"format": FORMAT, "tree": _encode(obj, "obj", keep, as_json=True)})
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
    with _to_write(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, buffer in ordered:
            file.write(_bytes(buffer))


def _any(value: Any, test: Callable[[Any], bool]) -> bool:
    """Whether `test` holds for something in nested dictionaries and lists."""
    if isinstance(value, dict | list | tuple):
        return any(_any(v, test) for v in (value.values() if isinstance(value, dict) else value))
    return test(value)


def _for_paddle(obj: Any) -> Any:
    """What Paddle pickles: of a state_dict its arrays and a table of the tensors' names, else each tensor as
    (name, array)."""
    made: dict[Any, np.ndarray] = {}

    def array(value: Any) -> Any:
        if not isinstance(value, Tensor | torch.Tensor):
            return value
        data = value.data
        if data.dtype not in _CODES and not data.is_complex():
            raise TypeError(f"save: {value.dtype} has no form in Paddle's files; cast it first")
        key = (data.data_ptr(), data.shape, data.stride(), data.dtype)
        made.setdefault(key, to_numpy(data))  # the same memory is stored once
        return made[key]

    if isinstance(obj, dict) and all(
        isinstance(v, Tensor) or (isinstance(v, dict) and not _any(v, is_tensor)) for v in obj.values()
    ):
        table = {key: value.name for key, value in obj.items() if isinstance(value, Tensor)}
        return {**_encode(obj, "obj", array), TABLE: table}
    return _encode(obj, "obj", lambda v: (v.name, array(v)) if isinstance(v, Tensor) else array(v))


def load(path: Any, return_numpy: bool = False, **configs: Any) -> Any:
    """What `save` wrote, on the CPU. return_numpy: arrays in place of Tensors.

    path: a name, or a binary stream, which is read from its position to the end of what one `save` wrote.
    Pickles are read by an unpickler that admits arrays and plain values only; keep_name_table=True keeps the
    table of names that is written with a state_dict. Raises FileNotFoundError, EOFError for a stream at its
    end, and ValueError for a file that is cut off, changed or of another kind.

    >>> import io
    >>> file = io.BytesIO()
    >>> paddle.save({"step": 3, "weight": paddle.ones([2])}, file)
    >>> _ = file.seek(0)
    >>> paddle.load(file)["weight"].tolist()
    [1.0, 1.0]
    """
    keep_table = bool(configs.get("keep_name_table"))
    if hasattr(path, "read"):
        start = path.read(9)
        if is_pickle(start):
            path.seek(-len(start), os.SEEK_CUR)
            return _from_paddle(read_pickled(path, str(path)), return_numpy, keep_table)
        with tempfile.NamedTemporaryFile() as file:
            file.writelines(_next(start, path))
            file.flush()
            return load(file.name, return_numpy)
    try:
        opened = open(path, "rb")  # noqa: SIM115  closed by the next `with`
    except FileNotFoundError:
        raise NoSuchFile(f"load: there is no file {os.fspath(path)!r}") from None
    with opened as file:
        if is_pickle(file.read(9)):
            file.seek(0)
            return _from_paddle(read_pickled(file, os.fspath(path)), return_numpy, keep_table)
    try:
        with safe_open(os.fspath(path), framework="pt", device="cpu") as file:
            metadata = file.metadata() or {}
            names = list(file.keys())
            # Copies: the file may be replaced while they are in use.
            buffers = {name: file.get_tensor(name).clone() for name in names}
    except FileNotFoundError:  # it was removed in the meantime
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


def _next(start: bytes, stream: Any) -> Iterator[bytes]:
    """What one `save_with_checksum` wrote: the header's length and first byte, the header, the arrays. All of
    another's."""
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


def _kept(value: Any, buffers: dict[Any, tuple[str, torch.Tensor]]) -> dict[str, Any]:
    """An array as JSON: its name in `buffers`, in which one memory is stored once."""
    if isinstance(value, Tensor):
        buffer, facts = value.data, {"stop_gradient": value.stop_gradient, "name": value._name}
    elif isinstance(value, torch.Tensor):
        buffer, facts = value.detach(), {}
    else:
        buffer, facts = torch.from_numpy(np.array(value)), {"array": True}
    if buffer.is_complex():
        buffer, facts["complex"] = torch.view_as_real(buffer.resolve_conj()), True
    key = (buffer.data_ptr(), buffer.shape, buffer.stride(), buffer.dtype) if buffer.numel() else object()
    if key not in buffers:
        buffers[key] = (str(len(buffers)), buffer.cpu().contiguous())
    return {"buffer": buffers[key][0], **facts}


def _encode(value: Any, where: str, keep: Callable[[Any], Any], as_json: bool = False) -> Any:
    """`value` with `keep(array)` for every array; as_json: lists, tuples and dictionaries tell what they
    are."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    for name, (its_class, apart, _) in kinds.items():
        if isinstance(value, its_class):
            return {"kind": name, "parts": _encode(apart(value), where, keep, as_json)}
    if isinstance(value, np.ndarray | np.generic) and (
        value.dtype.kind not in "biufc" or value.dtype.name in _UNKNOWN
    ):
        raise TypeError(f"save: {where} is an array of dtype {value.dtype}, which cannot be saved")
    if isinstance(value, Tensor | torch.Tensor | np.ndarray | np.generic):
        return keep(value)
    if isinstance(value, dict):
        for key in value:
            if type(key) not in (str, int):
                kind = type(key).__name__
                raise TypeError(f"save: {where} has a key of type {kind}; expected strings or numbers")
        pairs = [[k, _encode(v, f"{where}[{k!r}]", keep, as_json)] for k, v in value.items()]
        return {"dict": pairs} if as_json else dict(pairs)
    if isinstance(value, list | tuple):
        found = [_encode(v, f"{where}[{i}]", keep, as_json) for i, v in enumerate(value)]
        if isinstance(value, tuple):
            return {"tuple": found} if as_json else tuple(found)
        return {"list": found} if as_json else found
    hint = "; save its state_dict()" if hasattr(value, "state_dict") else ""
    raise InvalidType(
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


def _from_paddle(content: Any, return_numpy: bool, keep_table: bool) -> Any:
    """What Paddle's `load` makes of a pickle: of a state_dict the arrays of its table become Tensors, else
    the pairs (name, array), or where there is none, every array."""

    def tensor(array: np.ndarray, name: str | None = None) -> Any:
        if return_numpy or array.dtype.kind not in "biufc":
            return array
        if array.dtype == np.uint16:  # how Paddle writes bfloat16: its upper 16 bits
            made = Tensor(torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16))
        else:
            made = Tensor(torch.from_numpy(array.copy()))
        made._name = name
        return made

    def tensors(value: Any) -> Any:
        if _is_pair(value):
            return tensor(value[1], value[0])
        if isinstance(value, np.ndarray) and not pairs:
            return tensor(value)
        if isinstance(value, dict):
            return {k: tensors(v) for k, v in value.items()}
        return type(value)(map(tensors, value)) if type(value) in (list, tuple) else value

    table = content.get(TABLE) if isinstance(content, dict) else None
    if isinstance(table, dict):
        named = {k: tensor(content[k], n) for k, n in table.items() if isinstance(content.get(k), np.ndarray)}
        return {k: named.get(k, v) for k, v in content.items() if k != TABLE or keep_table}
    pairs = _holds_pair(content)
    return tensors(content)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and [type(v) for v in value] == [str, np.ndarray]


def _holds_pair(value: Any) -> bool:
    if isinstance(value, dict | list | tuple) and not _is_pair(value):
        return any(map(_holds_pair, value.values() if isinstance(value, dict) else value))
    return _is_pair(value)
