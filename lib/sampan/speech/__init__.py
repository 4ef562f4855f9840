"""Speech: decoding of CTC posteriors, language models, alignment and error rates."""

from .beam import PrefixBeam as PrefixBeam
from .beam import prefix_beam as prefix_beam
from .greedy import greedy as greedy
from .ngram import NGram as NGram
