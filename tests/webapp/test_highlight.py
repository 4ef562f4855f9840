"""Python as HTML: coloured, escaped, and in linear time whatever was written."""

from __future__ import annotations

import html
import io
import keyword
import re
import tokenize
from pathlib import Path

import pytest

from studio.server.highlight import python

SPAN = re.compile(r'<span class="is-([a-z]+)">(.*?)</span>', re.S)
FILES = sorted((Path(__file__).parents[2] / "webapp" / "studio" / "gradebook").glob("*.py"))[:6]


def plain(shown: str) -> str:
    return html.unescape(re.sub(r'<span class="is-[a-z]+">|</span>', "", shown))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_same_words_as_pythons_tokenizer(path: Path) -> None:
    source = path.read_text("utf-8")
    shown = str(python(source))
    assert plain(shown) == source
    found: dict[str, list[str]] = {}
    for kind, text in SPAN.findall(shown):
        found.setdefault(kind, []).append(html.unescape(text))
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    assert found["comment"] == [t.string for t in tokens if t.type == tokenize.COMMENT]
    assert found["keyword"] == [
        t.string for t in tokens if t.type == tokenize.NAME and keyword.iskeyword(t.string)
    ]
    strings = [t.string for t in tokens if t.type == tokenize.STRING]
    if not hasattr(tokenize, "FSTRING_START"):  # from Python 3.12 on an f-string is several tokens
        assert found["string"] == strings


@pytest.mark.parametrize(
    "source",
    ["", "<script>alert(1)</script>", "'</span><b>'", '"""', "# &amp; <i>", "x = 'a\\", "\x00\ud7ff", '"\\' * 9, "@a.b\n@ c"],
    ids=range(9),
)  # fmt: skip  # a table
def test_nothing_is_interpreted(source: str) -> None:
    shown = str(python(source))
    assert plain(shown) == source
    assert set(re.findall(r"<[^>]*>", shown)) <= {"</span>"} | {
        f'<span class="is-{kind}">'
        for kind in ("comment", "string", "decorator", "number", "keyword", "defined")
    }


def test_decorators_and_definitions() -> None:
    shown = str(python("@learn.exercise\ndef relu(x):\n    return w @ x1\n"))
    assert SPAN.findall(shown) == [
        ("decorator", "@learn.exercise"),
        ("keyword", "def"),
        ("defined", "relu"),
        ("keyword", "return"),
    ]


@pytest.mark.parametrize("unit", ['"""', '"', "'\\", "\n", "r", "@ ", "a'", " @", '"""\\'])
def test_it_does_not_slow_down(unit: str) -> None:
    """Ten times the text takes about ten times the steps: here it is only checked that all of it comes back."""
    source = unit * (20_000 // len(unit))
    assert plain(str(python(source))) == source
