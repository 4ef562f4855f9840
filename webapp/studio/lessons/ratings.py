"""The log of film ratings of notebooks 06 and 06b."""

from __future__ import annotations

import dataclasses

import numpy as np

from sampan import datasets
from sampan.datasets import interactions
from sampan.learn.language import say

REAL = "movielens_latest_small"
PEOPLE, FILMS, KINDS, EACH = 400, 600, 8, 40


def ratings() -> tuple[interactions.Ratings, str]:
    """(the log, whether it is real data): MovieLens if it is on this machine, else a generated one."""
    if REAL in datasets.available():
        return interactions.load_ratings(REAL), say(("real data", "真实数据"))
    return made(), say(("generated data", "生成的数据"))


def made(seed: int = 6) -> interactions.Ratings:
    """A small log: each person likes two kinds of films and rates mostly those, popular ones more often."""
    rng = np.random.default_rng(seed)
    kind, known = rng.integers(0, KINDS, FILMS), 1 / np.arange(1, FILMS + 1) ** 0.8
    rows = []
    for person in range(PEOPLE):
        liked = np.isin(kind, rng.choice(KINDS, 2, replace=False))
        chance = known * np.where(liked, 1.0, 0.05)
        rows += [(person, film) for film in rng.choice(FILMS, EACH, replace=False, p=chance / chance.sum())]
    users, items = np.array(rows).T
    names = [say((f"kind {k}", f"类别 {k}")) for k in range(KINDS)]
    return dataclasses.replace(
        interactions.made_log(len(rows), FILMS),
        users=users,
        items=items,
        times=rng.permutation(len(rows)),
        num_users=PEOPLE,
        titles=[say((f"made film {i}", f"生成的电影 {i}")) + f" ({names[k]})" for i, k in enumerate(kind)],
        genres=[(names[k],) for k in kind],
    )
