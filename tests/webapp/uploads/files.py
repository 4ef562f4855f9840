"""Files for uploading, made by the tests: good ones, and one for each attack."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def with_info(content: bytes = b"a,b\n1,2\n", name: str = "t.csv", **changes: Any) -> bytes:
    """A zip file of one member whose entry is changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo(name)
        for field, value in changes.items():
            setattr(info, field, value)
        archive.writestr(info, content)
    return out.getvalue()


def npy(array: np.ndarray, pickled: bool = False) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=pickled)
    return out.getvalue()


def npy_header(header: str, body: bytes = b"") -> bytes:
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body


def npz(**arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)  # type: ignore[arg-type]  # no array is named allow_pickle
    return out.getvalue()


def image(width: int = 8, height: int = 8, form: str = "PNG", mode: str = "RGB", shade: int = 120) -> bytes:
    out = io.BytesIO()
    Image.new(mode, (width, height), shade if mode in ("L", "I;16") else (shade, 20, 200)).save(out, form)
    return out.getvalue()


def png_of(width: int, height: int) -> bytes:
    """A PNG whose header states a size, with no pixels behind it."""
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body))
    data = zlib.compress(b"\0")
    idat = struct.pack(">I", len(data)) + b"IDAT" + data + struct.pack(">I", zlib.crc32(b"IDAT" + data))
    return b"\x89PNG\r\n\x1a\n" + chunk + idat + b"\0\0\0\0IEND\xaeB`\x82"


def wav(
    samples: np.ndarray | None = None,
    rate: int = 16_000,
    channels: int = 1,
    form: int = 1,
    stated: int | None = None,
    block: int | None = None,
) -> bytes:
    values = (np.sin(np.arange(1600) / 5) * 20_000).astype("<i2") if samples is None else samples
    body, width = values.tobytes(), values.itemsize
    wide = channels * width if block is None else block
    fmt = struct.pack("<HHIIHH", form, channels, rate, rate * wide, wide, width * 8)
    data = b"data" + struct.pack("<I", len(body) if stated is None else stated) + body
    return (
        b"RIFF" + struct.pack("<I", 28 + len(data)) + b"WAVE" + b"fmt " + struct.pack("<I", 16) + fmt + data
    )


def _patched(content: bytes, old: bytes, new: bytes) -> bytes:
    assert old in content
    return content.replace(old, new)


def _many() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(20_001):
            archive.writestr(zipfile.ZipInfo(f"{number}.csv"), b"")
    return out.getvalue()


def _large_twins() -> bytes:
    """Three members that state 2 GB each, at a ratio that a single one may have; only their directory says so."""
    content = bytearray(
        zipped(*((f"{letter}.csv", b"a\n1\n") for letter in "abc"), method=zipfile.ZIP_STORED)
    )
    place = 0
    while (place := content.find(b"PK\x01\x02", place)) >= 0:
        struct.pack_into("<II", content, place + 20, 20_000_000, 2_000_000_000)
        place += 4
    return bytes(content)


CSV = b"name,age,score\nAda,36,1.5\nBob,,2\nZhang,41,0.25\n"
BOMB = zipped(("zeros.csv", b"a,b\n" + b"0,0\n" * 4_000_000))
OBJECTS = npy(np.array([{"a": 1}, None], object), pickled=True)
_HEAD = "{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}"

# name of the attack -> (name of the file, its content, the key of the refusal, what the sentence names)
Attack = tuple[str, Callable[[], bytes], str, str]
ATTACKS: dict[str, Attack] = {
    "empty": ("a.csv", lambda: b"", "empty", ""),
    "program": ("a.csv", lambda: b"\x7fELF" + bytes(64), "header", "a.csv"),
    "program without a suffix": ("a", lambda: b"\x7fELF" + bytes(64), "unknown", "program"),
    "pickle": ("a", lambda: b"\x80\x04\x95" + bytes(64), "unknown", "pickle"),
    "png that is text": ("a.zip", lambda: zipped(("cat/1.png", b"a,b\n1,2\n")), "header", "cat/1.png"),
    "csv that is a png": ("a.csv", image, "header", "a.csv"),
    "zip bomb by ratio": ("a.zip", lambda: BOMB, "ratio", "zeros.csv"),
    "zip bomb by size": ("a.zip", _large_twins, "unpacked", "6,000,000,000"),
    "too many entries": ("a.zip", _many, "members", "20,001"),
    "nested archive": ("a.zip", lambda: zipped(("in.zip", zipped(("a.csv", CSV)))), "nested", "in.zip"),
    "nested gzip": ("a.zip", lambda: zipped(("in", b"\x1f\x8b\x08" + bytes(30))), "nested", "in"),
    "no entries": ("a.zip", lambda: zipped(), "empty", ""),
    "only junk": ("a.zip", lambda: zipped(("__MACOSX/._a.png", b"x")), "empty", ""),
    "path traversal": ("a.zip", lambda: zipped(("../evil.csv", CSV)), "traversal", "../evil.csv"),
    "traversal inside": ("a.zip", lambda: zipped(("a/../../evil.csv", CSV)), "traversal", "a/../../evil.csv"),
    "backslashes": ("a.zip", lambda: zipped(("..\\evil.csv", CSV)), "traversal", "..\\evil.csv"),
    "absolute name": ("a.zip", lambda: zipped(("/etc/evil.csv", CSV)), "absolute", "/etc/evil.csv"),
    "drive": ("a.zip", lambda: zipped(("C:evil.csv", CSV)), "absolute", "C:evil.csv"),
    "symbolic link": (
        "a.zip",
        lambda: with_info(b"/etc/passwd", external_attr=0o120777 << 16),
        "link",
        "t.csv",
    ),
    "device": ("a.zip", lambda: with_info(external_attr=0o020666 << 16), "device", "t.csv"),
    "pipe": ("a.zip", lambda: with_info(external_attr=0o010666 << 16), "device", "t.csv"),
    "two of one name": ("a.zip", lambda: zipped(("A.csv", CSV), ("a.csv", CSV)), "twice", "a.csv"),
    "control characters": ("a.zip", lambda: zipped(("a\x1b[31m.csv", CSV)), "name", "[31m.csv"),
    "right-to-left override": ("a.zip", lambda: zipped(("a\u202evsc.csv", CSV)), "name", "vsc.csv"),
    "NUL in a name": (
        "a.zip",
        lambda: _patched(zipped(("ab.csv", CSV)), b"ab.csv", b"a\0.csv"),
        "name",
        ".csv",
    ),
    "long name": ("a.zip", lambda: zipped((f"{'x' * 300}.csv", CSV)), "long_name", "255"),
    "encrypted": (
        "a.zip",
        lambda: _patched(
            zipped(("t.csv", CSV)),
            b"PK\x01\x02\x14\x03\x14\x00\x00\x00",
            b"PK\x01\x02\x14\x03\x14\x00\x01\x00",
        ),
        "encrypted",
        "t.csv",
    ),
    "unknown method": (
        "a.zip",
        lambda: _patched(
            zipped(("t.csv", CSV)),
            b"PK\x01\x02\x14\x03\x14\x00\x00\x00\x08\x00",
            b"PK\x01\x02\x14\x03\x14\x00\x00\x00\x61\x00",
        ),
        "method",
        "97",
    ),
    "cut zip": ("a.zip", lambda: zipped(("t.csv", CSV))[:-12], "damaged", "zip"),
    "changed content": (
        "a.zip",
        lambda: _patched(zipped(("t.csv", CSV), method=zipfile.ZIP_STORED), b"Zhang,41", b"Zhang,42"),
        "damaged",
        "t.csv",
    ),
    "mixed": ("a.zip", lambda: zipped(("a.csv", CSV), ("b.png", image())), "mixed", "png"),
    "a page in a zip": ("a.zip", lambda: zipped(("a.pdf", b"%PDF-1.7")), "unknown", "pdf"),
    # arrays
    "pickled array": ("a.npy", lambda: OBJECTS, "objects", "a.npy"),
    "pickled array in npz": ("a.npz", lambda: zipped(("x.npy", OBJECTS)), "objects", "x.npy"),
    "header states more": (
        "a.npy",
        lambda: npy_header(_HEAD.format("<f8", "(1000000000000,)"), bytes(80)),
        "array_size",
        "8,000,000,000,000",
    ),
    "header states less": (
        "a.npy",
        lambda: npy_header(_HEAD.format("<f8", "(2,)"), bytes(80)),
        "array_size",
        "16",
    ),
    "negative shape": (
        "a.npy",
        lambda: npy_header(_HEAD.format("<f8", "(-1,)"), bytes(8)),
        "array_header",
        "-1",
    ),
    "two negative sides": (
        "a.npy",
        lambda: npy_header(_HEAD.format("|u1", "(-2, -4)"), bytes(8)),
        "array_header",
        "-2",
    ),
    "code in the header": (
        "a.npy",
        lambda: npy_header("__import__('os').system('x')"),
        "array_header",
        "a.npy",
    ),
    "records": ("a.npy", lambda: npy(np.zeros(2, "i4,f4")), "array_type", "a.npy"),
    "version of the format": ("a.npy", lambda: b"\x93NUMPY\x09\x00" + bytes(20), "array_header", "9.0"),
    "csv as npz": ("a.npz", lambda: CSV, "header", "a.npz"),
    # tables
    "ragged": ("a.csv", lambda: b"a,b\n1,2\n1,2,3\n", "ragged", "line 3"),
    "not UTF-8": (
        "a.csv",
        lambda: b"a,b\n" + b"1,2\n" * 5000 + "1,Müller\n".encode("latin-1"),
        "encoding",
        "line 5,002",
    ),
    "NUL byte": ("a.csv", lambda: b"a,b\n1,\0\n", "nul", "line 2"),
    "formula": (
        "a.csv",
        lambda: b'a,b\n1,"=HYPERLINK(""http://e.example"")"\n',
        "formula",
        "line 2, column b",
    ),
    "command": ("a.csv", lambda: b"a,b\n1,2\n1,@SUM(1+1)*cmd|' /C calc'!A0\n", "formula", "line 3"),
    "formula after a tab": ("a.csv", lambda: b'a,b\n1,"\t=1+1"\n', "formula", "line 2"),
    "enormous line": ("a.csv", lambda: b"a,b\n1," + b"x" * 2_000_000 + b"\n", "line", "line 2"),
    "enormous cell of many lines": ("a.csv", lambda: b'a,b\n1,"' + b"x\n" * 2_000_000, "csv", "line"),
    "very many columns": ("a.csv", lambda: b",".join(b"c%d" % i for i in range(60_000)), "columns", "60,000"),
    "one line of commas": ("a.csv", lambda: b"," * 50_000_000, "line", "line 1"),
    "no names": ("a.csv", lambda: b"1,2\n3,4\n", "header_row", "1"),
    "empty name": ("a.csv", lambda: b"a,\n3,4\n", "header_row", "2"),
    "twice": ("a.csv", lambda: b"a,a\n3,4\n", "column_twice", "a"),
    "only names": ("a.csv", lambda: b"a,b\n", "no_rows", "a.csv"),
    "open quote": ("a.csv", lambda: b'a,b\n1,"2\n', "csv", "line"),
    "binary": ("a.csv", lambda: bytes(range(256)) * 4, "encoding", "line 2"),
    # images
    "one image": ("a.png", image, "one_image", "a.png"),
    "decompression bomb": ("a.zip", lambda: zipped(("b/1.png", png_of(60_000, 60_000))), "pixels", "60,000"),
    "long side": ("a.zip", lambda: zipped(("b/1.png", png_of(1, 30_000))), "pixels", "30,000"),
    "cut png": ("a.zip", lambda: zipped(("b/1.png", png_of(100, 100))), "damaged", "b/1.png"),
    "cut jpeg": ("a.zip", lambda: zipped(("b/1.jpg", image(64, 64, "JPEG")[:400])), "damaged", "b/1.jpg"),
    "jpeg named png": ("a.zip", lambda: zipped(("b/1.png", image(form="JPEG"))), "header", "b/1.png"),
    "sixteen bits": ("a.zip", lambda: zipped(("b/1.png", image(mode="I;16"))), "image_mode", "I;16"),
    # sounds
    "truncated": ("a.wav", lambda: wav()[:-100], "wav_cut", "a.wav"),
    "states more": ("a.wav", lambda: wav(stated=4_000_000_000), "wav_cut", "4,000,000,000"),
    "no data": ("a.wav", lambda: wav()[:36], "wav_cut", "a.wav"),
    "no channels": ("a.wav", lambda: wav(channels=0), "wav_header", "0 channels"),
    "rate": ("a.wav", lambda: wav(rate=0), "wav_header", "0 Hz"),
    "block": ("a.wav", lambda: wav(block=3), "wav_header", "block 3"),
    "compressed": ("a.wav", lambda: wav(form=85), "wav_header", "format 85"),
    "not finite": ("a.wav", lambda: wav(np.array([0, np.nan], "<f4"), form=3), "wav_values", "a.wav"),
}
