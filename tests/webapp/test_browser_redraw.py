"""Fragments that are redrawn in an open page (studio.js): they change, and opened details stay open."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

pytestmark = pytest.mark.browser

# Draws `old`, opens and marks every one of its details, draws `fresh` over it: the text, and which are still open.
DRAWN = """async ([old, fresh]) => {
  const { redraw } = await import(document.querySelector("script[src*='/studio.js']").src);
  const piece = document.createElement("div");
  document.body.append(piece);
  piece.innerHTML = old;
  piece.querySelectorAll("details").forEach((one) => { one.open = true; one.drawn = "before"; });
  redraw(piece, fresh);
  const open = [...piece.querySelectorAll("details[open]")].map((one) => `${one.id} ${one.drawn}`);
  piece.querySelectorAll("details").forEach((one) => { one.open = false; });
  const html = piece.innerHTML;
  piece.remove();
  return [html, open];
}"""
TOP = ("a", "b", "c")  # keys of details
LOG = '<ul><li id="job"><p>runs</p>{}<details id="log"><summary>Log</summary></details></li></ul>'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(f"\n <section>{LOG}</section>", f"<section>{LOG}</section>", id="text before it gone"),
        pytest.param(f"<p>a note</p> {LOG}", LOG, id="element before it gone"),
        pytest.param(LOG, f"<p>a note</p> {LOG}", id="element before it new"),
        pytest.param(f"{LOG} <p>last</p>", f"<p>a note</p> {LOG} <p>last</p>", id="one like it behind"),
        pytest.param(
            LOG.format("<progress></progress><div>curve</div>"),
            LOG.format("<div>curve</div>"),
            id="bar gone",
        ),
    ],
)
def test_what_was_opened_stays_open(page: Any, studio_url: str, before: str, after: str) -> None:
    page.goto(f"{studio_url}studio")
    html, opened = page.evaluate(DRAWN, [before.replace("{}", ""), after.replace("{}", "")])
    assert html == after.replace("{}", "")
    assert opened == ["log before"]


def test_any_piece_becomes_any_other(page: Any, studio_url: str) -> None:
    page.goto(f"{studio_url}studio")
    random = Random(5)
    for _ in range(300):
        old, fresh = tree(random), tree(random)
        html, opened = page.evaluate(DRAWN, [old, fresh])
        assert html == fresh, (old, fresh)
        known = [id for id in TOP if f'id="{id}"' in old and f'id="{id}"' in fresh]
        assert all(f"{id} before" in opened for id in known), (old, fresh)


def tree(random: Random) -> str:
    """Some keyed details among text and elements without a key, which may hold the like."""
    parts = [
        f'<details id="{id}"><p>{random.randint(0, 9)}</p></details>' for id in TOP if random.random() < 0.6
    ]
    for _ in range(random.randint(0, 4)):
        parts.append(
            random.choice(
                [" ", "word", "<p>one</p>", '<p class="x">two <b>three</b></p>', "<ul><li>1</li></ul>"]
            )
        )
    random.shuffle(parts)
    return "".join(parts).replace("word ", "word").replace("wordword", "word").replace("  ", " ")


# Asks twice and answers the later question first: what the piece shows, and how many looks at it are planned.
# The page's own live parts ask and plan too: theirs are another address and another time.
OVERTAKEN = """async () => {
  const { refresh } = await import(document.querySelector("script[src*='/studio.js']").src);
  const answers = [], planned = [], fetched = window.fetch, timed = window.setTimeout;
  window.fetch = (address, ...given) =>
    address === "/x" ? new Promise((answer) => answers.push(answer)) : fetched(address, ...given);
  window.setTimeout = (what, after, ...given) =>
    after === 1234567 ? planned.push(what) : timed(what, after, ...given);
  const piece = document.createElement("div");
  Object.assign(piece.dataset, { live: "/x", every: "1234567" });
  document.body.append(piece);
  const asked = [refresh(piece), refresh(piece)];
  answers[1](new Response("<p>now</p>"));
  await asked[1];
  answers[0](new Response("<p>before</p>"));
  await asked[0];
  return [piece.innerHTML, planned.length];
}"""


def test_an_answer_that_was_overtaken_changes_nothing(page: Any, studio_url: str) -> None:
    page.goto(f"{studio_url}studio")
    assert page.evaluate(OVERTAKEN) == ["<p>now</p>", 1]
