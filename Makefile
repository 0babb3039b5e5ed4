# `make demo` and `make test` need nothing done by hand before: each makes its own environment.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: help demo test test-llm check benchmarks clean

help:
	@echo "make demo        run a search on a bundled task, without a key"
	@echo "make test        the whole test suite"
	@echo "make test-llm    a search by a real small coder model (downloads 0.5 GB, takes a while)"
	@echo "make check       formatting, lint, types, import arrows"
	@echo "make benchmarks  overhead, sandboxes, crashes, tasks, prompts, operators (hours)"

$(VENV)/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one: make PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(VENV)/ready
	$(BIN)/aide run titanic --steps 12 --seed 0

test: $(VENV)/ready
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadgroup $(TESTS)

test-llm: $(VENV)/ready
	AIDE_TEST_LLM=$${AIDE_TEST_LLM:-0.5b} $(BIN)/python -m pytest -m llm tests/local_model

check: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

benchmarks: $(VENV)/ready
	$(BIN)/python -m benchmarks.overhead
	$(BIN)/python -m benchmarks.sandbox
	$(BIN)/python -m benchmarks.parallel
	$(BIN)/python -m benchmarks.crash
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python -m benchmarks.tasks
	$(BIN)/python -m benchmarks.context
	$(BIN)/python -m benchmarks.operators

clean:
	rm -rf $(VENV) build dist *.egg-info
