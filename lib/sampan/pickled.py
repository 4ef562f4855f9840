"""Reads Paddle's pickled checkpoints without running what is in them: arrays and plain values, nothing
else."""

import collections
import pickle
from typing import IO, Any

import numpy as np


def _encode(text: str, encoding: str) -> bytes:
    """Protocol 2 writes the bytes of an array as text in latin-1."""
    if encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError(f"the text encoding {encoding!r} is not admitted")
    return text.encode("latin-1")


_ADMITTED: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("_codecs", "encode"): _encode,
    ("builtins", "tuple"): tuple,
    ("__builtin__", "tuple"): tuple,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}
_core: Any = np._core  # type: ignore[attr-defined]  # NumPy 2 has it, its stub not
for _module in ("numpy.core.multiarray", "numpy._core.multiarray"):
    _ADMITTED[_module, "_reconstruct"] = _core.multiarray._reconstruct
    _ADMITTED[_module, "scalar"] = _core.multiarray.scalar
for _module in ("numpy.core.numeric", "numpy._core.numeric"):
    _ADMITTED[_module, "_frombuffer"] = _core.numeric._frombuffer


class _Restricted(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            raise pickle.UnpicklingError(
                f"it wants {module}.{name}, which is neither an array nor a plain value"
            )
        return _ADMITTED[module, name]


def is_pickle(start: bytes) -> bool:
    """Whether a file's first nine bytes are those of a pickle of protocol 2 to 5. The safetensors format
    begins with the length of its header in eight bytes, the first of which may be the same; the last are 0,
    and a brace follows."""
    return len(start) > 2 and start[0] == 0x80 and 2 <= start[1] <= 5 and start[4:] != b"\0\0\0\0{"


def read_pickled(file: IO[bytes], name: str) -> Any:
    """The next pickle of arrays and plain values. ValueError for anything else, or when it is cut off."""
    try:
        return _Restricted(file).load()
    except (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, LookupError) as error:
        raise ValueError(f"load: {name!r} cannot be read as a Paddle checkpoint: {error}") from None
