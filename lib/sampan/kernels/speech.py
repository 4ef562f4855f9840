"""The speech kernels as `kernels.speech`. Look them up late (`kernels.speech.best_classes`), so that another
version can take a kernel's place."""

from . import cpu_speech_ctc, cpu_speech_rows

# Connectionist temporal classification: `speech_ctc` picks the device.
ctc_paths = cpu_speech_ctc.ctc_paths
ctc_slopes = cpu_speech_ctc.ctc_slopes
best_classes = cpu_speech_rows.best_classes


def warm_up() -> None:
    """Compile (or load from the cache) every loop."""
    cpu_speech_ctc.warm_up()
    cpu_speech_rows.warm_up()
