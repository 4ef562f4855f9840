"""Why a file is not taken, in both languages."""

from __future__ import annotations

from studio.i18n import t


class Refusal(ValueError):
    """`key` is one of `uploads.refused.*`; `values` say where and what."""

    def __init__(self, key: str, **values: object) -> None:
        self.key, self.values = key, {name: _shown(value) for name, value in values.items()}
        super().__init__(self.words("en"))

    def words(self, lang: str) -> str:
        """The sentence for a person."""
        return t(f"uploads.refused.{self.key}", lang, **self.values)


def _shown(value: object) -> str:
    """Text from a foreign file: short, without control characters or line breaks."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(value))
    return text if len(text) <= 80 else f"{text[:77]}..."
