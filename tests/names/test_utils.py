"""utils: versions, deprecation, optional imports."""

import pytest

from sampan import utils, version


def test_versions_are_compared_as_numbers():
    utils.require_version("2.4.0", "10.0")
    utils.require_version(version.full_version, version.full_version)
    with pytest.raises(Exception, match="newer is needed"):
        utils.require_version("10.0")
    with pytest.raises(Exception, match="older is needed"):
        utils.require_version("2.0", "3.2.9")
    with pytest.raises(TypeError, match="min_version"):
        utils.require_version(3)
    with pytest.raises(ValueError, match=r"'3\.x'"):
        utils.require_version("3.x")


def test_deprecation_warns_or_refuses():
    @utils.deprecated(update_to="new", since="2.0", reason="it is slow")
    def old(x):
        return x + 1

    with pytest.warns(DeprecationWarning, match=r"old is deprecated since 2\.0; use new: it is slow"):
        assert old(1) == 2
    with pytest.raises(RuntimeError, match="is deprecated"):
        utils.deprecated(level=2)(old)(1)


def test_optional_imports():
    assert utils.try_import("json").dumps([1]) == "[1]"
    with pytest.raises(ImportError, match="pip install no_such_package"):
        utils.try_import("no_such_package")
    with pytest.raises(ImportError, match=r"^please$"):
        utils.try_import("no_such_package", "please")


def test_a_check_of_the_installation(capsys):
    utils.run_check()
    assert "works" in capsys.readouterr().out
    version.show()
    assert version.full_version in capsys.readouterr().out
    assert ".".join([version.major, version.minor, version.patch]) == version.full_version
    assert isinstance(version.cuda(), str)
    assert isinstance(version.cudnn(), str)


def test_nested_structures():
    nest = [1, (2, 3), {"a": 4}]
    assert utils.flatten(nest) == [1, 2, 3, 4]
    assert utils.map_structure(lambda v: v + 1, nest) == [2, (3, 4), {"a": 5}]
    assert utils.pack_sequence_as(nest, [5, 6, 7, 8]) == [5, (6, 7), {"a": 8}]
    assert utils.to_sequence(1) == [1]
    assert utils.is_sequence(nest) and not utils.is_sequence("text")
    with pytest.raises(ValueError, match="4 entries"):
        utils.pack_sequence_as(nest, [5])
    utils.assert_same_structure(nest, [5, (6, 7), {"a": 8}])
    with pytest.raises(ValueError, match="numbers of entries"):
        utils.assert_same_structure(nest, [1])
    with pytest.raises(ValueError, match="only one of"):
        utils.assert_same_structure([[1]], [1])
    with pytest.raises(TypeError, match="types"):
        utils.assert_same_structure([[1]], [(1,)])


def test_convert_to_list():
    assert utils.convert_to_list(2, 3, "stride") == [2, 2, 2]
    assert utils.convert_to_list((1, 2), 2, "stride") == [1, 2]
    for wrong in ("a", [1], [1, "a"], None):
        with pytest.raises(ValueError, match="stride"):
            utils.convert_to_list(wrong, 2, "stride")
