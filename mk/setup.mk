# SPDX-License-Identifier: GPL-2.0-only
#
# What the goals of this run need of the system: groups of tools/setup.

GOALS        := $(or $(MAKECMDGOALS),all)
CONFIG_GOALS := $(filter-out help clean distclean setup,$(GOALS))
SETUP_GROUPS := build
ifneq ($(filter run iso netboot guest,$(GOALS)),)
SETUP_GROUPS += run
endif
ifneq ($(filter bench%,$(GOALS)),)
SETUP_GROUPS += run test bench
endif
ifneq ($(filter test test-full tests-built unit mutants nested-host newer-qemu fast-bochs,$(GOALS))$(filter nested-%,$(MACHINE)),)
SETUP_GROUPS += run test
endif
ifneq ($(filter test-full guest-kernels other-kernels guest-debian,$(GOALS)),)
SETUP_GROUPS += run full
endif
ifneq ($(filter fuzz,$(GOALS)),)
SETUP_GROUPS += fuzz
endif

setup:
	@tools/setup build run test
