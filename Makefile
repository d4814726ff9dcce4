# Every target sets up what it needs; the second run of each is fast.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test lint controlplane clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

$(VENV)/.demo: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[demo]'
	@touch $@

$(VENV)/.dev: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo ## run syncd on the sample repositories against the embedded API server (DEMO_ARGS=--once to stop after the first convergence)
	@$(BIN)/syncd demo $(DEMO_ARGS)

test: $(VENV)/.dev ## run the tests (TEST_ARGS go to pytest)
	$(BIN)/pytest -n auto $(TEST_ARGS)

lint: $(VENV)/.dev ## check style, types and import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

controlplane: $(VENV)/.dev ## build the real Kubernetes control plane that tests use (needs Go)
	$(BIN)/python -m tests.controlplane build

clean: ## remove what the other targets made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
