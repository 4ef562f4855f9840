"""Prefix beam search over CTC posteriors (Hannun et al., 2014), frame by frame, on arrays.

A hypothesis is a node of a prefix tree: the tokens from the root to it. It has the probability of all paths
that spell it, in two parts, those that end with a blank and those that end with its last token. Each frame
extends the best hypotheses by the best tokens of the frame. A node's children are a linked list, so an
extension that was dropped before is found again and two nodes never spell the same tokens; no hashing is
needed.

Bonuses (language model, length, hot words) belong to the tokens alone. They are kept per node, and a
hypothesis ranks by log probability plus bonus.
"""

from typing import NamedTuple

import numba
import numpy as np

from .cpu_speech_ngram import Trie, advance, child

NONE = -1
BLOCK = 16  # scores that are compared at once
SETTLED_EVERY = 32  # frames
HIGHEST = 1e-3  # log probabilities may be rounded above 0
FULL, BAD = 1, 2  # why a call of `search` stopped before its last frame


class Tree(NamedTuple):
    """Prefix tree: int32 arrays [capacity] and bonus, heard float64. Node 0 is the root.

    parent, token, first_child, next_sibling: its shape. context: the node of the language model. spelled: the
    place in the lexicon, NONE for a word that is not in it. hot: the place among the hot words. frame: where
    the token was first put at the end. bonus: of all its tokens.
    """

    parent: np.ndarray
    token: np.ndarray
    first_child: np.ndarray
    next_sibling: np.ndarray
    context: np.ndarray
    spelled: np.ndarray
    hot: np.ndarray
    frame: np.ndarray
    bonus: np.ndarray


class Fusion(NamedTuple):
    """What tokens add to the score of a hypothesis.

    mode: 0 no language model, 1 one over tokens, 2 one over words. model, order, alpha, beta: the model, and
    the weights of its log probability and of each token or word. words: int32 [tokens], the word id of each
    token (mode 1). lexicon: a trie of characters, whose `depth` is the word id at its end or NONE (mode 2).
    starts, characters: those of each token. opens: int32 [tokens], 1 where a token ends the word before it.
    hot: a trie of tokens, with `score` for what is given on entering a node, `backoff` for what is taken
    back on leaving it. most: at least what any token can add.
    """

    mode: int
    model: Trie
    order: int
    alpha: float
    beta: float
    unknown: int
    words: np.ndarray
    lexicon: Trie
    starts: np.ndarray
    characters: np.ndarray
    opens: np.ndarray
    hot: Trie
    most: float


class Beam(NamedTuple):
    """The hypotheses, best first: node int32, blank and spoken float64 (log probability of the paths that
    end with a blank, and with the last token). counts: int64 [3], hypotheses, nodes, frames."""

    node: np.ndarray
    blank: np.ndarray
    spoken: np.ndarray
    counts: np.ndarray


@numba.njit(cache=True, error_model="numpy")
def log_sum(a, b):
    """log(e^a + e^b)."""
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))


@numba.njit(cache=True, error_model="numpy")
def best_tokens(row, floor, tokens, scores):
    """The greatest entries above `floor`, best first, the first of equal ones, and how many; -1 if an entry
    is NaN or the log of a probability above 1."""
    count, most = 0, tokens.size
    least = row.dtype.type(floor)
    whole = row.size - row.size % BLOCK
    for begin in range(0, row.size, BLOCK):
        end = min(begin + BLOCK, row.size)
        if begin < whole:  # most blocks have nothing: one comparison of vectors each
            block = row[begin:end]
            above = 0
            for i in range(BLOCK):
                above += not (block[i] <= least)
            if above == 0:
                continue
        for k in range(begin, end):
            value = row[k]
            if not value <= HIGHEST:
                return -1
            if value > least:
                at = count if count < most else most - 1
                while at > 0 and scores[at - 1] < value:
                    scores[at], tokens[at] = scores[at - 1], tokens[at - 1]
                    at -= 1
                scores[at], tokens[at] = value, k
                count = min(count + 1, most)
                if count == most:
                    least = row.dtype.type(scores[most - 1])
    return count


@numba.njit(cache=True, error_model="numpy", inline="always")
def word_score(fusion, context, spelled):
    """(weighted score of the word that ends at a place of the lexicon, context behind it); nothing at its
    root."""
    if spelled == 0:
        return 0.0, context
    word = fusion.unknown if spelled == NONE else fusion.lexicon.depth[spelled]
    score, context = advance(fusion.model, fusion.order, context, fusion.unknown if word == NONE else word)
    return fusion.alpha * score + fusion.beta, context


@numba.njit(cache=True, error_model="numpy", inline="always")
def hot_step(hot, place, token):
    """(bonus, place) after a token: what a broken off phrase had is taken back, and a whole one is kept."""
    left, at = hot.backoff[place], place
    found = child(hot.starts, hot.words, at, token)
    while found < 0 and at != 0:
        at = hot.shorter[at]
        found = child(hot.starts, hot.words, at, token)
    at = max(found, 0)
    return hot.score[at] + hot.backoff[at] - left, at


@numba.njit(cache=True, error_model="numpy", inline="always")
def bonus_of(fusion, context, spelled, hot, token):
    """(bonus of a token behind a hypothesis, its context, place in the lexicon and among the hot words)."""
    bonus = 0.0
    if fusion.hot.words.size > 1:
        bonus, hot = hot_step(fusion.hot, hot, token)
    if fusion.mode == 1:
        score, context = advance(fusion.model, fusion.order, context, fusion.words[token])
        bonus += fusion.alpha * score + fusion.beta
    elif fusion.mode == 2:
        if fusion.opens[token]:
            score, context = word_score(fusion, context, spelled)
            bonus, spelled = bonus + score, 0
        for i in range(fusion.starts[token], fusion.starts[token + 1]):
            if spelled != NONE:
                spelled = child(fusion.lexicon.starts, fusion.lexicon.words, spelled, fusion.characters[i])
    else:
        bonus += fusion.beta
    return bonus, np.int32(context), np.int32(spelled), np.int32(hot)


@numba.njit(cache=True, error_model="numpy")
def _node_for(tree, fusion, parent, token, count, frame):
    """(the child of a node by a token, the number of nodes): an old one or a new one."""
    node = tree.first_child[parent]
    while node != NONE:
        if tree.token[node] == token:
            return node, count
        node = tree.next_sibling[node]
    node = np.int32(count)
    bonus, context, spelled, hot = bonus_of(
        fusion, tree.context[parent], tree.spelled[parent], tree.hot[parent], token
    )
    tree.parent[node], tree.token[node], tree.first_child[node] = parent, token, NONE
    tree.next_sibling[node], tree.first_child[parent] = tree.first_child[parent], node
    tree.context[node], tree.spelled[node], tree.hot[node] = context, spelled, hot
    tree.frame[node], tree.bonus[node] = frame, tree.bonus[parent] + bonus
    return node, count + 1


@numba.njit(cache=True, error_model="numpy")
def _insert(rank, source, token, value, count, at_source, at_token):
    """Put a candidate into the ranking, which holds `count`; ties keep their order. Returns the new count."""
    at = count if count < rank.size else rank.size - 1
    while at > 0 and rank[at - 1] < value:
        rank[at], source[at], token[at] = rank[at - 1], source[at - 1], token[at - 1]
        at -= 1
    rank[at], source[at], token[at] = value, at_source, at_token
    return min(count + 1, rank.size)


@numba.njit(cache=True, error_model="numpy")
def _settle(beam, tree, last):
    """Drop hypotheses that differ from the best one in tokens of the frames up to `last`.

    Two that differ in an early token alone go on side by side for ever, and no token behind it would be
    final.
    """
    at = beam.node[0]
    while at != 0 and tree.frame[at] > last:
        at = tree.parent[at]
    kept = 0
    for i in range(beam.counts[0]):
        node = beam.node[i]
        while node > at:
            node = tree.parent[node]
        if node == at:
            beam.node[kept], beam.blank[kept], beam.spoken[kept] = beam.node[i], beam.blank[i], beam.spoken[i]
            kept += 1
    beam.counts[0] = kept


@numba.njit(cache=True, error_model="numpy")
def _stay(row, blank, beam, tree, total, stay_blank, stay_spoken, above, longer):
    """The log probabilities of the same hypotheses a frame later.

    total: before it. above: the hypothesis that is one token shorter, or NONE. longer: whether there is one
    that is longer by a token.
    """
    count = beam.counts[0]
    for i in range(count):
        here = beam.node[i]
        total[i] = log_sum(beam.blank[i], beam.spoken[i])
        stay_blank[i] = total[i] + row[blank]
        stay_spoken[i] = -np.inf if tree.token[here] == NONE else beam.spoken[i] + row[tree.token[here]]
        above[i] = NONE
        for j in range(count):
            if tree.parent[here] == beam.node[j]:
                above[i] = j
    longer[:] = False
    for j in range(count):  # a hypothesis may also come from another one, which is one token shorter
        i = above[j]
        if i != NONE:
            longer[i] = True
            token = tree.token[beam.node[j]]
            same = tree.token[beam.node[i]] == token
            stay_spoken[j] = log_sum(stay_spoken[j], (beam.blank[i] if same else total[i]) + row[token])


@numba.njit(cache=True, error_model="numpy", nogil=True)  # threads search for several sequences
def search(logs, begin, blank, beam, tree, fusion, most_tokens, least, history):
    """Go through frames `begin` on of log probabilities [frames, classes]. Tokens are final `history` frames
    later.

    Tokens below `least` extend no hypothesis.

    Returns (frames read so far, 0, FULL before a frame for which the tree has no room, or BAD at a frame
    with NaN or with a probability above 1).
    """
    size = beam.node.size
    tokens, scores = np.empty(most_tokens, np.int64), np.empty(most_tokens)
    rank, source, chosen = np.empty(size), np.empty(size, np.int64), np.empty(size, np.int64)
    node, blanks, spokens = np.empty(size, np.int32), np.empty(size), np.empty(size)
    stay_blank, stay_spoken, above = np.empty(size), np.empty(size), np.empty(size, np.int64)
    total, longer = np.empty(size), np.empty(size, np.bool_)
    for t in range(begin, logs.shape[0]):
        row = logs[t]
        count, nodes = beam.counts[0], beam.counts[1]
        if nodes + size > tree.parent.size:
            return t, FULL
        _stay(row, blank, beam, tree, total, stay_blank, stay_spoken, above, longer)
        ranked = 0
        for i in range(count):
            value = log_sum(stay_blank[i], stay_spoken[i]) + tree.bonus[beam.node[i]]
            if value > -np.inf and (ranked < size or value > rank[size - 1]):
                ranked = _insert(rank, source, chosen, value, ranked, i, NONE)
        # A token that takes even the best hypothesis below the last one kept is not read.
        floor = least
        if ranked == size:
            best = -np.inf
            for i in range(count):
                best = max(best, total[i] + tree.bonus[beam.node[i]])
            floor = max(floor, min(rank[size - 1] - best - fusion.most, 0.0))
        extending = best_tokens(row, floor, tokens, scores)
        if extending < 0:
            return t, BAD
        for i in range(count):
            here = beam.node[i]
            for n in range(extending):
                token = tokens[n]
                score = total[i] + scores[n]
                bound = score + tree.bonus[here] + fusion.most
                if ranked == size and bound <= rank[size - 1]:
                    break
                if token == blank:
                    continue
                if token == tree.token[here]:
                    score = beam.blank[i] + scores[n]
                found = False
                if longer[i]:
                    for j in range(count):
                        found |= above[j] == i and tree.token[beam.node[j]] == token
                if found or score == -np.inf:
                    continue
                bonus = bonus_of(fusion, tree.context[here], tree.spelled[here], tree.hot[here], token)[0]
                value = score + tree.bonus[here] + bonus
                if ranked < size or value > rank[size - 1]:
                    ranked = _insert(rank, source, chosen, value, ranked, i, token)
        if ranked == 0:
            return t, BAD
        for r in range(ranked):
            i, token = source[r], chosen[r]
            if token == NONE:
                node[r], blanks[r], spokens[r] = beam.node[i], stay_blank[i], stay_spoken[i]
            else:
                same = token == tree.token[beam.node[i]]
                node[r], nodes = _node_for(tree, fusion, beam.node[i], token, nodes, beam.counts[2])
                blanks[r], spokens[r] = -np.inf, (beam.blank[i] if same else total[i]) + row[token]
        beam.node[:ranked], beam.blank[:ranked], beam.spoken[:ranked] = (
            node[:ranked], blanks[:ranked], spokens[:ranked],
        )  # fmt: skip
        beam.counts[0], beam.counts[1], beam.counts[2] = ranked, nodes, beam.counts[2] + 1
        if beam.counts[2] % SETTLED_EVERY == 0:  # counted from the first frame: pieces make no difference
            _settle(beam, tree, beam.counts[2] - history)
    return logs.shape[0], 0


@numba.njit(cache=True, error_model="numpy")
def final_scores(beam, tree, fusion, end):
    """[hypotheses, 2]: the scores at the end, with the last word and the end of the sentence (its word id,
    or NONE) and without hot words that broke off, and the log probabilities alone."""
    found = np.empty((beam.counts[0], 2))
    for i in range(beam.counts[0]):
        here = beam.node[i]
        found[i, 1] = log_sum(beam.blank[i], beam.spoken[i])
        found[i, 0] = found[i, 1] + tree.bonus[here] - fusion.hot.backoff[tree.hot[here]]
        context = tree.context[here]
        if fusion.mode == 2:
            score, context = word_score(fusion, context, tree.spelled[here])
            found[i, 0] += score
        if fusion.mode != 0 and end != NONE:
            found[i, 0] += fusion.alpha * advance(fusion.model, fusion.order, context, np.int32(end))[0]
    return found


@numba.njit(cache=True, error_model="numpy")
def path(tree, node):
    """(tokens, frames) from the root, which is left out, to a node."""
    size, at = 0, node
    while at != 0:
        size, at = size + 1, tree.parent[at]
    tokens, frames = np.empty(size, np.int32), np.empty(size, np.int32)
    at = node
    for i in range(size - 1, -1, -1):
        tokens[i], frames[i] = tree.token[at], tree.frame[at]
        at = tree.parent[at]
    return tokens, frames


@numba.njit(cache=True, error_model="numpy")
def shared_node(beam, tree):
    """The deepest node that every hypothesis goes through. Parents have smaller numbers than their
    children."""
    at = beam.node[0]
    for i in range(1, beam.counts[0]):
        other = beam.node[i]
        while at != other:
            if at > other:
                at = tree.parent[at]
            else:
                other = tree.parent[other]
    return at


@numba.njit(cache=True, error_model="numpy")
def collect(beam, tree, root):
    """Keep only `root` and the nodes between it and a hypothesis; they move to the front, and root becomes
    node 0."""
    nodes = beam.counts[1]
    place = np.full(nodes, np.int32(NONE))
    for i in range(beam.counts[0]):
        at = beam.node[i]
        while at != root and place[at] == NONE:
            place[at], at = 0, tree.parent[at]
    place[root] = 0
    kept = 0
    for n in range(root, nodes):
        if place[n] == NONE:
            continue
        place[n] = kept
        up = np.int32(NONE) if kept == 0 else place[tree.parent[n]]
        tree.parent[kept], tree.token[kept], tree.first_child[kept] = up, tree.token[n], NONE
        tree.next_sibling[kept] = NONE
        tree.context[kept], tree.spelled[kept], tree.hot[kept] = tree.context[n], tree.spelled[n], tree.hot[n]
        tree.frame[kept], tree.bonus[kept] = tree.frame[n], tree.bonus[n]
        if up != NONE:
            tree.next_sibling[kept], tree.first_child[up] = tree.first_child[up], kept
        kept += 1
    for i in range(beam.counts[0]):
        beam.node[i] = place[beam.node[i]]
    beam.counts[1] = kept


def warm_up() -> None:
    """Compile (or load from the cache) every loop."""
    one = np.zeros(1, np.int32)
    nothing = Trie(np.ones(2, np.int32), one, one, one, np.zeros(1), np.zeros(1))
    none, two = np.zeros(0, np.int32), np.zeros(2, np.int32)
    fusion = Fusion(0, nothing, 1, 0.0, 0.0, 0, two, nothing, np.zeros(3, np.int32), none, two, nothing, 0.0)
    for kind in (np.float32, np.float64):
        tree = Tree._make([*(np.full(8, NONE, np.int32) for _ in range(8)), np.zeros(8)])
        beam = Beam(np.zeros(2, np.int32), np.zeros(2), np.full(2, -np.inf), np.array([1, 1, 0]))
        tree.context[0] = tree.hot[0] = tree.spelled[0] = 0
        search(np.full((2, 2), -0.7, kind), 0, 0, beam, tree, fusion, 2, -np.inf, 9)
        final_scores(beam, tree, fusion, NONE)
        path(tree, beam.node[0])
        collect(beam, tree, shared_node(beam, tree))
