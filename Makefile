# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

.PHONY: setup system demo test lint format check bench torture fuzz mutants audit wheel clean

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

bench: setup
	$(BIN)/python benchmarks/engine.py

# What takes too long for every change: all faults of all saves, random kills, and a long run that must not grow.
torture: setup
	NEURALLP_TORTURE=1 $(BIN)/python -m pytest tests/io/models/test_store.py
	$(BIN)/python benchmarks/kills.py
	$(BIN)/python benchmarks/soak.py

# Mutated inputs for every reader; one that fails is kept in tests/corpus.
fuzz: setup
	$(BIN)/python tests/fuzzing.py --num 100000

# Changes the code and counts how many changes the tests notice.
mutants: setup
	$(BIN)/mutmut run
	$(BIN)/mutmut results

# Known faults of what is installed, and the same wheel twice, with a list of its parts (SBOM).
audit: setup wheel
	$(BIN)/pip-audit --skip-editable

wheel: setup
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build --wheel --outdir dist .
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build --wheel --outdir dist/again .
	cmp dist/*.whl dist/again/*.whl
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o dist/neurallp.cdx.json $(BIN)/python

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
