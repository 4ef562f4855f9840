"""The rows of `speech_models.py`, the Conformer in torch that they are compared with, and the live delay."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

import sampan
from benchmarks.side_by_side import Row, Step
from sampan.engine.tensor import Tensor
from sampan.speech import CTCTokens, StreamingRecognizer
from sampan.speech.inputs import FbankInput
from sampan.speech.int8 import int8_layers
from sampan.speech.nn import ConformerEncoder, RecurrentEncoder, SpeechModel
from sampan.speech.nn.attention import distance_encoding

BINS, HEADS, KERNEL, VOCABULARY = 80, 4, 31, 4233
CHUNK, LEFT = 16, 4
GRU: dict[str, Any] = {"hidden": 384, "num_layers": 5, "kind": "gru", "bidirectional": False}


def conformer() -> Any:
    """The paper's small encoder, causal and with layer norms, as streams need it; eval mode."""
    sampan.seed(0)
    return ConformerEncoder(causal=True, norm="layer", kernel_size=KERNEL, dropout=0.0).eval()


def recurrent() -> Any:
    """A GRU encoder of about the Conformer's size; eval mode."""
    sampan.seed(0)
    return RecurrentEncoder(BINS, dropout=0.0, **GRU).eval()


def recogniser(encoder: Any) -> SpeechModel:
    """An encoder with a CTC head, in eval mode."""
    made = SpeechModel(encoder, VOCABULARY)
    made.eval()
    return made


class TorchConformer:
    """The network of `conformer()` in torch's functions, with its weights; attention as torch fuses it."""

    def __init__(self, encoder: Any) -> None:
        self.width, self.blocks = encoder.width, len(encoder.blocks)
        self.state = {name: value.data.clone() for name, value in encoder.state_dict().items()}
        for name in self.state:  # torch's layout of linear layers
            linear = any(
                part in name
                for part in ("_proj.weight", "linear1.weight", "linear2.weight", "pointwise", "linear.weight")
            )
            if linear and self.state[name].ndim == 2:
                self.state[name] = self.state[name].T.contiguous()

    def parameters(self) -> list[torch.Tensor]:
        return [value.requires_grad_() for value in self.state.values()]

    def linear(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.state[f"{name}.weight"], self.state.get(f"{name}.bias"))

    def norm(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (self.width,), self.state[f"{name}.weight"], self.state[f"{name}.bias"])

    def feed(self, name: str, x: torch.Tensor) -> torch.Tensor:
        return self.linear(
            f"{name}.linear2", F.silu(self.linear(f"{name}.linear1", self.norm(f"{name}.norm", x)))
        )

    def attention(self, name: str, x: torch.Tensor, code: torch.Tensor, mask: Any, cache: Any) -> Any:
        batch, queries, width = x.shape
        size = width // HEADS
        q, k, v = (self.linear(f"{name}.{n}_proj", x).view(batch, queries, HEADS, size) for n in "qkv")
        if cache is not None:
            k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
        keys = k.shape[1]
        r = self.linear(f"{name}.pos_proj", code).view(-1, HEADS, size)
        u, w = self.state[f"{name}.content_bias"], self.state[f"{name}.position_bias"]
        scores = (q + w).transpose(1, 2) @ r.permute(1, 2, 0)
        scores = F.pad(scores, (1, 0)).view(batch, HEADS, -1, queries)[:, :, 1:]
        bias = scores.reshape(batch, HEADS, queries, -1)[..., :keys] * size**-0.5
        bias = bias if mask is None else bias + mask
        query, key, value = (y.transpose(1, 2) for y in (q + u, k, v))
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        return self.linear(f"{name}.out_proj", mixed.transpose(1, 2).reshape(batch, queries, width)), (k, v)

    def convolution(self, name: str, x: torch.Tensor, past: Any) -> Any:
        x = F.glu(self.linear(f"{name}.pointwise1", self.norm(f"{name}.layer_norm", x)), -1)
        x = F.pad(x, (0, 0, KERNEL - 1, 0)) if past is None else torch.cat([past, x], 1)
        past = x[:, x.shape[1] - KERNEL + 1 :]
        weight = self.state[f"{name}.depthwise.weight"]
        x = F.conv1d(x.transpose(1, 2), weight, self.state[f"{name}.depthwise.bias"], groups=self.width)
        return self.linear(f"{name}.pointwise2", F.silu(self.norm(f"{name}.norm", x.transpose(1, 2)))), past

    def __call__(self, x: torch.Tensor, mask: Any = None, caches: Any = None, keep: int = 0) -> Any:
        s = self.state
        x = F.relu(F.conv2d(x[:, None], s["subsampling.conv1.weight"], s["subsampling.conv1.bias"], 2))
        x = F.relu(F.conv2d(x, s["subsampling.conv2.weight"], s["subsampling.conv2.bias"], 2))
        x = self.linear("subsampling.linear", x.transpose(1, 2).flatten(2))
        earlier = caches[0][0][0].shape[1] if caches else 0
        code = distance_encoding(x.shape[1], earlier + x.shape[1], self.width, Tensor(x)).data
        made = []
        for k in range(self.blocks):
            name = f"blocks.{k}"
            cache, past = caches[k] if caches else (None, None)
            x = x + self.feed(f"{name}.feed1", x) * 0.5
            mixed, kv = self.attention(
                f"{name}.attention", self.norm(f"{name}.attention_norm", x), code, mask, cache
            )
            x = x + mixed
            mixed, past = self.convolution(f"{name}.convolution", x, past)
            x = x + mixed
            x = self.norm(f"{name}.norm", x + self.feed(f"{name}.feed2", x) * 0.5)
            first = max(kv[0].shape[1] - keep, 0)
            made.append(((kv[0][:, first:], kv[1][:, first:]), past))
        return x, made


def sound(seconds: float, batch: int = 1) -> torch.Tensor:
    """Features of so many seconds."""
    return torch.randn(batch, round(100 * seconds), BINS, generator=torch.Generator().manual_seed(0))


class Timed:
    """A step that also keeps its own times, for the real-time factor in the row's note."""

    def __init__(self, step: Step, seconds: float) -> None:
        self.step, self.seconds, self.times = step, seconds, []  # type: ignore[var-annotated]

    def __call__(self) -> Any:
        began = time.perf_counter()
        found = self.step()
        self.times.append(time.perf_counter() - began)
        return found

    def note(self) -> str:
        return f"real-time factor {statistics.median(self.times) / self.seconds:.4f}"


def whole() -> Iterator[Row]:
    """Ten seconds in one call: all frames, and chunks with the mask."""
    x, encoder = sound(10), conformer()
    theirs = TorchConformer(encoder)
    for name, chunk in (("all frames", None), (f"chunks of {CHUNK}", CHUNK)):
        mask = None
        if chunk:
            number = torch.arange(249) // chunk
            behind = number[:, None] - number
            seen = (behind >= 0) & (behind <= LEFT)
            mask = torch.zeros(249, 249).masked_fill(~seen, -torch.inf)

        def ours(chunk: Any = chunk) -> Any:
            with sampan.no_grad():
                return encoder(Tensor(x), None, chunk, LEFT)[0].data

        def peer(mask: Any = mask) -> Any:
            with torch.no_grad():
                return theirs(x, mask)[0]

        timed = Timed(ours, 10)
        yield Row(f"Conformer, 10 s, {name}", 1.0, {"sampan": timed, "torch": peer}, note=timed.note)


def streamed() -> Iterator[Row]:
    """Ten seconds as a stream, each step with its caches: 15 steps of 0.64 s, or 62 of 0.16 s."""
    x, encoder = sound(10), conformer()
    theirs, model = TorchConformer(encoder), recogniser(conformer())
    for chunk, left in ((CHUNK, LEFT), (4, 16)):
        starts = range(0, 1000 - 4 * chunk - 2, 4 * chunk)

        def ours(model: Any = model, chunk: int = chunk, left: int = left) -> Any:
            return stream_all(model, x, chunk, left)

        def peer(chunk: int = chunk, left: int = left, starts: range = starts) -> Any:
            made, caches = [], None
            with torch.no_grad():
                for at in starts:
                    y, caches = theirs(x[:, at : at + 4 * chunk + 3], None, caches, left * chunk)
                    made.append(y[0])
            return torch.cat(made)

        timed = Timed(ours, 0.04 * chunk * len(starts))
        name = f"Conformer, stream of {len(starts)} chunks of {chunk}"
        yield Row(name, 1.0, {"sampan": timed, "torch": peer}, note=timed.note)


def stream_all(model: SpeechModel, x: torch.Tensor, chunk: int, left: int) -> torch.Tensor:
    """The encoder's frames of features [1, time, bins] that arrive chunk by chunk."""
    stream = model.stream(chunk, left)
    return torch.cat([stream.feed(piece).data for piece in x[0].split(4 * chunk)])


def compressed() -> Iterator[Row]:
    """The same network with linear layers in int8, beside itself in float32. Its results are others."""
    x, floats = sound(10), recogniser(conformer())
    small = recogniser(conformer())
    int8_layers(small)
    for chunk, left in ((CHUNK, LEFT), (4, 16)):

        def step(model: SpeechModel, chunk: int = chunk, left: int = left) -> Step:
            def run() -> None:
                stream_all(model, x, chunk, left)

            return run

        timed = Timed(step(small), 10)
        name = f"Conformer in int8 beside float32, chunks of {chunk}"
        yield Row(name, 1.0, {"sampan": timed, "float32": step(floats)}, note=timed.note)


def trained() -> Iterator[Row]:
    """Forward and backward of a batch of four times five seconds."""
    x, encoder = sound(5, 4), conformer()
    theirs = TorchConformer(encoder)
    leaves = theirs.parameters()

    def ours() -> None:
        encoder(Tensor(x))[0].square().mean().backward()
        encoder.clear_gradients()

    def peer() -> None:
        theirs(x)[0].square().mean().backward()
        for leaf in leaves:
            leaf.grad = None

    yield Row("Conformer, 4 x 5 s, forward and backward", 1.0, {"sampan": ours, "torch": peer})


def generations() -> Iterator[Row]:
    """The chunked Conformer beside a GRU of equal size: one call over ten seconds, and as a stream."""
    x, networks = sound(10), {"sampan": conformer(), "GRU": recurrent()}

    def call(encoder: Any) -> Step:
        def step() -> None:
            with sampan.no_grad():
                encoder(Tensor(x), None, CHUNK, LEFT)

        return step

    def stream(encoder: Any) -> Step:
        def step() -> None:
            stream = recogniser(encoder).stream(CHUNK, LEFT)
            for at in range(0, 1000, 64):
                stream.feed(x[0, at : at + 64])

        return step

    for name, made in (("10 s in one call", call), ("10 s as a stream", stream)):
        yield Row(f"chunked Conformer beside GRU, {name}", 2.5, {n: made(net) for n, net in networks.items()})


FAMILIES = (whole, streamed, compressed, trained, generations)


class Greedy:
    """The best token of each frame."""

    def __init__(self, tokens: CTCTokens) -> None:
        self.tokens, self.frames = tokens, []  # type: ignore[var-annotated]

    def feed(self, log_probs: Any) -> None:
        self.frames += log_probs.data.argmax(-1).tolist()

    def partial(self) -> tuple[list[int], int]:
        ids = self.tokens.collapse(self.frames)
        return ids, max(len(ids) - 1, 0)

    def finish(self) -> list[tuple[list[int], float]]:
        return [(self.tokens.collapse(self.frames), 0.0)]


def print_delay(seconds: float = 30.0, piece: float = 0.02, chunk: int = 4) -> None:
    """Feed noise in pieces of 20 ms as a microphone would, on one thread, and print the delay of the samples: the time
    from a sample's arrival until its frame is decoded."""
    torch.set_num_threads(1)
    tokens = CTCTokens({"<pad>": 0} | {str(n): n for n in range(1, VOCABULARY)})
    decoder = Greedy(tokens)
    model = recogniser(conformer())
    recognizer = StreamingRecognizer(model, FbankInput().stream(), decoder, tokens, chunk, 16)
    samples = np.random.default_rng(0).normal(0, 0.1, round(seconds * 16000)).astype("float32")
    size = round(piece * 16000)
    recognizer.feed(samples[:16000])  # compiled and warm; the clock starts here
    done, delays = len(decoder.frames), []
    began = time.perf_counter() - 1.0
    for at in range(16000, len(samples), size):
        due = began + (at + size) / 16000
        time.sleep(max(due - time.perf_counter(), 0))
        recognizer.feed(samples[at : at + size])
        now = time.perf_counter() - began
        # Frame k is about the samples from 0.04 k to 0.04 (k + 1) seconds.
        delays += [now - (k + part) * 0.04 for k in range(done, len(decoder.frames)) for part in (0.0, 0.5)]
        done = len(decoder.frames)
    parts = recognizer.delay
    low, high = np.quantile(delays, [0.5, 0.95])
    print(
        f"{seconds:g} s in real time, pieces of {piece * 1e3:g} ms, chunks of {chunk * 40} ms, one thread: "
        f"median {low * 1e3:.0f} ms, 95th percentile {high * 1e3:.0f} ms\n"
        f"at most: look-ahead {parts.lookahead * 1e3:.0f} ms + chunk {parts.chunk * 1e3:.0f} ms + compute "
        f"{parts.compute * 1e3:.0f} ms = {parts.total * 1e3:.0f} ms"
    )
