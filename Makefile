# Each target makes what it needs: a virtual environment in .venv, with the versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
BASE := $(VENV)/.base
DEV := $(VENV)/.dev
PYTEST_ARGS ?= -n 2
MUTATIONS_ARGS ?= --count 5000
RELIABILITY_ARGS ?=
MATRIX_ARGS ?=

.PHONY: help demo test test-matrix lint types docs docs-serve generate golden fidelity mutations reliability bench clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(BASE)  ## the main job, on an environment that ships with the package; no key, network or TRL needed
	@$(BIN)/python examples/demo.py

test: $(DEV)  ## run all tests
	$(BIN)/python -m pytest -q $(PYTEST_ARGS)

test-matrix: $(DEV)  ## run all tests on the oldest and the newest supported versions, and on each Python that is installed
	$(BIN)/nox $(MATRIX_ARGS)

lint: $(DEV)  ## check the style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV)  ## run mypy, strictly
	$(BIN)/mypy

docs: $(DEV)  ## build the documentation in site/; broken links are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: $(DEV)  ## show the documentation on loopback, and build it again whenever a page changes
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

generate: $(BASE)  ## write generated/ again
	$(BIN)/orl-codegen generate

golden: $(DEV)  ## write the golden files of the tests again
	$(BIN)/python -m tests.generator.golden

fidelity: $(DEV)  ## measure how much of what environments state reaches the model, and how many of its calls are refused
	$(BIN)/python -m benchmarks.fidelity
	@echo
	OPENREWARD_LOG_LEVEL=WARNING TRL_EXPERIMENTAL_SILENCE=1 $(BIN)/python -m benchmarks.refusals

mutations: $(DEV)  ## change real tools at random, and measure whether drift reports each change exactly
	$(BIN)/python -m tests.mutations $(MUTATIONS_ARGS)

reliability: $(DEV)  ## faults, interruptions, attacks and load: is anything lost, and is anybody let in?
	$(BIN)/python -m tests.reliability $(RELIABILITY_ARGS)

bench: $(DEV)  ## measure the speed, against TRL's own integration
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.overlap
	$(BIN)/python -m benchmarks.raw
	$(BIN)/python -m benchmarks.processes
	$(BIN)/python -m benchmarks.generation

clean:  ## remove the virtual environment and the caches
	rm -rf $(VENV) .mypy_cache .nox .pytest_cache .ruff_cache .hypothesis site

$(BASE): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing orl-codegen into $(VENV) ..."
	@$(PIP) pip  # its version in constraints.txt knows dependency groups
	@$(PIP) --editable ".[generate]"
	@touch $@

# torch first and alone: packages that depend on it then use this build instead of one for GPUs.
$(DEV): $(BASE)
	@echo "Installing TRL, torch and the test tools into $(VENV) ..."
	@$(PIP) torch==2.13.0
	@$(PIP) --editable ".[generate,trl,eval]" --group dev
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \
		--target $(VENV)/oldest-transformers transformers==5.2.0  # its docstring parser is tested as well
	@touch $@
