"""Teams, limits, phases and files of the store."""

from __future__ import annotations

import os
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from studio.competitions import making
from studio.competitions.problems import Refused
from studio.competitions.records import Outcome, Submission
from studio.competitions.store import DAY_S, Store
from studio.compute import machine
from tests.webapp.competitions.rooms import NAME, answer, card, room, solution

NOON = DAY_S * 20_000 + DAY_S / 2


def submit(store: Store, learner: str, now: float | None = None, content: bytes | None = None) -> Submission:
    competition = store.competition(NAME)
    assert competition is not None
    return store.submit(
        competition, store.own_team(NAME, learner), learner, "predictions", "p.csv", content or answer(9), now
    )


def enter(store: Store, outcome: Outcome) -> Submission:
    claimed = store.claim(("predictions",), machine.holder(os.getpid()))
    assert claimed is not None and store.finish(claimed, outcome)
    return claimed


def kinds(refused: pytest.ExceptionInfo[Refused]) -> list[str]:
    return [kind for kind, _ in refused.value.problems]


def test_all_that_is_stored_belongs_to_this_account_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store, _ = room(tmp_path, metric="own", code="def metric(truth, submitted):\n    return 1\n")
        submit(store, "ada")
    finally:
        os.umask(before)
    found = [store.folder, *store.folder.rglob("*")]
    assert {path.name for path in found} >= {
        "solution.csv",
        "metric.py",
        "submissions",
        "competitions.sqlite3",
    }
    others = {
        path.name: oct(path.stat().st_mode)
        for path in (store.folder, *store.folder.rglob("*.sqlite3*"), store.folder / NAME)
        if path.stat().st_mode & 0o077
    }
    assert others == {}
    assert all(not path.stat().st_mode & 0o077 for path in found if stat.S_ISREG(path.stat().st_mode))


def test_the_daily_limit_is_of_the_team_and_ends_at_midnight(tmp_path: Path) -> None:
    store, competition = room(tmp_path, daily=2, team_size=2, start=NOON - DAY_S, deadline=NOON + 9 * DAY_S)
    store.join(NAME, "bob", store.own_team(NAME, "ada").code)
    for learner in ("ada", "bob"):
        submit(store, learner, NOON)
    with pytest.raises(Refused) as refused:
        submit(store, "ada", NOON + 3600)
    assert kinds(refused) == ["daily"]
    assert store.left_today(competition, store.own_team(NAME, "bob"), NOON) == 0
    assert submit(store, "bob", NOON + DAY_S / 2).received == NOON + DAY_S / 2
    assert submit(store, "eve", NOON).team != store.own_team(NAME, "ada").id
    kept = {path.name for path in (store.folder / NAME / "submissions").iterdir()}
    assert kept == {one.id for one in store.submissions(NAME)}  # what was refused left no file


def test_the_limit_holds_for_those_who_submit_at_the_same_moment(tmp_path: Path) -> None:
    store, competition = room(tmp_path, daily=3)
    team, gate = store.own_team(NAME, "ada"), threading.Barrier(12)

    def one(_: int) -> bool:
        gate.wait()
        try:
            store.submit(competition, team, "ada", "predictions", "p.csv", answer(9))
        except Refused:
            return False
        return True

    with ThreadPoolExecutor(12) as pool:
        assert sum(pool.map(one, range(12))) == 3
    assert len(store.submissions(NAME, team.id)) == 3 == len(store.results(NAME)) - 1


def test_a_file_that_cannot_be_read_costs_no_attempt_but_is_not_unlimited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.competitions.store.REFUSED_A_DAY", 3)
    store, _ = room(tmp_path, daily=1, start=NOON - DAY_S, deadline=NOON + DAY_S)
    enter(store, Outcome("scored", 0.0, 0.0))  # the sample
    for _ in range(3):
        submit(store, "ada", NOON)
        enter(store, Outcome("refused", problems=[("empty", {})]))
    with pytest.raises(Refused) as refused:
        submit(store, "ada", NOON)
    assert kinds(refused) == ["daily_unreadable"]


def test_one_that_the_metric_did_not_score_costs_an_attempt(tmp_path: Path) -> None:
    """Otherwise files that make a metric fail for some labels only would be an unlimited question about them."""
    store, _ = room(tmp_path, daily=1)
    enter(store, Outcome("scored", 0.0, 0.0))
    submit(store, "ada")
    enter(store, Outcome("failed", problems=[("metric_failed", {})]))
    with pytest.raises(Refused) as refused:
        submit(store, "ada")
    assert kinds(refused) == ["daily"]


def test_nothing_is_taken_before_the_start_or_after_the_end(tmp_path: Path) -> None:
    store, competition = room(tmp_path, start=NOON, deadline=NOON + 100)
    for when, kind in ((NOON - 1, "not_begun"), (NOON + 100, "ended")):
        with pytest.raises(Refused) as refused:
            submit(store, "ada", when)
        assert kinds(refused) == [kind]
    submit(store, "ada", NOON)
    store.change(NAME, NOON + 5, ended=NOON + 5)
    with pytest.raises(Refused):  # with the card that a page has read before
        store.submit(
            competition, store.own_team(NAME, "ada"), "ada", "predictions", "p.csv", answer(9), NOON + 6
        )


def test_what_has_ended_is_never_open_again(tmp_path: Path) -> None:
    store, _ = room(tmp_path, start=NOON, deadline=NOON + 100)
    assert store.change(NAME, NOON + 50, deadline=NOON + 200).deadline == NOON + 200
    for changes in ({"deadline": NOON + 900}, {"start": NOON + 500, "deadline": NOON + 900}):
        with pytest.raises(Refused) as refused:
            store.change(NAME, NOON + 300, **changes)
        assert kinds(refused) == ["reopened"]
    store.change(NAME, NOON + 300, title="Other")
    stored = store.competition(NAME)
    assert stored is not None and (stored.title, stored.deadline) == ("Other", NOON + 200)


def test_teams(tmp_path: Path) -> None:
    store, _ = room(tmp_path, team_size=2)
    first = store.own_team(NAME, "ada", "Tulips")
    assert store.join(NAME, "bob", first.code).members == ("ada", "bob")
    assert store.join(NAME, "bob", first.code).members == ("ada", "bob")  # again
    refusals = {
        "full": ("eve", first.code),
        "no code": ("eve", "guess"),
        "mine": ("bob", store.own_team(NAME, "tom").code),
    }
    seen = {}
    for name, (learner, code) in refusals.items():
        with pytest.raises(Refused) as refused:
            store.join(NAME, learner, code)
        seen[name] = kinds(refused)
    assert seen == {"full": ["team_full"], "no code": ["no_such_code"], "mine": ["in_a_team"]}
    with pytest.raises(Refused) as refused:
        store.own_team(NAME, "eve", "Tulips")
    assert kinds(refused) == ["team_taken"]
    assert store.own_team(NAME, "Tulips").title == "Tulips 2"  # a learner whose name a team has taken
    baseline = next(team for team in store.teams(NAME).values() if team.baseline)
    with pytest.raises(Refused):
        store.join(NAME, "eve", baseline.code)


def test_who_has_submitted_stays_in_the_team(tmp_path: Path) -> None:
    """Otherwise each new team would have attempts of its own."""
    store, competition = room(tmp_path, team_size=3)
    other, mine = store.own_team(NAME, "ada"), store.own_team(NAME, "eve")
    submit(store, "eve")
    with pytest.raises(Refused) as refused:
        store.join(NAME, "eve", other.code)
    assert kinds(refused) == ["in_a_team"]
    store.own_team(NAME, "bob")
    left = store.own_team(NAME, "bob")
    store.join(NAME, "bob", other.code)  # nothing submitted: the empty team is gone
    with pytest.raises(Refused) as refused:
        store.submit(competition, left, "bob", "predictions", "p.csv", answer(9))
    assert kinds(refused) == ["other_team"]
    assert set(store.teams(NAME)) >= {other.id, mine.id} and left.id not in store.teams(NAME)


def test_two_can_be_selected_until_the_end(tmp_path: Path) -> None:
    store, competition = room(tmp_path)
    enter(store, Outcome("scored", 0.0, 0.0))
    sent = [submit(store, "ada") for _ in range(3)]
    for _ in sent:
        enter(store, Outcome("scored", 0.5, 0.5))
    now = time.time()
    for one in sent[:2]:
        store.choose(competition, one, True, now)
    with pytest.raises(Refused) as refused:
        store.choose(competition, sent[2], True, now)
    assert kinds(refused) == ["chosen"]
    store.choose(competition, sent[0], False, now)
    store.choose(competition, sent[2], True, now)
    assert [store.submission(one.id).chosen for one in sent] == [False, True, True]
    with pytest.raises(Refused):
        store.choose(competition, sent[2], False, competition.deadline)


def test_a_claim_is_good_once_and_a_rescore_makes_it_void(tmp_path: Path) -> None:
    store, _ = room(tmp_path)
    mine = machine.holder(os.getpid())
    claimed = store.claim(("predictions",), mine)
    assert claimed is not None and store.claim(("predictions", "notebook"), mine) is None
    assert store.recover() == 0  # this process lives
    store.rescore(NAME)
    assert not store.finish(claimed, Outcome("scored", 1.0, 1.0))
    again = store.claim(("predictions",), mine)
    assert again is not None and again.labels == claimed.labels + 1
    assert store.finish(again, Outcome("scored", 1.0, 1.0))
    assert not store.finish(again, Outcome("scored", 0.0, 0.0))
    assert store.scorings(NAME) == [(again.id, again.labels)]


def test_other_labels_score_everything_again_and_keep_the_scores_until_then(tmp_path: Path) -> None:
    store, competition = room(tmp_path)
    enter(store, Outcome("scored", 0.25, 0.5))
    assert making.correct(store, competition, solution().replace(b"r0,a", b"r0,b")) == 1
    (one,) = store.submissions(NAME)
    assert (one.state, one.public) == ("waiting", 0.25)
    for wrong in (solution(19), b"id,label\nx,a\ny,b\n"):
        with pytest.raises(Refused) as refused:
            making.correct(store, competition, wrong)
        assert kinds(refused) == ["solution.other_rows"]


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"name": "../etc"}, "name"),
        ({"name": "new"}, "name"),
        ({"title": " "}, "title"),
        ({"metric": "luck"}, "metric"),
        ({"deadline": 0.0}, "times"),
        ({"daily": 0}, "limit.daily"),
        ({"most_bytes": 1 << 40}, "limit.most_bytes"),
        ({"notebook_seconds": 10_000}, "limit.notebook_seconds"),
        ({"share": 1.0}, "share"),
    ],
)
def test_a_card_is_checked(changes: dict[str, object], kind: str) -> None:
    with pytest.raises(Refused) as refused:
        card(**changes)
    assert kinds(refused) == [kind]


def test_nothing_is_left_of_a_competition_that_was_refused(tmp_path: Path) -> None:
    for name in ("../x.csv", ".hidden", "a/b", "x" * 90, "a\nb", "=cmd.csv"):
        with pytest.raises(Refused) as refused:
            room(tmp_path, data={name: b"1"})
        assert kinds(refused) == ["file_name"]
    for code, kind in (("x = (", "metric_syntax"), ("def other(a, b): ...", "metric_missing")):
        with pytest.raises(Refused) as refused:
            room(tmp_path, code=code, metric="own")
        assert kinds(refused) == [kind]
    store, _ = room(tmp_path, data={"train.csv": b"x\n1\n"})
    assert [path.name for path in store.data_files(NAME)] == ["sample_submission.csv", "train.csv"]
    with pytest.raises(Refused) as refused:
        room(tmp_path)
    assert kinds(refused) == ["name_taken"]
    (store.folder / NAME / "public" / "link").symlink_to(store.folder / NAME / "private" / "solution.csv")
    for name in ("link", "../private/solution.csv", "nothing"):
        with pytest.raises(Refused) as refused:
            making.data_file(store, NAME, name)
        assert kinds(refused) == ["no_such_file"]
