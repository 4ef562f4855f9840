"""Paddle's place for the names of attention."""

from .attention import *  # noqa: F403
from .attention import flash_attention as flash_attention
from .attention import flash_attn_unpadded as flash_attn_unpadded
