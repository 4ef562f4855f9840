"""Decoding: a loop over the steps of any decoder, and beam search with a recurrent cell."""

import warnings
from typing import Any, NamedTuple

import torch

from ..engine.tensor import Tensor
from ..nn import functional as F
from ..nn.rnn import flatten, map_structure
from ..ops.indexing import where
from ..ops.joining import stack

__all__ = ["BeamSearchDecoder", "dynamic_decode"]

_NEVER = -1e9  # the log probability of an excluded token


class Decoder:
    """What `dynamic_decode` calls: subclasses define `initialize`, `step` and optionally `finalize`."""

    # True if the decoder updates `finished` itself, as beam search does, which reorders beams
    tracks_own_finished = False

    def initialize(self, inits: Any) -> tuple[Any, Any, Any]:
        """(first inputs, first states, bool [batch]: which sequences are finished)."""
        raise NotImplementedError("Decoder.initialize: write it in the subclass")

    def step(self, time: Any, inputs: Any, states: Any, **kwargs: Any) -> tuple[Any, Any, Any, Any]:
        """(outputs, next states, next inputs, finished) of one step."""
        raise NotImplementedError("Decoder.step: write it in the subclass")

    def finalize(self, outputs: Any, final_states: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Converts the outputs of all steps, [time, batch, ...], and the last states."""
        raise NotImplementedError


class OutputWrapper(NamedTuple):
    scores: Any
    predicted_ids: Any
    parent_ids: Any


class StateWrapper(NamedTuple):
    cell_states: Any
    log_probs: Any
    finished: Any
    lengths: Any


def _chosen(x: Any, places: torch.Tensor) -> Any:
    """x[b, places[b, k]] for every b and k."""
    return x[Tensor(torch.arange(places.shape[0], device=places.device)[:, None]), Tensor(places)]


class BeamSearchDecoder(Decoder):
    """Beam search: keeps the beam_size most probable sequences and extends them by `cell`, token by token.

    embedding_fn: from ids to the cell's inputs. output_fn: from the cell's outputs [batch, beam, size] to
    scores over the vocabulary. A sequence is finished with end_token.
    """

    tracks_own_finished = True
    OutputWrapper, StateWrapper = OutputWrapper, StateWrapper

    def __init__(self, cell, start_token, end_token, beam_size, embedding_fn=None, output_fn=None):
        self.cell, self.embedding_fn, self.output_fn = cell, embedding_fn, output_fn
        self.start_token, self.end_token, self.beam_size = start_token, end_token, beam_size

    @staticmethod
    def tile_beam_merge_with_batch(x: Any, beam_size: int) -> Any:
        """[batch, ...] to [batch * beam_size, ...], each row repeated beam_size times: for data that all
        beams of a sequence share."""
        return x.unsqueeze(1).expand([x.shape[0], beam_size, *x.shape[1:]]).reshape([-1, *x.shape[1:]])

    def _merged(self, x: Any) -> Any:
        return x.reshape([-1, *x.shape[2:]])

    def _split(self, x: Any) -> Any:
        return x.reshape([-1, self.beam_size, *x.shape[1:]])

    def _embedded(self, ids: Tensor) -> Any:
        return ids if self.embedding_fn is None else self.embedding_fn(ids)

    def initialize(self, inits: Any) -> tuple[Any, Any, Any]:
        first = flatten(inits)[0].data
        batch, beam = first.shape[0], self.beam_size
        states = map_structure(lambda x: x.unsqueeze(1).expand([batch, beam, *x.shape[1:]]), inits)
        chances = torch.full((batch, beam), _NEVER, dtype=first.dtype, device=first.device)
        chances[:, 0] = 0  # all beams are equal at first: only the first one counts
        ids = Tensor(torch.full((batch, beam), self.start_token, device=first.device))
        finished = Tensor(first.new_zeros((batch, beam), dtype=torch.bool))
        lengths = Tensor(first.new_zeros((batch, beam), dtype=torch.int64))
        return self._embedded(ids), StateWrapper(states, Tensor(chances), finished, lengths), finished

    def step(self, time: Any, inputs: Any, states: Any, **kwargs: Any) -> tuple[Any, Any, Any, Any]:
        merged = map_structure(self._merged, (inputs, states.cell_states))
        outputs, new = map_structure(self._split, self.cell(*merged, **kwargs))
        chances = F.log_softmax(outputs if self.output_fn is None else self.output_fn(outputs))
        words = chances.shape[-1]
        ended = chances.data.new_full((words,), _NEVER)
        ended[self.end_token] = 0  # a finished sequence continues with end tokens at no cost
        done = states.finished.unsqueeze(2).astype(chances.dtype)
        total = chances * (1 - done) + Tensor(ended) * done + states.log_probs.unsqueeze(2)
        best, places = total.reshape([-1, self.beam_size * words]).topk(self.beam_size)
        beams, ids = places.data // words, Tensor(places.data % words)
        new = map_structure(lambda x: _chosen(x, beams), new)
        finished = states.finished.data.gather(1, beams)
        lengths = Tensor(states.lengths.data.gather(1, beams) + (~finished).long())
        finished = Tensor(finished | (ids.data == self.end_token))
        output = OutputWrapper(best, ids, Tensor(beams))
        return output, StateWrapper(new, best, finished, lengths), self._embedded(ids), finished

    def finalize(self, outputs: Any, final_states: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        return F.gather_tree(outputs.predicted_ids, outputs.parent_ids), final_states


def dynamic_decode(
    decoder,
    inits=None,
    max_step_num=None,
    output_time_major=False,
    impute_finished=False,
    is_test=False,
    return_length=False,
    **kwargs,
):
    """Call decoder.step until all sequences are finished or after max_step_num + 1 steps, as in Paddle.

    Returns (outputs, last states), and the lengths with return_length; outputs are [batch, time, ...] or,
    with output_time_major, [time, batch, ...]. impute_finished: the states of finished sequences stay as they
    are.
    """
    inputs, states, finished = decoder.initialize(inits)
    lengths = Tensor(torch.zeros_like(finished.data, dtype=torch.int64))
    found: list[Any] = []
    while not bool(finished.data.all()) and (max_step_num is None or len(found) <= max_step_num):
        time = Tensor(torch.tensor([len(found)]))
        outputs, new, inputs, ended = decoder.step(time, inputs, states, **kwargs)
        if decoder.tracks_own_finished:
            if not hasattr(new, "lengths"):
                warnings.warn("dynamic_decode: the states have no `lengths`; 0 is returned", stacklevel=2)
            lengths = getattr(new, "lengths", lengths)
        else:
            ended = Tensor(ended.data | finished.data)
            lengths = lengths + (~ended.data).long()
            if impute_finished:
                new = map_structure(lambda old, n, done=ended.data: _kept(old, n, done), states, new)
        found.append(outputs)
        states, finished = new, ended
    final = map_structure(lambda *parts: stack(list(parts), 0), *found)
    if type(decoder).finalize is not Decoder.finalize:
        final, states = decoder.finalize(final, states, lengths)
    if not output_time_major:
        final = map_structure(lambda x: x.transpose([1, 0, *range(2, x.ndim)]), final)
    return (final, states, lengths) if return_length else (final, states)


def _kept(old: Any, new: Any, done: torch.Tensor) -> Any:
    return where(Tensor(done.reshape([-1] + [1] * (new.ndim - 1))), old, new)
