"""What the pages that compute show: widgets and figures, importable and tested without a browser."""
