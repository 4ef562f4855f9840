"""A click model of two workers, one of whose shards is killed."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.parameter_server_parts import auc_of_clicks, clicks

pytestmark = pytest.mark.servers


def test_a_killed_shard_changes_nothing_of_a_synchronous_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SAMPAN_DATA", raising=False)  # made data
    ids, labels = clicks()
    assert len(ids) == len(labels) == 100_000 and 0.2 < labels.mean() < 0.8
    alone, rows = auc_of_clicks(False, False, tmp_path / "a", "in process", 24, 256)
    killed, found = auc_of_clicks(False, True, tmp_path / "b", "processes", 24, 256)
    np.testing.assert_array_equal(found, rows)
    assert killed == alone and alone > 0.6
