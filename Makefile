# Every target sets up .venv first if it has to; `make help` lists them.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# Extra arguments for pytest, e.g. make test PYTEST_ARGS="-k layout -x"
PYTEST_ARGS ?=

# Extra arguments for the benchmark, e.g. make bench BENCH_ARGS="--only novel --quick"
BENCH_ARGS ?=
BENCH      := .venv-bench

# Which machines `make machines` pretends to be; all of tests/machines.py unless said.
MACHINES ?=

# How long `make fuzz` searches with each of its four targets, once the property tests are done.
FUZZ_SECONDS ?= 600
# How many damaged and hostile run folders it tries.
FUZZ_RUNS ?= 10000

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup extension site run test check machines notebooks page fuzz mutants bench notes format clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1|\2/p' $(MAKEFILE_LIST) | \
	  while IFS='|' read -r target text; do printf '  %-12s %s\n' "$$target" "$$text"; done

# The stamp is newer than the two files that decide what is installed, or set-up runs again.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet \
	  -c constraints.txt -e ".[dev]"
	@touch $@

setup: $(STAMP) ## make .venv and install the package with its tools into it

run: $(STAMP) ## train a UGRNN and a transformer side by side for two minutes, and let them talk
	$(BIN)/indicial compare ugrnn transformer --data people --minutes 2 --samples

# Tests start many processes, and none should compile again what another has compiled.
unexport PYTHONDONTWRITEBYTECODE

# Side by side: a worker for each core, and who has nothing left takes over from the others.
PARALLEL := -n auto --dist worksteal

# Kernels of most tests are compiled in a hurry (tests/compile/conftest.py); `make check` has all as users have them.
test: export HASTY := 1
test: $(STAMP) ## run the tests, the snippets of the documents among them, but for the long ones
	$(BIN)/python -m pytest $(PARALLEL) -m "not long" $(PYTEST_ARGS)

# What the tests in the browser need: the system's Chromium or one that is fetched. Where there is no way to
# get it they are skipped, and say so.
$(VENV)/.browser: $(STAMP) tests/chromium.py
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt -e ".[browser]" \
	  && $(BIN)/python -m tests.chromium && touch $@ || echo "no tests in the browser"

check: $(STAMP) $(VENV)/.browser ## everything CI runs: format, lint, types, all tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest $(PARALLEL) $(PYTEST_ARGS)

machines: $(STAMP) ## run the tests that compute as other machines would (MACHINES="v2 bare" for some)
	$(BIN)/python -m tests.machines $(MACHINES) -- $(PYTEST_ARGS)

# A sheet is the source of its notebook; tests/claims finds one that was not made again.
SHEETS ?= $(filter-out docs/problems/README.md,$(wildcard docs/problems/*.md))
notebooks: $(STAMP) ## make the notebooks of docs/problems again (SHEETS=docs/problems/heads.md for one)
	$(BIN)/indicial notebook $(SHEETS) --run

# Nothing else needs Node: what is built lies in the package. A test finds a bundle that was not built again.
web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	cd web && npm ci --silent --no-fund --no-audit --ignore-scripts

page: $(STAMP) web/node_modules/.package-lock.json ## type-check, test and bundle the page of `indicial lab` (needs Node)
	$(BIN)/python -m indicial.page.wire > web/src/protocol.ts
	cd web && npm run --silent types && node build.mjs --test && node build.mjs

vscode/node_modules/.package-lock.json: vscode/package.json vscode/package-lock.json
	cd vscode && npm ci --silent --no-fund --no-audit --ignore-scripts

extension: $(STAMP) vscode/node_modules/.package-lock.json ## build, try and package the extension for VS Code (needs Node)
	mkdir -p dist && cp LICENSE vscode/LICENSE
	cd vscode && npm run --silent build && INDICIAL=../$(BIN)/indicial npm test --silent && npm run --silent package

# The generator is only needed here, so it is installed when it is.
SITE := build/website
site: $(STAMP) ## make a site of the documents, the problem sheets and the library, links checked
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt -e ".[site]"
	$(BIN)/python website/build.py $(SITE)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --config-file $(SITE)/mkdocs.yml
	@echo "the site is in $(SITE)/site; to look at it: python -m http.server -d $(SITE)/site"

# The second half is guided by coverage; it is left out where its tool cannot be installed.
fuzz: $(STAMP) ## look long for texts and run folders that break it (FUZZ_SECONDS for each of four searches)
	HYPOTHESIS_PROFILE=fuzz $(BIN)/python -m pytest -n auto -m hypothesis $(PYTEST_ARGS)
	$(BIN)/python -m tests.fuzz.run_folders $(FUZZ_RUNS) --seed $$(date +%s)
	$(BIN)/python -m tests.fuzz.tables $(FUZZ_RUNS) --seed $$(date +%s)
	if $(BIN)/python -m pip install --disable-pip-version-check --quiet \
	    -c constraints.txt -e ".[fuzz]"; then \
	  for what in plain latex document whole; do \
	    $(BIN)/python tests/fuzz/target.py $$what -max_total_time=$(FUZZ_SECONDS) || exit 1; \
	  done; \
	fi

# One process, a minute or less for each; the maps say which tests call what, and are made first.
MUTANTS_ARGS ?= --count 200 --seed 1
mutants: $(STAMP) ## put faults into the code, one at a time: do tests notice? (MUTANTS_ARGS=--help)
	$(BIN)/python tests/mutants.py --map .mutants $(MUTANTS_ARGS)

# The peers are large and nothing else needs them, so they have an environment of their own.
$(BENCH)/.installed: pyproject.toml constraints.txt bench/requirements.txt bench/constraints.txt
	test -x $(BENCH)/bin/pip || $(PYTHON) -m venv $(BENCH)
	$(BENCH)/bin/python -m pip install --disable-pip-version-check --quiet \
	  -c constraints.txt -c bench/constraints.txt -r bench/requirements.txt -e .
	@touch $@

bench: $(BENCH)/.installed ## measure the speed beside PyTorch, JAX and others (BENCH_ARGS=--help)
	$(BENCH)/bin/python -m bench $(BENCH_ARGS)

# The notes themselves are not part of the project; where they are not there, it says so.
NOTES_ARGS ?=
notes: $(STAMP) ## score how real notes are read, by hand-made labels (NOTES_ARGS="--set final --verbose")
	$(BIN)/python -m bench.notes score $(NOTES_ARGS)

format: $(STAMP) ## rewrite the code as `make check` wants it
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove .venv, caches and build products
	rm -rf $(VENV) $(BENCH) web/node_modules vscode/node_modules vscode/out vscode/LICENSE build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .fuzz
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
