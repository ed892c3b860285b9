# SPDX-License-Identifier: GPL-2.0-only
#
# The one Makefile: configuration, image, ISO, tools, tests. `make help` lists
# the targets. Everything that is made lies under build/.
#
# V=1 shows the commands. MACHINE=qemu|bochs|kvm|nested-svm|nested-vtx chooses what `make run` boots.

MAKEFLAGS += -rR --no-print-directory
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

B       := build
export MARGAY_BUILD := $(abspath $(B))
# Debian's own interpreter: it is the one that sees Debian's Python packages.
PYTHON  := /usr/bin/python3
CC      := gcc
LD      := ld
NASM    := nasm
STRIP   := strip
Q       := $(if $(filter 1,$(V)),,@)
say      = $(if $(filter 1,$(V)),@:,@printf '  %-7s %s\n' $(1) $(2))
MACHINE ?= qemu
DEFCONFIGS := $(wildcard configs/*_defconfig)

.SUFFIXES:
.DELETE_ON_ERROR:
.PHONY: all iso install netboot
.PHONY: run guest test test-full check unit fuzz mutants setup help clean distclean menuconfig savedefconfig tests-built

all: $(B)/margay.elf $(B)/margay-check $(B)/margay

help:
	@echo 'Times: on two cores, the first time; downloads come on top. What takes long says how far it is.'
	@echo 'make                  the image, build/margay.elf (multiboot2), build/margay-check, and build/margay, the'
	@echo '                      program of a VM that commands the node (a minute)'
	@echo 'make iso              build/margay.iso: the image with one Debian guest, for a CD, a USB stick or an emulator'
	@echo '                      (two minutes)'
	@echo 'make install          into this system (or DESTDIR=): /boot/margay and entries for update-grub (docs/booting.md;'
	@echo '                      seconds when the image is made)'
	@echo 'make netboot          build/netboot: a directory for TFTP and HTTP, with GRUB for BIOS and UEFI (docs/booting.md;'
	@echo '                      two minutes)'
	@echo 'make run              boot it in QEMU, the guest console on this terminal; Ctrl-] leaves (the prompt'
	@echo '                      comes within a minute, on Bochs and nested KVM within six)'
	@echo '                      MACHINE=bochs: on Bochs (VT-x); MACHINE=kvm: on nested KVM; CPUS=, MEMORY=, NUMA=: of the node'
	@echo '                      MACHINE=nested-svm, nested-vtx: on the KVM of a Linux host that QEMU or Bochs emulates'
	@echo '                      FIRMWARE=uefi; MEDIUM=usb or net: how it boots, in QEMU'
	@echo 'make guest            the guest under build/guest: kernel of Debian, busybox initrd (a minute)'
	@echo 'make nested-host      that host, under build/guest (a minute)'
	@echo 'make newer-qemu       a QEMU with an AMD IOMMU that works, under build (ten seconds; downloads 60 MB)'
	@echo 'make deb              Debian packages under build: margay, margay-tools, margay-guest-dkms (seconds)'
	@echo 'make guest-package    the module for guests with dma = window, as a Debian package for DKMS (seconds)'
	@echo 'make guest-kernels    kernels for the full tier with that built in: downloads and builds two (half an hour)'
	@echo 'make other-kernels    kernels of Debian 11, Ubuntu 22.04 and backports for the full tier: downloads three'
	@echo '                      (ten minutes)'
	@echo 'make guest-debian     Debian systems on disks, for the full tier: downloads them (some minutes)'
	@echo 'make test             unit and whole-machine tests on both emulators, as CI runs them (40 minutes)'
	@echo 'make test-full        the whole matrix (hours); keeps the results in docs/test-full.md'
	@echo 'make unit             build and run the unit tests only (ten minutes, then two)'
	@echo 'make tiny             the tiny guests of tests/guest, under build/tests-guest (half a minute)'
	@echo 'make bench            native, Margay and KVM by instructions (hours): bench-exits, -exits-vtx, -ipi, -rates,'
	@echo '                      -rates-vtx, -mitigations, -mitigations-vtx, -noise, -boot, -workloads, -hpcc, -memory, -walk,'
	@echo '                      -dma, -devices, -direct;'
	@echo '                      bench-npb NPB=CLONE: the NAS Parallel Benchmarks of your clone (docs/performance.md)'
	@echo 'make fuzz             run each fuzz target for FUZZ_SECONDS (60; all: half an hour); FUZZ=name: that one only;'
	@echo '                      RECORD=1: add the executions to docs/fuzzing.md'
	@echo 'make mutants          which of 100 single bugs the tests see (hours); SEED=N: other ones, MUTANTS= of them'
	@echo 'make check            layer rules, conventions of the source, generated documents (seconds)'
	@echo 'make docs/cpuid.md    write the list of CPU features that guests do not see, from the tables that decide it'
	@echo 'make sizes            the size of the image by feature, as a table: build/sizes.md (ten minutes or more)'
	@echo 'make setup            install what is missing, through apt; the other targets do it by themselves (minutes)'
	@echo 'make menuconfig       choose the features of the image'
	@echo 'make <name>_defconfig start from configs/<name>_defconfig:' $(patsubst configs/%_defconfig,%,$(DEFCONFIGS))
	@echo 'make savedefconfig    write the choice as build/defconfig, minimal'
	@echo 'make clean            remove what was built, keep the configuration and the downloaded guest'
	@echo 'make distclean        remove build/'

# ---- what must be installed, and the configuration ------------------------

GOALS        := $(or $(MAKECMDGOALS),all)
CONFIG_GOALS := $(filter-out help clean distclean setup,$(GOALS))
SETUP_GROUPS := build
ifneq ($(filter run iso netboot guest,$(GOALS)),)
SETUP_GROUPS += run
endif
ifneq ($(filter bench%,$(GOALS)),)
SETUP_GROUPS += run test bench
endif
ifneq ($(filter test test-full tests-built unit mutants nested-host newer-qemu,$(GOALS))$(filter nested-%,$(MACHINE)),)
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

export KCONFIG_CONFIG := $(B)/.config
kconfig = $(PYTHON) -m

ifneq ($(CONFIG_GOALS),)
include $(B)/auto.conf

# Runs before anything else, since make has to have the included file.
.PHONY: needed
needed:
	@tools/setup $(SETUP_GROUPS)

$(B)/.config: Kconfig | needed
	@mkdir -p $(B)
	$(Q)if [ -e $@ ]; then $(kconfig) olddefconfig Kconfig; \
	else $(kconfig) defconfig --kconfig Kconfig configs/default_defconfig; fi >/dev/null
	@touch $@

# The same for make, for C, and as one file per option that is touched when that option changes (tools/fixdep).
$(B)/auto.conf: $(B)/.config
	$(call say,CONFIG,$@)
	$(Q)$(kconfig) genconfig --config-out $@ --header-path $(B)/config.h --sync-deps=$(B)/config Kconfig
	@touch $@
endif

# Unit tests and fuzzers see every feature, whatever the image has.
$(B)/unit/config.h: Kconfig
	@mkdir -p $(@D)
	$(Q)export KCONFIG_CONFIG=$(B)/unit/.config; $(kconfig) allyesconfig Kconfig >/dev/null && \
		$(kconfig) genconfig --header-path $@ Kconfig
	@touch $@

%_defconfig: configs/%_defconfig | needed
	@mkdir -p $(B)
	$(Q)$(kconfig) defconfig --kconfig Kconfig $<

menuconfig: $(B)/.config
	$(Q)$(kconfig) menuconfig Kconfig

savedefconfig: $(B)/.config
	$(Q)$(kconfig) savedefconfig --kconfig Kconfig --out $(B)/defconfig
	@cat $(B)/defconfig

# ---- the image --------------------------------------------------------------

A    := arch/x86_64
DIRS := $(addprefix $(A)/,boot cpu iommu stage2 vmx svm) drivers kernel $(wildcard kernel/*/) vmm $(wildcard vmm/*/)
DIRS := $(DIRS:%/=%)

include features.mk
FEATURES := $(patsubst files-%,%,$(filter files-%,$(.VARIABLES)))
ABSENT   := $(foreach f,$(FEATURES),$(if $(CONFIG_$(f)),,$(files-$(f))))

CSRC := $(filter-out $(ABSENT),$(sort $(foreach d,$(DIRS),$(wildcard $(d)/*.c))))
ASRC := $(filter-out $(ABSENT),$(sort $(foreach d,$(DIRS),$(wildcard $(d)/*.asm))))

# Of what -Oz leaves on, some make code larger all the same. The whole program is compiled as one.
SMALLER  := -Oz -fno-jump-tables -fno-if-conversion -fno-shrink-wrap \
	-fno-tree-dominator-opts -fno-move-loop-invariants -fno-ipa-sra -fno-code-hoisting -fno-tree-coalesce-vars \
	-fno-forward-propagate -fno-partial-inlining -fno-caller-saves -fno-optimize-sibling-calls -fno-move-loop-stores \
	-fmerge-all-constants
SMALL    := $(SMALLER) -fno-inline-functions-called-once -fshort-enums -flto=1 -flto-partition=one
OPTIMIZE := $(if $(CONFIG_OPTIMIZE_SIZE),$(SMALL),$(if $(CONFIG_OPTIMIZE_DEBUG),-Og,-O2)) \
	$(if $(CONFIG_BACKTRACE),-fno-omit-frame-pointer) \
	$(if $(CONFIG_MITIGATIONS),-mindirect-branch=thunk-extern -mindirect-branch-register -fno-jump-tables)
# Objects by what they were compiled with: the flags here, of which the folder's name is a digest, the options that they
# mention by tools/fixdep.
O    := $(B)/obj/$(firstword $(shell echo '$(strip $(OPTIMIZE))' | sha1sum))
OBJS := $(CSRC:%.c=$(O)/%.o) $(ASRC:%.asm=$(O)/%.asm.o)
LDS  := $(A)/boot/margay.lds

WARN   := -Wall -Wextra -Werror -Wshadow -Wundef -Wmissing-prototypes -Wstrict-prototypes -Wvla
CFLAGS := -std=gnu17 $(OPTIMIZE) -g -ffreestanding -fno-pic -fno-pie -mcmodel=kernel -mno-red-zone \
	-mgeneral-regs-only -mpreferred-stack-boundary=3 -malign-data=abi -fno-stack-protector -fno-strict-aliasing \
	-fno-common -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fcf-protection=none -mskip-rax-setup \
	$(WARN) -Iinclude -I. -include $(B)/config.h
# Made fast is what runs at an exit of a guest, an interrupt or a kick; the rest runs once, or at a command, and is made
# small. `make bench-exits` counts what an exit takes, and a profile of it (docs/performance.md) shows what is missing here.
HOT := $(addprefix $(A)/,svm/lean svm/run svm/state vmx/lean vmx/run vmx/state cpu/apic) \
	$(addprefix kernel/,host nmi pci/msi string time/timer work) \
	vmm/event vmm/vcpu vmm/cpuid/cpuid_get \
	$(addprefix vmm/emulate/,arithmetic decode decode_operand emulate emulate_mem io lean_mmio mmio strings) \
	$(addprefix vmm/exit/,cpuid cr exit hypercall msr) $(addprefix vmm/memory/,gpa_map guest_mem guest_walk) \
	$(addprefix vmm/dev/,ioapic lapic lapic_ipi lapic_regs lapic_timer pvclock uart16550) vmm/pci/pci_msi
$(filter-out $(HOT:%=$(O)/%.o),$(CSRC:%.c=$(O)/%.o)): CFLAGS += $(if $(CONFIG_OPTIMIZE_SPEED),$(SMALLER))
# Jumps through a table are calls of another kind, which a guest could train.
$(O)/$(A)/svm/lean.o $(O)/$(A)/vmx/lean.o: CFLAGS += -fno-jump-tables
# A function that calls nothing has no frame; a backtrace from it leaves its caller out.
$(HOT:%=$(O)/%.o): CFLAGS += $(if $(CONFIG_OPTIMIZE_SPEED),-momit-leaf-frame-pointer)
# Not -Wall: newer versions then warn of every relocation that the entry code needs.
NASMFLAGS := -f elf64 -g -F dwarf -Werror -I$(A)/
LINK := $(CC) $(CFLAGS) -nostdlib -static -no-pie -T $(LDS) \
	-Wl,--gc-sections,-z,max-page-size=0x1000,-z,noexecstack,--build-id=none,--no-warn-rwx-segments,--fatal-warnings

# GCC 12 loses what an `asm goto` has put into a variable that another one sets, too.
$(O)/$(A)/cpu/safe.o: CFLAGS += -ftree-coalesce-vars

# The compiler calls these by itself, after it has seen the whole program.
$(O)/kernel/string.o: CFLAGS += -fno-lto

$(O)/%.o: %.c Makefile
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -MMD -c -o $@ $< && tools/fixdep $(@:.o=.d) $(B)

# -MD of NASM 2.16 forgets what a file takes in.
$(O)/%.asm.o: %.asm Makefile
	$(call say,NASM,$<)
	@mkdir -p $(@D)
	$(Q)$(NASM) $(NASMFLAGS) -M -MF $(@:.o=.d) -MQ $@ -MP $< && $(NASM) $(NASMFLAGS) -o $@ $<

-include $(OBJS:.o=.d)

# The release that this becomes, and what git says of the tree; VERSION= says something else.
$(B)/version: VERSION FORCE
	@mkdir -p $(B)
	@git=$$(git describe --always --dirty --abbrev=12 2>/dev/null); text=$(or $(VERSION),$$(cat VERSION)$${git:+-$$git}); \
	echo "$$text" | cmp -s - $@ || echo "$$text" > $@
$(O)/kernel/version.o: $(B)/version
$(O)/kernel/version.o: CFLAGS += -DMARGAY_VERSION='"$(shell cat $(B)/version)"'

# The objects and directories of the last link: a file that goes away relinks.
$(B)/objects.list: FORCE
	@mkdir -p $(B)
	@echo '$(OBJS)' | cmp -s - $@ || echo '$(OBJS)' > $@
.PHONY: FORCE

ifdef CONFIG_SCREEN
FONT := $(B)/font.o
$(O)/$(A)/boot/entry.asm.o: NASMFLAGS += -DCONFIG_SCREEN
endif
WORLD := $(foreach d,svm vmx,$(O)/$(A)/$(d)/run.asm.o $(O)/$(A)/$(d)/run_clean.asm.o)
ifdef CONFIG_LEAN_EXITS
$(WORLD): NASMFLAGS += -DCONFIG_LEAN_EXITS
endif
$(WORLD): $(wildcard $(B)/config/lean/exits.h)
# It asks the loader for a framebuffer, or does not.
$(O)/$(A)/boot/entry.asm.o: $(wildcard $(B)/config/screen.h)

$(B)/font.S: tools/mkfont /usr/share/grub/ascii.h
	$(call say,FONT,$@)
	$(Q)tools/mkfont > $@

$(B)/font.o: $(B)/font.S
	$(Q)$(CC) -c -o $@ $<

ifdef CONFIG_SYMBOLS
# Two passes: the symbol table comes last in its section, so that it does not
# move what it names.
$(B)/margay.pass1.elf: $(OBJS) $(FONT) $(LDS) $(B)/objects.list
	$(call say,LD,$@)
	$(Q)$(LINK) -o $@ $(OBJS) $(FONT)

$(B)/symtab.S: $(B)/margay.pass1.elf tools/mksyms
	$(call say,SYMS,$@)
	$(Q)tools/mksyms $< > $@

$(B)/symtab.o: $(B)/symtab.S
	$(Q)$(CC) -c -o $@ $<

$(B)/margay.elf: $(OBJS) $(FONT) $(B)/symtab.o $(LDS)
	$(call say,LD,$@)
	$(Q)$(LINK) -o $@ $(OBJS) $(FONT) $(B)/symtab.o
else
$(B)/margay.elf: $(OBJS) $(FONT) $(LDS) $(B)/objects.list
	$(call say,LD,$@)
	$(Q)$(LINK) -o $@ $(OBJS) $(FONT)
endif

# ---- tools for the build host -----------------------------------------------

# A VM file is checked for an image with every feature.
HOSTCFLAGS := -std=gnu17 -O2 -g $(WARN) -Iinclude -I. -include $(B)/unit/config.h

CHECKS := $(wildcard vmm/config/*.c) $(addprefix vmm/load/,load_check.c bzimage.c elf.c multiboot.c) \
	$(wildcard kernel/boot/cmdline*.c) kernel/span.c kernel/pci/pci_facts.c \
	$(addprefix arch/x86_64/cpu/,microcode.c mitigations.c mitigation_words.c)

$(B)/margay-check $(B)/margay-check-dynamic: tools/margay-check.c $(CHECKS) $(wildcard $(addsuffix *.h,$(sort $(dir $(CHECKS))))) \
		include/margay/span.h $(B)/unit/config.h $(B)/version Makefile
	$(call say,HOSTCC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HOSTCFLAGS) $(if $(filter %-dynamic,$@),$(HARDEN)) -DMARGAY_VERSION='"$(shell cat $(B)/version)"' -o $@ \
		$(filter %.c,$^)

# For the VM that commands the node, whatever libraries that has: static. In a package it is not.
CLIENT := $(wildcard tools/commander/*.c) vmm/commander/sha256.c
CLIENT_FLAGS = -std=gnu17 -O2 -g $(WARN) -Iinclude -I. -DMARGAY_VERSION='"$(shell cat $(B)/version)"'
$(B)/margay $(B)/margay-dynamic: $(CLIENT) $(wildcard tools/commander/*.h vmm/commander/sha256.h) include/margay/commander.h \
		$(B)/version Makefile
	$(call say,HOSTCC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CLIENT_FLAGS) $(if $(filter %-dynamic,$@),$(HARDEN),-static) -o $@ $(CLIENT)

$(B)/cpuid-list: tools/cpuid-list.c tools/cpuid-differences.c $(wildcard vmm/cpuid/cpuid_table*.c vmm/cpuid/*.h) \
		$(B)/unit/config.h Makefile
	$(call say,HOSTCC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HOSTCFLAGS) -o $@ $(filter %.c,$^)

# ---- the guest, the ISO, and a run ------------------------------------------

G     := $(B)/guest
GUEST := $(G)/vmlinuz $(G)/vmlinux $(G)/initrd

guest: $(GUEST)
$(GUEST) &: tools/guest-image tools/margay_initrd.py $(wildcard tests/system/guest/*) | $(B)/.config
	$(Q)tools/guest-image $(G)

# For single tests only, so that the guest itself stays small.
TOOLS := $(G)/initrd-topology $(G)/initrd-cyclictest
$(TOOLS): $(G)/initrd-%: $(G)/initrd tools/guest-image
	$(Q)tools/guest-image --$* $(G)

# For the tests of passthrough.
$(G)/initrd-drivers: $(G)/initrd tools/guest-image tools/guest-module include/margay/abi.h \
		$(wildcard guest-patches/margay-guest/* $(G)/vmlinuz-backports) | guest-backports
	$(Q)tools/guest-image --drivers $(G)

# The emulated host of the machines nested-svm and nested-vtx, with this system's QEMU.
.PHONY: nested-host
NESTED := $(G)/initrd-nested $(G)/vmlinuz-nested
nested-host: $(NESTED)
$(NESTED) &: $(G)/vmlinuz $(G)/vmlinux tools/nested-host $(wildcard tools/nested/*) tools/margay_initrd.py \
		/usr/bin/qemu-system-x86_64
	$(Q)tools/nested-host $(G)

# For the machines with an AMD IOMMU.
.PHONY: newer-qemu
newer-qemu:
	$(Q)tools/newer-qemu $(CURDIR)/build/qemu-11.1

# The guest module's source as a Debian package.
# As Debian builds its own programs.
HARDEN := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -pie -fPIE -Wl,-z,relro,-z,now

# The image as it is configured, its tools, and the guest module's source as Debian packages.
.PHONY: deb
deb: $(B)/margay.elf $(B)/margay-check-dynamic $(B)/margay-dynamic
	$(Q)tools/packages --elf $(B)/margay.elf --check $(B)/margay-check-dynamic --client $(B)/margay-dynamic $(B)
	$(Q)tools/guest-module --deb $(B)

.PHONY: guest-package
guest-package: | $(B)/.config
	$(Q)tools/guest-module --deb $(B)

# Kernels with it and its drivers built in, for the full tier; some ten minutes when they are not there yet.
.PHONY: guest-kernels
guest-kernels: $(GUEST)
	$(Q)tools/guest-kernel $(G) 6.1 6.12

# Kernels of other distributions and releases, for the full tier; ten minutes when they are not there yet.
.PHONY: other-kernels
other-kernels: | $(B)/.config
	$(Q)tools/other-kernels $(G)

# Systems as others install them, for the full tier; some minutes when they are not there yet.
.PHONY: guest-debian
guest-debian: | $(B)/.config
	$(Q)tools/guest-debian $(G)

# A second kernel for the tests. Without the file, which backports may not have, they are skipped.
.PHONY: guest-backports
guest-backports: $(GUEST)
	$(Q)tools/guest-image --backports $(G)

# For rtla in the bench, whose tracers Debian's other kernels lack.
.PHONY: guest-rt
guest-rt: $(GUEST)
	$(Q)tools/guest-image --rt $(G)

IMAGE = tools/margay-image --elf $(B)/margay.elf --vm configs/vm0.conf --module initrd=$(G)/initrd

$(B)/margay.iso: $(B)/margay.elf $(B)/margay-check $(GUEST) tools/margay-image configs/vm0.conf
	$(Q)$(IMAGE) --menu 3 --module kernel=$(G)/vmlinuz -o $@

# Bochs takes minutes to decompress a kernel: it gets the uncompressed one.
$(B)/margay-bochs.iso: $(B)/margay.elf $(B)/margay-check $(GUEST) tools/margay-image configs/vm0.conf
	$(Q)$(IMAGE) --module kernel=$(G)/vmlinux -o $@

iso: $(B)/margay.iso

netboot: $(B)/margay.elf $(B)/margay-check $(GUEST)
	$(Q)tools/margay-netboot --elf $(B)/margay.elf --vm configs/vm0.conf --module initrd=$(G)/initrd \
		--module kernel=$(G)/vmlinuz -o $(B)/netboot

# Into an existing system, which boots by GRUB: what is the operator's own, VM files and kernels, is not touched.
PREFIX ?= /usr/local

install: $(B)/margay.elf $(B)/margay-check
	$(Q)install -d $(DESTDIR)/boot/margay $(DESTDIR)/etc/grub.d $(DESTDIR)$(PREFIX)/sbin
	$(Q)install -m 755 tools/grub.d/42_margay $(DESTDIR)/etc/grub.d/
	$(Q)install -m 755 $(B)/margay-check $(DESTDIR)$(PREFIX)/sbin/
	$(Q)$(STRIP) -s -o $(DESTDIR)/boot/margay/margay.elf $(B)/margay.elf
	@echo 'installed: $(DESTDIR)/boot/margay/margay.elf, $(DESTDIR)/etc/grub.d/42_margay, $(DESTDIR)$(PREFIX)/sbin/margay-check'
	@echo 'next: VM files, and the kernels, initrds and modules that they name, into $(DESTDIR)/boot/margay; then update-grub'

# As what, and by what, the node finds its image: FIRMWARE=bios|uefi, MEDIUM=cd|usb|net.
FIRMWARE ?= bios
MEDIUM   ?= cd
RUN_ISO := $(B)/margay$(if $(filter bochs nested-vtx,$(MACHINE)),-bochs).iso
RUN_IMAGE := $(if $(filter net,$(MEDIUM)),$(B)/netboot,$(RUN_ISO))
CPUS    ?= 1
MEMORY  ?= $(if $(filter bochs nested-%,$(MACHINE)),1G,2G)

# margay-run's status when the operator leaves with Ctrl-].
LEFT    := 9

run: $(if $(filter net,$(MEDIUM)),netboot,$(RUN_ISO)) $(if $(filter nested-%,$(MACHINE)),nested-host)
	@mkdir -p $(B)/logs
	@tools/margay-run --machine $(MACHINE) --firmware $(FIRMWARE) --medium $(MEDIUM) --cpus $(CPUS) --memory $(MEMORY) \
		$(if $(NUMA),--numa $(NUMA)) \
		--interactive --log $(B)/logs/run-$(MACHINE).log $(RUN_IMAGE) || [ $$? -eq $(LEFT) ]

# ---- tiny guests -------------------------------------------------------------

# tests/guest/NAME.c, with NAME.asm where C cannot go, and the runtime: one 32-bit multiboot ELF each.
T           := $(B)/tests-guest
TINY        := $(patsubst tests/guest/%.c,$(T)/%.elf,$(wildcard tests/guest/*.c))
TINY_CFLAGS := -std=gnu17 -O2 -g -ffreestanding -fno-pic -fno-pie -mno-red-zone -mgeneral-regs-only -fno-stack-protector \
	-fno-strict-aliasing -fno-asynchronous-unwind-tables -fcf-protection=none -fno-tree-loop-distribute-patterns \
	$(WARN) -Itests/guest/include -I.
TINY_LIB    := $(patsubst tests/guest/%,$(T)/%.o,$(filter-out %/main.c,$(wildcard tests/guest/lib/*.c)) \
	$(wildcard tests/guest/lib/*.asm))

.PHONY: tiny
tiny: $(TINY)

$(T)/%.c.o: tests/guest/%.c Makefile
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TINY_CFLAGS) -MMD -MP -c -o $@ $<

$(T)/%.asm.o: tests/guest/%.asm Makefile
	$(call say,NASM,$<)
	@mkdir -p $(@D)
	$(Q)$(NASM) $(NASMFLAGS) -Itests/guest/include/ -M -MF $(@:.o=.d) -MQ $@ -MP $< && \
		$(NASM) $(NASMFLAGS) -Itests/guest/include/ -o $@ $<

# The runtime's main.c knows its guest's name.
$(T)/%.main.o: tests/guest/lib/main.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(TINY_CFLAGS) '-DTINY_NAME="$*"' -MMD -MP -c -o $@ $<

define tiny_rule
$(T)/$(1).elf: $(T)/$(1).c.o $(T)/$(1).main.o $(TINY_LIB) $(if $(wildcard tests/guest/$(1).asm),$(T)/$(1).asm.o) \
		tests/guest/lib/tiny.lds
	$$(call say,LD,$$@)
	$$(Q)$(LD) -m elf_x86_64 -nostdlib -static -no-pie -z max-page-size=0x1000 -z noexecstack --build-id=none \
		--no-warn-rwx-segments -T tests/guest/lib/tiny.lds -o $$@.64 $$(filter %.o,$$^)
	$$(Q)objcopy -S -O elf32-i386 $$@.64 $$@
endef
$(foreach t,$(TINY:$(T)/%.elf=%),$(eval $(call tiny_rule,$(t))))
.SECONDARY: $(TINY_LIB)
-include $(wildcard $(T)/*.d $(T)/lib/*.d)

# ---- tests ------------------------------------------------------------------

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
$(B)/unit/$(1).d/%.o: %.c $(B)/unit/config.h Makefile
	$$(call say,CC,$$@)
	@mkdir -p $$(@D)
	$$(Q)$(CC) $(UNITFLAGS) $$($(1)_FLAGS) -MMD -MP -c -o $$@ $$<
$(B)/unit/$(1): $$($(1)_OBJS)
	$$(call say,UNIT,$$@)
	$$(Q)$(CC) -fsanitize=address,undefined -o $$@ $$^ $(filter -l%,$(2)) -lcmocka
-include $$($(1)_OBJS:.o=.d)
endef

include tests/fuzz/fuzz.mk

ifneq ($(filter test test-full unit fuzz mutants check tests-built $(B)/unit/% $(B)/fuzz%,$(GOALS)),)
$(foreach u,$(UNITS),$(eval $(call unit_rules,$(u),$(call unit_line,tests/unit/$(u).c))))
$(foreach u,$(READERS),$(eval $(call unit_rules,$(u),$(call unit_line,tests/unit/$(u).c))))
$(foreach v,fuzz fuzz-replay fuzz-cov,$(foreach f,$(FUZZERS),\
	$(eval $(call fuzz_rules,$(f),$(call unit_line,tests/fuzz/$(f).c),$(v)))))
endif

UNIT_BINARIES := $(patsubst %,$(B)/unit/%,$(UNITS) $(READERS))
FUZZ          ?= $(FUZZERS:fuzz_%=%)
FUZZ_SECONDS  ?= 60
PYTEST        := $(PYTHON) -m pytest

# They count what is done, from outside of whatever runs: memory accesses, instructions.
PLUGINS := $(B)/qemu_memory.so $(B)/qemu_code.so

tests-built: all $(B)/cpuid-list $(UNIT_BINARIES) $(FUZZ_REPLAYS) $(GUEST) $(TOOLS) guest-backports $(TINY) \
	$(PLUGINS) $(G)/initrd-drivers $(NESTED) newer-qemu

$(PLUGINS): $(B)/%.so: tests/system/%.c tests/qemu_plugin.h Makefile
	$(call say,HOSTCC,$@)
	$(Q)$(CC) -std=gnu17 -O2 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -o $@ $<

unit: $(UNIT_BINARIES) $(FUZZ_REPLAYS) $(GUEST) $(B)/margay
	@$(PYTEST) tests/unit

# Two emulators at a time: the test machines have two cores.
test: tests-built
	@$(PYTEST) -n 2 --dist loadgroup tests

test-full: tests-built guest-kernels other-kernels guest-debian
	@$(PYTEST) -n 2 --dist loadgroup --full --record docs/test-full.md tests

fuzz: $(foreach f,$(FUZZ),$(B)/fuzz/fuzz_$(f) $(B)/fuzz-cov/fuzz_$(f))
	@tools/fuzz --seconds $(FUZZ_SECONDS) $(if $(RECORD),--record) $(FUZZ)

# Gives copies of the tree one bug at a time; keeps the kill rate in docs/mutants.md. MUTATE= passes further options.
mutants: tests-built
	@$(PYTHON) tests/mutants/run.py $(if $(SEED),--seed $(SEED)) $(if $(MUTANTS),--number $(MUTANTS)) \
		$(if $(JOBS),--jobs $(JOBS)) $(MUTATE)

# bench, or one part of it. BENCH= passes further options, NPB= names a clone of the NAS Parallel Benchmarks.
BENCHES := bench bench-exits bench-exits-vtx bench-exits-kvm bench-ipi bench-rates bench-noise bench-boot bench-workloads
BENCHES += bench-mitigations bench-mitigations-vtx bench-rates-vtx bench-hpcc bench-memory bench-walk bench-dma
BENCHES += bench-devices bench-direct bench-npb bench-net
.PHONY: $(BENCHES)
bench bench-noise: guest-rt
$(BENCHES): all $(GUEST) $(TINY) $(G)/initrd-drivers
	@$(PYTHON) tests/bench/bench.py $(if $(filter bench-%,$@),--parts $(@:bench-%=%)) $(if $(NPB),--npb '$(NPB)') $(BENCH)

.PHONY: sizes
sizes: $(B)/auto.conf
	$(Q)tools/margay_configs.py sizes > $(B)/sizes.md.new && mv $(B)/sizes.md.new $(B)/sizes.md
	@cat $(B)/sizes.md

check: $(B)/cpuid-list
	@tools/check-layers
	@tools/check-source
	@$(B)/cpuid-list | cmp -s - docs/cpuid.md || { echo 'docs/cpuid.md is old: make docs/cpuid.md' >&2; exit 1; }

# The list of what a guest does not see, from the tables that decide it.
.PHONY: docs/cpuid.md
docs/cpuid.md: $(B)/cpuid-list
	$(call say,DOC,$@)
	$(Q)$< > $@

clean:
	@rm -rf $(filter-out $(B)/.config $(B)/guest,$(wildcard $(B)/* $(B)/.pytest_cache))

distclean:
	@rm -rf $(B)
