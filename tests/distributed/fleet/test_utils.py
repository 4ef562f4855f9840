"""Files of this machine, and generators of data."""

import pytest

from sampan.distributed import fleet


def test_data_generator(capsys):
    class Mine(fleet.MultiSlotDataGenerator):
        def generate_sample(self, line):
            return lambda: iter([[("words", [4, 5]), ("label", [1])]])

    Mine().run_from_memory()
    assert capsys.readouterr().out == "2 4 5 1 1\n"


def test_files_of_this_machine(tmp_path):
    files = fleet.utils.fs.LocalFS()
    files.mkdirs(str(tmp_path / "a" / "b"))
    files.touch(str(tmp_path / "a" / "c"))
    assert files.ls_dir(str(tmp_path / "a")) == (["b"], ["c"])
    files.mv(str(tmp_path / "a" / "c"), str(tmp_path / "d"))
    with pytest.raises(FileNotFoundError):
        files.mv(str(tmp_path / "a" / "c"), str(tmp_path / "e"))
    files.delete(str(tmp_path / "a"))
    assert not files.is_exist(str(tmp_path / "a"))
