# SPDX-License-Identifier: GPL-2.0-only
#
# How unit tests are built.

# The second line of a unit test or fuzzer names what is linked with it:
# /* UNIT: path/a.c path/b.c */ (flags of the compiler, too: -DX=y). @path/list.sources stands for the words of that file,
# in which lines with a # are comments. tests/unit_lines.py reads the same.
unit_line  = $(shell sed -n '2s,^/\* UNIT: *\(.*[^ ]\) *\*/ *$$,\1,p' $(1))
unit_list  = $(or $(words-$(1)),$(eval words-$(1) := $(shell sed '/^#/d' $(1)))$(words-$(1)))
unit_words = $(foreach w,$(1),$(if $(filter @%,$(w)),$(w) $(call unit_words,$(call unit_list,$(w:@%=%))),$(w)))
unit_of    = $(call unit_words,$(call unit_line,$(1)))
UNITS    := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
# No tests themselves: tests and tools run them.
READERS  := read_machine read_cpus replay_machine
UNITFLAGS := -std=gnu17 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer \
	-Wall -Wextra -Werror -Iinclude -I. -include $(B)/unit/config.h

# A test may compile its sources with flags of its own. Tests that have the same flags share their objects: the folder is
# named after the flags.
unit_flags  = $(filter-out -l%,$(filter -%,$(1)))
flags_name  = obj$(subst =,_,$(subst $(empty) $(empty),,$(call unit_flags,$(1))))
unit_folder = $(B)/unit/$(call flags_name,$(1))
unit_usual  := address,undefined
unit_runs   = -fsanitize=$(if $(filter -fsanitize=thread,$(1)),thread,$(unit_usual))
unit_lists  = $(patsubst @%,%,$(filter @%,$(1)))

# $(1): the test, $(2): its words.
define unit_rules
$(1)_OBJS := $(patsubst %.c,$(call unit_folder,$(2))/%.o,tests/unit/$(1).c $(filter %.c,$(2)))
$(B)/unit/$(1): $$($(1)_OBJS) $(call unit_lists,$(2))
	$$(call say,UNIT,$$@)
	$$(Q)$(CC) $(call unit_runs,$(2)) -o $$@ $$(filter %.o,$$^) $(filter -l%,$(2)) -lcmocka
UNIT_OBJS += $$($(1)_OBJS)
$(if $(filter $(call unit_folder,$(2)),$(UNIT_FOLDERS)),,$(call unit_objects,$(call unit_folder,$(2)),$(call unit_flags,$(2))))
endef

# $(1): a folder of objects, $(2): the flags that they are compiled with, too.
define unit_objects
UNIT_FOLDERS += $(1)
$(1)/%.o: %.c $(B)/unit/config.h mk/unit.mk mk/compiler.mk
	$$(call say,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$(CC) $(UNITFLAGS) $(2) -MMD -MP -c -o $$@ $$<
endef

include mk/fuzz.mk

ifneq ($(filter test test-full unit fuzz mutants check tests-built $(B)/unit/% $(B)/fuzz%,$(GOALS)),)
$(foreach u,$(UNITS) $(READERS),$(eval $(call unit_rules,$(u),$(call unit_of,tests/unit/$(u).c))))
$(foreach v,fuzz fuzz-replay fuzz-cov,$(foreach f,$(FUZZERS),\
	$(eval $(call fuzz_rules,$(f),$(call unit_of,tests/fuzz/$(f).c),$(v)))))
-include $(patsubst %.o,%.d,$(sort $(UNIT_OBJS) $(FUZZ_OBJS)))
endif

UNIT_BINARIES := $(patsubst %,$(B)/unit/%,$(UNITS) $(READERS))
