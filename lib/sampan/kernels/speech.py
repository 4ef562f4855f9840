"""The speech kernels as `kernels.speech`. Look them up late (`kernels.speech.features`), so that another
version can take a kernel's place."""

from . import (
    cpu_speech_align,
    cpu_speech_beam,
    cpu_speech_ctc,
    cpu_speech_depthwise,
    cpu_speech_fbank,
    cpu_speech_fft,
    cpu_speech_int8,
    cpu_speech_ngram,
    cpu_speech_pitch,
    cpu_speech_resample,
    cpu_speech_rows,
)

# Kaldi's features.
LARGEST = cpu_speech_fft.LARGEST
angles = cpu_speech_fft.angles
bin_rows = cpu_speech_fft.bin_rows
Plan = cpu_speech_fbank.Plan
features = cpu_speech_fbank.features

# Pitch.
nccf = cpu_speech_pitch.nccf
mean_squares = cpu_speech_pitch.mean_squares
pitch_viterbi = cpu_speech_pitch.viterbi
pitch_path = cpu_speech_pitch.path
pitch_agreed = cpu_speech_pitch.agreed
pitch_decide = cpu_speech_pitch.decide
weighted_means = cpu_speech_pitch.weighted_means

# Another sample rate.
polyphase = cpu_speech_resample.polyphase
polyphase_back = cpu_speech_resample.polyphase_back

# Connectionist temporal classification: `speech_ctc` picks the device.
ctc_paths = cpu_speech_ctc.ctc_paths
ctc_slopes = cpu_speech_ctc.ctc_slopes

# Decoding, on the host.
best_classes = cpu_speech_rows.best_classes
best_path = cpu_speech_align.best_path
Trie = cpu_speech_ngram.Trie
advance = cpu_speech_ngram.advance
grouped = cpu_speech_ngram.grouped
score_sentences = cpu_speech_ngram.score_sentences
Beam = cpu_speech_beam.Beam
Fusion = cpu_speech_beam.Fusion
Tree = cpu_speech_beam.Tree
FULL, BAD = cpu_speech_beam.FULL, cpu_speech_beam.BAD
beam_search = cpu_speech_beam.search
beam_path = cpu_speech_beam.path
collect = cpu_speech_beam.collect
final_scores = cpu_speech_beam.final_scores
shared_node = cpu_speech_beam.shared_node


def warm_up() -> None:
    """Compile (or load from the cache) every loop."""
    cpu_speech_fbank.warm_up()
    cpu_speech_pitch.warm_up()
    cpu_speech_resample.warm_up()
    cpu_speech_ctc.warm_up()
    cpu_speech_depthwise.warm_up()
    cpu_speech_int8.warm_up()
    cpu_speech_rows.warm_up()
    cpu_speech_ngram.warm_up()
    cpu_speech_align.warm_up()
    cpu_speech_beam.warm_up()
