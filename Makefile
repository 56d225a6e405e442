# Two commands: `make demo` and `make test`. Both set up .venv first.

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

# In two processes, file by file, so that what the tests of a file share is made once; in order, so that no long file is
# left to the end.
PYTEST := $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

.PHONY: demo test quick coverage check format clean

demo: .venv/installed
	$(BIN)/regnas run search_configs/digits.toml $(if $(wildcard runs/digits/run.json),--resume)

test: .venv/installed-dev
	$(PYTEST)

# The tests that train nothing and start nothing: about half of the time of all tests.
quick: .venv/installed-dev
	$(PYTEST) -m "not slow"

# The share of the lines and branches that the tests run; `make coverage TESTS=tests/flips` for some of them.
coverage: .venv/installed-dev
	$(PYTEST) --cov --cov-report=term:skip-covered $(TESTS)

check: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("regnas needs Python 3.11 or newer, got " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(INSTALL) '.[train]'
	touch $@

.venv/installed-dev: .venv/installed
	$(INSTALL) '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist .coverage* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
