# Everything this project does, as commands. A fresh machine needs Python 3.11 or later, pip and make.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
INSTRUCTOR := .venv-instructor
LAB := .venv-binder
OLDEST := .venv-oldest
FOLDER ?= ../course
HTML := _build/html
PIP_AUDIT := 2.10.1

# One thread for each linear-algebra call: printed digits do not depend on the machine's cores.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
# What is here and not installed: `lab`, the long runs of the appendix.
export PYTHONPATH := $(CURDIR)
# Caches of matplotlib and IPython: the home folder may not be writable.
export MPLCONFIGDIR := $(CURDIR)/_build/matplotlib
export IPYTHONDIR := $(CURDIR)/_build/ipython
# The one table that is not in the package, where it is at hand; see `pdpbook.datasets.load`.
ifneq ($(wildcard ../shared/data),)
export PDPBOOK_DATA ?= $(CURDIR)/../shared/data
endif

.PHONY: help book live lab slides serve test test-all test-units test-notebooks test-weekly test-oldest coverage site-test landing \
  lint binder-check notebooks pages instructor course lock links dependencies bench pdf release archive clean elsewhere trace \
  proofs

help:  ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# install(folder, lock): an environment with every package of a lock, and this project
define install
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
  "Python 3.11 or later is needed; try make PYTHON=python3.11")'
@echo "Installing the packages of $(2) into $(1), 1 to 2 minutes"
@$(PYTHON) -m venv $(if $(wildcard $(1)/.ready),,--clear) $(1)
@{ $(1)/bin/python -m pip install --quiet --disable-pip-version-check -r $(2) && \
  $(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .; } || \
  { echo "pip could not get all packages of $(2). Is there a network? Then run the same command again."; exit 1; }
@touch $(1)/.ready
endef

_build:
	@mkdir $@

$(READY): requirements.txt pyproject.toml | _build
	$(call install,$(VENV),requirements.txt)

$(INSTRUCTOR)/.ready: requirements-instructor.txt pyproject.toml | _build
	$(call install,$(INSTRUCTOR),requirements-instructor.txt)

$(LAB)/.ready: binder/requirements.txt pyproject.toml | _build
	$(call install,$(LAB),binder/requirements.txt)

book: $(READY)  ## Build the book into _build/html (7 minutes the first time, then only what changed)
	@$(BIN)/python tools/execute.py
	@$(BIN)/python tools/build.py
	@$(BIN)/python tools/slides.py
	@echo "Open $(HTML)/index.html, or run: make serve"

live: $(READY)  ## Fetch what lets readers change code in the page, before make book (optional; npm)
	@$(BIN)/python tools/live.py

lab: $(LAB)/.ready  ## Open a copy of the book in JupyterLab, as Binder does; _lab keeps what you change
	$(LAB)/bin/python tools/links.py _lab
	cd _lab && PATH="$(CURDIR)/$(LAB)/bin:$$PATH" ../binder/start \
	  jupyter lab --LabApp.default_url=/lab/tree/book/intro.ipynb

slides: book  ## The slides as PDF, with notes and without, beside those for the browser in _build/html/slides (needs Chromium)
	$(BIN)/python tools/slides.py --pdf

serve:  ## Serve the built book on this machine (PORT=8000)
	@$(firstword $(wildcard $(BIN)/python) $(PYTHON)) tools/serve.py $(PORT)

# Who has nothing left to do takes half of what another still has: all end together. The cells of a
# notebook stay with one.
pytest = $(BIN)/python -m pytest -n auto --dist worksteal
nbval = $(BIN)/python -m pytest -n auto --dist loadscope --nbval --nbval-current-env \
  --nbval-cell-timeout=120 book

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy

test: lint  ## Lint, types, unit tests; every notebook compared, run first where it has not run
	$(pytest) -m "not slow and not weekly"
	$(nbval) --kept

test-all: lint test-units test-notebooks  ## The same and the slow ones; every notebook is run

test-units: $(READY) instructor
	$(pytest) -m "not weekly"

test-notebooks: $(READY)
	$(nbval)

test-weekly: $(READY)  ## What only more seeds could find
	$(pytest) -m weekly

# The warnings are those of old libraries about new ones, such as matplotlib 3.10 about pyparsing.
test-oldest: | _build  ## The tests of the package with the lowest versions that pyproject.toml allows
	$(PYTHON) tools/oldest.py versions > _build/oldest.txt
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check -c _build/oldest.txt \
	  ".[all,test]" "dask[dataframe]" tqdm
	$(OLDEST)/bin/python -m pytest -n auto --dist worksteal -m "not slow and not weekly" \
	  -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning \
	  $$($(PYTHON) tools/oldest.py tests)

elsewhere: $(READY)  ## Run every notebook as on an older processor and compare it to the byte
	$(BIN)/python tools/elsewhere.py

trace: $(READY)  ## Hold what each notebook opens and calls against what its key covers
	$(BIN)/python tools/trace_keys.py

proofs:  ## Check the theorems in proofs/ with Coq, and print the axioms of each (says what to install)
	@$(firstword $(wildcard $(BIN)/python) $(PYTHON)) tools/proofs.py check

coverage: lint instructor  ## The lines that no unit test runs (tracing triples their time)
	$(pytest) --cov --cov-report=term

site-test: $(LAB)/.ready latex  ## Lint the pages, drive every page and JupyterLab in Chromium
	PDPBOOK_SITE="$(CURDIR)/$(HTML)" $(BIN)/python -m pytest -n auto --dist loadgroup tests/site

landing: site-test test-units  ## All tests, as `.ci/run` has them; with -j2 two lines at once
ifneq ($(filter landing,$(MAKECMDGOALS)),)
book: test-notebooks # which keeps what it ran: the pages show that, and nothing runs twice
endif

binder-check: $(READY)  ## Build Binder's environment anew, run every notebook in it, record that
	$(BIN)/python tools/binder.py
	$(BIN)/python tools/pages.py

notebooks: $(READY)  ## Run the notebooks and rewrite them in committed form, then the pages made from them
	$(BIN)/python tools/notebooks.py
	$(BIN)/python tools/pages.py

pages: $(READY)
	$(BIN)/python tools/pages.py

instructor: $(INSTRUCTOR)/.ready  ## Make the environment of nbgrader, apart from the book's

course: $(READY) instructor  ## Make an nbgrader course of the exercises (FOLDER=../course)
	$(BIN)/python -m course create "$(FOLDER)" --nbgrader

define LOCK
rm -rf _build/lock
$(PYTHON) -m venv _build/lock
_build/lock/bin/pip install --quiet --disable-pip-version-check $(1)
{ echo "# Made by 'make lock' from pyproject.toml; do not edit."; \
  _build/lock/bin/pip freeze --exclude pdpbook; } > $(2)
rm -rf _build/lock
endef

lock:  ## Resolve the ranges of pyproject.toml anew into the two lists of requirements
	$(call LOCK,".[book]" ".[test]",requirements.txt)
	$(call LOCK,--constraint requirements.txt ".[instructor]",requirements-instructor.txt)

links: book  ## Visit every link that leads out of the book
	$(BIN)/python tools/build.py linkcheck

dependencies: $(READY)  ## What is newer than the lock; fails when a locked version has a known vulnerability
	$(BIN)/pip list --disable-pip-version-check --outdated
	rm -rf _build/audit
	$(PYTHON) -m venv _build/audit
	_build/audit/bin/pip install --quiet --disable-pip-version-check pip-audit==$(PIP_AUDIT)
	_build/audit/bin/pip-audit --strict --disable-pip --no-deps --requirement requirements.txt

release: $(READY)  ## Name the version in every file (VERSION=0.2.0, then VERSION=0.3.0.dev0)
	$(BIN)/python tools/release.py version $(VERSION)

archive: $(READY)  ## Pack the built book for a release, with its SHA-256
	$(BIN)/python tools/release.py archive

bench: $(READY)  ## Time the package against its yardsticks, as ratios in one run
	$(BIN)/python -m pytest lab/benchmarks --benchmark-only --benchmark-columns=median,iqr,rounds

latex: book
	@$(BIN)/python tools/build.py latex

# CONTRIBUTING.md names the packages. A lost glyph or a line 30 points too long fails.
TEX := _build/latex/privacy-personally
pdf:  ## The book as PDF (needs xelatex, latexmk and two families of fonts)
	@command -v xelatex >/dev/null && command -v latexmk >/dev/null || \
	{ echo "make pdf needs xelatex and latexmk (TeX Live): see CONTRIBUTING.md"; exit 1; }
	$(MAKE) latex
	$(MAKE) -C $(dir $(TEX)) all-pdf LATEXMKOPTS="-interaction=nonstopmode -halt-on-error -quiet"
	@! grep -E 'Missing character|Warning: .*undefined|Overfull .hbox .([3-9]|[0-9]{2,})[0-9]\.' $(TEX).log
	@echo "Open $(TEX).pdf"

clean:  ## Remove everything that was built, the environment too
	rm -rf _build $(VENV) $(INSTRUCTOR) $(LAB) $(OLDEST) .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks *.egg-info .coverage
