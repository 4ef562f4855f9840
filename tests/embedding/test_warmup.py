"""The warm-up trains every kind of table."""

from sampan.embedding import warmup


def test_the_warm_up_trains_every_kind_of_table(capsys):
    warmup.main()
    assert "kernels ready: tables of 6 kinds" in capsys.readouterr().out
