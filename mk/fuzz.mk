# SPDX-License-Identifier: GPL-2.0-only
#
# How fuzz targets are built. Each tests/fuzz/fuzz_*.c is one; its
# UNIT line names what is linked and flags, as in unit tests (here also vmm/?*.c,
# and !vmm/a.c for one that the target includes instead), its FUZZ line
# libFuzzer's options and, where it is not all that is linked, what it is for.

FUZZERS      := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_REPLAYS := $(FUZZERS:%=$(B)/fuzz-replay/%)

# A fuzz target is built three ways: with libFuzzer, with a main() that replays
# a corpus (`make test`, gcc), and the latter with clang's coverage.
FUZZFLAGS := -std=gnu17 -g -O2 -fno-strict-aliasing -fno-omit-frame-pointer \
	-Wall -Wextra -Werror -Iinclude -I. -include $(B)/unit/config.h
FUZZ_CHECKS := -fsanitize=address,undefined -fno-sanitize-recover=all
# Edges only: tracing comparisons makes everything several times slower and finds no more. memcmp() and its like
# stay calls, which libFuzzer watches for keywords.
FUZZ_GUIDE  := -fsanitize-coverage=inline-8bit-counters,pc-table -fno-builtin-memcmp -fno-builtin-strcmp -fno-builtin-strncmp
# clang warns where a parameter has no name, which gcc takes in every C.
fuzz_cc        := clang -Wno-c2x-extensions $(FUZZ_CHECKS)
fuzz-replay_cc := $(CC) $(FUZZ_CHECKS)
# tools/fuzz says where a run writes its profile; one by hand must not leave it in the tree.
fuzz-cov_cc    := clang -Wno-c2x-extensions -fprofile-instr-generate=$(abspath $(B))/fuzz-cov/default.profraw -fcoverage-mapping

fuzz_sources = $(filter-out $(patsubst !%,%,$(filter !%,$(1))),$(wildcard $(filter %.c,$(filter-out !%,$(1)))))

# $(1): target, $(2): the words of its UNIT line, $(3): fuzz, fuzz-replay or fuzz-cov.
fuzz_folder = $(B)/$(2)/$(call flags_name,$(1))
define fuzz_rules
$(3)_$(1)_OBJS := $(patsubst %.c,$(call fuzz_folder,$(2),$(3))/%.o,tests/fuzz/$(1).c $(call fuzz_sources,$(2)) \
	$(if $(filter fuzz,$(3)),,tests/fuzz/replay.c))
$(B)/$(3)/$(1): $$($(3)_$(1)_OBJS) $(call unit_lists,$(2))
	$$(call say,FUZZ,$$@)
	$$(Q)$$($(3)_cc) $(if $(filter fuzz,$(3)),-fsanitize=fuzzer) -o $$@ $$(filter %.o,$$^) $(filter -l%,$(2))
FUZZ_OBJS += $$($(3)_$(1)_OBJS)
$(if $(filter $(call fuzz_folder,$(2),$(3)),$(FUZZ_FOLDERS)),,\
$(call fuzz_objects,$(call fuzz_folder,$(2),$(3)),$(call unit_flags,$(2)),$(3)))
endef

# $(1): a folder of objects, $(2): the flags that they are compiled with, too, $(3): as above. Targets share them.
# Only what is tested guides the fuzzer, not the target's own checks.
define fuzz_objects
FUZZ_FOLDERS += $(1)
$(1)/%.o: %.c $(B)/unit/config.h mk/fuzz.mk mk/compiler.mk
	$$(call say,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$$($(3)_cc) $(if $(filter fuzz,$(3)),$$(if $$(filter tests/%,$$<),,$$(FUZZ_GUIDE))) $$(FUZZFLAGS) \
		$(2) -MMD -MP -c -o $$@ $$<
endef
