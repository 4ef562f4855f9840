"""Features of a stream against a brute-force count, scores that the future cannot change, and reasons that are what leaving a
rating out does."""

import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampan.models import fraud, fraud_features
from sampan.models.fraud import Event, FraudDetector

REAL = os.environ.get("SAMPAN_DATA")
HOUR = 3600.0


def stream(count=300, people=12, seed=0, repeats=True):
    """Ratings among few people, of whom the last two get and give mostly negative ones."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(20 * HOUR, count)) + 1e9
    found = []
    for time in times.tolist():
        giver, receiver = rng.choice(people, 2, replace=False).tolist()
        bad = rng.random() < (0.9 if max(giver, receiver) >= people - 2 else 0.05)
        found.append(Event(giver, receiver, time, float(rng.integers(1, 11)) / (-10 if bad else 10)))
    return found


def observed(events, **settings):
    detector = FraudDetector(**settings)
    for event in events:
        detector.observe(event)
    return detector


def trained(events, **settings):
    for progress in fraud.train_fraud(events, **settings):
        last = progress
    assert last.done == 1.0
    return last.detector


def scores(detector, events):
    found = []
    for event in events:
        found.append(detector.score(event))
        detector.observe(event)
    return found


# --- features -------------------------------------------------------------------------------------------------


def since(now, times):
    return math.log1p((now - max(times)) / HOUR) if times else 12.0


def slow_worth(past):
    """Fairness and goodness of everyone, renewed at both ends of each rating as it came."""
    fair, good = {}, {}
    for at, event in enumerate(past):
        received = [e for e in past[: at + 1] if e.receiver == event.receiver]
        good[event.receiver] = sum(e.rating * fair.get(e.giver, 1.0) for e in received) / len(received)
        gave = [e for e in past[: at + 1] if e.giver == event.giver]
        fair[event.giver] = 1 - sum(abs(e.rating - good.get(e.receiver, 0.0)) for e in gave) / len(gave) / 2
    return fair, good


def slow_features(past, event):
    """By name, from a plain list of the earlier ratings."""
    now, s, t = event.time, event.giver, event.receiver
    found = {}
    for name, turn, unit in (("hour", 24, HOUR), ("weekday", 7, 24 * HOUR)):
        angle = 2 * math.pi * math.fmod(now / unit, turn) / turn
        found |= {f"{name}, sine": math.sin(angle), f"{name}, cosine": math.cos(angle)}
    sides = {
        "giver's given": [e for e in past if e.giver == s],
        "giver's received": [e for e in past if e.receiver == s],
        "receiver's received": [e for e in past if e.receiver == t],
        "receiver's given": [e for e in past if e.giver == t],
    }
    for name, side in sides.items():
        n = len(side)
        found[f"{name}: count"] = math.log(1 + n)
        found[f"{name}: age"] = math.log1p((now - side[0].time) / 24 / HOUR) if n else -1
        found[f"{name}: time since latest"] = since(now, [e.time for e in side])
        found[f"{name}: mean"] = sum(e.rating for e in side) / (n + 1)
        found[f"{name}: share negative"] = (sum(e.rating < 0 for e in side) + 0.1) / (n + 1)
        found[f"{name}: latest rating"] = side[-1].rating if n else 0
        found[f"{name}: time since negative"] = since(now, [e.time for e in side if e.rating < 0])
        for sign, word in ((-1, "negative"), (1, "positive")):
            ages = [(now - e.time) / (168 * HOUR) for e in side if e.rating * sign > 0]
            found[f"{name}: {word} this week"] = sum(math.exp(-age) for age in ages)
    back = [e for e in past if (e.giver, e.receiver) == (t, s)]
    rating = back[-1].rating if back else 0
    found |= {"rating in return": rating, "rating in return is negative": rating < 0}
    found |= {
        "rating in return is positive": rating > 0,
        "time since rating in return": since(now, [e.time for e in back]),
    }
    told = (
        {e.receiver: e.rating for e in past if e.giver == s},
        {e.giver: e.rating for e in past if e.receiver == s},
    )
    for trust, name in zip(told, ("whom the giver rated", "who rated the giver"), strict=True):
        pairs = [(trust[e.giver], e.rating) for e in past if e.receiver == t and e.giver in trust]
        weight = sum(abs(a) for a, _ in pairs)
        found[f"those {name}, of the receiver"] = sum(a * b for a, b in pairs) / (weight + 0.1)
        found[f"weight of those {name}"] = math.log1p(10 * weight)
    fair, good = slow_worth(past)
    gave, got = sides["giver's given"], sides["receiver's received"]
    f = 1 - sum(abs(e.rating - good.get(e.receiver, 0.0)) for e in gave) / len(gave) / 2 if gave else 1.0
    g = sum(e.rating * fair.get(e.giver, 1.0) for e in got) / len(got) if got else 0.0
    mine = sides["giver's received"]
    own = sum(e.rating * fair.get(e.giver, 1.0) for e in mine) / len(mine) if mine else 0.0
    return found | {
        "giver's fairness": f,
        "receiver's goodness": g,
        "fairness x goodness": f * g,
        "giver's goodness": own,
    }


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 60), st.integers(2, 8))
def test_features_are_those_of_a_plain_count(seed, count, people):
    *past, event = stream(count + 1, people, seed)
    detector = observed(past)
    found = dict(zip(detector.columns, detector.features(event).tolist(), strict=True))
    expected = slow_features(past, event)
    assert set(found) == set(expected) and len(found) == len(detector.columns)
    for name, value in expected.items():
        assert found[name] == pytest.approx(float(value), rel=1e-4, abs=2e-4), name


def test_groups_choose_columns():
    *past, event = stream(40)
    whole = observed(past)
    every = dict(zip(whole.columns, whole.features(event).tolist(), strict=True))
    for group, names in fraud_features.GROUPS.items():
        part = observed(past, groups=(group,))
        assert part.columns == names
        assert part.features(event).tolist() == [every[name] for name in names]


def test_own_features_know_no_rating_s_value():
    *past, event = stream(60)
    turned = [e._replace(rating=-e.rating) for e in past]
    found = [observed(events, groups=("own",)).features(event).tolist() for events in (past, turned)]
    assert found[0] == found[1]
    assert observed(past).features(event).tolist() != observed(turned).features(event).tolist()


# --- the future -----------------------------------------------------------------------------------------------


def test_the_future_changes_no_score():
    events = stream(400)
    first = 250
    rng = np.random.default_rng(1)
    other = [
        e._replace(giver=int(rng.integers(9)), receiver=9, rating=-e.rating) if i >= first else e
        for i, e in enumerate(events)
    ]
    found = []
    for case in (events, other):
        detector = trained(events, train=0.25, valid=0.25, epochs=3)
        found.append(scores(detector, case[200:]))
    assert found[0][: first - 200] == found[1][: first - 200]
    assert found[0][first - 200 :] != found[1][first - 200 :]  # they do count once they are there


def test_training_knows_nothing_after_its_part():
    events = stream(400)
    changed = [e._replace(rating=-e.rating) if i >= 200 else e for i, e in enumerate(events)]
    a, b = (trained(case, train=0.3, valid=0.2, epochs=3) for case in (events, changed))
    assert a.threshold == b.threshold
    for mine, theirs in zip(a.network.parameters(), b.network.parameters(), strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def test_a_score_does_not_depend_on_the_event_s_own_rating():
    events = stream(200)
    detector = trained(events, epochs=2)
    event = events[170]
    assert len({detector.score(event._replace(rating=value)) for value in (-1.0, 0.1, math.nan)}) == 1


# --- reasons --------------------------------------------------------------------------------------------------


def logit(p):
    return math.log(p / (1 - p))


def test_a_contribution_is_what_leaving_the_rating_out_changes():
    events = stream(200)
    detector = trained(events)
    event = events[160]._replace(giver=11, receiver=3)
    reason = detector.reason(event, most=5)
    assert reason.score == pytest.approx(detector.score(event), rel=1e-5) and len(reason.edges) == 5
    assert reason.nodes[:2].tolist() == [11, 3]
    assert {end for edge in reason.edges for end in edge[:2]} <= set(reason.nodes.tolist())
    sizes = [abs(edge.contribution) for edge in reason.edges]
    assert sizes == sorted(sizes, reverse=True)
    for edge in reason.edges:
        less = trained(events)
        numbers = less.graph.successors([edge.source])[1]
        mine = numbers[less.graph.edge_times(numbers) == edge.time]
        assert less.graph.edge_feat("rating", mine) == [edge.rating]
        less.graph.remove_edges(edges=mine)
        assert logit(reason.score) - logit(less.score(event)) == pytest.approx(edge.contribution, abs=1e-4)


def test_a_reason_names_every_feature():
    events = stream(200)
    detector = trained(events, groups=("own", "history"))
    event = events[160]
    reason = detector.reason(event)
    assert sorted(name for name, _, _ in reason.features) == sorted(detector.columns)
    row, mean = detector.features(event), detector.network.mean.numpy()
    for name, value, contribution in reason.features:
        at = detector.columns.index(name)
        usual = row.copy()
        usual[at] = mean[at]
        a, b = detector.network.predict(np.stack([row, usual]))
        assert value == row[at] and contribution == pytest.approx(a - b, abs=1e-5)


def test_a_reason_without_any_past():
    detector = trained(stream(100))
    reason = detector.reason(Event(500, 501, 2e9))
    assert reason.edges == [] and reason.nodes.tolist() == [500, 501] and 0 < reason.score < 1


# --- training and wrong input ---------------------------------------------------------------------------------


def test_it_learns_who_is_negative():
    events = stream(1200, people=20)
    detector = trained(events)
    test = events[960:]
    found = np.array(scores(detector, test))
    negative = np.array([event.rating < 0 for event in test])
    assert found[negative].mean() > found[~negative].mean() + 0.3
    assert np.mean((found >= detector.threshold) == negative) > 0.85


def test_the_threshold_flags_as_many_as_are_negative():
    scored, negative = np.array([0.1, 0.9, 0.5, 0.7, 0.2]), np.array([True, False, True, False, False])
    assert (scored >= fraud.alarm_threshold(scored, negative)).sum() == 2
    assert fraud.alarm_threshold(scored, np.zeros(5, bool)) == 0.9


def test_seeded_training_is_repeated():
    events = stream(200)
    a, b, c = (trained(events, epochs=2, seed=seed) for seed in (3, 3, 4))
    event = events[-1]
    assert a.score(event) == b.score(event) != c.score(event)


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (Event(0, 1, 5.0, 0.1), "observe: time: expected 1.* or later, got 5.0"),
        (Event(0, 1, math.nan, 0.1), "observe: time"),
        (Event(0, 1, 2e9, 0.0), "observe: rating: expected -1 to 1 and not 0, got 0.0"),
        (Event(0, 1, 2e9, 3.0), "observe: rating"),
        (Event(0, 1, 2e9), "observe: rating"),
        (Event(-1, 1, 2e9, 0.1), "observe: expected people from 0 on, got -1 and 1"),
    ],
)
def test_a_wrong_event_changes_nothing(event, text):
    detector = observed(stream(20))
    before = detector.graph.num_edges, detector.graph.num_nodes
    with pytest.raises(ValueError, match=text):
        detector.observe(event)
    assert (detector.graph.num_edges, detector.graph.num_nodes) == before


def test_other_wrong_input():
    events = stream(30)
    with pytest.raises(RuntimeError, match="score: expected a network: see train_fraud"):
        observed(events).score(Event(0, 1, 2e9))
    with pytest.raises(ValueError, match="groups: expected some of"):
        FraudDetector(groups=("age",))
    with pytest.raises(ValueError, match="train_fraud: expected shares"):
        trained(events, train=0.8, valid=0.2)
    with pytest.raises(ValueError, match="fit_classifier: expected rows"):
        fraud.fit_classifier(np.zeros((4, 2)), np.zeros(4, bool))


# --- real -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not REAL, reason="needs SAMPAN_DATA with bitcoin_otc")
def test_real_ratings():
    from sampan.datasets import load_graph
    from sampan.models.recommender_ranking import auc

    events = fraud.events_of(load_graph("bitcoin_otc"))
    assert len(events) == 35_592 and all(0 < abs(event.rating) <= 1 for event in events)
    events = events[:16_000]
    detector = trained(events, train=0.7, valid=0.2)
    found = scores(detector, events[14_400:])
    assert auc(np.array(found), np.array([event.rating < 0 for event in events[14_400:]])) > 0.88
