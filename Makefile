# The front door. The build itself is CMakeLists.txt; the packages it needs are in tools/setup.sh.
PREFIX ?= /usr/local
BUILD := build
RUNS ?= 1000000
JOBS := $(shell nproc 2>/dev/null || echo 2)
DEMO := $(BUILD)/pathgcn train sbm --out $(BUILD)/demo --overwrite --seeds 3
SOURCES = $(shell find include src python tests examples -name '*.[ch]')

MAKEFLAGS += --no-print-directory

all: setup-build build

help:
	@echo 'make               install missing packages, build $(BUILD)/pathgcn and the libraries'
	@echo 'make setup         install what the program and pip install ./python need, and build nothing'
	@echo 'make demo          build, then train a first model'
	@echo 'make test          build with warnings as errors, run all tests'
	@echo 'make test-full     in addition: sanitizers, clang, valgrind'
	@echo 'make test-peers    every network beside PyTorch Geometric; installs it in $(BUILD)/peers (PEERS_PYTHON: not);'
	@echo '                   then the wheel with the oldest and newest NumPy, SciPy, scikit-learn, and PyTorch'
	@echo 'make test-pages    reports of several runs, opened in headless Chromium; pictures in $(BUILD)/pages/shots'
	@echo 'make wheel         the Python package as one file for pip, in $(BUILD)/wheel'
	@echo 'make test-arm64    build for aarch64, run the unit tests under qemu (Debian on x86-64)'
	@echo 'make test-packages the walk-through of docs/OWN_DATA.md from deb and tarball, on fresh Debians (root)'
	@echo 'make bench         kernels, models beside PyTorch (PATHGCN_DATA has cora/, pubmed/), loading'
	@echo 'make bench-full    in addition large graphs and scaling (an hour, 16 GB); writes the tables'
	@echo 'make bench-peers   networks beside PyTorch Geometric, some hours; environment as of test-peers'
	@echo 'make fuzz          libFuzzer on every reader, RUNS inputs each (now $(RUNS); 60s: a minute)'
	@echo 'make install       to PREFIX (now $(PREFIX)), below DESTDIR if set'
	@echo 'make deb           Debian packages in $(BUILD)/deb'
	@echo 'make tarball       the program for machines without root: $(BUILD)/pathgcn-VERSION-linux-ARCH.tar.gz'
	@echo 'make docs          write docs/api.md from the header'
	@echo 'make format        clang-format all C files; format-check only looks'
	@echo 'make clean         remove the build directories'

setup:
	@tools/setup.sh python

build:
	@cmake -S . -B $(BUILD) $(CONFIGURE) --log-level=WARNING
	@cmake --build $(BUILD) -j$(JOBS)

demo: setup-build build
	$(DEMO)

test: CONFIGURE = -DPATHGCN_TESTS=ON -DPATHGCN_WERROR=ON
test: setup-test build
	@ctest --test-dir $(BUILD) -j$(JOBS) --output-on-failure

test-full: setup-full test
	@tools/test-full.sh

test-peers: CONFIGURE = -DPATHGCN_TESTS=ON
test-peers: setup-test
	@cmake -S . -B $(BUILD) $(CONFIGURE) --log-level=WARNING
	@cmake --build $(BUILD) -j$(JOBS) --target peers_dump
	@PATHGCN_BUILD=$(BUILD) tests/peers/run.sh
	@PATHGCN_BUILD=$(BUILD) tests/peers/python.sh

test-pages: setup-pages build
	@PATHGCN_BUILD=$(BUILD) tests/pages/run.sh

wheel: setup
	@tools/wheel.sh $(BUILD)/wheel

test-arm64:
	@tools/test-arm64.sh

test-packages: deb tarball
	@tools/test-packages.sh

bench bench-full bench-peers: CONFIGURE = -DPATHGCN_BENCH=ON
bench: setup-bench build
	@bench/run.sh

bench-full: setup-bench build
	@bench/run.sh --full
	@$(MAKE) bench-tables

bench-peers: setup-bench build
	@bench/peers.sh

bench-tables:
	@bench/tables.py --write docs/PERFORMANCE_RECORD.md $(BUILD)/bench/*.jsonl

fuzz: setup-full
	@tools/fuzz.sh all $(RUNS)

setup-build setup-test setup-full setup-bench setup-deb setup-pages:
	@tools/setup.sh $(@:setup-%=%)

# Before anything is built: may we write to PREFIX, or to what would be the parent of it?
writable:
	@place='$(DESTDIR)$(PREFIX)'; \
	while [ ! -e "$$place" ]; do place=$$(dirname "$$place"); done; \
	for at in "$$place" '$(DESTDIR)$(PREFIX)'/bin '$(DESTDIR)$(PREFIX)'/lib '$(DESTDIR)$(PREFIX)'/share; do \
		if [ -e "$$at" ] && [ ! -w "$$at" ]; then \
			echo "pathgcn: you may not write to $$at, and PREFIX is $(PREFIX); run it as root, or choose a" \
				"PREFIX of your own: make install PREFIX=\$$HOME/.local" >&2; \
			exit 1; \
		fi; \
	done

# The program needs no ldconfig, programs that link -lpathgcn do.
install: CONFIGURE = -DCMAKE_INSTALL_PREFIX=$(PREFIX)
install: writable setup-build build
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD)
	@if [ -z '$(DESTDIR)' ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

deb: setup-deb
	@tools/deb.sh

tarball: setup-build
	@tools/tarball.sh

format:
	@clang-format -i $(SOURCES)

docs:
	@tools/make_api_docs.sh > docs/api.md

format-check:
	@clang-format --dry-run --Werror $(SOURCES)

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-clang $(BUILD)-fuzz $(BUILD)-arm64

.PHONY: all help setup build demo test test-full test-pages test-peers test-arm64 test-packages wheel bench bench-full \
	bench-peers bench-tables fuzz writable install deb tarball docs format format-check clean setup-test setup-full \
	setup-bench setup-build setup-deb setup-pages
# `make -j` must not build while packages are still being installed.
.NOTPARALLEL:
