# Every target sets up what it needs; the second run of each is fast.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: help demo test lint controlplane docs crd dashboards lock clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("syncd needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Choose another one with: make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	@echo "Installing syncd into $(VENV) (only the first time; about half a minute)"
	@$(PIP_INSTALL) -e '.[demo]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	@echo "Installing syncd and what its tests need into $(VENV) (only the first time; about a minute)"
	@$(PIP_INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo ## run syncd on the sample environments against the embedded API server (DEMO_ARGS=--once to end after the first convergence)
	@$(BIN)/syncd demo $(DEMO_ARGS)

test: $(VENV)/.dev ## run the tests (TEST_ARGS go to pytest)
	$(BIN)/pytest -n auto $(TEST_ARGS)

lint: $(VENV)/.dev ## check style, types, import rules and the Dockerfile
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/hadolint Dockerfile

controlplane: $(VENV)/.dev ## build the real Kubernetes control plane that tests use (needs Go)
	$(BIN)/python -m tests.controlplane build

docs: $(VENV)/.dev ## write the reference pages that are generated from the code
	$(BIN)/python docs/generate.py

crd: $(VENV)/.dev ## write the definition of the Sync resource, which is generated from the code
	$(BIN)/python scripts/generate_crd.py

dashboards: $(VENV)/.dev ## write the Grafana dashboards and the alerting rules that are generated
	$(BIN)/python -m grafana.generate

# Packages that are in there already keep their versions, unless LOCK_ARGS=--upgrade.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--no-emit-index-url --custom-compile-command 'make lock' $(LOCK_ARGS) --output-file

lock: $(BIN)/python ## write the versions and digests of the Python packages in the image (LOCK_ARGS=--upgrade for newer ones)
	@$(PIP_INSTALL) uv
	$(LOCK) deploy/image/requirements.txt pyproject.toml
	echo 'hatchling>=1.27' | $(LOCK) deploy/image/requirements-build.txt -

clean: ## remove what the other targets made
	rm -rf $(VENV) .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
