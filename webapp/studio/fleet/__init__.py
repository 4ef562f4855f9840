"""A job of several workers that the page "Fleet" starts, shows and disturbs.

`control.py` is the server's part and imports no library; `host.py` is the job's process, which starts the workers and
does what the page asks; `program.py` is what each worker trains; `view.py` is what the page shows of them.
"""
