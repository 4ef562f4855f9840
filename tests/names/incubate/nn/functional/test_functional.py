"""Names of PaddlePaddle's that are refused, with the reason."""

import pytest
from sampan.incubate.nn import functional as F


@pytest.mark.parametrize("name", sorted(F.REFUSED))
def test_what_is_refused(name):
    with pytest.raises(AttributeError, match=f"{name} is not in Sampan: it is a kernel of a GPU"):
        getattr(F, name)
    assert not hasattr(F, name) and name not in F.__all__


def test_what_does_not_exist():
    with pytest.raises(
        AttributeError, match=r"paddle\.incubate\.nn\.functional\.fused_nothing does not exist"
    ):
        _ = F.fused_nothing
