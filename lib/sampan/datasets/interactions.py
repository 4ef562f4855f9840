"""User-item interactions: MovieLens' ratings by name, synthetic logs, and train/test splits of a log.

A log is `Ratings`: one row per interaction, users and items numbered from 0. `histories` gives a user's
earlier items. Used in notebooks 06 and 06b, and on the Studio's page "Embeddings".
"""

from __future__ import annotations

import csv
import math
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .card_file import Card
from .download import Progress, print_progress
from .readers import READERS, Arrays

__all__ = [
    "Parts",
    "Ratings",
    "histories",
    "leave_last_out",
    "load_ratings",
    "made_log",
    "read_ratings",
    "split_by_time",
    "zipf",
]

Array = np.ndarray[Any, Any]
NO_GENRE = "(no genres listed)"
# MovieLens latest-small: how many ratings have 0.5, 1.0, ... 5.0 stars; ln(ratings of a person) has this mean
# and this standard deviation, and at least LEAST.
STARS = (1370, 2811, 1791, 7551, 5550, 20047, 13136, 26818, 8551, 13211)
ACTIVITY, LEAST = (4.448, 1.060), 20


@dataclass(frozen=True, eq=False)
class Ratings:
    """A log. users, items: int64 [N], from 0; values: float32 [N]; times: int64 [N], seconds; rows in
    arbitrary order.

    titles: strings [num_items], and genres: a tuple of names each; both empty for a made log. raw_users,
    raw_items: the source's own ids, int64 [num_users] and [num_items]; empty where the numbers are the ids.
    origin: "real" or "made", as the card says; "made" for a made log, "file" for files that have no card.
    """

    users: Array
    items: Array
    values: Array
    times: Array
    num_users: int
    num_items: int
    titles: list[str]
    genres: list[tuple[str, ...]]
    raw_users: Array
    raw_items: Array
    origin: str
    card: Card | None = None

    def __len__(self) -> int:
        return len(self.users)

    def title(self, item: int) -> str:
        """The item's title, or its number where it has none."""
        return self.titles[item] if self.titles else f"item {item}"

    def pick(self, which: Any) -> Ratings:
        """Only these rows, in this order. which: integers, or a mask [N]. num_users and num_items are
        unchanged."""
        columns = {key: getattr(self, key)[which] for key in ("users", "items", "values", "times")}
        return replace(self, **columns)


class Parts(NamedTuple):
    """A log in two."""

    train: Ratings
    test: Ratings


def load_ratings(
    name: str = "movielens_latest_small", download: bool = False, progress: Progress = print_progress
) -> Ratings:
    """The ratings of this name; search, checks and errors as in `datasets.load`.

    Items are the films that were rated, numbered in the order of their ids, like users.
    """
    from . import _arrays

    known, layout, arrays = _arrays(name, download, progress)
    if layout.reader != "ratings":
        raise ValueError(f"{name}: expected a set read by 'ratings', got one by {layout.reader!r}")
    if len(arrays["users"]) != layout.train + layout.test:
        stated = f"{layout.train:,} and {layout.test:,}"
        raise ValueError(f"{name}: {len(arrays['users']):,} ratings, expected {stated} by its card")
    return _numbered(arrays, known)


def read_ratings(folder: Path | str) -> Ratings:
    """Any set in MovieLens' official layout, a folder with ratings.csv and movies.csv (1M and older ones have
    another).

    Raises ValueError with file and line for a truncated or invalid file, FileNotFoundError for a missing
    one.
    """
    folder = Path(folder)
    return _numbered(read_files({role: folder / f"{role}.csv" for role in ("ratings", "movies")}), None)


def _numbered(arrays: Arrays, card: Card | None) -> Ratings:
    raw_users, users = np.unique(arrays["users"], return_inverse=True)
    raw_items, items = np.unique(arrays["items"], return_inverse=True)
    order = np.argsort(arrays["ids"])
    place = order[np.searchsorted(arrays["ids"], raw_items, sorter=order)]
    titles, genres = ([arrays[key][i] for i in place] for key in ("titles", "genres"))
    return Ratings(
        users,
        items,
        arrays["values"],
        arrays["times"],
        len(raw_users),
        len(raw_items),
        titles,
        genres,
        raw_users,
        raw_items,
        card.origin if card else "file",
        card,
    )


# --- reading ------------------------------------------------------------------------------------------------

_COLUMNS = [("users", np.int64), ("items", np.int64), ("values", np.float32), ("times", np.int64)]
_ITEM = ("movieId", "Id")  # in the official files, and in a copy


def _header(path: Path, expected: list[tuple[str, ...]]) -> None:
    """Raise ValueError for another first line, or a last line without a newline: a truncated file."""
    with open(path, "rb") as file:
        first = file.readline(1000).decode("utf-8-sig", "replace").rstrip("\r\n").split(",")
        if len(first) != len(expected) or any(
            c not in known for c, known in zip(first, expected, strict=True)
        ):
            wanted = ",".join(known[0] for known in expected)
            raise ValueError(
                f"{path}: expected a table that begins with {wanted}, got {','.join(first)[:60]!r}"
            )
        file.seek(-1, 2)
        if file.read(1) != b"\n":
            raise ValueError(f"{path} is cut short: its last line has no end")


def _movies(path: Path) -> tuple[list[int], list[str], list[tuple[str, ...]]]:
    """Ids, titles and genres, line by line."""
    _header(path, [_ITEM, ("title",), ("genres",)])
    found: dict[int, tuple[str, tuple[str, ...]]] = {}
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file, strict=True)
        try:
            next(lines)
            for row in lines:
                if len(row) != 3:
                    raise ValueError(f"expected an id, a title and genres, got {len(row)} columns")
                number = int(row[0])
                if number in found:
                    raise ValueError(f"id {number} is there twice")
                found[number] = row[1], () if row[2] == NO_GENRE else tuple(row[2].split("|"))
        except (ValueError, csv.Error) as error:  # a UnicodeDecodeError is a ValueError
            raise ValueError(f"{path}, line {lines.line_num}: {error}") from error
    return list(found), [t for t, _ in found.values()], [g for _, g in found.values()]


def read_files(files: dict[str, Path]) -> Arrays:
    """ratings.csv and movies.csv as arrays: one entry a rating in users, items, values, times, one a film in
    ids, titles, genres."""
    path = files["ratings"]
    _header(path, [("userId",), _ITEM, ("rating",), ("timestamp",)])
    try:
        with warnings.catch_warnings(
            action="ignore", category=UserWarning
        ):  # of no rows, which are refused below
            table = np.loadtxt(path, _COLUMNS, delimiter=",", skiprows=1, encoding="utf-8", ndmin=1)
    except (ValueError, OverflowError) as error:  # it names the row
        raise ValueError(f"{path}: {error}") from error
    if not len(table):
        raise ValueError(f"{path}: expected ratings, got none")
    ids, titles, genres = _movies(files["movies"])
    wrong = np.flatnonzero(~(np.isfinite(table["values"]) & (table["values"] >= 0) & (table["times"] >= 0)))
    if len(wrong):
        raise ValueError(f"{path}, line {wrong[0] + 2}: expected a rating and a time, got {table[wrong[0]]}")
    foreign = np.flatnonzero(~np.isin(table["items"], ids))
    if len(foreign):
        raise ValueError(
            f"{path}, line {foreign[0] + 2}: film {table['items'][foreign[0]]} is not in {files['movies']}"
        )
    lists = {"titles": np.array(titles, object), "genres": np.empty(len(ids), object)}
    lists["genres"][:] = genres
    columns = {key: np.ascontiguousarray(table[key]) for key, _ in _COLUMNS}
    return {**columns, "ids": np.array(ids, np.int64), **lists}


READERS["ratings"] = (("ratings", "movies"), read_files)


# --- dividing -----------------------------------------------------------------------------------------------


def in_order(ratings: Ratings) -> Array:
    """Rows by user, then by time; rows of the same second keep their order."""
    return np.lexsort((ratings.times, ratings.users))


def leave_last_out(ratings: Ratings) -> Parts:
    """Each user's last interaction for testing, the others for training; a user's only one is for training.

    Of several in one second the last row counts.
    """
    order = in_order(ratings)
    users = ratings.users[order]
    last = np.append(users[1:] != users[:-1], True) & np.append(False, users[1:] == users[:-1])
    tested = np.zeros(len(ratings), bool)
    tested[order[last[: len(order)]]] = True
    return Parts(ratings.pick(~tested), ratings.pick(tested))


def split_by_time(ratings: Ratings, share: float = 0.2, each_user: bool = False) -> Parts:
    """The newest `share` of the log for testing. each_user: of each user's rows, so that every test user is
    in the training part, which then holds other users' later rows; else all rows before one time are for
    training, and all later ones for testing.

    Rows of the same second are never split: all go to the test part. ValueError for a share outside 0
    to 1.
    """
    if not 0 < share < 1:
        raise ValueError(f"share: expected more than 0 and less than 1, got {share}")
    if not len(ratings):
        return Parts(ratings, ratings)
    if not each_user:
        moment = np.quantile(ratings.times, 1 - share, method="lower")
        return Parts(ratings.pick(ratings.times < moment), ratings.pick(ratings.times >= moment))
    order = in_order(ratings)
    users, times = ratings.users[order], ratings.times[order]
    begins = np.flatnonzero(np.append(True, users[1:] != users[:-1]))
    counts = np.diff(np.append(begins, len(users)))
    first = begins + np.ceil(counts * (1 - share)).astype(
        np.int64
    )  # tested from here, unless there is no such row
    moment = np.where(first < begins + counts, times[np.minimum(first, len(times) - 1)], times.max() + 1)
    tested = np.empty(len(ratings), bool)
    tested[order] = times >= np.repeat(moment, counts)
    return Parts(ratings.pick(~tested), ratings.pick(tested))


def histories(ratings: Ratings, length: int, asked: Ratings | None = None) -> Array:
    """Rows of `ratings`, int64 [len(asked), length]: for each row of `asked`, the newest `length` rows of its
    user in `ratings` before that second, newest last; padded with -1 in front.
    asked: None is `ratings` itself.
    """
    if length < 1:
        raise ValueError(f"length: expected 1 or more, got {length}")
    asked = ratings if asked is None else asked
    if not len(ratings) or not len(asked):
        return np.full((len(asked), length), -1, np.int64)
    order = in_order(ratings)
    begin = min(ratings.times.min(), asked.times.min())
    span = max(ratings.times.max(), asked.times.max()) - begin + 1
    if int(span) * ratings.num_users >= 2**63:
        raise ValueError(
            f"times: expected {ratings.num_users} people times {span} seconds to stay below 2**63"
        )
    keys = ratings.users[order] * span + (ratings.times[order] - begin)
    ends = np.searchsorted(keys, asked.users * span + (asked.times - begin))
    begins = np.searchsorted(keys, asked.users * span)
    places = ends[:, None] + np.arange(-length, 0)  # [asked, length]
    return np.where(places >= begins[:, None], order[np.maximum(places, 0)], -1)


# --- made logs ----------------------------------------------------------------------------------------------


def zipf(count: int, num_ids: int, skew: float, rng: np.random.Generator) -> Array:
    """int64 [count], 0 to num_ids - 1, k drawn with probability proportional to 1 / (k + 1)^skew; skew 0 is
    uniform.

    By rejection from the integral of the smooth curve (Hörmann and Derflinger 1996, "Rejection-inversion to
    generate variates from monotone discrete distributions"), so that a billion ids cost what ten do.
    """
    if num_ids < 1 or skew < 0:
        raise ValueError(f"num_ids, skew: expected 1 or more and 0 or more, got {num_ids} and {skew}")
    power = 1.0 - skew
    flat = abs(power) < 1e-9  # the integral of 1 / x is a logarithm

    def area(x: Any) -> Any:
        return np.log(x) if flat else (np.exp(power * np.log(x)) - 1) / power

    def place(y: Any) -> Any:
        return np.exp(y) if flat else np.exp(np.log1p(y * power) / power)

    low, high = area(1.5) - 1.0, area(num_ids + 0.5)
    kept: list[Array] = []
    missing = count
    while missing > 0:
        y = low + rng.random(missing + missing // 8 + 8) * (high - low)
        k = np.clip(np.rint(place(y)), 1, num_ids)
        k = k[y >= area(k + 0.5) - np.exp(-skew * np.log(k))][:missing]
        kept.append(k.astype(np.int64) - 1)
        missing -= len(k)
    return np.concatenate([np.empty(0, np.int64), *kept])


def made_log(events: int, num_ids: int, skew: float = 1.05, seed: int = 0) -> Ratings:
    """A synthetic log, for sizes that no free real log has: `events` rows, items of
    `num_ids` ids.

    As in MovieLens latest-small: how many rows a person has (log-normal, ACTIVITY, LEAST or more) and the
    shares of half stars. Differences: ids are drawn by `zipf`, permuted so that frequent ones are not
    adjacent, and there is nothing to learn from them. Times rise by ten seconds on average within a person.
    The same seed makes the same log.
    """
    if events < 0 or not 1 <= num_ids < 2**31:
        raise ValueError(
            f"events, num_ids: expected 0 or more and 1 to 2**31 - 1, got {events} and {num_ids}"
        )
    rng = np.random.default_rng(seed)
    people = events // LEAST + 1
    counts = np.maximum(rng.lognormal(*ACTIVITY, people), LEAST).astype(np.int64)
    users = np.repeat(np.arange(people), counts)[:events]
    num_users = int(users[-1]) + 1 if events else 0
    values = rng.choice(np.arange(1, 11, dtype=np.float32) / 2, events, p=np.array(STARS) / sum(STARS))
    starts = rng.integers(828_000_000, 1_537_000_000, num_users)  # 1996 to 2018
    steps = rng.geometric(0.1, events).cumsum()
    first = np.flatnonzero(np.append(True, users[1:] != users[:-1])) if events else np.empty(0, np.int64)
    times = starts[users] + steps - steps[first][users]
    factor = int(num_ids * 0.6180339887) | 1
    while math.gcd(factor, num_ids) > 1:  # prime to num_ids, so that no two ids meet
        factor += 2
    items = (zipf(events, num_ids, skew, rng) * factor + num_ids // 3) % num_ids
    none = np.empty(0, np.int64)
    return Ratings(users, items, values, times, num_users, num_ids, [], [], none, none, "made")
