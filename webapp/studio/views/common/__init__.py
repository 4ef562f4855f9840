"""Shared by several pages: widgets, layout, figures, curves, and work in threads."""
