"""Figures of recognition: the frames' probabilities, the hypotheses of the beam as a tree, the delay. Every text that
comes from outside goes through `escape`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from studio.i18n import t

from ..common.figures import percent
from .listening import DelayReport
from .recognition import FRAME_S, Look

MOST_FRAMES, MOST_ROWS = 200, 10
NOTABLE = 0.1  # a token with this probability in a frame gets a row
GOAL_S = 0.3
WIDE, ROW, LEFT, RIGHT = 62, 28, 6, 130  # of the tree, in units of its picture
DEPTH = 6  # tokens after the common text


def heat(look: Look, tokens: Sequence[str], blank: str) -> tuple[dict[str, Any], bytes]:
    """The data of a HeatMap: tokens of the rows, the blank first, and the path as a row for each frame (-1: none); and
    uint8 [rows, frames], probabilities from 0 to 255. Of the last 200 frames."""
    frames = len(look.log_probs)
    first = max(0, frames - MOST_FRAMES)
    probabilities = np.exp(look.log_probs[first:])
    path = look.path()
    path = np.full(frames - first, -1) if path is None else path[first:]
    peaks = probabilities.max(0, initial=0)
    likely = [int(i) for i in np.argsort(-peaks)[: 3 * MOST_ROWS] if peaks[i] >= NOTABLE and i]
    spoken = [int(i) for i in dict.fromkeys(path.tolist()) if i > 0]
    chosen = list(dict.fromkeys([*spoken[-MOST_ROWS:], *likely]))[:MOST_ROWS]
    when = {i: int(probabilities[:, i].argmax()) for i in chosen}
    rows = [0, *sorted(chosen, key=when.__getitem__)] if frames else []
    place = {token: row for row, token in enumerate(rows)}
    data = {
        "tokens": [blank if i == 0 else tokens[i] for i in rows],
        "frames": len(probabilities),
        "start": round(first * FRAME_S, 3),
        "step": FRAME_S,
        "path": [place.get(int(i), -1) for i in path],
    }
    return data, np.round(probabilities[:, rows].T * 255).astype(np.uint8).tobytes()


def shares(scores: Sequence[float]) -> list[float]:
    """The probability of each hypothesis among those that are alive."""
    given = np.exp(np.array(scores) - max(scores, default=0.0))
    return [float(x) for x in given / given.sum()]


class _Node:
    def __init__(self, ids: tuple[int, ...]) -> None:
        self.ids = ids
        self.children: dict[int, _Node] = {}
        self.x = self.y = 0.0


def beam_tree(look: Look, tokens: Sequence[str], lang: str) -> str:
    """The prefixes that are alive as a tree: from left to right the tokens after the text that all share, with score and
    share of each hypothesis."""
    if not look.hypotheses:
        return f'<p class="sp-muted">{escape(t("speech.beam.empty", lang))}</p>'
    common = max(look.stable, max(len(ids) for ids, _ in look.hypotheses) - DEPTH)
    common = min(common, _shared([ids for ids, _ in look.hypotheses]))
    root, ends = _Node(()), {}
    for (ids, score), share in zip(
        look.hypotheses, shares([score for _, score in look.hypotheses]), strict=True
    ):
        at = root
        for token in ids[common:]:
            at = at.children.setdefault(token, _Node((*at.ids, token)))
        ends[at.ids] = (score, share)
    rows = _placed(root, ends, 0, 0)
    best = tuple(look.best[common:])
    shapes = "".join(_drawn(root, ends, best, tokens, lang))
    width = LEFT + WIDE * _depth(root) + RIGHT
    said = ", ".join(
        f"{_text(ids, tokens) or t('speech.beam.nothing', lang)} {percent(share)}"
        for (ids, _), (_, share) in zip(look.hypotheses[:3], ends.values(), strict=False)
    )
    label = escape(t("speech.beam.label", lang, count=len(look.hypotheses), best=said), quote=True)
    shared = _text(look.best[:common], tokens)
    before = t("speech.beam.shared", lang, text=shared) if shared else t("speech.beam.start", lang)
    return (
        f'<p class="sp-small sp-muted so-shared">{escape(before)}</p>'
        f'<div class="sp-scroll" tabindex="0" role="group" aria-label="{label}">'
        f'<svg class="so-tree" role="img" aria-label="{label}" width="{width}" height="{ROW * rows + 8}" '
        f'viewBox="0 0 {width} {ROW * rows + 8}" data-hypotheses="{len(ends)}">{shapes}</svg></div>'
    )


def _text(ids: Sequence[int], tokens: Sequence[str]) -> str:
    """The tokens: characters one behind the other, longer ones (such as pinyin) apart."""
    names = [tokens[i] for i in ids]
    return ("" if all(len(name) == 1 for name in names) else " ").join(names)


def _shared(texts: Sequence[Sequence[int]]) -> int:
    """How many first tokens all texts have in common."""
    found = 0
    for column in zip(*texts, strict=False):
        if len(set(column)) > 1:
            break
        found += 1
    return found


def _depth(node: _Node) -> int:
    return 1 + max((_depth(child) for child in node.children.values()), default=0)


def _placed(node: _Node, ends: dict[tuple[int, ...], Any], depth: int, row: int) -> int:
    """Gives each node its place; the number of rows that it and its children take, from `row` on. A node with a score
    has a row of its own."""
    node.x, node.y = LEFT + WIDE * depth, ROW * row + ROW / 2 + 4
    taken = 1 if depth == 0 or node.ids in ends else 0
    for child in node.children.values():
        taken += _placed(child, ends, depth + 1, row + taken)
    return max(taken, 1)


def _drawn(
    node: _Node, ends: dict[tuple[int, ...], Any], best: tuple[int, ...], tokens: Sequence[str], lang: str
) -> list[str]:
    name = tokens[node.ids[-1]] if node.ids else "●"
    end = node.x + _width(name)
    shapes = []
    for child in node.children.values():
        if child.y == node.y:
            line = f"M{end + 3:.0f} {node.y:.0f}"
        else:  # down from the node, then to the right: the score beside it stays free
            line = f"M{node.x + 7:.0f} {node.y + 9:.0f}V{child.y - 8:.0f}q0 8 8 8"
        shapes.append(f'<path class="so-edge" d="{line}H{child.x - 4:.0f}"/>')
        shapes += _drawn(child, ends, best, tokens, lang)
    mark = " is-best" if node.ids == best[: len(node.ids)] else ""
    shapes.append(f'<text class="so-node{mark}" x="{node.x:.0f}" y="{node.y + 5:.0f}">{escape(name)}</text>')
    score = ends.get(node.ids)
    if score is not None:
        figures = f"{score[0]:.1f} · {percent(score[1])}".replace("-", "−")
        shapes.append(
            f'<text class="so-score{mark}" x="{end + 7:.0f}" y="{node.y + 5:.0f}">{escape(figures)}</text>'
        )
    return shapes


def _width(name: str) -> float:
    """Of a node's text in the picture, about."""
    return sum(10.5 if letter < "\u2000" else 16 for letter in name)


def delay(report: DelayReport | None, lang: str) -> str:
    """The measured delay and its parts, beside the goal of 300 ms."""
    if report is None:
        return f'<p class="sp-muted">{escape(t("speech.delay.empty", lang))}</p>'
    figures = (("median", report.median), ("high", report.high))
    stats = "".join(
        f'<div class="sp-stat" data-figure="{key}"><span class="sp-label">{escape(t(f"speech.delay.{key}", lang))}</span>'
        f'<span class="sp-value">{_ms(value)}</span></div>'
        for key, value in figures
    )
    parts = (("lookahead", report.lookahead), ("chunk", report.chunk), ("compute", report.compute))
    whole = max(GOAL_S, sum(value for _, value in parts)) * 1.1
    bars = "".join(
        f'<span class="so-part is-{key}" style="width:{100 * value / whole:.1f}%"></span>'
        for key, value in parts
    )
    legend = "".join(
        f'<li><span class="gr-swatch so-part is-{key}"></span>{escape(t(f"speech.delay.{key}", lang))} {_ms(value)}</li>'
        for key, value in parts
    )
    good = "good" if report.high <= GOAL_S else "bad"
    verdict = t(f"speech.delay.{good}", lang, goal=_ms(GOAL_S), count=report.count)
    return (
        f'<div class="so-delay"><div class="sp-stats">{stats}</div>'
        f'<div class="so-bar" aria-hidden="true">{bars}<span class="so-goal" style="left:{100 * GOAL_S / whole:.1f}%">'
        f'</span></div><ul class="gr-legend">{legend}</ul><p class="sp-small sp-muted">{escape(verdict)}</p></div>'
    )


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"
