# flashkeep's workshop. `make help` lists what there is; each target builds only what has changed.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
SHELL := /bin/bash

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

RUST := $(shell find crates drives -type f -not -name '*.md' 2>/dev/null) Cargo.toml Cargo.lock
PYTHON := $(shell find python tests examples benches docs -name '*.py' -o -name '*.pyi' 2>/dev/null)

# Tests run a build of their own (profile `checked` in Cargo.toml): quick to make, and with debug assertions. The crates'
# tests and the extension share its one compilation of the model.
CHECKED := --profile checked
PYTEST := $(BIN)/pytest --quiet --numprocesses auto --dist loadgroup

.PHONY: help build demo man docs test test-all lint test-rust test-python bench lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: $(STAMPS)/built ## the command .venv/bin/flashkeep, and the Python package in .venv

# The first result comes from a build that is quick to make; `make build` makes the faster one.
demo: ## a plain drive against a mirrored one, under a build server's workload
	@$(MAKE) --no-print-directory $(if $(wildcard $(STAMPS)/built),$(STAMPS)/built,$(STAMPS)/quick)
	$(BIN)/flashkeep compare synth:sirf-build 1CNM-64 2CM-128

man: build ## the manual page, where man finds it while .venv/bin is on the PATH
	@mkdir -p $(VENV)/share/man/man1
	$(BIN)/flashkeep man > $(VENV)/share/man/man1/flashkeep.1

docs: $(STAMPS)/venv ## the documentation as a site, in site/index.html
	@$(BIN)/python -c 'import flashkeep' 2>/dev/null || $(MAKE) --no-print-directory build
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

test: lint test-rust test-python ## what a change must pass: formats, lints, types, tests

test-all: export FLASHKEEP_FULL := 1
test-all: test build ## the same, then every paper, and all tests of the command line on the build that users get
	$(PYTEST)

lint: $(STAMPS)/linted-rust $(STAMPS)/linted-python ## formats, lints and types only

test-rust: Cargo.lock ## the tests of the crates
	cargo test --locked --quiet $(CHECKED)

test-python: $(STAMPS)/checked ## the tests of the command line and of the Python package, with one paper
	$(PYTEST) -m "not full"

# A drive file's defaults are the drive that docs and peers were measured with, so an empty file is enough.
bench: build ## requests simulated a second: small random requests, and large sequential writes that collect
	@touch $(STAMPS)/defaults.toml
	@for workload in synth:random,requests=1M,write=0.5,size=4KiB,footprint=8GiB,rate=125k \
	                 synth:sequential,requests=1M,write=1,size=64KiB,footprint=8GiB,depth=32; do \
	    echo $$workload; \
	    for run in 1 2 3; do \
	        $(BIN)/flashkeep run $(STAMPS)/defaults.toml $$workload --json \
	            | $(BIN)/python -c 'import json, sys; print("  ", json.load(sys.stdin)["run"])'; \
	    done; \
	done

lock: ## pin requirements-dev.in anew (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
	    --custom-compile-command "make lock" --upgrade requirements-dev.in -o requirements-dev.txt

clean: ## forget all that was built
	rm -rf $(VENV) target site .mypy_cache .ruff_cache .pytest_cache .hypothesis python/flashkeep/*.so
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The first Python that is new enough and can make virtual environments.
$(STAMPS)/venv: requirements-dev.txt
	@for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	    if $$python -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        echo "$$python -m venv $(VENV)"; $$python -m venv --clear $(VENV) && break; \
	    fi; \
	done; test -x $(BIN)/python || { echo "no Python 3.11 or newer with its venv module here" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@mkdir -p $(@D) && touch $@

$(STAMPS)/built: $(STAMPS)/venv $(RUST) pyproject.toml
	@command -v cargo >/dev/null || { echo "flashkeep is built with Rust; there is no cargo on the PATH" >&2; exit 1; }
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --quiet
	$(BIN)/python -m compileall -q python/flashkeep
	@rm -f $(STAMPS)/checked $(STAMPS)/quick && touch $@

$(STAMPS)/quick: $(STAMPS)/venv $(RUST) pyproject.toml
	@command -v cargo >/dev/null || { echo "flashkeep is built with Rust; there is no cargo on the PATH" >&2; exit 1; }
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --profile fast --quiet
	$(BIN)/python -m compileall -q python/flashkeep
	@rm -f $(STAMPS)/checked && touch $@

# It takes the place of the build above, which `make build` puts back.
$(STAMPS)/checked: $(STAMPS)/venv $(RUST) pyproject.toml
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop $(CHECKED) --quiet
	@rm -f $(STAMPS)/built $(STAMPS)/quick && touch $@

$(STAMPS)/linted-rust: $(STAMPS)/venv $(RUST) rustfmt.toml clippy.toml
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets --quiet -- -D warnings
	@touch $@

$(STAMPS)/linted-python: $(STAMPS)/venv $(PYTHON) pyproject.toml
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy --no-error-summary
	@touch $@

Cargo.lock: ;
