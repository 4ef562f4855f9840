"""Paddle's static graphs: a Program is built by calling operators on variables, and run by an Executor.

Variables are Tensors over small samples: `data(name, [None, 3])` has a sample with 2 rows. What is called on
them is recorded as `jit` records a function (building.py), and run on what is fed (running.py).
"""

from .building import Program as Program
from .building import data as data
from .building import default_main_program as default_main_program
from .building import default_startup_program as default_startup_program
from .building import program_guard as program_guard
from .files import load as load
from .files import load_inference_model as load_inference_model
from .files import save as save
from .files import save_inference_model as save_inference_model
from .hints import BuildStrategy as BuildStrategy
from .hints import CompiledProgram as CompiledProgram
from .running import Executor as Executor
from .running import append_backward as append_backward
from .running import gradients as gradients
