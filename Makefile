# Every target makes .venv and installs what it needs by itself; a stamp per extra keeps the
# installations apart, so that `make demo` fetches little.  Needed: python3 >= 3.11, make, and a
# package index that pip can reach.

PYTHON  ?= python3
WORKERS ?= auto
ARGS    ?=

VENV   := .venv
RUN    := $(VENV)/bin/python
STAMPS := $(VENV)/stamps

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test long peers lint format bench docs clean

help:  ## list these targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		while IFS='|' read -r target text; do printf '%-14s %s\n' "$$target" "$$text"; done
	@echo 'Variables: PYTHON=python3.13 makes .venv with it; WORKERS=4 test processes; ARGS="-k ridge" for pytest.'

demo: $(STAMPS)/base  ## a tour on real data, in under two minutes with installation
	@$(RUN) examples/tour.py

test: lint $(STAMPS)/test  ## lint, then the tests, the doctests, and the kernels again without the compiler
	$(RUN) -m pytest -q -n $(WORKERS) --maxprocesses 8 --dist worksteal $(ARGS)
	NUMBA_DISABLE_JIT=1 $(RUN) -m pytest -q -n $(WORKERS) --maxprocesses 8 --dist worksteal \
		-m 'not compiled' tests/kernels tests/numerics tests/statistics

long: $(STAMPS)/test  ## the tests with whole products of options, and with many more random examples
	$(RUN) -m pytest -q -n $(WORKERS) --maxprocesses 8 --dist worksteal \
		--long --hypothesis-profile long tests $(ARGS)

peers: $(STAMPS)/test  ## scikit-learn's own tests for trees, ensembles, factors and mixtures, on ours
	$(RUN) -m peers $(ARGS)

lint: $(STAMPS)/lint  ## ruff, mypy, and the direction of the imports
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	@report=$$($(RUN) -c 'from importlinter.cli import lint_imports_command as run; run()' --no-cache) \
		&& echo 'imports point downwards' || { echo "$$report"; exit 1; }

format: $(STAMPS)/lint  ## let ruff put the code in its layout and make the safe repairs
	$(RUN) -m ruff check --fix .
	$(RUN) -m ruff format .

bench: $(STAMPS)/bench  ## time against the peers and write benchmarks/RESULTS.md
	$(RUN) -m benchmarks

docs: $(STAMPS)/docs  ## write the catalogue page and build the documentation into site/
	$(RUN) docs/build_catalogue.py
	$(RUN) -m mkdocs build --strict --quiet

clean:  ## remove everything that the other targets made
	rm -rf $(VENV) site build dist benchmarks/.data .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# pip appears when the environment is complete, so an interrupted creation is repeated.
$(VENV)/bin/pip:
	@$(PYTHON) -c 'import sys; sys.exit("suffice needs Python 3.11 or newer; try make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo 'making $(VENV)'
	@$(PYTHON) -m venv $(VENV)

$(STAMPS)/base: pyproject.toml | $(VENV)/bin/pip
	@echo 'installing suffice into $(VENV)'
	@$(RUN) -m pip install -qq --editable .
	@mkdir -p $(STAMPS) && touch $@

# The extras bring the base with them, and so refresh its stamp.
$(STAMPS)/test $(STAMPS)/lint $(STAMPS)/docs $(STAMPS)/bench: $(STAMPS)/%: pyproject.toml | $(VENV)/bin/pip
	@echo 'installing suffice[$*] into $(VENV)'
	@$(RUN) -m pip install -qq --editable '.[$*]'
	@mkdir -p $(STAMPS) && touch $@ $(STAMPS)/base
