# SPDX-License-Identifier: GPL-2.0-only
#
# How unit tests are built.

# The second line of a unit test or fuzzer names what is linked with it:
# /* UNIT: path/a.c path/b.c */ (flags of the compiler, too: -DX=y).
unit_line = $(shell sed -n '2s,^/\* UNIT: *\(.*[^ ]\) *\*/ *$$,\1,p' $(1))
UNITS    := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
# No tests themselves: tests and tools run them.
READERS  := read_machine read_cpus replay_machine
UNITFLAGS := -std=gnu17 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer \
	-Wall -Wextra -Werror -Iinclude -I. -include $(B)/unit/config.h

# Objects are per test: a test may compile its sources with flags of its own.
define unit_rules
$(1)_FLAGS := $(filter-out -l%,$(filter -%,$(2)))
$(1)_OBJS := $(patsubst %.c,$(B)/unit/$(1).d/%.o,tests/unit/$(1).c $(filter %.c,$(2)))
$(B)/unit/$(1).d/%.o: %.c $(B)/unit/config.h mk/unit.mk mk/compiler.mk
	$$(call say,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$(CC) $(UNITFLAGS) $$($(1)_FLAGS) -MMD -MP -c -o $$@ $$<
$(B)/unit/$(1): $$($(1)_OBJS)
	$$(call say,UNIT,$$@)
	$$(Q)$(CC) -fsanitize=address,undefined -o $$@ $$^ $(filter -l%,$(2)) -lcmocka
-include $$($(1)_OBJS:.o=.d)
endef

include mk/fuzz.mk

ifneq ($(filter test test-full unit fuzz mutants check tests-built $(B)/unit/% $(B)/fuzz%,$(GOALS)),)
$(foreach u,$(UNITS),$(eval $(call unit_rules,$(u),$(call unit_line,tests/unit/$(u).c))))
$(foreach u,$(READERS),$(eval $(call unit_rules,$(u),$(call unit_line,tests/unit/$(u).c))))
$(foreach v,fuzz fuzz-replay fuzz-cov,$(foreach f,$(FUZZERS),\
	$(eval $(call fuzz_rules,$(f),$(call unit_line,tests/fuzz/$(f).c),$(v)))))
endif

UNIT_BINARIES := $(patsubst %,$(B)/unit/%,$(UNITS) $(READERS))
