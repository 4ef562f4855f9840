"""Programs that write samples."""

import io
import sys

import pytest

from sampan.distributed import fleet
from sampan.distributed.fleet.data_generator import DataGenerator


def test_data_generator(capsys):
    class Mine(fleet.MultiSlotDataGenerator):
        def generate_sample(self, line):
            return lambda: iter([[("words", [4, 5]), ("label", [1])]])

    Mine().run_from_memory()
    assert capsys.readouterr().out == "2 4 5 1 1\n"


def test_batches_of_lines(monkeypatch, capsys):
    """A batch may be changed before it is written, the last one too, which is smaller."""

    class Mine(fleet.MultiSlotStringDataGenerator):
        def generate_sample(self, line):
            return lambda: iter([[("word", [line.strip()])], None])

        def generate_batch(self, samples):
            return lambda: reversed(samples)

    monkeypatch.setattr(sys, "stdin", io.StringIO("a\nb\nc\n"))
    mine = Mine()
    mine.set_batch(2)
    mine.run_from_stdin()
    assert capsys.readouterr().out == "1 b\n1 a\n1 c\n"


def test_what_a_subclass_must_have():
    with pytest.raises(NotImplementedError, match="write it in the subclass"):
        DataGenerator().run_from_memory()
    with pytest.raises(ValueError, match=r"expected a list of .name, values., got str"):
        fleet.MultiSlotDataGenerator()._gen_str("a")
