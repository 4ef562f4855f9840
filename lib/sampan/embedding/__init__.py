"""Embedding tables: bags of ids, many tables at once, tables for ids without bounds; and what a table needs
at work.

Several tasks share a table by holding the same layer: its RowSparse gradients add up over all of them, and
one optimizer (or several in turn) steps it. `monitor` watches rows, `ablate_dimension` finds a width,
`export_table` writes what other programs read, `VectorIndex` finds the nearest rows, `RedisRows` serves them.
"""

from .ablation import Ablation as Ablation
from .ablation import ablate_dimension as ablate_dimension
from .bag import EmbeddingBag as EmbeddingBag
from .bag import embedding_bag as embedding_bag
from .dynamic import DynamicEmbedding as DynamicEmbedding
from .export import export_table as export_table
from .export import import_table as import_table
from .export import open_table as open_table
from .hybrid import HybridEmbedding as HybridEmbedding
from .monitor import Monitor as Monitor
from .monitor import monitor as monitor
from .online import RedisRows as RedisRows
from .online import RowsUnavailable as RowsUnavailable
from .search import VectorIndex as VectorIndex
from .tables import EmbeddingTables as EmbeddingTables
from .word_char import CharEmbedding as CharEmbedding
from .word_char import WordCharEmbedding as WordCharEmbedding
