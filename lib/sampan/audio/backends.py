"""What reads and writes sound files, by Paddle's names."""

from ..speech.files import AudioInfo as AudioInfo
from ..speech.files import get_current_backend, list_available_backends, set_backend

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside

__all__ = ["get_current_backend", "list_available_backends", "set_backend"]
