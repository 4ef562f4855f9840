"""Pipeline parallelism: consecutive layers of a network in different processes."""

from .layers import LayerDesc as LayerDesc
from .layers import PipelineLayer as PipelineLayer
from .layers import SegmentLayers as SegmentLayers
from .layers import SharedLayerDesc as SharedLayerDesc
from .micro_batches import PipelineDatasetPreprocessor as PipelineDatasetPreprocessor
from .parallel import NoPipelineParallel as NoPipelineParallel
from .parallel import PipelineParallel as PipelineParallel
from .parallel import PipelineParallelMicroStepLocations as PipelineParallelMicroStepLocations
from .parallel import PipelineParallelWithInterleave as PipelineParallelWithInterleave
from .parallel import PipelineParallelWithInterleaveFthenB as PipelineParallelWithInterleaveFthenB
from .parallel import register_global_pipeline_parallel_hook as register_global_pipeline_parallel_hook
from .report import Report as Report
