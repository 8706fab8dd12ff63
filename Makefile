# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

.PHONY: setup system demo serve test lint format check fuzz bench clean

setup: $(VENV)/.developed

# Made anew only when what is to be installed changes; a stamp is written last, so a broken set-up is repeated.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) .
	touch $@

$(VENV)/.developed: $(VENV)/.installed
	$(INSTALL) '.[dev]'
	touch $@

# What some tests run besides Python; without it they are skipped.
system:
	@if command -v swipl >/dev/null && command -v chromium >/dev/null; then echo "SWI-Prolog and Chromium are there."; \
	elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends swi-prolog-nox chromium; \
	else echo "Only root can install what is missing (apt-get install swi-prolog-nox chromium)."; fi

demo: $(VENV)/.installed
	$(BIN)/neurallp demo

# The explorer on the family of the demo, in the browser.
serve: $(VENV)/.serving
	$(BIN)/neurallp demo --serve

$(VENV)/.serving: $(VENV)/.installed
	$(INSTALL) '.[web]'
	touch $@

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

# The explorer against its own description of itself, thousands of requests.
fuzz: setup
	$(BIN)/python benchmarks/fuzz_explorer.py

bench: setup
	$(BIN)/python benchmarks/engine.py

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
