"""Shows other people's notebooks without anything active in the reader's browser. There are two protections: only
text, tables and images of the notebook are kept, no link, no script, no address; and it must be served under a
policy that runs nothing (`POLICY`), in a frame with the attribute `sandbox`.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
import sys
from pathlib import Path

import bleach
import nbformat
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from pygments.formatters import HtmlFormatter

from studio import processes
from studio.compute.limits import Limits

RENDER_SECONDS = 20.0  # for the whole page; a notebook of the course takes two, most of it imports
RENDER_LIMITS = Limits(memory=1 << 30, processes=16, cpu_seconds=20)
NO_NOTEBOOK = 3  # exit status
LARGEST_PAGE = 32 << 20
MOST_TEXT = 1 << 20  # characters of a notebook that is shown as plain text
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


async def notebook_page(path: Path) -> str:
    """`notebook_html`, made by a process with limits of time and memory, because some texts make a Markdown parser
    run for ever. If it does not finish, returns the cells as plain text. Raises ValueError if it is not a notebook
    or too large.
    """
    process = await processes.start([sys.executable, "-m", "studio.server.untrusted", str(path)])
    page = words = b""
    try:
        async with asyncio.timeout(RENDER_SECONDS):
            page, words = await process.communicate()
    except TimeoutError:
        pass  # the fallback is below
    finally:
        await processes.stop(process)
    if process.returncode == 0 and page:
        return page.decode()
    if process.returncode == NO_NOTEBOOK:
        raise ValueError(words.decode(errors="replace").strip())
    return await asyncio.to_thread(plain_html, path)


def plain_html(path: Path) -> str:
    """Only the sources of a notebook's cells. Raises ValueError if it is not a notebook."""
    try:
        cells = json.loads(path.read_bytes()[: LARGEST + 1])["cells"]
        sources = [cell["source"] for cell in cells]
        texts = [source if isinstance(source, str) else "".join(source) for source in sources]
    except (LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"this is not a notebook: {type(error).__name__}: {error}") from error
    shown, left = [], MOST_TEXT
    for text in texts:
        shown.append(f"<pre>{html.escape(text[:left].encode('utf-8', 'replace').decode())}</pre>")
        left -= len(text[:left])
    return _page("\n".join(shown))


def _page(body: str, styles: str = "") -> str:
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><style>{_STYLE}{styles}</style></head>'
        f"<body>\n{body}\n</body></html>\n"
    )


def notebook_html(path: Path) -> str:
    """A notebook as one HTML page without anything that could run.

    Raises ValueError if it is not a notebook or too large, OSError if it cannot be read.
    """
    if path.stat().st_size > LARGEST:
        raise ValueError(f"expected a notebook of at most {LARGEST} bytes, got {path.stat().st_size}")
    try:
        notebook = nbformat.read(path, as_version=4)
        cells = [_bare(cell) for cell in notebook.cells if cell.cell_type in ("code", "markdown", "raw")]
    except (
        nbformat.ValidationError,
        AttributeError,
        KeyError,
        TypeError,
        RecursionError,
    ) as error:  # nbformat raises many kinds of errors
        raise ValueError(f"this is not a notebook: {type(error).__name__}: {error}") from error
    exporter = HTMLExporter(template_name="basic", exclude_anchor_links=True)
    body, _ = exporter.from_notebook_node(nbformat.v4.new_notebook(cells=cells))
    clean = bleach.clean(body, tags=_TAGS, attributes=_may_stay, protocols=["data"], strip=True)
    colours = HtmlFormatter(style="default").get_style_defs(".highlight")
    return _page(clean, colours)


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


def main(path: str) -> int:
    """Prints the page, within the limits of `notebook_page`."""
    RENDER_LIMITS.apply()
    try:
        page = notebook_html(Path(path)).encode("utf-8", "replace")
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return NO_NOTEBOOK
    if len(page) > LARGEST_PAGE:
        return 1
    sys.stdout.buffer.write(page)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
