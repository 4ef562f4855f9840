"""Receipts are recognised by the class that issued them, and by no other."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path

import pytest

from studio.hub import receipts
from studio.hub.receipts import Receipt


def test_a_receipt_is_for_exactly_this_submission(tmp_path: Path) -> None:
    secret = receipts.key(tmp_path / "receipt.key")
    assert len(secret) == 32 and receipts.key(tmp_path / "receipt.key") == secret
    assert (tmp_path / "receipt.key").stat().st_mode & 0o077 == 0
    receipt = receipts.issue(secret, "ada", "course", "02_training", 1.5e9, b"content")
    assert receipt.sha256 == hashlib.sha256(b"content").hexdigest()
    assert receipts.valid(secret, receipt)
    assert not receipts.valid(receipts.key(tmp_path / "other.key"), receipt)


@pytest.mark.parametrize(
    "change",
    [
        {"learner": "bob"},
        {"assignment": "other"},
        {"notebook": "03_kernels"},
        {"received": 1.5e9 - 1},
        {"sha256": hashlib.sha256(b"other").hexdigest()},
        {"signature": ""},
    ],
)
def test_a_changed_receipt_is_not_recognised(tmp_path: Path, change: dict[str, object]) -> None:
    secret = receipts.key(tmp_path / "receipt.key")
    receipt = receipts.issue(secret, "ada", "course", "02_training", 1.5e9, b"content")
    assert not receipts.valid(secret, Receipt(**{**asdict(receipt), **change}))
