"""What the pages that compute show: a folder for each page, `page.py` its beginning, and what they share in `common`."""
