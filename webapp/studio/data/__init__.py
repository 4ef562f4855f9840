"""Data sets in the Studio: cards, and what a set looks like."""
