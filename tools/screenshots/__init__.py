"""Photographs of every page of the Studio, in both languages and at two widths: `python -m tools.screenshots`."""
