# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable

# Python keeps what it has compiled, whatever the environment says: tests start many processes.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup system demo serve test lint format check docs dist dist-check bench torture fuzz mutants audit clean

setup: $(VENV)/.developed

# Made anew only when what is to be installed changes; a stamp is written last, so a broken set-up is repeated.
$(VENV)/.created: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	touch $@

# Python compiles what is imported, which is a fraction of what is installed.
$(VENV)/.installed: $(VENV)/.created
	$(INSTALL) . --no-compile
	touch $@

# Spark, which comes without a wheel, is packed into one without compression.
$(VENV)/.developed: $(VENV)/.created
	printf '[bdist_wheel]\ncompression = stored\n' > $(VENV)/wheels.cfg
	DIST_EXTRA_CONFIG=$(abspath $(VENV)/wheels.cfg) $(INSTALL) '.[dev]' --no-compile
	touch $(VENV)/.installed $@

$(VENV)/.releasing: $(VENV)/.developed
	$(INSTALL) '.[release]'
	touch $@

$(VENV)/.documented: $(VENV)/.installed
	$(INSTALL) '.[docs]'
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
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

check: lint test

# The explorer against its own description of itself, thousands of requests; and mutated inputs for every reader,
# of which one that fails is kept in tests/corpus.
fuzz: setup
	$(BIN)/python benchmarks/fuzz_explorer.py
	$(BIN)/python tests/fuzzing.py --num 100000

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
		if ! python$$version -c "" 2>/dev/null; then echo "Python $$version is not on this machine."; continue; fi; \
		rm -rf dist/check && python$$version -m venv dist/check || exit 1; \
		if dist/check/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl; then \
			(cd dist && check/bin/neurallp demo --people 80 >/dev/null) || exit 1; echo "Python $$version: installed, and the demo runs."; \
		else echo "Python $$version: could not be installed."; fi; \
	done; rm -rf dist/check

bench: setup
	$(BIN)/python benchmarks/engine.py

# What takes too long for every change: all faults of all saves, many graphs for every fast path, random kills, and
# a long run that must not grow.
torture: setup
	NEURALLP_TORTURE=1 $(BIN)/python -m pytest tests/io/models/test_store.py tests/test_fast_paths.py
	$(BIN)/python benchmarks/kills.py
	$(BIN)/python benchmarks/soak.py

# Changes the code and counts how many changes the tests notice.
mutants: $(VENV)/.releasing
	$(BIN)/mutmut run
	$(BIN)/mutmut results

# A list of what the wheel needs (SBOM) beside it, and known faults of what is installed, where they can be looked up.
audit: $(VENV)/.releasing dist
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible -o dist/neurallp.cdx.json $(BIN)/python
	@if $(BIN)/python -c "import urllib.request as web; web.urlopen('https://pypi.org/pypi/pip/json', timeout=10)" 2>/dev/null; \
	then $(BIN)/pip-audit --skip-editable; \
	else echo "pypi.org cannot be reached from here: known faults were not looked up."; fi

clean:
	rm -rf $(VENV) docs/_build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
