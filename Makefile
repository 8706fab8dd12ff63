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
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

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
	$(BIN)/python -m sphinx -W --keep-going -E -j auto -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Built twice: equal sources must give equal bytes.
dist: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt hatchling
	rm -rf dist
	$(BIN)/python -m hatchling build --directory dist
	$(BIN)/python -m hatchling build --directory dist/again
	cd dist && for file in neurallp-*; do cmp $$file again/$$file || exit 1; done
	rm -r dist/again

# Installs the wheel afresh for each Python that is on this machine, and runs the demo there.
dist-check: dist
	@for version in 3.11 3.12 3.13 3.14; do \
		if ! command -v python$$version >/dev/null; then echo "Python $$version is not on this machine."; continue; fi; \
		rm -rf dist/check && python$$version -m venv dist/check || exit 1; \
		if dist/check/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl; then \
			(cd dist && check/bin/neurallp demo --people 60 >/dev/null) || exit 1; echo "Python $$version: installed, and the demo runs."; \
		else echo "Python $$version: could not be installed."; fi; \
	done; rm -rf dist/check

bench: setup
	$(BIN)/python benchmarks/engine.py

clean:
	rm -rf $(VENV) docs/_build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
