"""What several pages share: widgets, small pieces, figures, curves, and work in threads."""
