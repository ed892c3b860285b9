# SPDX-License-Identifier: GPL-2.0-only
#
# The runs of tests: pytest, fuzzing, mutants, and what `make check` judges without them.

FUZZ          ?= $(FUZZERS:fuzz_%=%)
FUZZ_SECONDS  ?= 60
PYTEST        := $(PYTHON) -m pytest

# They count what is done, from outside of whatever runs: memory accesses, instructions.
PLUGINS := $(B)/qemu_memory.so $(B)/qemu_code.so

tests-built: all $(B)/cpuid-list $(UNIT_BINARIES) $(FUZZ_REPLAYS) $(GUEST) $(TOOLS) guest-backports $(TINY) \
	$(PLUGINS) $(G)/initrd-drivers newer-qemu fast-bochs

$(PLUGINS): $(B)/%.so: tests/system/%.c tests/qemu_plugin.h mk/tests.mk mk/compiler.mk
	$(call say,HOSTCC,$@)
	$(Q)$(CC) -std=gnu17 -O2 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -o $@ $<

unit: $(UNIT_BINARIES) $(FUZZ_REPLAYS) $(GUEST) $(B)/margay.elf $(B)/margay $(B)/margay-check
	@$(PYTEST) tests/unit

# What tests/quick.py takes of units it builds itself.
.PHONY: quick
quick: all check $(GUEST) $(G)/initrd-drivers fast-bochs
	@tests/quick.py $(if $(BASE),--base '$(BASE)')

# Two emulators at a time: the test machines have two cores.
test: tests-built
	@$(PYTEST) -n 2 --dist loadgroup tests

# SHARD=2/10 runs an Nth, and what of it is finished at this commit only with FRESH=1 (tests/shard.py).
ifneq ($(and $(SHARD),$(filter test-full,$(GOALS))),)
WRONG := $(shell $(PYTHON) tests/shard.py '$(SHARD)' 2>&1)
$(if $(WRONG),$(error $(WRONG)))
endif
RESULTS := $(B)/results

test-full: tests-built nested-host guest-kernels other-kernels rhel-sles-kernels guest-debian
	@$(PYTEST) -n 2 --dist loadgroup --full --results $(RESULTS) $(if $(SHARD),--shard $(SHARD) $(if $(FRESH),--fresh)) tests

# What runs left under build/results goes into the tree, and rides along with the next commit.
.PHONY: record-results
record-results: | $(B)/.config
	$(Q)tests/full_tier.py record $(RESULTS)
	$(Q)tests/full_tier.py document > $(B)/test-full.md && mv $(B)/test-full.md docs/test-full.md

.PHONY: docs/test-full.md
docs/test-full.md: | $(B)/.config
	$(call say,DOC,$@)
	$(Q)tests/full_tier.py document > $(B)/test-full.md && mv $(B)/test-full.md $@

fuzz: $(foreach f,$(FUZZ),$(B)/fuzz/fuzz_$(f) $(B)/fuzz-cov/fuzz_$(f))
	@tools/fuzz --seconds $(FUZZ_SECONDS) $(if $(RECORD),--record) $(FUZZ)

# Gives copies of the tree one bug at a time; keeps the kill rate in docs/mutants.md. MUTATE= passes further options.
mutants: tests-built
	@$(PYTHON) tests/mutants/run.py $(if $(SEED),--seed $(SEED)) $(if $(SINCE),--since '$(SINCE)') \
		$(if $(MUTANTS),--number $(MUTANTS)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(JOBS),--jobs $(JOBS)) $(MUTATE)

.PHONY: sizes
sizes: $(B)/auto.conf
	$(Q)tools/margay_configs.py sizes > $(B)/sizes.md.new && mv $(B)/sizes.md.new $(B)/sizes.md
	@cat $(B)/sizes.md

# The objects of the default image are judged: this build's, where it makes that image. It is not compiled with LTO.
DEFAULT_B = $(if $(shell grep -xs 'image default' $(B)/image-options),$(B),$(B)/configs/default)
.PHONY: check-objects draw-layers
check-objects draw-layers: $(B)/image-options
	$(Q)[ $(DEFAULT_B) = $(B) ] || $(MAKE) B=$(DEFAULT_B) default_defconfig
	$(Q)$(MAKE) B=$(DEFAULT_B) objects
	@tools/check-objects $(if $(filter draw-layers,$@),--write) $(DEFAULT_B)/objects.list

check: $(B)/cpuid-list check-objects
	@tools/check-layers
	@tools/check-source
	@tools/check-format
	@tools/check-functions
	@tools/check-ternaries
	@$(B)/cpuid-list | cmp -s - docs/cpuid.md || { echo 'docs/cpuid.md is old: make docs/cpuid.md' >&2; exit 1; }
	@tools/test-catalogue --check

# All C as .clang-format has it.
.PHONY: format
format: | $(B)/.config
	@tools/check-format --write

# The list of what a guest does not see, from the tables that decide it.
.PHONY: docs/cpuid.md
docs/cpuid.md: $(B)/cpuid-list
	$(call say,DOC,$@)
	$(Q)$< > $@

# What each test shows, by the first comment of its file.
.PHONY: docs/test-catalogue.md
docs/test-catalogue.md:
	$(call say,DOC,$@)
	$(Q)tools/test-catalogue > $@.new && mv $@.new $@ || { rm -f $@.new; exit 1; }
