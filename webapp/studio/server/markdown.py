"""A teacher's Markdown as HTML without anything active."""

from __future__ import annotations

import re
from functools import lru_cache

import bleach
from markupsafe import Markup

_TAGS = {
    *(
        "p",
        "br",
        "hr",
        "h2",
        "h3",
        "h4",
        "em",
        "strong",
        "code",
        "pre",
        "blockquote",
        "ul",
        "ol",
        "li",
        "a",
        "del",
    ),
    *("table", "thead", "tbody", "tr", "th", "td"),
}

_ANCHOR = re.compile(r'<a class="anchor-link"[^>]*>[^<]*</a>')  # nbconvert's, beside each heading


@lru_cache(maxsize=64)
def rendered(text: str) -> Markup:
    """Headings begin at the second level, below the title of the page. Links lead only to web pages; there are no pictures,
    which could come from another host."""
    from nbconvert.filters import markdown2html

    html = _ANCHOR.sub("", markdown2html(text)).replace("<h1", "<h2").replace("</h1>", "</h2>")
    html = html.replace("<th></th>", "<td></td>")  # a heading without words is none
    clean = bleach.clean(
        html, tags=_TAGS, attributes={"a": ["href"]}, protocols=["http", "https"], strip=True
    )
    return Markup(clean.replace("<pre>", '<pre tabindex="0">'))  # a long line is scrolled by keyboard too
