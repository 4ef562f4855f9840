"""Other people's notebooks, to be looked at: what they say, and nothing that could act in the reader's browser.

Two walls. What is left of the notebook here is text, tables and pictures; no link, no script, no address. And it is
to be served under a policy that runs nothing (`POLICY`), in a frame with the attribute `sandbox`.
"""

from __future__ import annotations

import re
from pathlib import Path

import bleach
import nbformat
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from pygments.formatters import HtmlFormatter

LARGEST = 8 << 20  # bytes of a notebook that is shown
POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
_PICTURES = ("image/png", "image/jpeg", "image/gif")
_SHOWN = (*_PICTURES, "text/html", "text/markdown", "text/latex", "text/plain")
_TEXT = (
    "a",
    "b",
    "br",
    "code",
    "del",
    "em",
    "i",
    "kbd",
    "mark",
    "s",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "u",
)
_BLOCKS = (
    "blockquote",
    "div",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "p",
    "pre",
    "figure",
    "figcaption",
    "img",
)
_ROWS = ("ul", "ol", "li", "dl", "dt", "dd", "table", "caption", "thead", "tbody", "tfoot", "tr", "th", "td")
_TAGS = frozenset((*_TEXT, *_BLOCKS, *_ROWS))
_PICTURE = re.compile(r"data:image/(png|jpeg|gif);base64,[A-Za-z0-9+/=\s]*")
_STYLE = """
:root { color-scheme: light dark; font: 16px/1.55 system-ui, sans-serif; }
body { max-width: 60rem; margin: 1rem auto; padding: 0 1rem; overflow-wrap: break-word; }
pre { overflow-x: auto; padding: .6rem .8rem; border-left: 3px solid #8886; white-space: pre-wrap; }
table { border-collapse: collapse; } td, th { padding: .2rem .6rem; border: 1px solid #8886; }
img { max-width: 100%; }
"""


def notebook_html(path: Path) -> str:
    """A notebook as one HTML page without anything that could run.

    Raises ValueError where it is no notebook or too large, OSError where it cannot be read.
    """
    if path.stat().st_size > LARGEST:
        raise ValueError(f"the notebook has {path.stat().st_size} bytes; up to {LARGEST} are shown")
    try:
        notebook = nbformat.read(path, as_version=4)
        cells = [_bare(cell) for cell in notebook.cells if cell.cell_type in ("code", "markdown", "raw")]
    except (
        nbformat.ValidationError,
        AttributeError,
        KeyError,
        TypeError,
        RecursionError,
    ) as error:  # nbformat takes much for granted
        raise ValueError(f"this is not a notebook: {type(error).__name__}: {error}") from error
    body, _ = HTMLExporter(template_name="basic").from_notebook_node(nbformat.v4.new_notebook(cells=cells))
    clean = bleach.clean(body, tags=_TAGS, attributes=_may_stay, protocols=["data"], strip=True)
    colours = HtmlFormatter(style="default").get_style_defs(".highlight")
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><style>{_STYLE}{colours}</style></head>'
        f"<body>\n{clean}\n</body></html>\n"
    )


def _bare(cell: NotebookNode) -> NotebookNode:
    """Its source and the outputs that can be shown; none of its metadata, attachments or widgets."""
    source = str(cell.source)
    if cell.cell_type != "code":
        return (
            nbformat.v4.new_markdown_cell(source)
            if cell.cell_type == "markdown"
            else nbformat.v4.new_raw_cell(source)
        )
    outputs = []
    for output in cell.outputs:
        if output.output_type == "stream":
            outputs.append(nbformat.v4.new_output("stream", name="stdout", text=str(output.text)))
        elif output.output_type == "error":
            text = "\n".join(map(str, output.traceback))
            outputs.append(nbformat.v4.new_output("stream", name="stderr", text=text))
        else:
            kept = {kind: output.data[kind] for kind in _SHOWN if isinstance(output.data.get(kind), str)}
            if kept:
                outputs.append(nbformat.v4.new_output("display_data", data=kept))
    return nbformat.v4.new_code_cell(source, outputs=outputs)


def _may_stay(tag: str, name: str, value: str) -> bool:
    if tag == "img":
        return name == "alt" or (name == "src" and _PICTURE.fullmatch(value) is not None)
    return name == "class" or (name in ("colspan", "rowspan") and value.isdecimal())
