# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

.PHONY: setup system demo test lint format check docs dist dist-check bench clean

setup: $(VENV)/.developed

# Made anew only when what is to be installed changes; a stamp is written last, so a broken set-up is repeated.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) .
	touch $@

$(VENV)/.developed: $(VENV)/.installed
	$(INSTALL) '.[dev]'
	touch $@

$(VENV)/.documented: $(VENV)/.installed
	$(INSTALL) '.[docs]'
	touch $@

# What some tests run besides Python; without it they are skipped.
system:
	@if command -v swipl >/dev/null; then echo "SWI-Prolog is there."; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends swi-prolog-nox; \
	else echo "SWI-Prolog is not there, and only root can install it (apt-get install swi-prolog-nox)."; fi

demo: $(VENV)/.installed
	$(BIN)/neurallp demo

test: setup
	$(BIN)/python -m pytest

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

check: lint test

docs: $(VENV)/.documented
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: setup
	$(BIN)/python benchmarks/engine.py

clean:
	rm -rf $(VENV) docs/_build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
