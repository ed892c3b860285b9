# SPDX-License-Identifier: GPL-2.0-only
#
# What the goals of this run need of the system: groups of tools/setup.

GOALS        := $(or $(MAKECMDGOALS),all)
CONFIG_GOALS := $(filter-out help clean distclean setup fresh,$(GOALS))
# By goal, the groups of tools/setup. What is installed for one is a download that somebody waits for.
groups_for    = $(if $(filter $(1),$(GOALS)),$(2))
RUN_GROUPS   := $(or $(if $(filter bochs%,$(MACHINE)),bochs),$(if $(filter nested-%,$(MACHINE)),test),qemu) \
	$(if $(filter uefi,$(FIRMWARE)),uefi)
NEED_TESTS   := test test-full tests-built quick mutants record-results docs/test-full.md nested-host newer-qemu fast-bochs \
	downloads guest-backports
SETUP_GROUPS := build \
	$(call groups_for,check format,check) \
	$(call groups_for,guest,guest) \
	$(call groups_for,iso netboot,guest iso) \
	$(call groups_for,run,guest iso $(RUN_GROUPS)) \
	$(call groups_for,unit,guest unit check) \
	$(call groups_for,bench%,test bench) \
	$(call groups_for,$(NEED_TESTS),test) \
	$(call groups_for,test-full guest-kernels other-kernels guest-debian,run full) \
	$(call groups_for,test-full guest-kernels rhel-sles-kernels,kernels) \
	$(call groups_for,cluster,guest iso qemu cluster) \
	$(call groups_for,fuzz,fuzz)

# All that `make test` downloads: after this it needs no network.
setup:
	@tools/setup build test
	@$(MAKE) downloads

DEBIAN ?= 13

fresh:
	@tools/fresh $(DEBIAN)
