# Every target sets up .venv by itself, and again only when pyproject.toml or constraints.txt changed: for the demo
# what it uses, for everything else the rest too.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
CORE := $(VENV)/.core
READY := $(VENV)/.ready

.PHONY: demo reproduce quick timings test test-slow browser java postgres lint bench docs clean
.DEFAULT_GOAL := demo

demo: $(CORE)
	$(BIN)/distpriv demo

# Two workers share two cores: threads of the linear algebra on top would only wait for each other.
quick timings test test-slow: export OPENBLAS_NUM_THREADS = 1
# They start many processes, each of which would compile the library anew where nothing may be kept of that.
quick timings test test-slow: export PYTHONDONTWRITEBYTECODE =

# Laws and refusals of all rooms, in less than a minute: what to run after every change.
quick: $(READY)
	$(BIN)/pytest -q -n 2 --dist loadgroup -m "not slow" --quick tests

# Which tests quick leaves out, measured anew.
timings: $(READY)
	$(BIN)/pytest -q -m "not slow" --timings tests

test: $(READY)
	$(BIN)/pytest -q -n 2 --dist loadgroup -m "not slow"

test-slow: $(READY)
	$(BIN)/pytest -q -n 2 --dist loadgroup -m slow

# A browser for the tests that look at pages. Where there is none and none can be installed, they are skipped.
browser:
	@if [ -n "$$DISTPRIV_CHROMIUM" ] || command -v chromium >/dev/null || command -v chromium-browser >/dev/null \
	  || command -v google-chrome >/dev/null; then :; \
	elif [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	  echo "no browser, and only root on Debian can install one here: tests that look at pages are skipped"; \
	elif ! { timeout 120 apt-get -qq update && DEBIAN_FRONTEND=noninteractive timeout 600 \
	  apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1; then \
	  echo "no browser, and chromium could not be installed: tests that look at pages are skipped"; \
	fi

# Java for the tests that run Spark, in the same way.
java:
	@if [ -n "$$JAVA_HOME" ] || command -v java >/dev/null; then :; \
	elif [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	  echo "no Java, and only root on Debian can install one here: tests that run Spark are skipped"; \
	elif ! { timeout 120 apt-get -qq update && DEBIAN_FRONTEND=noninteractive timeout 600 \
	  apt-get -qq install -y --no-install-recommends openjdk-17-jre-headless; } >/dev/null 2>&1; then \
	  echo "no Java, and none could be installed: tests that run Spark are skipped"; \
	fi

# A PostgreSQL server for the tests that keep a ledger on one, in the same way.
postgres:
	@if [ -n "$$DISTPRIV_POSTGRES" ] || command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; \
	  then :; \
	elif [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	  echo "no PostgreSQL, and only root on Debian can install one here: tests that need its server are skipped"; \
	elif ! { timeout 120 apt-get -qq update && DEBIAN_FRONTEND=noninteractive timeout 600 \
	  apt-get -qq install -y --no-install-recommends postgresql; } >/dev/null 2>&1; then \
	  echo "no PostgreSQL, and none could be installed: tests that need its server are skipped"; \
	fi

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(READY)
	$(BIN)/python -m benchmarks.planning
	$(BIN)/python -m benchmarks.tables
	$(BIN)/python -m benchmarks.commands
	$(BIN)/python -m benchmarks.scale

# The documentation site, in build/site; open index.html there. Every warning is an error.
docs: $(READY)
	$(BIN)/python -m scripts.build_site

# Every table and figure of the paper beside the published numbers, in build/paper.
reproduce: $(READY)
	$(BIN)/python -m paper

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# What cannot be had for a moment is asked for again, by pip and then all at once, before it is called missing.
define install
	@for wait in 5 15 45 none; do \
	  PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check --retries 10 $(1) && exit 0; \
	  [ $$wait = none ] || { echo "not everything could be had: trying again in $$wait seconds"; sleep $$wait; }; \
	done; \
	echo "not everything could be installed: see that the package index can be reached, and run make again"; exit 1
endef

# Nothing is compiled beforehand: the demo uses a tenth of what there is.
$(CORE): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "distpriv needs Python 3.11 or newer; say which with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(call install,--no-compile -e ".[audit]")
	@touch $@

$(READY): $(CORE)
	$(call install,-e ".[dev]")
	@touch $@
