"""What is in a file that a user uploads: its kind, its schema and a look inside, or why it is refused.

Decoders of foreign files are not trusted: `examined` starts this file as a program, with limits of memory and time, and in
the sandbox of the grader where there is one. It gets the open file as its input, no path, and answers with JSON.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from studio import i18n, processes
from studio.data import blocks
from studio.data.blocks import Block
from studio.grading import bubble

from . import archives, arrays, bounds, content, images, sounds, tables
from .refusal import Refusal

MOST_SHOWN_COLUMNS, LONGEST_CELL = 12, 60
MOST_SOUND = 400_000  # bytes of a sound that can be heard on the page
THUMBNAIL = (128, 128)
Files = list[tuple[str, int, Callable[[], Any]]]  # name, size, and how to open it


async def examined(path: Path, name: str, alone: bool = False) -> dict[str, Any]:
    """What is in a file, by a process of its own; `name` is what the user called it. With `alone` it need not make a data
    set: one image is taken too. Raises Refusal."""
    program = [sys.executable, "-m", "studio.uploads.examine", name, *(["alone"] if alone else [])]
    if await asyncio.to_thread(bubble.available) is None:
        program = bubble.command(program)
    with path.open("rb") as stream:
        process = await processes.start(program, stdin=stream.fileno())
        answer = words = b""
        try:
            async with asyncio.timeout(bounds.EXAMINE_S):
                assert process.stdout is not None and process.stderr is not None
                answer = await _all(process.stdout)
                words = await process.stderr.read(4096)
        except TimeoutError:
            raise Refusal("slow", name=name, seconds=int(bounds.EXAMINE_S)) from None
        finally:
            await processes.stop(process)
    return _parsed(answer, name, words)


async def _all(stream: asyncio.StreamReader) -> bytes:
    """The whole answer, at most MOST_ANSWER bytes of it."""
    parts, left = [], bounds.MOST_ANSWER
    while left > 0 and (part := await stream.read(min(left, 1 << 16))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _parsed(answer: bytes, name: str, words: bytes) -> dict[str, Any]:
    try:
        told = json.loads(answer)
        refused = told.get("refused")
        if refused is not None and f"uploads.refused.{refused}" in i18n.catalog("en"):
            raise Refusal(refused, **told["values"])
        found: dict[str, Any] = told["found"]
    except Refusal:
        raise
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
    ) as error:  # it was ended, by a limit or by its own fault
        last = words.decode(errors="replace").strip().rpartition("\n")[2]
        raise Refusal("reader", name=name, why=last or "no answer") from error
    return found


# ---- in the limited process


def examine(stream: BinaryIO, name: str, alone: bool = False) -> dict[str, Any]:
    """The facts of a file. Raises Refusal."""
    size = stream.seek(0, os.SEEK_END)
    if not size:
        raise Refusal("empty")
    stream.seek(0)
    form = content.format_of(stream.read(content.HEAD), name)
    stream.seek(0)
    if form != "zip":
        if form in ("png", "jpeg") and not alone:
            raise Refusal("one_image", name=name)
        return _by_kind(form, name, [(name, size, partial(_whole, stream))])
    archive = archives.opened(stream)
    infos = archives.members(archive)
    forms = Counter(_form(archive, info) for info in infos)
    kinds = {content.KINDS[form] for form in forms}
    if len(kinds) > 1:
        raise Refusal("mixed", kinds=", ".join(sorted(forms)))
    files: Files = [
        (info.filename, info.file_size, partial(archives.member, archive, info)) for info in infos
    ]
    return {**_by_kind(forms.most_common(1)[0][0], name, files), "format": "zip"}


@contextmanager
def _whole(stream: BinaryIO) -> Iterator[BinaryIO]:
    stream.seek(0)
    yield stream


def _form(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    """The format of a member, by its first bytes."""
    try:
        with archive.open(info) as stream:
            form = content.format_of(stream.read(content.HEAD), info.filename)
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, NotImplementedError) as error:
        raise Refusal("damaged", name=info.filename, why=error) from error
    if form in ("zip", "archive"):
        raise Refusal("nested", name=info.filename)
    if form not in content.KINDS:
        raise Refusal("unknown", name=info.filename, found=form)
    return form


def _by_kind(form: str, name: str, files: Files) -> dict[str, Any]:
    if form not in content.KINDS:
        raise Refusal("unknown", name=name, found=form)
    kind = content.KINDS[form]
    found = {"images": _images, "sounds": _sounds, "arrays": _arrays, "tables": _tables}[kind](files)
    return {"kind": kind, "format": form, "members": [name for name, _, _ in files], **found}


def _label(name: str) -> str:
    return PurePosixPath(name).parent.name


def _classes(files: Files) -> tuple[list[str], list[Block]]:
    counted = Counter(_label(name) for name, _, _ in files)
    if len(counted) < 2:
        return sorted(counted), []
    return sorted(counted), [blocks.bars("classes", sorted(counted.items()))]


def _images(files: Files) -> dict[str, Any]:
    chosen, shown = set(blocks.spread(len(files), blocks.PICTURES)), []
    modes: set[str] = set()
    widths, heights = [], []
    for number, (name, _, opened) in enumerate(files):
        with opened() as stream:
            image = images.read(stream, name)
        modes.add(image.mode)
        widths.append(image.width)
        heights.append(image.height)
        if number in chosen:
            image.thumbnail(THUMBNAIL)
            shown.append({"png": blocks.png(images.pixels(image)), "label": _label(name) or name})
    channels = 1 if modes == {"L"} else 3
    classes, bars = _classes(files)
    sides = f"{_span(heights)} x {_span(widths)}"
    return {
        "items": len(files),
        "classes": classes,
        "channels": channels,
        "schema": {
            "image": f"uint8 [{channels}, H, W], H x W: {sides}",
            "label": f"int64, 0..{len(classes) - 1}",
        },
        "blocks": [{"kind": "images", "items": shown}, *bars],
    }


def _span(values: list[int]) -> str:
    return f"{min(values)}" if min(values) == max(values) else f"{min(values)}..{max(values)}"


def _sounds(files: Files) -> dict[str, Any]:
    chosen, shown = set(blocks.spread(len(files), blocks.SOUNDS)), []
    found = []
    for number, (name, size, opened) in enumerate(files):
        with opened() as stream:
            found.append(sound := sounds.read(stream, size, name))
        if number in chosen:
            url = ""
            if size <= MOST_SOUND:
                with opened() as stream:
                    url = f"data:audio/wav;base64,{base64.b64encode(stream.read()).decode()}"
            shown.append(
                {"url": url, "label": _label(name) or name, "seconds": sound.seconds, "wave": sound.wave}
            )
    classes, bars = _classes(files)
    rates, channels = (sorted({getattr(one, word) for one in found}) for word in ("rate", "channels"))
    return {
        "items": len(files),
        "classes": classes,
        "schema": {
            "sound": f"[{', '.join(map(str, channels))}, samples], {', '.join(map(str, rates))} Hz, "
            f"{sum(one.seconds for one in found):.1f} s",
            "label": f"int64, 0..{len(classes) - 1}",
        },
        "blocks": [{"kind": "sounds", "items": shown}, *bars],
    }


def _arrays(files: Files) -> dict[str, Any]:
    found, shown = [], []
    for name, size, opened in files:
        with opened() as stream:
            told = arrays.read(stream, size, name)
        pictures = arrays.pictures(told)
        if pictures is not None:
            items = [{"png": blocks.png(image), "label": str(place)} for place, image in enumerate(pictures)]
            shown.append({"kind": "images", "items": items})
        if told.get("counts"):
            bars = blocks.bars(told["name"], list(told["counts"].items()))
            shown.append({**bars, "heading": told["name"]})
        found.append(told)
    rows = [[one["name"], one["dtype"], str(one["shape"]), *_extremes(one)] for one in found]
    first = found[0]["shape"]
    return {
        "items": first[0] if first else 1,
        "classes": [],
        "schema": {one["name"]: f"{one['dtype']} {one['shape']}" for one in found},
        "blocks": [{"kind": "table", "head": "arrays", "rows": rows}, *shown],
    }


def _extremes(told: dict[str, Any]) -> list[str]:
    return [told.get(word, "") for word in ("least", "mean", "most")]


def _tables(files: Files) -> dict[str, Any]:
    forms: dict[str, Any] = {}
    shown, rows = [], 0
    schema: dict[str, str] = {}
    for name, _, opened in files:
        with opened() as stream:
            parquet = stream.read(4) == b"PAR1"
            stream.seek(0)
            told = tables.parquet_table(stream, name) if parquet else tables.csv_table(stream, name)
        facts = told["facts"]
        form = {word: told[word] for word in ("encoding", "delimiter") if word in told}
        forms[name] = form | {"columns": {fact["name"]: fact["dtype"] for fact in facts}}
        prefix = f"{name}: " if len(files) > 1 else ""
        schema |= {f"{prefix}{fact['name']}": fact["dtype"] for fact in facts}
        rows += told["rows"]
        shown += _table_blocks(told, name if len(files) > 1 else "")
    return {"items": rows, "classes": [], "schema": schema, "tables": forms, "blocks": shown}


def _table_blocks(told: dict[str, Any], heading: str) -> list[Block]:
    facts = told["facts"][:MOST_SHOWN_COLUMNS]
    cells = [[cell[:LONGEST_CELL] for cell in row[:MOST_SHOWN_COLUMNS]] for row in told["shown"]]
    found: list[Block] = [
        {"kind": "table", "columns": [fact["name"] for fact in facts], "rows": cells, "heading": heading},
        {
            "kind": "table",
            "head": "columns",
            "rows": [[fact["name"], fact["dtype"], f"{fact['empty']:,}", *_extremes(fact)] for fact in facts],
        },
    ]
    for fact in facts:
        if fact["values"] and 1 < len(fact["values"]) < told["rows"]:
            bars = blocks.bars(
                fact["name"], [(value[:LONGEST_CELL] or "-", n) for value, n in fact["values"].items()]
            )
            found.append({**bars, "heading": fact["name"]})
    return found


def main(name: str, alone: bool = False) -> int:
    """Examines the file that is its input, and prints what it found."""
    bounds.LIMITS.apply()
    try:
        told: dict[str, Any] = {"found": examine(sys.stdin.buffer, name, alone)}
    except Refusal as refusal:
        told = {"refused": refusal.key, "values": refusal.values}
    except MemoryError:
        told = {"refused": "memory", "values": {"name": name, "most": f"{bounds.LIMITS.memory:,}"}}
    sys.stdout.write(json.dumps(told))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "alone" in sys.argv[2:]))
