"""docs/porting.md says what the library and the parity tables say."""

from tools import porting


def test_the_page_is_the_generated_one() -> None:
    assert porting.PAGE.read_text("utf-8") == porting.text(), "run: python -m tools.porting"


def test_every_difference_is_on_the_page() -> None:
    from tools.parity import table

    page = porting.PAGE.read_text("utf-8")
    for difference in table.differences():
        if difference.kind != "signature":
            assert difference.reason in page
