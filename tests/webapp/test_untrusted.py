"""A stranger's notebook: what is shown of it, and that nothing of it acts in the reader's browser."""

from __future__ import annotations

import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest

from studio.server import untrusted
from studio.server.untrusted import LARGEST, POLICY, notebook_html

pytestmark = pytest.mark.servers

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)><a href='javascript:alert(1)'>x</a>"


def written(folder: Path, *cells: Any, **metadata: Any) -> Path:
    path = folder / "work.ipynb"
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": list(cells)}
    path.write_text(json.dumps(notebook), "utf-8")
    return path


def code(source: str, **data: str) -> Any:
    shown = {kind.replace("__", "/").replace("_xml", "+xml"): value for kind, value in data.items()}
    return nbformat.v4.new_code_cell(source, outputs=[nbformat.v4.new_output("display_data", data=shown)])


def tags(html: str) -> set[str]:
    return set(re.findall(r"<(\w+)", html))


def test_what_a_reader_wants_to_see(tmp_path: Path) -> None:
    answer = nbformat.v4.new_code_cell(
        "def f(x):\n    return x < 2",
        outputs=[
            nbformat.v4.new_output("stream", name="stdout", text="printed <b>\n"),
            nbformat.v4.new_output("error", ename="E", evalue="v", traceback=["\x1b[31mwent wrong\x1b[0m"]),
            nbformat.v4.new_output("display_data", data={"image/png": PIXEL}),
            nbformat.v4.new_output(
                "display_data", data={"text/html": "<table><tr><td colspan=2>12</td></tr></table>"}
            ),
        ],
    )
    html = notebook_html(
        written(tmp_path, nbformat.v4.new_markdown_cell("# Title\n\n*said*, `x`, 中文"), answer)
    )
    words = re.sub(r"<[^>]+>", "", html)
    for expected in ("Title", "said", "中文", "return", "&lt;", "printed &lt;b&gt;", "went wrong"):
        assert expected in words
    assert f'src="data:image/png;base64,{PIXEL}' in html and 'colspan="2"' in html
    assert {"h1", "em", "table", "td", "img", "pre"} <= tags(html)
    assert "¶" not in words


HOSTILE: dict[str, Any] = {
    "markdown": nbformat.v4.new_markdown_cell(EVIL),
    "markdown links": nbformat.v4.new_markdown_cell(
        "[x](javascript:alert(1)) ![x](https://evil.example/a.png) <https://evil.example>"
    ),
    "raw": nbformat.v4.new_raw_cell(EVIL, metadata={"raw_mimetype": "text/html"}),
    "source": nbformat.v4.new_code_cell(EVIL),
    "html": code(
        "", text__html=EVIL + "<iframe src='https://evil.example'></iframe><form action='/x'><input>"
    ),
    "style": code(
        "", text__html="<style>*{background:url(https://evil.example)}</style><p style='x:y'>p</p>"
    ),
    "javascript": code("", application__javascript="alert(1)"),
    "svg": code("", image__svg_xml="<svg onload=alert(1)><script>alert(1)</script></svg>"),
    "picture": code("", image__png=f'{PIXEL}" onerror="alert(1)'),
    "meta": code(
        "", text__html="<meta http-equiv=refresh content='0;url=https://evil.example'><base href=//evil>"
    ),
    "broken": code(
        "", text__html="<img src='x' <script>alert(1)//</scr\0ipt><svg><p><style><!--</style><img onerror=1>"
    ),
    "tags": nbformat.v4.new_code_cell("1", metadata={"tags": ['"><script>alert(1)</script>'], "id": EVIL}),
}


@pytest.mark.parametrize("cell", HOSTILE.values(), ids=HOSTILE)
def test_nothing_acts(tmp_path: Path, cell: Any) -> None:
    html = notebook_html(written(tmp_path, cell, title=EVIL, widgets={EVIL: EVIL}, kernelspec={"name": EVIL}))
    body = html.split("<body>")[1]
    assert tags(body) <= untrusted._TAGS | {"body"}
    attributes = {
        name for tag in re.findall(r"<\w+([^>]*)>", body) for name in re.findall(r"\s([\w-]+)=", tag)
    }
    assert attributes <= {"class", "colspan", "rowspan", "alt", "src"}
    assert all(source.startswith("data:image/png;base64,") for source in re.findall(r'src="([^"]*)"', body))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "code"}]}',
        b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": 3}',
        b'{"nbformat": 99, "cells": []}',
        b"[" * 100_000,
    ],
    ids=["empty", "bytes", "list", "object", "no source", "cells", "version", "deep"],
)
def test_what_is_no_notebook_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "work.ipynb"
    path.write_bytes(content)
    with pytest.raises(ValueError):
        notebook_html(path)


def test_what_is_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="of at most"):
        notebook_html(written(tmp_path, nbformat.v4.new_raw_cell("x" * LARGEST)))


def test_the_policy_runs_nothing() -> None:
    assert POLICY.startswith("sandbox;") and "default-src 'none'" in POLICY and "script-src" not in POLICY


@pytest.mark.parametrize(
    "bomb",
    ["![" * 58_000, "> " * 50_000, "*a_" * 40_000, "[" * 90_000 + "]" * 90_000, "|" * 90_000, "<a " * 60_000],
    ids=["pictures", "quotes", "emphasis", "brackets", "table", "tags"],
)
def test_a_text_that_blocks_a_parser_is_shown_as_it_is(tmp_path, monkeypatch, bomb):
    monkeypatch.setattr(untrusted, "RENDER_SECONDS", 2.0)
    path = written(
        tmp_path, nbformat.v4.new_markdown_cell(f"before {bomb}"), nbformat.v4.new_code_cell("after = '<1>'")
    )
    began = time.monotonic()
    html = asyncio.run(untrusted.notebook_page(path))
    assert time.monotonic() - began < 60
    assert "before" in html and "after" in html and "<1>" not in html


def test_a_page_made_apart_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(untrusted, "RENDER_SECONDS", 60.0)
    path = written(tmp_path, nbformat.v4.new_markdown_cell("# A *title*"))
    assert asyncio.run(untrusted.notebook_page(path)) == notebook_html(path)
    path.write_text("{}")
    with pytest.raises(ValueError, match="not a notebook"):
        asyncio.run(untrusted.notebook_page(path))
