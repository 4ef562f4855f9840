"""The settings of an Engine."""

from sampan.distributed.fleet import auto


def test_the_settings_of_paddlepaddle() -> None:
    strategy = auto.Strategy({"amp": {"level": "o2"}, "seed": 7})
    assert (strategy.auto_mode, strategy.amp.level, strategy.seed) == ("semi", "o2", 7)
    strategy.recompute.enable = True
    assert strategy.to_dict()["recompute"]["enable"] and strategy.get("nothing", 1) == 1
    assert not auto.Strategy().recompute.enable
