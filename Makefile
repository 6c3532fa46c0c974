# Set-up, tests, demonstration and benchmarks without a ROS installation; `make help` lists them.
# Needs Python 3.11 with headers and venv, a C++ compiler, and the network the first time.

# Another ROS installation, or another Python's packages, must not leak in.
unexport PYTHONPATH PYTHONHOME AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH
unexport LD_LIBRARY_PATH _ROS_WHEELS_BOOTSTRAP_COMPLETE
# Modules are compiled once: every node is a process of its own, and imports some two hundred.
unexport PYTHONDONTWRITEBYTECODE

ROS_DISTRO ?= jazzy
PYTHON ?= $(or $(shell command -v python3.11),python3)

VENV_jazzy := .venv
VENV_kilted := .venv-kilted
VENV := $(VENV_$(ROS_DISTRO))
BUILD := build/$(ROS_DISTRO)
LOCK := requirements/$(ROS_DISTRO).txt
BIN := $(VENV)/bin

# A virtual environment knows its own path: a moved one is made anew.
PLACE := $(shell printf '%s' '$(CURDIR)/$(VENV)' | cksum | cut -d ' ' -f 1)
STAMP_PYTHON := $(VENV)/.stamp-python-$(PLACE)
STAMP_INTERFACES := $(VENV)/.stamp-interfaces-$(PLACE)
STAMP_PACKAGE := $(VENV)/.stamp-package-$(PLACE)
STAMP_DEVELOP := $(VENV)/.stamp-develop-$(PLACE)
STAMP_BENCH := $(VENV)/.stamp-bench-$(PLACE)
STAMP_DOCS := $(VENV)/.stamp-docs-$(PLACE)
STAMP_MUTATE := $(VENV)/.stamp-mutate-$(PLACE)

PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check --no-input
# What a lock names, without what it names in turn: by uv in seconds; where uv cannot be had, or
# does not reach the packages, by pip. --no-compile: most of the modules are never imported.
UV := $(BIN)/uv pip install --quiet --native-tls --python $(BIN)/python \
    $(if $(PIP_INDEX_URL),--default-index $(PIP_INDEX_URL))
install = { $(UV) --no-deps --no-build-isolation $(1) 2> /dev/null || { \
    echo 'uv cannot install them; pip does, which takes some minutes ...'; \
    $(PIP) install --no-deps --no-compile --no-build-isolation $(1); }; }
SOURCES := rolling_dynamics rolling_planner rolling_controller rolling_hw_interface \
    rolling_robotics rolling_node_kit evidence tools setup.py

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MINUTES ?= 120
.PHONY: help setup test test-all test-pythons test-portable faults soak mutate demo bench docs lint count golden lock release clean check-distro

help:
	@echo 'make setup     make the environment ($(or $(VENV),?)) and build the interfaces; 1 to 2 minutes'
	@echo 'make test      run the tests but the slow ones'
	@echo 'make test-all  run every test'
	@echo 'make test-pythons  test the mathematics on $(PYTHONS), those that are installed'
	@echo 'make test-portable  test the mathematics as processors without AVX-512 and without FMA do it; 4 minutes'
	@echo 'make faults    do what may go wrong on hardware, and write docs/faults.md; 20 minutes'
	@echo 'make soak      plan, execute, cancel and kill at random for MINUTES=$(MINUTES)'
	@echo 'make mutate    break what guards, see that a test notices, write the table of docs; hours'
	@echo 'make demo      plan and execute a ball on a plate, with the nodes as processes'
	@echo 'make bench     measure, print a table and write build/bench.json'
	@echo 'make docs      build the documentation as pages in build/docs'
	@echo 'make lint      check style and types'
	@echo 'make golden    compare behaviour with what test/golden holds; PARTS="simulate plans" for some'
	@echo 'make count     count lines and tokens of the code'
	@echo 'make lock      resolve requirements/*.in anew and write the lock files'
	@echo 'make release   check that nothing is a placeholder, and build sdist and wheel in build/release'
	@echo 'make clean     remove everything that the other targets made'
	@echo 'ROS_DISTRO=jazzy (default) or kilted chooses the distribution; now: $(ROS_DISTRO)'

check-distro:
	@if [ -z '$(VENV)' ]; then \
	    echo 'make: ROS_DISTRO is "$(ROS_DISTRO)", and there is no locked environment for it.' \
	        'Give ROS_DISTRO=jazzy or ROS_DISTRO=kilted, or, to use an installed' \
	        '"$(ROS_DISTRO)", build with colcon (see README.md).' >&2; \
	    exit 2; \
	fi

setup: $(if $(VENV),$(STAMP_PACKAGE) $(STAMP_DEVELOP),check-distro)

$(STAMP_PYTHON): $(LOCK) requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
	    echo 'make: Python 3.11 is needed, "$(PYTHON)" is missing or another version.' \
	        'Give the path of one: make PYTHON=/path/to/python3.11' >&2; exit 2; }
	@if [ -d $(VENV) ] && [ ! -f $@ ]; then rm -rf $(VENV) $(BUILD); fi
	@echo 'Installing $(shell grep -c == $(LOCK)) packages into $(VENV) ...'
	@$(PYTHON) -m venv $(VENV)
	@touch $(VENV)/COLCON_IGNORE
	@$(PIP) install --no-deps --no-compile -r requirements/uv.txt 2> /dev/null || true
	@$(call install,$(shell grep -E '^(setuptools|wheel)==' $(LOCK)))
	@$(call install,-r $(LOCK))
	@touch $@

$(STAMP_INTERFACES): $(STAMP_PYTHON) tools/build_interfaces.py tools/kept_builds.py \
    $(shell find rolling_interfaces -type f)
	@$(BIN)/python tools/build_interfaces.py --build-folder $(BUILD) rolling_interfaces
	@touch $@

$(STAMP_PACKAGE): $(STAMP_INTERFACES) setup.py setup.cfg pyproject.toml package.xml
	@echo 'Installing rolling_robotics into $(VENV) ...'
	@$(PIP) install --no-deps --no-index --no-build-isolation --editable .
	@touch $@

# Compiled here, or each of the processes that the tests start at once would compile them.
SHARED := numpy scipy casadi pydantic rclpy matplotlib PIL _pytest hypothesis xdist rosbags trimesh viser
$(STAMP_DEVELOP): requirements/develop.txt $(STAMP_PYTHON)
	@echo 'Installing $(shell grep -c == $<) packages for tests, checks, sweeps and the viewer ...'
	@$(call install,-r $<)
	@cd $(VENV)/lib/python3.11/site-packages && \
	    $(CURDIR)/$(BIN)/python -m compileall -q -j 0 -x /tests/ $(SHARED)
	@touch $@

$(STAMP_BENCH): requirements/bench.txt $(STAMP_PACKAGE)
	@echo 'Installing what the benchmarks compare with ...'
	@$(call install,-r $<)
	@touch $@

$(STAMP_DOCS): requirements/docs.txt $(STAMP_PACKAGE)
	@echo 'Installing what builds the documentation ...'
	@$(call install,-r $<)
	@touch $@

$(STAMP_MUTATE): requirements/mutate.txt $(STAMP_PACKAGE)
	@echo 'Installing what breaks modules to see if a test notices ...'
	@$(call install,-r $<)
	@touch $@

# Nodes wait more than they work: the tests of three modules run at a time, each on a domain of its
# own, the longest first (test/conftest.py). Files are named, since each worker would read them all.
ROS_TESTS := test/ros test/launch
ROS_PYTEST := pytest -n 3 --dist loadfile --no-loadscope-reorder --max-worker-restart 1
# The mathematics takes what they leave, at a lower priority, and is shown once they have ended.
test: setup
	@mkdir -p build
	@echo 'testing the mathematics into build/mathematics.log, and the nodes:'
	@nice -n 5 $(BIN)/python -m pytest -n auto --dist worksteal -m 'not slow and not ros' \
	    $(addprefix --ignore=,$(ROS_TESTS)) > build/mathematics.log 2>&1 & \
	mathematics=$$!; failed=0; \
	$(BIN)/python -m $(ROS_PYTEST) -m 'not slow and ros' \
	    $(ROS_TESTS) test/damaged test/test_packaging.py test/test_written_before.py \
	    || failed=1; \
	wait $$mathematics || failed=1; \
	cat build/mathematics.log; exit $$failed

test-all: setup
	$(BIN)/python -m pytest -n auto --dist worksteal -o faulthandler_timeout=15000 -m 'not ros'
	$(BIN)/python -m $(ROS_PYTEST) -o faulthandler_timeout=4000 -m ros

# One at a time: the times in the page are those of a node, not of how many run beside it.
FAULTS := $(CURDIR)/build/faults.jsonl
faults: setup
	@mkdir -p build && rm -f $(FAULTS)
	ROLLING_FAULTS=$(FAULTS) $(BIN)/python -m pytest -m fault test
	$(BIN)/python tools/fault_page.py $(FAULTS)

soak: setup
	$(BIN)/python -m evidence.benchmarks.soak --minutes $(MINUTES)

# The mathematics without ROS on the other Pythons of the wheel; one file there stands on nodes.
PYTHONS := python3.10 python3.12
MATHEMATICS := $(addprefix test/,ball_balancer contract controller dynamics hybrid_contact \
    internal_masses pendulum_sphere planner scenario spin_rolling)
test-pythons:
	@for python in $(PYTHONS); do \
	    if ! $$python -c 'import venv' 2>/dev/null; then \
	        echo "$$python is not installed: left out"; continue; \
	    fi; \
	    folder=build/$$(basename $$python); \
	    $$python -m venv $$folder && touch $$folder/COLCON_IGNORE && \
	    $$folder/bin/python -m pip --quiet --disable-pip-version-check install pytest-xdist \
	        --editable '.[mesh,predictive,sweep,test]' && \
	    $$folder/bin/python -m pytest -q -n auto --dist worksteal -m 'not slow and not ros' \
	        --ignore=test/controller/test_following_bounds.py $(MATHEMATICS) || exit 1; \
	done

# The mathematics as other processors do it. Each setting also has OpenBLAS take its functions for
# such a processor; a plain one is emulated, OpenBLAS does not know it by itself. The start-up of the
# ROS packages would leave the emulator. PORTABLE names what is tested; CI tests a part.
WITHOUT_AVX512 := NPY_DISABLE_CPU_FEATURES='X86_V4 AVX512_ICL AVX512_SPR' OPENBLAS_CORETYPE=Haswell
WITHOUT_FMA := GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-AVX2 OPENBLAS_CORETYPE=Nehalem
PLAIN := _ROS_WHEELS_BOOTSTRAP_COMPLETE=1 OPENBLAS_CORETYPE=Nehalem qemu-x86_64 -cpu Nehalem
PORTABLE ?= $(MATHEMATICS) test/test_written_before.py
EMULATED := $(addprefix test/,scenario/test_read_alike.py test_written_before.py \
    dynamics/test_rotations.py dynamics/test_spinning_plate.py)
test-portable: setup
	for setting in "$(WITHOUT_AVX512)" "$(WITHOUT_FMA)"; do \
	    eval "$$setting" $(BIN)/python -m pytest -q -n auto --dist worksteal \
	        -m "'not slow and not ros'" $(PORTABLE) || exit 1; \
	done
	@if command -v qemu-x86_64 > /dev/null; then \
	    $(PLAIN) $(BIN)/python -m pytest -q -n 0 -m 'not slow and not ros' $(EMULATED); \
	else \
	    echo 'qemu-x86_64 (Debian: qemu-user) is not installed: a plain x86-64 was not tested'; \
	fi

demo: $(if $(VENV),$(STAMP_PACKAGE),check-distro)
	$(BIN)/rolling demo ball_on_plate

bench: setup $(if $(VENV),$(STAMP_BENCH))
	$(BIN)/python -m evidence.benchmarks

# From nothing each time: what an earlier run left may be of other sources. Plugins of pytest that
# no test of guards needs would take as long to load as a test takes; each mutant loads them.
mutate: setup $(if $(VENV),$(STAMP_MUTATE))
	nice -n 19 $(BIN)/python tools/mutate.py
	$(BIN)/python tools/mutation_table.py

docs: setup $(if $(VENV),$(STAMP_DOCS)) build/gallery/.written
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo 'open build/docs/index.html'

build/gallery/.written: docs/gallery.md $(wildcard docs/beside/* config/scenarios/*) $(STAMP_DEVELOP) \
    $(shell find rolling_dynamics rolling_controller rolling_robotics/page -name '*.py' -o -name '*.js')
	$(BIN)/python tools/gallery.py build/gallery
	@touch $@

lint: setup
	$(BIN)/ruff check $(SOURCES) test $(wildcard launch)
	$(BIN)/ruff format --check $(SOURCES) test $(wildcard launch)
	$(BIN)/mypy $(SOURCES)
	$(BIN)/python tools/words.py

count: setup
	@$(BIN)/python tools/count.py

golden: setup
	$(BIN)/python tools/golden.py compare $(PARTS)

lock: setup
	$(BIN)/python tools/lock.py

release: setup
	$(BIN)/python tools/release.py

clean:
	rm -rf docs/api $(VENV_jazzy) $(VENV_kilted) build install log dist *.egg-info
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
