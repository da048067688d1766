# `make` lists the targets. Everything is installed into .venv, nothing elsewhere.
#   PYTHON=python3.12   another interpreter (the environment is made again when its version changes)
#   ARGS="-k random"    arguments for pytest or the demo
#   LOCKED=1            install the versions of requirements/dev.lock, not the newest
#   MINUTES=5           how long each soak of check-all lasts
#   QUICK=1 PARTS="kernel prediction"    a benchmark of minutes, and only these parts of it
PYTHON ?= python3
VENV := .venv
ARGS ?=

BIN := $(VENV)/bin
# --no-compile: bytecode of what is never imported takes as long as the downloads.
INSTALL := $(BIN)/python -m pip -qq --disable-pip-version-check install --no-compile
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
# Where the published corpora are, if anywhere: the benchmarks read them.
export BAYESPA_DATA ?= $(abspath $(wildcard ../shared/data))
export PIP_CONSTRAINT ?= $(if $(LOCKED),$(abspath requirements/dev.lock))
CORES := $(shell getconf _NPROCESSORS_ONLN)
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(CORES)

.DEFAULT_GOAL := help
.PHONY: help demo serve test lowest coverage check-all lint lock same-bits wheels aarch64 clang wheel-test asan tsan fuzz bench docs licences pages examples clean preflight

help:  ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

demo: $(VENV)/.extra-plot  ## learn 20 arXiv categories from a stream and write demo-output/report.html
	$(BIN)/bayespa demo $(ARGS)

serve: $(VENV)/.extra-serve  ## serve arXiv abstracts that arrive as a stream, with a page to review them: http://localhost:8000/
	$(BIN)/python -m bayespa.serve.demo $(ARGS)

test: $(VENV)/.extra-test  ## run the whole test suite
	$(BIN)/pytest -n $(CORES) $(ARGS)

# DeprecationWarnings are no errors there: old versions call what newer ones of others deprecate.
lowest:  ## run the tests with the lowest versions that pyproject.toml allows, in .venv-lowest
	mkdir -p build && $(PYTHON) tools/lowest.py >build/lowest.txt
	PIP_CONSTRAINT=$(abspath build/lowest.txt) $(MAKE) VENV=.venv-lowest ARGS="-W ignore::DeprecationWarning $(ARGS)" test

coverage: $(VENV)/.extra-dev  ## run the tests and write build/coverage/index.html: lines and branches they reach
	$(BIN)/pytest -n $(CORES) --cov --cov-report=term:skip-covered --cov-report=html:build/coverage $(ARGS)

lock: $(VENV)/.extra-dev  ## write requirements/dev.lock: the versions of today that fit together, for every Python
	$(INSTALL) uv
	$(BIN)/python tools/install_build_tools.py --list | $(BIN)/uv pip compile --quiet --universal --python-version 3.10 \
	  --no-header --no-annotate --upgrade --extra dev --extra docs --output-file requirements/dev.lock pyproject.toml -

# Threads that ask while another learns; BAYESPA_THREADS_SECONDS says how long.
THREADS := tests/topics/test_value.py::test_four_threads_ask_while_one_learns
check-all: $(VENV)/.extra-test  ## run what .ci/run does not: thread sanitizer, wheels, Clang, lowest versions, fuzzing, soak, benchmark
	$(MAKE) tsan
	$(MAKE) clang
	$(MAKE) wheels
	$(MAKE) aarch64
	$(MAKE) lowest
	BAYESPA_MOMENTS=50 $(BIN)/pytest -n $(CORES) tests/test_whole_texts.py
	$(BIN)/python -m fuzz.mutations --number 6000
	$(BIN)/python -m fuzz.signals --tries 100
	$(BIN)/python -m fuzz.texts --number 100000
	BAYESPA_KILLS=100 $(BIN)/pytest --timeout 1800 tests/serve/test_kill.py
	BAYESPA_KILLS=20 $(BIN)/pytest --timeout 1800 tests/test_workers.py
	$(INSTALL) schemathesis && $(BIN)/python -m fuzz.service --seconds 600
	BAYESPA_THREADS_SECONDS=60 $(BIN)/pytest -n $(CORES) $(THREADS)
	BAYESPA_THREADS_SECONDS=60 $(MAKE) tsan ARGS="$(THREADS)"
	$(MAKE) fuzz
	$(BIN)/python -m benchmarks.soak --minutes $(or $(MINUTES),30)
	$(BIN)/python -m benchmarks.serve --minutes $(or $(MINUTES),30)
	$(MAKE) bench

lint: $(VENV)/.extra-dev  ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

same-bits: $(VENV)/.extra-test  ## run the tests that compare bits as on older machines: no AVX-512, no AVX
	$(BIN)/python tools/same-bits -n $(CORES) $(ARGS)

wheel-test: $(VENV)/.build-tools  ## build sdist and wheel, install the wheel elsewhere with the lowest versions and use it there
	tools/wheel-test $(BIN)/python

wheels: $(VENV)/.extra-wheels  ## build the wheels of a release into dist/, and use them; ARGS="3.12 aarch64": only these
	$(BIN)/python tools/wheels.py $(ARGS)

# What another processor or compiler could change: kernels beside their twins, golden files, hashes of models.
OTHER_COMPILERS := $(addprefix tests/, test_dispatch.py test_elementary.py test_evidence.py test_files.py test_linalg.py \
  test_medhdp_exact.py test_medhdp_step.py test_medlda_step.py test_random.py test_text_native.py linear/test_steps.py \
  test_same_bits.py::test_bits_are_those_of_earlier_commits)
aarch64: $(VENV)/.extra-test  ## run the aarch64 wheel of dist/ under emulation: the same bits as here
	tools/aarch64 $(BIN)/python $(or $(ARGS),$(OTHER_COMPILERS))

clang: preflight  ## build with Clang, in .venv-clang: the same bits as with GCC
	CXX=clang++ SKBUILD_BUILD_DIR=build/clang $(MAKE) VENV=.venv-clang ARGS="$(or $(ARGS),$(OTHER_COMPILERS))" test

asan: $(VENV)/.extra-test  ## run the native tests with the address and undefined-behaviour sanitizers
	tools/sanitize $(BIN)/python address $(ARGS)

tsan: $(VENV)/.extra-test  ## run the native tests with the thread sanitizer
	tools/sanitize $(BIN)/python thread $(ARGS)

bench:  ## measure speed, accuracy and memory beside other programs, in .venv-bench; QUICK=1 takes minutes
	$(MAKE) VENV=.venv-bench .venv-bench/.peers
	.venv-bench/bin/python -m benchmarks $(PARTS) $(if $(QUICK),--quick)

fuzz: $(VENV)/.extra-test  ## feed readers and model files mutated input: SECONDS=45 for each of 16 targets
	$(INSTALL) atheris
	$(BIN)/python -m fuzz --seconds $(or $(SECONDS),45) $(ARGS)

docs: $(VENV)/.extra-docs  ## build the documentation into build/docs
	$(BIN)/sphinx-build -q -W --keep-going docs build/docs
	@echo "documentation: build/docs/index.html"

licences: $(VENV)/.extra-test  ## list the licences of dependencies in docs/licences.md
	$(BIN)/python tools/licences.py

pages: $(VENV)/.extra-test  ## put what the examples of the documentation print and draw now into its pages
	$(BIN)/python tools/pages.py README.md docs/*.md docs/guides/*.md

examples: $(VENV)/.extra-test  ## run examples/ again: keep what notebooks show, draw the pictures of docs/examples.md
	$(BIN)/python tools/notebooks.py examples/*.ipynb
	$(BIN)/python tools/gallery.py

clean:  ## remove everything that was built
	rm -rf $(VENV) .venv-bench .venv-clang .venv-lowest build dist demo-output serve-output .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests tools benchmarks docs examples -name __pycache__ -prune -exec rm -rf {} +

# The environment, in stamp files: a step runs again only when what it depends on has changed.
preflight:
	@PYTHON="$(PYTHON)" tools/preflight

$(VENV)/.python-$(VERSION): | preflight
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.build-tools: $(VENV)/.python-$(VERSION) pyproject.toml tools/install_build_tools.py | preflight
	$(INSTALL) build
	$(BIN)/python tools/install_build_tools.py
	@touch $@

# Editable, so Python files need no new install; without build isolation, so that only changed C++ is compiled.
$(VENV)/.package: $(VENV)/.build-tools CMakeLists.txt $(wildcard native/*) | preflight
	$(INSTALL) --no-build-isolation --editable .
	@touch $@

$(VENV)/.peers: $(VENV)/.package benchmarks/requirements.txt
	$(INSTALL) -r benchmarks/requirements.txt
	@touch $@

$(VENV)/.extra-%: $(VENV)/.package
	$(INSTALL) "bayespa[$*]"
	@touch $@
