"""Baseline recommenders in NumPy for `recommender.py`: each returns scores, higher is better."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from sampan.datasets.interactions import Ratings


def matrix(log: Ratings) -> scipy.sparse.csr_matrix:
    """Interaction matrix, float32 [users, items]: 1 if the user had the item."""
    ones = np.ones(len(log), np.float32)
    found = scipy.sparse.csr_matrix((ones, (log.users, log.items)), (log.num_users, log.num_items))
    found.data[:] = 1
    return found


def by_popularity(log: Ratings) -> np.ndarray:
    """[1, items]: the number of users of each item."""
    return np.bincount(log.items, minlength=log.num_items)[None].astype(np.float32)


def by_neighbours(log: Ratings, most: int = 100, shrink: float = 10.0) -> np.ndarray:
    """[people, items]: item-based kNN, cosines with the user's items among the `most` nearest (Sarwar et al. 2001)."""
    had = matrix(log)
    length = np.sqrt(np.asarray(had.sum(0)).ravel())
    scores = np.zeros(had.shape, np.float32)
    for start in range(0, had.shape[1], 1000):
        block = slice(start, start + 1000)
        near = np.asarray((had.T @ had[:, block]).todense(), np.float32)
        near /= length[:, None] * length[None, block] + shrink
        near[np.arange(start, min(block.stop, had.shape[1])), np.arange(near.shape[1])] = 0
        least = np.partition(near, -most, 0)[-most]
        scores[:, block] = had @ np.where(near >= least, near, 0)
    return scores


def by_factors(
    log: Ratings, dim: int = 32, weight: float = 10.0, ridge: float = 30.0, rounds: int = 8
) -> np.ndarray:
    """[people, items]: alternating least squares for implicit feedback (Hu, Koren and Volinsky 2008, equations 4 and 5)."""
    had = matrix(log)
    rng = np.random.default_rng(0)
    items = rng.normal(0, 0.1, (had.shape[1], dim))
    people = np.zeros((had.shape[0], dim))
    for _ in range(rounds):
        for side, other, rows in ((people, items, had), (items, people, had.T.tocsr())):
            gram = other.T @ other + ridge * np.eye(dim)
            for i in range(len(side)):
                mine = other[rows.indices[rows.indptr[i] : rows.indptr[i + 1]]]
                side[i] = np.linalg.solve(gram + weight * mine.T @ mine, (1 + weight) * mine.sum(0))
    return (people @ items.T).astype(np.float32)


def by_followers(log: Ratings, newest: np.ndarray) -> np.ndarray:
    """[people, items]: a Markov chain: counts of an item after one of the user's newest items [users, reach], at most `reach` rows later
    in the same log; a count is divided by the distance of the pair, and by the age of the newest item."""
    reach = newest.shape[1]
    order = np.lexsort((log.times, log.users))
    users, items = log.users[order], log.items[order]
    follow = scipy.sparse.csr_matrix(
        (log.num_items + 1, log.num_items), dtype=np.float32
    )  # the last: no item
    for step in range(1, reach + 1):
        same = users[step:] == users[:-step]
        counts = np.full(same.sum(), 1 / step, np.float32)
        follow += scipy.sparse.csr_matrix((counts, (items[:-step][same], items[step:][same])), follow.shape)
    scores = 1e-4 * by_popularity(log)  # breaks ties
    return scores + sum(follow[newest[:, -back]].toarray() / back for back in range(1, reach + 1))


def by_biases(log: Ratings, asked: Ratings, ridge: float = 5.0, rounds: int = 10) -> np.ndarray:
    """mean + person + item of each row of `asked`, fitted to the values by alternating ridge regression."""
    mean, person, item = log.values.mean(), np.zeros(log.num_users), np.zeros(log.num_items)
    for _ in range(rounds):
        for bias, rows, other, places in (
            (item, log.items, person, log.users),
            (person, log.users, item, log.items),
        ):
            rest = log.values - mean - other[places]
            bias[:] = np.bincount(rows, rest, len(bias)) / (np.bincount(rows, minlength=len(bias)) + ridge)
    return mean + person[asked.users] + item[asked.items]


def means(rows: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """The mean of the values of each row from 0 to count - 1, smoothed by five observations of the overall mean."""
    return (np.bincount(rows, values, count) + 5 * values.mean()) / (np.bincount(rows, minlength=count) + 5)
