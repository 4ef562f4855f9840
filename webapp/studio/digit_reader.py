"""The small network that reads a drawn digit on Home, in the visitor's browser, and how it was trained:

    python -m studio.digit_reader

It trains on the bundled digits (Alpaydin and Kaynak, 1998: 8 x 8 pixels) in a few seconds and writes
`static/digit_reader.json`: one byte for each weight, and a card with the data, the sizes and the accuracy on images that
were not trained on. `static/digit_reader.js` computes with this file.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .paths import STATIC

FILE = STATIC / "digit_reader.json"
HIDDEN = 24
EPOCHS, BATCH, RATE, SEED = 80, 32, 0.01, 7
# A stroke of a pen is thicker or thinner than those of the data set: each batch is scaled by a random factor, and its
# pixels are changed by a little noise.
STRENGTH, NOISE = (0.7, 1.3), 0.1

Array = NDArray[np.float32]


def train() -> tuple[list[Array], Any]:
    """([weight, bias, weight, bias], the data set). A weight is [inputs, outputs], a bias [outputs]."""
    import sampan
    from sampan.models import MLP

    bundle = sampan.datasets.load("digits")
    sampan.seed(SEED)
    random = np.random.default_rng(SEED)
    pictures, labels = arrays(bundle.train)
    network = MLP(pictures.shape[1], (HIDDEN,))
    optimizer = sampan.optimizer.AdamW(RATE, parameters=network.parameters(), weight_decay=0.02)
    for epoch in range(EPOCHS):
        optimizer.set_lr(RATE * (1 - epoch / EPOCHS))
        order = random.permutation(len(labels))
        for first in range(0, len(order), BATCH):
            chosen = order[first : first + BATCH]
            strength = random.uniform(*STRENGTH, (len(chosen), 1))
            noisy = pictures[chosen] * strength + random.normal(0, NOISE, pictures[chosen].shape)
            inputs = np.clip(noisy, 0, 1).astype(np.float32)
            loss = sampan.nn.functional.cross_entropy(
                network(sampan.to_tensor(inputs)), sampan.to_tensor(labels[chosen])
            )
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
    return [parameter.numpy() for parameter in network.parameters()], bundle


def arrays(dataset: Any) -> tuple[Array, NDArray[np.int64]]:
    """(pictures [n, pixels] 0..1, labels [n])."""
    items = [dataset[i] for i in range(len(dataset))]
    pictures = np.stack([np.asarray(picture, np.float32).reshape(-1) for picture, _ in items])
    return pictures, np.array([int(np.asarray(label).reshape(-1)[0]) for _, label in items], np.int64)


def packed(weight: Array) -> dict[str, Any]:
    """A weight [inputs, outputs] as int8 with one scale: at most 127 * scale, an error of at most scale / 2."""
    scale = float(np.abs(weight).max()) / 127
    entries = np.rint(weight / scale).astype(np.int8)
    return {
        "shape": list(weight.shape),
        "scale": scale,
        "int8": base64.b64encode(entries.tobytes()).decode(),
    }


def load(file: Path = FILE) -> dict[str, Any]:
    """The file: `card`, and `layers` of a packed `weight` and a `bias` each."""
    told: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return told


def logits(network: dict[str, Any], pictures: Array) -> Array:
    """[n, 10] of pictures [n, 64], as the browser computes them: ReLU between the layers."""
    x = pictures
    for number, layer in enumerate(network["layers"]):
        weight = layer["weight"]
        entries = np.frombuffer(base64.b64decode(weight["int8"]), np.int8).reshape(weight["shape"])
        product = (np.maximum(x, 0) if number else x) @ (entries * np.float32(weight["scale"]))
        x = np.asarray(product + np.asarray(layer["bias"], np.float32), np.float32)
    return x


def accuracy(network: dict[str, Any], pictures: Array, labels: NDArray[np.int64]) -> float:
    return float((logits(network, pictures).argmax(axis=1) == labels).mean())


def main() -> None:
    parameters, bundle = train()
    weights, biases = parameters[::2], parameters[1::2]
    layers = [
        {"weight": packed(weight), "bias": [round(float(b), 4) for b in bias]}
        for weight, bias in zip(weights, biases, strict=True)
    ]
    network: dict[str, Any] = {"layers": layers}
    pictures, labels = arrays(bundle.test)
    network["card"] = {
        "data": "digits",
        "train": len(bundle.train),
        "test": len(bundle.test),
        "parameters": sum(parameter.size for parameter in parameters),
        "accuracy": round(accuracy(network, pictures, labels), 4),
    }
    FILE.write_text(json.dumps(network) + "\n", "utf-8")
    print(network["card"], f"{FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
