"""The speech kernels as `kernels.speech`. Look them up late (`kernels.speech.features`), so that another
version can take a kernel's place."""

from . import cpu_speech_fbank, cpu_speech_fft, cpu_speech_resample

# Kaldi's features.
LARGEST = cpu_speech_fft.LARGEST
angles = cpu_speech_fft.angles
bin_rows = cpu_speech_fft.bin_rows
Plan = cpu_speech_fbank.Plan
features = cpu_speech_fbank.features

# Another sample rate.
polyphase = cpu_speech_resample.polyphase
polyphase_back = cpu_speech_resample.polyphase_back


def warm_up() -> None:
    """Compile (or load from the cache) every loop."""
    cpu_speech_fbank.warm_up()
    cpu_speech_resample.warm_up()
