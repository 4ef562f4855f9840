"""The part "Films and people" of the page "Embeddings": two towers on a log of ratings, the map of the films, cold
rows, and recommendations."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, ClassVar

import ipywidgets as widgets
import numpy as np
from numpy.typing import NDArray

from studio.i18n import t

from ..common.figures import origin, percent
from ..common.pieces import button, card, number_field
from ..common.widgets import Slider
from . import data
from . import figures as show
from .training import FilmRun, Table, VectorRun
from .vectors import NEAREST, VectorsPart, close

GENRES = (
    *("Action", "Adventure", "Animation", "Children", "Comedy", "Crime", "Documentary", "Drama", "Fantasy", "Film-Noir"),
    *("Horror", "IMAX", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)  # fmt: skip  # a table
LEAST = (1, 2, 3, 5, 10, 20, 50, 100)  # updates; a row with fewer is called cold
LIKED = 4.0  # stars
NAMED, SHOWN = 12, 100  # cold films that the page lists and that its map always shows


class FilmsPart(VectorsPart):
    kind = "films"
    epochs_offered = (1, 2, 5, 10, 20, 40)
    charts = (("loss", "number"), ("hit_rate", "percent"))
    first_dim, first_epochs = 32, 10
    epochs_of: ClassVar[dict[str, int]] = {data.MADE: 5}

    def __init__(self, lang: str) -> None:
        self.least = Slider(
            label=show.words("field.least", lang), texts=[str(n) for n in LEAST], index=LEAST.index(5)
        )
        self.cold = widgets.HTML(f'<p class="sp-muted">{escape(show.words("cold.empty", lang))}</p>')
        self.user = number_field(show.words("field.user", lang), 1, 1, 1)
        self.recommend = button(show.words("recommend", lang), self.recommended, "primary", disabled=True)
        self.another = button(show.words("another", lang), self.next_user, disabled=True)
        self.advice = widgets.HTML(f'<p class="sp-muted">{escape(show.words("advice.empty", lang))}</p>')
        self._advised = False
        super().__init__(lang)
        self.least.observe(lambda _: self._highlight(), "index")
        self.user.observe(lambda _: self.recommended(), "value")

    # ---- what the visitor does

    def recommended(self) -> None:
        """Recommend for the person in the field; during training, at the next update."""
        with self._lock:
            run = self.run
            if not isinstance(run, FilmRun) or run.table is None:
                return
            self._advised = True
            if run.rests:
                self._advise(run)
            else:
                self.advice.value = f'<p class="sp-muted" role="status">{escape(self._t("found.soon"))}</p>'

    def next_user(self) -> None:
        """Another person, in a fixed scattered order."""
        self.user.value = (self.user.value - 1 + 233) % self.user.max + 1

    # ---- what follows a run

    def _fresh(self, run: FilmRun) -> None:
        self.user.max = run.ratings.num_users
        self.recommend.disabled = self.another.disabled = False
        self._tell_cold(run)
        if self._advised or not run.alive:
            self._advise(run)

    def _groups(self, table: Table) -> Sequence[str] | None:
        run = self.run
        if not isinstance(run, FilmRun) or len(run.updates) != len(table.labels):
            return None
        cold, genres = self._t("cold.group.cold"), run.ratings.genres
        few = run.updates < LEAST[self.least.index]
        if not genres:
            return [cold if rare else self._t("cold.group.used") for rare in few]
        return [
            cold if rare else self._genre(genres[item]) for rare, item in zip(few, run.order, strict=True)
        ]

    def _genre(self, names: Sequence[str]) -> str:
        """The first genre of a film, in the visitor's language."""
        return self._t(f"genre.{names[0] if names and names[0] in GENRES else 'none'}")

    def _beside(self, name: str, run: Any, end: float) -> list[dict[str, Any]]:
        if name != "hit_rate" or run.popular is None:
            return []
        level = round(run.popular, 4)
        return [
            {
                "id": "popular",
                "run": self._t("chart.popular"),
                "slot": 2,
                "kind": "train",
                "x": [0.0, end],
                "y": [level, level],
            }
        ]

    def _besides(self) -> Sequence[int]:
        return [int(i) for i in self._coldest(self.run)[:SHOWN]] if isinstance(self.run, FilmRun) else ()

    def _coldest(self, run: FilmRun) -> NDArray[np.int64]:
        """The cold rows, the coldest first."""
        few = np.flatnonzero(run.updates < LEAST[self.least.index])
        return few[np.argsort(run.updates[few], kind="stable")]

    def _highlight(self) -> None:
        with self._lock:
            run = self.run
            if isinstance(run, FilmRun) and run.table is not None:
                self.map.group(self._groups(run.table), self._besides())
                self._tell_cold(run)

    def _tell_cold(self, run: FilmRun) -> None:
        assert run.table is not None
        least = LEAST[self.least.index]
        few = self._coldest(run)
        said = self._t(
            "cold.said",
            count=f"{len(few):,}",
            all=f"{len(run.updates):,}",
            least=least,
            share=percent(len(few) / max(len(run.updates), 1)),
        )
        lines = [
            (run.table.labels[i], self._t("cold.line", updates=f"{run.updates[i]:,}"), False)
            for i in few[:NAMED]
        ]
        note = self._t("cold.more", count=f"{len(few) - len(lines):,}") if len(few) > len(lines) else ""
        self.cold.value = f'<p class="em-answer" role="status">{escape(said)}</p>' + (
            show.films(self._t("cold.heading"), lines, "cold", self._language(), self.lang, note)
            if lines
            else ""
        )

    def _rare(self) -> Sequence[str]:
        run = self.run
        if not isinstance(run, FilmRun) or run.table is None:
            return ()
        few = run.updates < LEAST[self.least.index]
        return [label for label, cold in zip(run.table.labels, few, strict=True) if cold]

    def _advise(self, run: FilmRun) -> None:
        assert run.table is not None
        ratings, user = run.ratings, int(self.user.value) - 1
        place = np.empty(len(run.order), np.int64)
        place[run.order] = np.arange(len(run.order))
        name = run.table.labels
        mine = np.flatnonzero((ratings.users == user) & (ratings.values >= LIKED))
        held = run.held.items[run.held.users == user]
        mine = mine[~np.isin(ratings.items[mine], held)]
        best = mine[np.lexsort((-ratings.times[mine], -ratings.values[mine]))]
        best = best[np.sort(np.unique(ratings.items[best], return_index=True)[1])][:NEAREST]
        liked = [
            (name[place[ratings.items[i]]], self._t("advice.stars", stars=f"{ratings.values[i]:g}"), False)
            for i in best
        ]
        ranked = run.model.recommend(user, most=ratings.num_items)
        shown = [
            (name[place[item]], self._t("advice.score", score=f"{score:.2f}"), item in held)
            for item, score in ranked[:NEAREST]
        ]
        count = int((ratings.users == user).sum())
        notes = [self._t("advice.note.liked", count=f"{count:,}", least=f"{LIKED:g}"), ""]
        for number, (item, _) in enumerate(ranked, start=1):
            if item in held:
                notes[1] = self._t(
                    "advice.note.held", title=name[place[item]], rank=f"{number:,}", all=f"{len(ranked):,}"
                )
        lists = [
            show.films(self._t("advice.liked"), liked, "liked", self._language(), self.lang, notes[0]),
            show.films(
                self._t("advice.recommended"), shown, "recommended", self._language(), self.lang, notes[1]
            ),
        ]
        self.advice.value = f'<div class="em-pair" data-user="{user + 1}">{"".join(lists)}</div>'
        self.map.mark([int(place[item]) for item, _ in ranked[:NEAREST]])

    # ---- specific to this part

    def _sources(self) -> list[str]:
        return data.logs()

    def _about(self, name: str) -> str:
        from sampan import datasets

        facts = self._k(f"about.{name}")
        if name == data.MADE:
            tag = escape(t("train.origin.made", self.lang))
            about = (
                f'<p><span class="sp-tag">{tag}</span> {escape(facts)}</p><p>{escape(self._k("made"))}</p>'
            )
        else:
            about = origin(datasets.card(name), facts, self._k("real"), self.lang)
        return f'<div class="sx-about" data-source="{escape(name, quote=True)}">{about}</div>'

    def _run_of(self, source: str, dim: int, epochs: int) -> VectorRun:
        return FilmRun(source, dim, epochs, self._follow, self._looked, title_of=self._title)

    def _title(self, item: int) -> str:
        return self._k("item", number=item)

    def _figures(self, run: FilmRun) -> Sequence[tuple[str, str]]:
        return [
            ("loss", "–" if run.loss is None else f"{run.loss:.3f}"),
            ("hit_rate", "–" if run.hit_rate is None else percent(run.hit_rate)),
            ("popular", "–" if run.popular is None else percent(run.popular)),
            ("films", "–" if run.table is None else f"{len(run.table.labels):,}"),
        ]

    def _nearest(self, run: FilmRun, label: str) -> tuple[str, list[tuple[str, float]]]:
        table = run.table
        assert table is not None
        number = table.number(label)
        if number is None:
            holding = [
                known for known in close(label, table.labels, 1) if label.casefold() in known.casefold()
            ]
            if not holding:
                raise KeyError(label)
            number = table.number(holding[0])
            assert number is not None
        return table.labels[number], [
            (table.labels[i], cosine) for i, cosine in table.nearest(number, NEAREST)
        ]

    def _language(self) -> str:
        source = self.run.source if self.run else self.source.value
        return "en" if source == data.MOVIELENS else self.lang

    def _more(self) -> list[widgets.Widget]:
        asking = widgets.Box([self.user, self.recommend, self.another])
        asking.add_class("em-ask")
        advice = card([self._heading("recommend"), asking, self.advice], "em-search")
        return [advice, card([self._heading("cold"), self.least, self.cold], "em-search")]

    def _heading(self, key: str) -> widgets.HTML:
        lead = f'<p class="sp-muted sp-small">{escape(self._t(f"lead.{key}"))}</p>'
        return widgets.HTML(f"<h3>{escape(self._t(f'heading.{key}'))}</h3>{lead}")
