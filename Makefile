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
FOLDER ?= ../course
HTML := _build/html
PIP_AUDIT := 2.10.1

# One thread for each linear-algebra call: printed digits do not depend on the machine's cores.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
# What is here and not installed: `lab`, the long runs of the appendix.
export PYTHONPATH := $(CURDIR)
# The one table that is not in the package, where it is at hand; see `pdpbook.datasets.load`.
SHARED_DATA := $(abspath ../shared/data)
ifneq ($(wildcard $(SHARED_DATA)),)
export PDPBOOK_DATA ?= $(SHARED_DATA)
endif

.PHONY: help book lab slides serve test test-all coverage site-test lint binder-check notebooks pages instructor course lock links \
  dependencies bench pdf release archive clean

help:  ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

PYTHON_CHECK = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
  "Python 3.11 or later is needed; try make PYTHON=python3.11")'

$(READY): requirements.txt pyproject.toml
	@$(PYTHON_CHECK)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

$(INSTRUCTOR)/.ready: requirements-instructor.txt pyproject.toml
	$(PYTHON) -m venv $(INSTRUCTOR)
	$(INSTRUCTOR)/bin/pip install --quiet --disable-pip-version-check -r requirements-instructor.txt
	$(INSTRUCTOR)/bin/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

$(LAB)/.ready: binder/requirements.txt pyproject.toml
	@$(PYTHON_CHECK)
	$(PYTHON) -m venv $(LAB)
	$(LAB)/bin/pip install --quiet --disable-pip-version-check -r binder/requirements.txt
	$(LAB)/bin/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

# The execution cache knows the cells, not the package, `lab` or the data: those changed, run all anew.
# Sphinx knows the pages, not what it makes them with: that changed, make all pages anew.
RUNS = { find pdpbook course lab -type f -not -name '*.pyc' -not -path 'lab/benchmarks/*' | sort | \
  xargs cat; cat requirements.txt; \
  ls "$${PDPBOOK_DATA:-.}"; } | cksum
LOOKS = { find book/_ext book/_static book/_extra -type f -not -name '*.pyc' | sort | xargs cat; \
  cat _config.yml; } | cksum
# fresh(key, command, folders): empty the folders when the command prints another key than before
fresh = key="$$($(2))"; [ "$$key" = "$$(cat _build/$(1) 2>/dev/null || true)" ] || rm -rf $(3); \
  mkdir -p _build; echo "$$key" > _build/$(1)

book: $(READY)  ## Build the book into _build/html
	@$(call fresh,runs,$(RUNS),_build)
	@$(call fresh,looks,$(LOOKS),_build/.doctrees _build/html _build/latex)
	$(BIN)/python tools/execute.py
	$(BIN)/jupyter-book build . -W -n --keep-going
	$(BIN)/python tools/slides.py
	@echo "Open $(HTML)/index.html, or run: make serve"

lab: $(LAB)/.ready  ## Open a copy of the book in JupyterLab, as Binder does; _lab keeps what you change
	$(LAB)/bin/python tools/links.py _lab
	cd _lab && PATH="$(abspath $(LAB)/bin):$$PATH" ../binder/start \
	  jupyter lab --LabApp.default_url=/lab/tree/book/intro.ipynb

slides: book  ## The slides as PDF, beside those for the browser in _build/html/slides (needs Chromium)
	$(BIN)/python tools/slides.py --pdf

serve: $(READY)  ## Serve the built book on this machine (PORT=8000)
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(HTML) $(PORT)

# Every notebook against its committed output; the site is built from what they show on the way.
nbval = $(call fresh,runs,$(RUNS),_build); PDPBOOK_EXECUTED=$(abspath _build/executed) \
  $(BIN)/pytest -n auto --dist loadscope --nbval --nbval-current-env --nbval-cell-timeout=120 book

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint  ## Lint, types, unit tests, and every notebook compared with its committed output
	$(BIN)/pytest -n auto --dist loadscope -m "not slow"
	@$(call nbval)

test-all: lint instructor  ## The same, and the slow ones
	$(BIN)/pytest -n auto --dist loadscope
	@$(call nbval)

coverage: lint instructor  ## The lines that no unit test runs (tracing triples their time)
	$(BIN)/pytest -n auto --dist loadscope --cov --cov-report=term

site-test: $(LAB)/.ready  ## Build from empty, lint the pages, drive every page and JupyterLab in Chromium
	mkdir -p _build
	find _build -mindepth 1 -maxdepth 1 ! -name executed ! -name runs -exec rm -rf {} +
	$(MAKE) latex
	PDPBOOK_SITE=$(abspath $(HTML)) $(BIN)/pytest -n auto tests/site

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
	$(BIN)/python -m course create $(FOLDER) --nbgrader

define LOCK
rm -rf _build/lock
$(PYTHON) -m venv _build/lock
_build/lock/bin/pip install --quiet --disable-pip-version-check $(1)
{ echo "# Made by 'make lock' from pyproject.toml; do not edit."; \
  _build/lock/bin/pip freeze --exclude pdpbook; } > $(2)
rm -rf _build/lock
endef

lock:  ## Resolve the ranges of pyproject.toml anew into the two lists of requirements
	$(call LOCK,".[book]" ".[blocks]" ".[test]",requirements.txt)
	$(call LOCK,--constraint requirements.txt ".[instructor]",requirements-instructor.txt)

links: book  ## Visit every link that leads out of the book
	$(BIN)/jupyter-book build . --builder linkcheck

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
	$(BIN)/pytest lab/benchmarks --benchmark-only --benchmark-columns=median,iqr,rounds

latex: book
	$(BIN)/jupyter-book build . --builder latex -W -n --keep-going

# README.md names the packages. A lost glyph or a line 30 points too long fails.
TEX := _build/latex/privacy-personally
pdf:  ## The book as PDF (needs xelatex, latexmk and two families of fonts)
	@command -v xelatex >/dev/null && command -v latexmk >/dev/null || \
	{ echo "make pdf needs xelatex and latexmk (TeX Live): see README.md"; exit 1; }
	$(MAKE) latex
	$(MAKE) -C $(dir $(TEX)) all-pdf LATEXMKOPTS="-interaction=nonstopmode -halt-on-error -quiet"
	@! grep -E 'Missing character|Warning: .*undefined|Overfull .hbox .([3-9]|[0-9]{2,})[0-9]\.' $(TEX).log
	@echo "Open $(TEX).pdf"

clean:  ## Remove everything that was built, the environment too
	rm -rf _build $(VENV) $(INSTRUCTOR) $(LAB) .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks *.egg-info .coverage
