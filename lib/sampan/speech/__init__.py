"""Speech: decoding of CTC posteriors, language models, alignment and error rates."""

from .alignment import Alignment as Alignment
from .alignment import Span as Span
from .alignment import align as align
from .beam import PrefixBeam as PrefixBeam
from .beam import prefix_beam as prefix_beam
from .error_rates import Edit as Edit
from .error_rates import ErrorRate as ErrorRate
from .error_rates import cer as cer
from .error_rates import edits as edits
from .error_rates import error_rate as error_rate
from .error_rates import wer as wer
from .greedy import greedy as greedy
from .ngram import NGram as NGram
