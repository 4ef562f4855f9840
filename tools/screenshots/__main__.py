"""Photographs every page of the Studio, in both languages and at two widths, for docs/pages.md and the README.

    python -m tools.screenshots [train tape ...] [--to docs]

Starts a Studio in an empty workspace, and a class under JupyterHub if it may, and uses each page as a visitor does. Writes
`pages/<page>-<language>-<width>.webp`, `pages.md` and the README's pictures. With names, only these pages. Needs Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.webapp.hub.test_class import missing

from . import alone, classroom
from .camera import LOCALES, WIDTHS, Camera, Subject

DOCS = Path(__file__).resolve().parents[2] / "docs"
CLASS = "hub"  # all pages of a class under JupyterHub
NAMES = ("chromium", "chromium-browser", "google-chrome")


def photograph(camera: Camera, subjects: list[Subject]) -> list[str]:
    """Each subject in each language; returns what went wrong."""
    failed = []
    for subject in subjects:
        for lang in LOCALES:
            try:
                subject.act(camera, lang)
                print(f"{subject.name} {lang}", flush=True)
            except Exception as error:  # one page's error is a line at the end; the others are photographed
                failed.append(f"{subject.name} {lang}: {type(error).__name__}: {error}"[:500])
                print(failed[-1], flush=True)
    return failed


def listing(docs: Path) -> str:
    """The text of pages.md: the pages whose pictures are there."""
    lines = ["# The Studio's pages", ""]
    lines += [
        "Each page in English and Chinese, in a wide window and on a phone: `python -m tools.screenshots`.",
        "",
    ]
    shown = []
    for subject in alone.SUBJECTS:
        shown += [(subject.name, subject.title, subject.about), *alone.BESIDE.get(subject.name, [])]
    for name, title, about in [*shown, *classroom.PAGES]:
        files = [(f"pages/{name}-{lang}-{width}.webp", lang, width) for width in WIDTHS for lang in LOCALES]
        if all((docs / file).exists() for file, _, _ in files):
            pictures = " | ".join(f"![{title}, {lang}, {width}]({file})" for file, lang, width in files)
            lines += [f"## {title}", "", about, "", "| | | | |", "|---|---|---|---|", f"| {pictures} |", ""]
    return "\n".join(lines)


def of_a_class(browser: Browser, docs: Path) -> list[str]:
    """The pages of a class; what went wrong, or why there is none on this machine."""
    if why := missing():
        return [f"class: {why}"]
    try:
        with classroom.hub() as running:
            classroom.tour(Camera(browser, docs, running.url, "", running.root), running)
    except Exception as error:  # as one page's error
        return [f"class: {type(error).__name__}: {error}"[:500]]
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="pages; all of them if none is named")
    parser.add_argument("--to", type=Path, default=DOCS)
    options = parser.parse_args()
    known = [*(subject.name for subject in alone.SUBJECTS), CLASS]
    if unknown := sorted(set(options.names) - set(known)):
        parser.error(f"unknown page {', '.join(unknown)}; there are: {', '.join(known)}")
    chosen = [subject for subject in alone.SUBJECTS if not options.names or subject.name in options.names]
    chromium = next((path for name in NAMES if (path := shutil.which(name))), None)
    failed: list[str] = []
    with (
        tempfile.TemporaryDirectory(prefix="pictures-") as folder,
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"]) as browser,
    ):
        if chosen:
            with alone.studio(Path(folder)) as studio:
                camera = Camera(browser, options.to, studio.url, studio.token, studio.home)
                failed += photograph(camera, chosen)
        if not options.names or CLASS in options.names:
            failed += of_a_class(browser, options.to)
    (options.to / "pages.md").write_text(listing(options.to), "utf-8")
    size = sum(path.stat().st_size for path in (options.to / "pages").glob("*.webp"))
    print(f"{size / 1e6:.1f} MB of pictures; failed: {len(failed)}", *failed, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
