"""The pages that compute: a folder for each page with `page.py` as its entry point, and shared code in `common`."""
