# Needs Python 3.11+, make and a package index; every target makes what it lacks.
PYTHON ?= python3
VENV ?= .venv
VENV_VLLM ?= .venv-vllm
BIN := $(VENV)/bin
BASE := $(VENV)/.installed-base
DEV := $(VENV)/.installed-dev
VLLM := $(VENV_VLLM)/.installed
VLLM_FREEZE := tests/fixtures/vllm-cpu-freeze.txt
PIP := $(BIN)/python -m pip --disable-pip-version-check
VLLM_PIP := $(VENV_VLLM)/bin/python -m pip --disable-pip-version-check
FAST := not vllm and not slow

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-vllm check accuracy bench docs constraints size clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(firstword $(MAKEFILE_LIST)) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

demo: $(BASE) ## sweep the built-in mock: table, verdict, report
	$(BIN)/loadgen demo

test: $(DEV) ## all tests but vLLM's and the full counts (under 4 minutes)
	$(BIN)/python -m pytest -n auto -m "$(FAST)"

test-vllm: $(DEV) ## tests against a real vLLM server on this machine's CPU
	@if $(MAKE) --no-print-directory $(VLLM); then \
	  $(BIN)/python -m pytest -m vllm -n 2 --dist loadgroup; \
	elif [ -e $(VENV_VLLM)/.no-torch ]; then \
	  rm -rf $(VENV_VLLM); echo "test-vllm: skipped, pip finds no CPU build of torch here"; \
	else exit 1; fi

check: $(DEV) ## ruff, mypy --strict, the floor plan
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

accuracy: $(DEV) ## the full counts: kills, mutations, fault matrices (long)
	$(BIN)/python -m pytest -m slow
	@set -e; for script in $(sort $(wildcard tests/fuzz_*.py tests/*/fuzz_*.py)); do \
	  echo "$$script"; $(BIN)/python "$$script" --n 100000; done

bench: $(DEV) ## the benchmarks in their short form
	@set -e; for script in $(sort $(wildcard benchmarks/[a-z]*.py)); do \
	  echo "$$script"; $(BIN)/python "$$script" --short; done

docs: $(DEV) ## docs/cli.md from the command line's own words
	$(BIN)/python -m loadgen.cli.reference > docs/cli.md

constraints: $(DEV) ## constraints.txt from what is installed
	@{ head -n 2 constraints.txt; $(PIP) freeze --all --exclude-editable --exclude setuptools; } > $(VENV)/new
	@mv $(VENV)/new constraints.txt

size: ## what the base install weighs, in a throwaway environment
	@rm -rf $(VENV)-size && $(MAKE) --no-print-directory VENV=$(VENV)-size $(VENV)-size/.installed-base
	@echo "$$($(VENV)-size/bin/python -m pip list --format=freeze | wc -l) packages," \
	  "$$(find $(VENV)-size -name __pycache__ -prune -o -type f -printf '%s\n' | awk '{s += $$1} END {printf "%.0f", s / 1e6}') MB without bytecode"
	@rm -rf $(VENV)-size

clean: ## everything that make made, results excepted
	rm -rf $(VENV) $(VENV_VLLM) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "loadgen needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(BASE): pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet --constraint constraints.txt "pip>=25.1"
	$(PIP) install --quiet --constraint constraints.txt --editable .
	@touch $@

$(DEV): $(BASE)
	$(PIP) install --quiet --constraint constraints.txt --group dev
	@touch $@

# vLLM's own set is 2.4 GB, so it lives apart. torch comes first, by pip, whose configuration may
# name a local CPU build; the rest by uv where its index answers, since pip needs minutes for it.
$(VLLM): $(VLLM_FREEZE)
	@$(PYTHON) -m venv $(VENV_VLLM)
	@$(VLLM_PIP) install --quiet --no-deps --no-compile "$$(grep '^torch==' $<)" \
	  || { touch $(VENV_VLLM)/.no-torch; exit 1; }
	@$(VLLM_PIP) install --quiet uv
	@links="$$($(VLLM_PIP) config get global.find-links 2>/dev/null || true)"; \
	$(VENV_VLLM)/bin/uv pip install --quiet --python $(VENV_VLLM)/bin/python --no-deps --compile-bytecode \
	  $${links:+--find-links "$$links"} --requirement $< \
	|| $(VLLM_PIP) install --quiet --no-deps --requirement $<
	@touch $@
