# Two commands do everything on a fresh machine with Python >= 3.11, pip and make:
#   make demo    set up and train on a corpus that is already on the machine
#   make test    set up and run the linters and the tests
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo test lint kernels format docs dist clean
.DEFAULT_GOAL := demo

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "textlds needs Python 3.11 or newer; this is " + sys.version)'
	@$(PYTHON) -m venv $(VENV)

# The stamps are newer than pyproject.toml when the environment matches it.
$(VENV)/.base: $(BIN)/python pyproject.toml
	@echo "Setting up $(VENV): about 130 MB to download, once."
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e . ./packages/textlds-en
	@touch $@

$(VENV)/.dev: $(VENV)/.base constraints.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(VENV)/.base
	@$(BIN)/textlds demo

# A process per core: a second thread of OpenMP in each would only wait for the first.
# Kernels are compiled while the linters run: the tests would compile each of them once per process. The tests of a
# file share what they make, so that they stay in one process.
test: export OMP_NUM_THREADS = 1
test: $(VENV)/.dev
	$(MAKE) --jobs=2 lint kernels
	$(BIN)/pytest -n auto --dist loadfile -m "not serial"
	$(BIN)/pytest -m serial

kernels: $(VENV)/.dev
	$(BIN)/python tools/compile_kernels.py

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site, in site/: can be read without a server.
docs: $(VENV)/.dev
	$(BIN)/mkdocs build

# The same files, to the last bit, whenever and wherever a commit is built.
dist: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)
dist: $(VENV)/.dev
	$(BIN)/hatchling build
	$(BIN)/twine check --strict dist/*

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
