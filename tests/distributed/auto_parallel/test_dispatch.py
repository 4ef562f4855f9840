"""How a call is dispatched: by a rule, by copies, or refused with what to do."""

import pytest

from tests.distributed.auto_parallel import programs

pytestmark = pytest.mark.servers


def test_an_operator_runs_by_its_rule_or_on_copies(workers):
    for by_rule, copied, lies, whole in workers(2)(programs.ways):
        assert by_rule == {"exp": 1} and copied == {"sort": 1}
        assert lies == ["[Shard(dim=0)]", "[Replicate()]"] and whole == [0.0, 1.0, 2.0, 3.0]
