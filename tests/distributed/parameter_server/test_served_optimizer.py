"""What shards do not step."""

import pytest

import sampan as paddle
from sampan.distributed.parameter_server import start_shards
from sampan.distributed.parameter_server.served_optimizer import rule_of
from tests.distributed.parameter_server.words import served


def test_rules_and_what_shards_refuse() -> None:
    layer = paddle.nn.Linear(1, 1)
    adam = paddle.optimizer.AdamW(0.1, 0.8, parameters=layer.parameters(), weight_decay=0.2, lazy_mode=True)
    rule, settings = rule_of(adam)
    assert rule == "AdamW" and settings["beta1"] == 0.8 and settings["weight_decay"] == 0.2
    assert settings["lazy_mode"] is True
    clipped = paddle.optimizer.SGD(
        0.1, parameters=layer.parameters(), grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0)
    )
    service = served(start_shards(1), False)
    service.embedding([5, 2])
    with pytest.raises(ValueError, match="tables on shards take no grad_clip and no weight_decay"):
        service.optimizer(clipped, False, 0)
    with pytest.raises(ValueError, match="tables were made for k_steps=0, got 3; give the strategy to"):
        service.optimizer(adam, True, 3)
    wrapped = service.optimizer(adam, False, 0)
    assert wrapped.get_lr() == 0.1 and wrapped.inner_opt is adam
    loss = layer(paddle.ones([1, 1])).sum()
    assert wrapped.minimize(loss)[0] == []
