# SPDX-License-Identifier: GPL-2.0-only
#
# Programs for the build host, and for the management VM.

# As Debian builds its own programs.
HARDEN := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -pie -fPIE -Wl,-z,relro,-z,now

# With every feature: what the image at hand has of them, margay-check reads in its file (<margay/has.h>).
HOSTCFLAGS := -std=gnu17 -O2 -g $(WARN) -Iinclude -I. -include $(B)/unit/config.h

CHECKS := tools/check-kernel.c tools/check-options.c $(wildcard vmm/config/*.c) \
	$(addprefix vmm/load/,load_check.c linux_built.c bzimage.c elf.c multiboot.c) \
	$(wildcard kernel/boot/cmdline*.c) lib/span.c kernel/pci/pci_facts.c \
	$(addprefix arch/x86_64/cpu/,microcode.c mitigations.c mitigation_words.c)

$(B)/margay-check $(B)/margay-check-dynamic: tools/margay-check.c tools/image_options.c tools/own_module.c $(CHECKS) \
		$(wildcard $(addsuffix *.h,$(sort $(dir $(CHECKS))))) tools/image_options.h tools/own_module.h \
		include/margay/has.h include/margay/span.h $(B)/unit/config.h $(B)/version mk/host-tools.mk mk/compiler.mk
	$(call say,HOSTCC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HOSTCFLAGS) $(if $(filter %-dynamic,$@),$(HARDEN)) -DMARGAY_CHECK \
		-DMARGAY_VERSION='"$(shell cat $(B)/version)"' -o $@ $(filter %.c,$^)

# For the management VM, whatever libraries that has: static. In a package it is not.
CLIENT := $(wildcard tools/client/*.c) vmm/management/sha256.c arch/x86_64/cpu/sha256.c
CLIENT_FLAGS = -std=gnu17 -O2 -g $(WARN) -Iinclude -I. -DMARGAY_VERSION='"$(shell cat $(B)/version)"'
$(B)/margay $(B)/margay-dynamic: $(CLIENT) $(wildcard tools/client/*.h vmm/management/sha256.h) \
		$(addprefix include/margay/,host_sha256.h management.h) arch/x86_64/cpu/insn.h \
		$(B)/version mk/host-tools.mk mk/compiler.mk
	$(call say,HOSTCC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CLIENT_FLAGS) $(if $(filter %-dynamic,$@),$(HARDEN),-static) -o $@ $(CLIENT)

$(B)/cpuid-list: tools/cpuid-list.c tools/cpuid-differences.c $(wildcard vmm/cpuid/cpuid_table*.c vmm/cpuid/*.h) \
		$(B)/unit/config.h mk/host-tools.mk mk/compiler.mk
	$(call say,HOSTCC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(HOSTCFLAGS) -o $@ $(filter %.c,$^)
