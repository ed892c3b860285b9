# SPDX-License-Identifier: GPL-2.0-only
#
# The image: which files it has (features.mk), its flags, and how it is linked.

DIRS := $(addprefix $(A)/,boot cpu iommu stage2) drivers kernel $(wildcard kernel/*/) lib vmm $(wildcard vmm/*/ vmm/*/*/)
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

CFLAGS := -std=gnu17 $(OPTIMIZE) -g -ffreestanding -fno-pic -fno-pie -mcmodel=kernel -mno-red-zone \
	-mgeneral-regs-only -mpreferred-stack-boundary=3 -malign-data=abi -fno-stack-protector -fno-strict-aliasing \
	-fno-common -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fcf-protection=none -mskip-rax-setup \
	$(WARN) -Iinclude -I.
# Made fast is what runs at an exit of a guest, an interrupt or a kick; the rest runs once, or at a command, and is made
# small. `make bench-exits` counts what an exit takes, and a profile of it (docs/performance.md) shows what is missing here.
HOT := $(addprefix vmm/,svm/lean svm/run svm/state vmx/lean vmx/run vmx/state) $(A)/cpu/apic \
	$(addprefix kernel/,cpu/host cpu/kick memory/direct_map pci/pci_vectors time/timer time/tsc work/nmi work/work) \
	lib/string vmm/vm/event vmm/vm/kick vmm/node/vcpu vmm/cpuid/cpuid_get \
	$(addprefix vmm/emulate/,arithmetic decode decode_operand emulate emulate_mem io lean_mmio mmio strings) \
	$(addprefix vmm/exit/,cpuid cr exit hypercall msr) $(addprefix vmm/memory/,gpa_map guest_mem guest_walk) \
	$(addprefix vmm/dev/apic/,ioapic lapic lapic_ipi lapic_regs lapic_timer) \
	vmm/dev/board/uart16550 vmm/dev/cpu/pvclock vmm/management/sha256 vmm/pci/pci_msi
$(filter-out $(HOT:%=$(O)/%.o),$(CSRC:%.c=$(O)/%.o)): CFLAGS += $(if $(CONFIG_OPTIMIZE_SPEED),$(SMALLER))
# Jumps through a table are calls of another kind, which a guest could train.
$(O)/vmm/svm/lean.o $(O)/vmm/vmx/lean.o: CFLAGS += -fno-jump-tables
# A function that calls nothing has no frame; a backtrace from it leaves its caller out.
$(HOT:%=$(O)/%.o): CFLAGS += $(if $(CONFIG_OPTIMIZE_SPEED),-momit-leaf-frame-pointer)
LINK := $(CC) $(CFLAGS) -nostdlib -static -no-pie -T $(LDS) \
	-Wl,--gc-sections,-z,max-page-size=0x1000,-z,noexecstack,--build-id=none,--no-warn-rwx-segments,--fatal-warnings

# GCC 12 loses what an `asm goto` has put into a variable that another one sets, too.
$(O)/$(A)/cpu/safe.o: CFLAGS += -ftree-coalesce-vars

# The compiler calls these by itself, after it has seen the whole program.
$(O)/lib/string.o: CFLAGS += -fno-lto

# Each image has a config.h of its own. By one name for all of them its path is not in the text that the cache compares.
CONFIGURED := -imacros /dev/fd/9
$(O)/%.o: %.c mk/image.mk mk/compiler.mk
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(CONFIGURED) -MMD -MF $(@:.o=.d.new) -c -o $@ $< 9<$(B)/config.h && tools/fixdep $(@:.o=.d) $(B)

# -MD of NASM 2.16 forgets what a file takes in.
$(O)/%.asm.o: %.asm mk/image.mk mk/compiler.mk
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

# Which image it is, and what it lacks: in its text, and as a section of its own, for the tools.
$(B)/image-options: $(B)/auto.conf tools/image-options Kconfig $(wildcard configs/*_defconfig)
	$(call say,OPTIONS,$@)
	$(Q)tools/image-options $(B)/.config > $@
$(B)/image-options.o: $(B)/image-options
	$(Q)printf '.section .margay_options,"",@progbits\n.incbin "$<"\n' | $(CC) -c -x assembler -o $@ -
$(O)/kernel/version.o: $(B)/image-options
$(O)/kernel/version.o: CFLAGS += -DMARGAY_IMAGE='"$(shell sed -n 's/^image //p' $(B)/image-options)"'

# The objects and directories of the last link: a file that goes away relinks.
$(B)/objects.list: FORCE
	@mkdir -p $(B)
	@echo '$(OBJS)' | cmp -s - $@ || echo '$(OBJS)' > $@
.PHONY: FORCE objects
objects: $(OBJS) $(B)/objects.list

ifdef CONFIG_SCREEN
FONT := $(B)/font.o
$(O)/$(A)/boot/entry.asm.o: NASMFLAGS += -DCONFIG_SCREEN
endif
WORLD := $(foreach d,svm vmx,$(O)/vmm/$(d)/run.asm.o $(O)/vmm/$(d)/run_clean.asm.o)
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
$(B)/margay.pass1.elf: $(OBJS) $(FONT) $(B)/image-options.o $(LDS) $(B)/objects.list
	$(call say,LD,$@)
	$(Q)$(LINK) -o $@ $(OBJS) $(FONT) $(B)/image-options.o

$(B)/symtab.S: $(B)/margay.pass1.elf tools/mksyms
	$(call say,SYMS,$@)
	$(Q)tools/mksyms $< > $@

$(B)/symtab.o: $(B)/symtab.S
	$(Q)$(CC) -c -o $@ $<

$(B)/margay.elf: $(OBJS) $(FONT) $(B)/image-options.o $(B)/symtab.o $(LDS)
	$(call say,LD,$@)
	$(Q)$(LINK) -o $@ $(OBJS) $(FONT) $(B)/image-options.o $(B)/symtab.o
else
$(B)/margay.elf: $(OBJS) $(FONT) $(B)/image-options.o $(LDS) $(B)/objects.list
	$(call say,LD,$@)
	$(Q)$(LINK) -o $@ $(OBJS) $(FONT) $(B)/image-options.o
endif
