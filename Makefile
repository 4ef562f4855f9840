# Each target sets up what it needs. A second run installs nothing: the stamps are named by the contents
# of the files they depend on.

VENV := .venv
PY := $(VENV)/bin/python
PADDLE := .venv-paddle
PIP := pip install --quiet --disable-pip-version-check --use-pep517 --no-compile

# The first Python on this machine that really runs and is new enough (a version manager's shim may exist
# and fail, so it is tried and not only looked up).
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11, 2))' 2>/dev/null && echo $$p && break; done)

INSTALLED := $(VENV)/.installed-$(shell cat requirements.lock pyproject.toml | cksum | tr ' ' -)
WARM := $(VENV)/.warm-$(shell cat requirements.lock $(wildcard lib/sampan/kernels/*.py) | cksum | tr ' ' -)
PEER := $(PADDLE)/.installed-$(shell cat requirements.lock pyproject.toml | cksum | tr ' ' -)

.PHONY: help studio hub classroom test lint course docs bench parity size lock

help:
	@echo "make studio   install what is missing and open the Studio in the browser"
	@echo "make hub      install what a class under JupyterHub needs (sampan class serve)"
	@echo "make classroom  a class in headless browsers from login to marks, as root: LEARNERS=30"
	@echo "make test     every check there is; STEPS='unit lint' runs only those"
	@echo "make lint     formatting, lint and types"
	@echo "make course   build the learners' notebooks and prove their checks"
	@echo "make docs     the API reference and the other pages, in build/docs/index.html"
	@echo "make bench    side by side with PyTorch and PaddlePaddle, writes benchmarks/RESULTS.md"
	@echo "make parity   name by name beside PaddlePaddle: signatures, values, gradients, errors"
	@echo "make size     tokens of code by package"
	@echo "make lock     renew requirements.lock and environment.yml from pyproject.toml"

studio: $(WARM)
	@$(VENV)/bin/sampan studio

test: $(WARM)
	@$(PY) tools/test.py $(STEPS)

hub: $(WARM)
	@$(PY) -m studio.hub.proxy

LEARNERS ?= 30
classroom: hub
	@SAMPAN_CLASSROOM_LEARNERS=$(LEARNERS) $(PY) -m pytest -q -rs --durations=0 tests/webapp/hub/test_browser_classroom.py

lint: $(INSTALLED)
	@$(PY) tools/test.py lint types

course: $(INSTALLED)
	@$(PY) tools/test.py course

docs: $(INSTALLED)
	@$(PY) -m sphinx --quiet --fresh-env --jobs auto --fail-on-warning --keep-going docs build/docs
	@echo "open build/docs/index.html"

bench: $(WARM) $(PEER)
	@$(PY) benchmarks/run.py --paddle $(PADDLE)/bin/python

parity: $(INSTALLED) $(PEER)
	@$(PY) -m tools.parity --paddle $(PADDLE)/bin/python

size: $(INSTALLED)
	@$(PY) tools/size.py

lock: $(INSTALLED)
	@$(PY) tools/lock.py

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Sampan needs Python 3.11.2 or newer on the PATH (or: make PYTHON=/path/to/python)"; exit 1; }
	@echo "creating $(VENV) with $(PYTHON)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# Two pips each unpack a part of the lock, `torch`, the largest, first. A third adds what the lock does not name: the libraries of
# a torch for GPUs. Compiling is left to compileall, in two processes. That fails for files that packages keep in the syntax of
# another Python, which nobody imports: pip ignores them too.
$(INSTALLED): | $(VENV)/bin/python
	@echo "installing the versions of requirements.lock into $(VENV) (a minute or two, once)"
	@grep -v '^#' requirements.lock | sort -r | xargs -P 2 -n 27 $(PY) -m $(PIP) --no-deps
	@$(PY) -m $(PIP) -r requirements.lock
	@$(PY) -m compileall -qq -j 2 -x /tests/ $(VENV)/lib || true
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@rm -f $(VENV)/.installed-* && touch $@

# No two of these compile the same loop, which would spoil its cache; the loops of tables follow those that they call.
$(WARM): $(INSTALLED)
	@echo "compiling the kernels (a minute or two, once)"
	@printf '%s\n' 'kernels.warmup graph' 'kernels.warmup speech' 'kernels.warmup sparse cpu_optimizer' \
		'kernels.warmup cpu_embedding_words fused && $(PY) -m sampan.embedding.warmup' | xargs -P 2 -I {} sh -c '$(PY) -m sampan.{}'
	@rm -f $(VENV)/.warm-* && touch $@

# PaddlePaddle lives apart: what it needs is not ours to live with. Its version comes from the `bench` extra.
$(PEER): $(INSTALLED)
	@echo "installing PaddlePaddle into $(PADDLE) (once)"
	@test -x $(PADDLE)/bin/python || $(PYTHON) -m venv $(PADDLE)
	@$(PY) tools/lock.py --print bench > $(PADDLE)/requirements.txt
	@$(PADDLE)/bin/python -m pip install --quiet --disable-pip-version-check -r $(PADDLE)/requirements.txt
	@rm -f $(PADDLE)/.installed-* && touch $@
