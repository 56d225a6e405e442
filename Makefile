# Two commands: `make demo` and `make test`. Both set up .venv first.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check clean

demo: .venv/installed
	$(BIN)/regnas run search_configs/digits.toml $(if $(wildcard runs/digits/run.json),--resume)

# In two processes, file by file, so that what the tests of a file share is made once; in order, so that no long file is
# left to the end.
test: .venv/installed-dev
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

check: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("regnas needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
