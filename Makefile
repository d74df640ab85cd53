# Everything runs in .venv, which the first target that needs it sets up.
# To choose the Python that makes it: make test PYTHON=/path/to/python

.DEFAULT_GOAL := help
.PHONY: help demo test check thorough bench chaos versions services connectors laws errors proofs expected docs format clean java browser agda

BIN   := .venv/bin
READY := .venv/.ready
DOCS  := .venv/.docs

# Pythons to try, in order; the first that is 3.11 to 3.14 and has venv and ensurepip is used.
PYTHONS := $(PYTHON) python3.13 python3.12 python3.11 python3.14 python3 python
SUITABLE := import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))
REUSABLE := import sys, pip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))

# `make test PYTEST_ARGS="-k order"` narrows the run; `XDIST=` runs it in one process.
XDIST ?= -n auto --maxprocesses=8 --dist loadgroup
PYTEST_ARGS ?=

# `make bench SCALE=0.1` runs the benchmarks on tables, NEXMark and Spark with a tenth of the data.
SCALE ?= 1

# `make chaos TRIALS=200` disturbs more runs.
TRIALS ?= 50

# The versions of PySpark that `make versions` tries.
VERSIONS ?= 4.1.0 4.3.0

# Agda's standard library: the directory that has Data/Nat.agda.
AGDA_STDLIB ?= /usr/share/agda-stdlib

# Byte code is kept, also where the environment says otherwise: to compile the tests anew takes each process 8 s.
export PYTHONDONTWRITEBYTECODE :=

# Keeps pyright from asking the network for a newer version of itself.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

help: ## print this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

demo: $(READY) java ## run the demo
	@$(BIN)/python -m examples.demo

test: $(READY) java ## run the whole test suite
	$(BIN)/python -m pytest $(XDIST) $(PYTEST_ARGS)

check: $(READY) java ## lint, formatting, types and the fast tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest $(XDIST) -m "not slow" -x -q $(PYTEST_ARGS)

thorough: $(READY) $(DOCS) java browser ## everything that takes too long for make test, and crash trials
	$(BIN)/python -m pytest $(XDIST) --thorough $(PYTEST_ARGS)
	@$(BIN)/python -m tests.spark.chaos --trials $(TRIALS)

bench: $(READY) java ## run the benchmarks
	@$(BIN)/python -m benchmarks.calculus
	@$(BIN)/python -m benchmarks.exploration
	@$(BIN)/python -m benchmarks.columnar --scale $(SCALE)
	@$(BIN)/python -m benchmarks.latency --scale $(SCALE)
	@$(BIN)/python -m benchmarks.growth --scale $(SCALE)
	@$(BIN)/python -m benchmarks.memory --scale $(SCALE)
	@$(BIN)/python -m benchmarks.recursion --scale $(SCALE)
	@$(BIN)/python -m benchmarks.nexmark --scale $(SCALE)
	@$(BIN)/python -m benchmarks.spark --scale $(SCALE)
	@$(BIN)/python -m benchmarks.hot_keys --scale $(SCALE)

chaos: $(READY) java ## crash trials on Spark: make chaos TRIALS=50
	@$(BIN)/python -m tests.spark.chaos --trials $(TRIALS)

versions: $(READY) java ## a smoke test on the oldest and newest PySpark, and on the lowest versions of all dependencies
	@mkdir -p build; for version in $(VERSIONS); do \
	  there=build/pyspark-$$version; \
	  sed "s/^pyspark==.*/pyspark==$$version/" constraints.txt > build/constraints.txt && \
	  $(BIN)/python -m venv $$there && \
	  $$there/bin/python -m pip install --quiet --disable-pip-version-check -e '.[spark]' -c build/constraints.txt && \
	  $$there/bin/python -m tests.spark.smoke || exit 1; \
	done
	@$(BIN)/python -m venv build/lowest && \
	  build/lowest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-lowest.txt \
	    -e '.[spark,verify,postgresql,sqlite,duckdb,protobuf]' && \
	  build/lowest/bin/python -m tests.lowest && build/lowest/bin/python -m tests.spark.smoke

services: $(READY) java ## a broker of Kafka and a database for the tutorials, until Ctrl-C
	@command -v pg_ctl >/dev/null || ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 || { \
	  echo "Installing PostgreSQL ..."; if [ "$$(id -u)" = 0 ]; then run=; else run="sudo -n"; fi; \
	  { command -v apt-get >/dev/null && $$run apt-get update -q && $$run apt-get install -qy postgresql; } || \
	  { command -v dnf >/dev/null && $$run dnf install -qy postgresql-server; } || \
	  { command -v brew >/dev/null && brew install --quiet postgresql; } || true; }
	@$(BIN)/python -m tests.connectors build/services.env

connectors: $(READY) java ## Kafka, Delta, Iceberg and databases, real ones on loopback
	$(BIN)/python -m pytest --connectors tests/connectors -rs $(PYTEST_ARGS)

laws: $(READY) ## check all that is shipped, and write docs/laws.md
	@$(BIN)/python -m tests.verify.laws_table

errors: $(READY) ## write docs/errors.md from the code
	@$(BIN)/python -m tests.errors_page

proofs: agda ## check the proofs of the metatheory with Agda (docs/proofs.md)
	@! grep -rnE 'postulate|trustMe|TERMINATING|NON_COVERING|NO_POSITIVITY|REWRITE' proofs --include='*.agda'
	@! grep -rL --include='*.agda' -e '^{-# OPTIONS --safe #-}' proofs | grep .
	cd proofs && agda --safe --no-libraries -i . -i $(AGDA_STDLIB) Everything.agda

expected: agda $(READY) ## compute proofs/Flo/Expected.agda anew, after a change of proofs/Flo/Runs.agda
	@AGDA_STDLIB=$(AGDA_STDLIB) $(BIN)/python -m tests.proofs.expected

docs: $(DOCS) ## build the documentation site, build/docs/index.html
	$(BIN)/python -m sphinx -q -E -W --keep-going -b html docs build/docs
	@echo "Open build/docs/index.html"

format: $(READY) ## fix what ruff can fix, then format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

clean: ## remove caches and build products (keeps .venv)
	@rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks
	@find . \( -name .venv -o -name .git \) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# Spark runs on Java 17 or newer: a missing one is installed where that is allowed without a password.
java:
	@version=$$($${JAVA_HOME:+"$$JAVA_HOME/bin/"}java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p'); \
	if [ "$${version:-0}" -lt 17 ]; then \
	  echo "Installing a Java runtime (17 or newer is needed, $${version:-none} found) ..."; \
	  if [ "$$(id -u)" = 0 ]; then run=; else run="sudo -n"; fi; \
	  { command -v apt-get >/dev/null && $$run apt-get update -q && $$run apt-get install -qy default-jre-headless; } || \
	  { command -v dnf >/dev/null && $$run dnf install -qy java-latest-openjdk-headless; } || \
	  { command -v brew >/dev/null && brew install --quiet openjdk; } || { \
	    echo "No Java was installed. Install Java 17 or 21, or name one: make JAVA_HOME=/path/to/java" >&2; exit 1; }; \
	fi

# The proofs need Agda 2.6.2 or newer and its standard library 1.7: they are installed where that needs no password.
agda:
	@command -v agda >/dev/null && [ -f $(AGDA_STDLIB)/Data/Nat.agda ] || { \
	  echo "Installing Agda and its standard library ..."; \
	  if [ "$$(id -u)" = 0 ]; then run=; else run="sudo -n"; fi; \
	  { command -v apt-get >/dev/null && $$run apt-get update -q && $$run apt-get install -qy agda-bin agda-stdlib; } || { \
	    echo "No Agda was installed. Install Agda 2.6.2 with its standard library 1.7, and name where that is:" >&2; \
	    echo "make proofs AGDA_STDLIB=/path/to/its/src" >&2; exit 1; }; \
	}

# The tests of pages run in Chromium: a missing one is installed where that is allowed, or else they are skipped.
browser:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ]; then run=; else run="sudo -n"; fi; \
	{ command -v apt-get >/dev/null && echo "Installing Chromium for the tests of pages ..." && \
	  $$run apt-get install -qqy --no-install-recommends chromium >/dev/null 2>&1; } || \
	echo "No Chromium: the tests of pages are skipped."

$(READY): pyproject.toml constraints.txt
	@if ! $(BIN)/python -c '$(REUSABLE)' >/dev/null 2>&1; then \
	  found=; \
	  for python in $(PYTHONS); do \
	    if "$$python" -c '$(SUITABLE)' >/dev/null 2>&1; then found="$$python"; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "No suitable Python found: Flo needs Python 3.11 to 3.14 with the venv and ensurepip modules." >&2; \
	    echo "Install one (Debian and Ubuntu keep venv in a package of its own, python3-venv)," >&2; \
	    echo "or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python" >&2; \
	    exit 1; \
	  fi; \
	  "$$found" -m venv --clear .venv; \
	fi
	@echo "Setting up .venv with $$($(BIN)/python --version) (about a minute, only when dependencies change) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' -c constraints.txt
	@touch $@

# The packages that build the documentation site; tests other than the thorough ones do without them.
$(DOCS): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]' -c constraints.txt
	@touch $@
