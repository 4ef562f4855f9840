"""Logs of ratings: the official layout in miniature, what is refused, how a log is divided, and made logs."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampan import datasets
from sampan.datasets import interactions
from sampan.datasets.interactions import (
    Ratings,
    histories,
    leave_last_out,
    made_log,
    read_ratings,
    split_by_time,
)

REAL = os.environ.get("SAMPAN_DATA")
RATINGS = (
    "userId,movieId,rating,timestamp\r\n7,10,4.0,100\r\n7,3,0.5,90\r\n2,10,5.0,80\r\n2,193609,3.5,80\r\n"
)
MOVIES = (
    'movieId,title,genres\r\n3,Alien (1979),Horror|Sci-Fi\r\n5,"Unseen, The (1945)",Drama\r\n'
    '10,"American President, The (1995)",Comedy\r\n193609,无名,(no genres listed)\r\n'
)


def miniature(folder: Path, ratings=RATINGS, movies=MOVIES) -> Path:
    for name, text in (("ratings.csv", ratings), ("movies.csv", movies)):
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def test_the_official_layout_is_numbered_from_0(tmp_path):
    log = read_ratings(miniature(tmp_path))
    assert log.users.tolist() == [1, 1, 0, 0] and log.raw_users.tolist() == [2, 7]
    assert log.items.tolist() == [1, 0, 1, 2] and log.raw_items.tolist() == [3, 10, 193609]
    assert log.titles == [
        "Alien (1979)",
        "American President, The (1995)",
        "无名",
    ]  # the unseen film has no number
    assert log.genres == [("Horror", "Sci-Fi"), ("Comedy",), ()]
    np.testing.assert_array_equal(log.values, np.array([4, 0.5, 5, 3.5], np.float32))
    assert log.times.tolist() == [100, 90, 80, 80] and log.times.dtype == np.int64
    assert (log.num_users, log.num_items, len(log), log.origin) == (2, 3, 4, "file")
    assert log.title(2) == "无名"


def test_a_copy_with_other_line_ends_and_column_names_reads_the_same(tmp_path):
    (tmp_path / "copy").mkdir()
    plain = [text.replace("\r", "").replace("movieId", "Id") for text in (RATINGS, MOVIES)]
    log, copy = read_ratings(miniature(tmp_path)), read_ratings(miniature(tmp_path / "copy", *plain))
    for key in ("users", "items", "values", "times", "raw_users", "raw_items"):
        np.testing.assert_array_equal(getattr(log, key), getattr(copy, key))
    assert copy.titles == log.titles and copy.genres == log.genres


@pytest.mark.parametrize(
    ("ratings", "movies", "message"),
    [
        (RATINGS[:-2], MOVIES, "ratings.csv is cut short: its last line has no end"),
        (RATINGS[:-9] + "\n", MOVIES, "ratings.csv: .*columns"),
        (RATINGS, MOVIES[:-3], "movies.csv is cut short"),
        (RATINGS, MOVIES[: MOVIES.index("American")] + "\n", "movies.csv, line 4: unexpected end"),
        (RATINGS, MOVIES.replace("|Sci-Fi", ",Sci-Fi"), "movies.csv, line 2: expected an id, a title and genres"),
        (RATINGS, MOVIES.replace("5,", "x,", 1), "movies.csv, line 3: invalid literal"),
        (RATINGS, MOVIES.replace("\r\n5,", "\r\n3,"), "movies.csv, line 3: id 3 is there twice"),
        (RATINGS, MOVIES.encode("utf-16"), "movies.csv: expected a table that begins with movieId,title,genres"),
        (RATINGS, MOVIES.encode("gb18030"), "movies.csv, line .*: 'utf-8' codec"),
        ("label,review\n1,好\n", MOVIES, "ratings.csv: expected a table that begins with userId,movieId,rating,timestamp"),
        (b"", MOVIES, "ratings.csv: expected a table"),
        (RATINGS.replace("4.0", "four"), MOVIES, "ratings.csv: could not convert string 'four'"),
        (RATINGS.replace("4.0", "nan"), MOVIES, "ratings.csv, line 2: expected a rating and a time"),
        (RATINGS.replace(",90", ",-90"), MOVIES, "ratings.csv, line 3: expected a rating and a time"),
        (RATINGS.replace("7,3,", "7,4,"), MOVIES, "ratings.csv, line 3: film 4 is not in .*movies.csv"),
        (RATINGS[: RATINGS.index("7")], MOVIES, "ratings.csv: expected ratings, got none"),
    ],
)  # fmt: skip
def test_what_is_cut_or_foreign_is_named(tmp_path, ratings, movies, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_ratings(miniature(tmp_path, ratings, movies))
    assert str(tmp_path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    miniature(tmp_path)
    (tmp_path / "movies.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"movies\.csv"):
        read_ratings(tmp_path)


def test_by_name_with_a_card(tmp_path, monkeypatch):
    """The way of `load_ratings`, over a folder of SAMPAN_DATA that holds a card and the miniature."""
    monkeypatch.setenv("SAMPAN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "tiny").mkdir()
    miniature(tmp_path / "tiny")

    def card(train):
        text = 'name = "tiny"\ntitle = "Tiny"\ntitle_zh = "小"\nabout = "Made."\norigin = "made"\nsource = "tests"\n'
        text += 'licence = "none"\ncitation = "none"\nscale = 5\nclasses = []\n[schema]\nusers = "int64"\n[[layouts]]\n'
        text += f'reader = "ratings"\ntitle = "t"\ntrain = {train}\ntest = 2\n'
        for role in ("ratings", "movies"):
            path = tmp_path / "tiny" / f"{role}.csv"
            sha256 = datasets.checksums.sha256_of(path)
            text += f'[layouts.files.{role}]\npath = "{path.name}"\nbytes = {path.stat().st_size}\nsha256 = "{sha256}"\n'
        (tmp_path / "tiny" / "card.toml").write_text(text, encoding="utf-8")

    card(2)
    log = datasets.load_ratings("tiny")
    assert len(log) == 4 and log.card.name == "tiny" and log.origin == "made"
    with pytest.raises(ValueError, match=r"load_ratings\('tiny'\)"):
        datasets.load("tiny")
    with pytest.raises(ValueError, match="digits: expected a set read by 'ratings'"):
        datasets.load_ratings("digits")
    card(3)
    with pytest.raises(ValueError, match="tiny: 4 ratings, expected 3 and 2 by its card"):
        datasets.load_ratings("tiny")
    (tmp_path / "tiny" / "ratings.csv").write_text("userId,movieId,rating,timestamp\n")
    with pytest.raises(ValueError, match="sha256"):
        datasets.load_ratings("tiny")


def test_the_real_log_where_there_is_one(monkeypatch):
    monkeypatch.setenv("SAMPAN_DATA", REAL or "")
    card = datasets.card("movielens_latest_small")
    assert "GroupLens" in card.licence and "Harper" in card.citation
    if "movielens_latest_small" not in datasets.available():
        pytest.skip("needs movielens_latest_small in SAMPAN_DATA")
    log = datasets.load_ratings()
    assert (len(log), log.num_users, log.num_items) == (100_836, 610, 9_724)
    assert log.raw_items[-1] == 193_609 and log.origin == "real"
    assert log.titles[0] == "Toy Story (1995)" and "Animation" in log.genres[0]
    assert np.unique(log.values).tolist() == [k / 2 for k in range(1, 11)]
    assert np.bincount((log.values * 2).astype(int)).tolist()[1:] == list(interactions.STARS)
    counts = np.bincount(log.users)
    assert counts.min() == interactions.LEAST
    np.testing.assert_allclose(np.log(counts).mean(), interactions.ACTIVITY[0], atol=0.01)
    np.testing.assert_allclose(np.log(counts).std(), interactions.ACTIVITY[1], atol=0.01)
    parts = leave_last_out(log)
    assert [len(p) for p in parts] == [100_226, 610]
    assert parts.test.users.tolist() == sorted(range(610), key=parts.test.users.tolist().index)


# --- dividing -------------------------------------------------------------------------------------------------


@st.composite
def logs(draw, least=0):
    count = draw(st.integers(least, 40))
    column = lambda high: np.array(
        draw(st.lists(st.integers(0, high), min_size=count, max_size=count)), np.int64
    )
    users, items, times = column(4), column(6), column(9)
    none = np.empty(0, np.int64)
    return Ratings(users, items, np.arange(count, dtype=np.float32), times, 6, 7, [], [], none, none, "made")


def rows(log):
    return sorted(zip(log.users, log.items, log.values, log.times, strict=True))


@settings(max_examples=150)
@given(logs())
def test_the_last_of_everyone_is_left_out(log):
    train, test = leave_last_out(log)
    assert sorted(rows(train) + rows(test)) == rows(log)
    assert len(set(test.users)) == len(test)
    for user in range(log.num_users):
        mine = log.users == user
        assert (user in test.users) == (mine.sum() >= 2)
        if user in test.users:
            last = test.values[test.users == user][0]
            newest = np.flatnonzero(mine & (log.times == log.times[mine].max()))[-1]
            assert last == newest  # values are the numbers of the rows


@settings(max_examples=150)
@given(logs(), st.sampled_from([0.1, 0.2, 0.5, 0.9]), st.booleans())
def test_what_is_trained_on_is_older(log, share, each_user):
    train, test = split_by_time(log, share, each_user)
    assert sorted(rows(train) + rows(test)) == rows(log)
    for user in range(log.num_users) if each_user else [None]:
        before, after = (p.times if user is None else p.times[p.users == user] for p in (train, test))
        if len(before) and len(after):
            assert before.max() < after.min()
        everything = len(before) + len(after)
        if everything:  # as many as asked for, but for those of one second and for what does not divide
            times = log.times if user is None else log.times[log.users == user]
            tied = np.unique(times, return_counts=True)[1].max()
            assert abs(len(after) - share * everything) <= tied + 1


@settings(max_examples=150)
@given(logs(), st.integers(1, 5), st.data())
def test_a_history_is_what_came_before(log, length, data):
    asked = data.draw(st.one_of(st.none(), logs()))
    found = histories(log, length, asked)
    asked = log if asked is None else asked
    assert found.shape == (len(asked), length) and found.dtype == np.int64
    for row, user, time in zip(found, asked.users, asked.times, strict=True):
        before = np.flatnonzero((log.users == user) & (log.times < time))
        expected = before[np.argsort(log.times[before], kind="stable")][-length:]
        assert row.tolist() == [-1] * (length - len(expected)) + expected.tolist()


def test_bad_settings_are_named():
    log = made_log(900, 10)
    for share in (0, 1, -0.1):
        with pytest.raises(ValueError, match="share: expected more than 0 and less than 1"):
            split_by_time(log, share)
    with pytest.raises(ValueError, match="length: expected 1 or more, got 0"):
        histories(log, 0)
    for events, ids in ((-1, 10), (5, 0), (5, 2**31)):
        with pytest.raises(ValueError, match="events, num_ids: expected"):
            made_log(events, ids)
    with pytest.raises(ValueError, match="num_ids, skew: expected"):
        interactions.zipf(5, 10, -1, np.random.default_rng(0))
    far = log.pick(np.arange(2))
    far.times[:] = 0, 2**62
    with pytest.raises(ValueError, match="times: expected"):
        histories(far, 2)


# --- made logs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("skew", [0.0, 0.5, 1.0, 1.05, 2.0])
@pytest.mark.parametrize("num_ids", [1, 2, 50])
def test_zipf_draws_by_its_law(num_ids, skew):
    count = 40_000
    found = np.bincount(interactions.zipf(count, num_ids, skew, np.random.default_rng(1)), minlength=num_ids)
    share = 1 / np.arange(1, num_ids + 1) ** skew
    expected = count * share / share.sum()
    assert found.sum() == count and len(found) == num_ids
    assert ((found - expected) ** 2 / expected).sum() < num_ids + 5 * np.sqrt(2 * num_ids)  # chi-square


def test_zipf_reaches_far_and_takes_no_memory_for_it():
    found = interactions.zipf(100_000, 10**9, 1.05, np.random.default_rng(0))
    assert found.min() >= 0 and found.max() < 10**9 and found.max() > 10**8
    tail = np.arange(10**5, 10**9, 10**4, dtype=np.float64)
    whole = (1 / np.arange(1, 10**5) ** 1.05).sum() + (10**4 / tail**1.05).sum()
    np.testing.assert_allclose((found == 0).mean(), 1 / whole, rtol=0.06)


def test_a_made_log_has_the_statistics_that_it_names():
    log = made_log(60_000, 100_003, seed=3)
    assert (
        len(log) == 60_000 and log.origin == "made" and log.num_items == 100_003 and log.title(5) == "item 5"
    )
    counts = np.bincount(log.users)[:-1]  # the last person's rows are cut off
    assert counts.min() >= 20 and 100 < counts.mean() < 230  # MovieLens: 165
    shares = np.bincount((log.values * 2).astype(int), minlength=11)[1:] / len(log)
    np.testing.assert_allclose(shares, np.array(interactions.STARS) / sum(interactions.STARS), atol=0.01)
    for user in range(3):
        assert (np.diff(log.times[log.users == user]) > 0).all()
    top = np.sort(np.bincount(log.items))[::-1]
    assert top[0] > 0.05 * len(log) and 10_000 < (top > 0).sum() < 40_000
    # a fixed mixing of ids: as many different ones as were drawn, the much used ones far from one another
    assert np.ptp(np.argsort(-np.bincount(log.items))[:10]) > 1_000
    again, other = made_log(60_000, 100_003, seed=3), made_log(60_000, 100_003, seed=4)
    np.testing.assert_array_equal(log.items, again.items)
    assert (log.items != other.items).any() and len(made_log(0, 5)) == 0
