"""The bytes of an IDX file."""

import struct

CODES = {"uint8": 0x08, "int8": 0x09, "int16": 0x0B, "int32": 0x0C, "float32": 0x0D, "float64": 0x0E}


def idx_bytes(array):
    """The IDX layout, written from its description: two zeros, type, axes, sizes, values, all big-endian."""
    header = struct.pack(">BBBB", 0, 0, CODES[array.dtype.name], array.ndim)
    return (
        header
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.astype(array.dtype.newbyteorder(">")).tobytes()
    )
