# SPDX-License-Identifier: GPL-2.0-only
#
# The one Makefile: configuration, image, ISO, tools, tests. `make help` lists
# the targets; each file of mk/ has one concern. Everything that is made lies under build/.
#
# V=1 shows the commands. MACHINE=qemu|bochs|bochs-svm|kvm|nested-svm|nested-vtx chooses what `make run` boots.

MAKEFLAGS += -rR --no-print-directory
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

B       := build
export MARGAY_BUILD := $(abspath $(B))
# Debian's own interpreter: it is the one that sees Debian's Python packages.
PYTHON  := /usr/bin/python3
Q       := $(if $(filter 1,$(V)),,@)
say      = $(if $(filter 1,$(V)),@:,@printf '  %-7s %s\n' $(1) $(2))
MACHINE ?= qemu
DEFCONFIGS := $(wildcard configs/*_defconfig)

.SUFFIXES:
.DELETE_ON_ERROR:
.PHONY: all iso install netboot
.PHONY: run guest test test-full check unit fuzz mutants setup fresh help clean distclean menuconfig savedefconfig tests-built

all: $(B)/margay.elf $(B)/margay-check $(B)/margay

include mk/times.mk
include mk/help.mk
include mk/compiler.mk
include mk/setup.mk
include mk/config.mk
include mk/image.mk
include mk/host-tools.mk
include mk/guest.mk
include mk/packages.mk
include mk/media.mk
include mk/tiny.mk
include mk/unit.mk
include mk/tests.mk
include mk/bench.mk

clean:
	@rm -rf $(filter-out $(B)/.config $(B)/guest $(B)/wheels,$(wildcard $(B)/* $(B)/.pytest_cache))

distclean:
	@rm -rf $(B)
