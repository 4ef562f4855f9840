"""A class on one machine under JupyterHub: `sampan class roster` and `sampan class serve`.

- Before the Hub: `roster` (who belongs to the class), `accounts` (their accounts on this machine), `folder` (where the
  class is), `serve` (prepares the folder and starts the Hub), `settings` (what we set in JupyterHub), `proxy`.
- Beside the Hub: `warm` (the warm process of the class), `spawner` (how the Hub starts a server: as a fork of it).
- In a learner's server: `singleuser` (the Studio under the Hub), `member` (the class it belongs to, and the client of the
  grading service).
- In the grading account: `service` (the Hub-managed service), `calls` (its handlers), `desk` (checks and submissions),
  `receipts`.

Only `singleuser`, `spawner` and `service` import jupyterhub.
"""
