# SPDX-License-Identifier: GPL-2.0-only
#
# The tiny guests: tests/guest/NAME.c, with NAME.asm where C cannot go, and the runtime: one 32-bit multiboot ELF each.

T           := $(B)/tests-guest
TINY        := $(patsubst tests/guest/%.c,$(T)/%.elf,$(wildcard tests/guest/*.c))
TINY_CFLAGS := -std=gnu17 -O2 -g -ffreestanding -fno-pic -fno-pie -mno-red-zone -mgeneral-regs-only -fno-stack-protector \
	-fno-strict-aliasing -fno-asynchronous-unwind-tables -fcf-protection=none -fno-tree-loop-distribute-patterns \
	$(WARN) -Itests/guest/include -I.
TINY_LIB    := $(patsubst tests/guest/%,$(T)/%.o,$(filter-out %/main.c,$(wildcard tests/guest/lib/*.c)) \
	$(wildcard tests/guest/lib/*.asm))

.PHONY: tiny
tiny: $(TINY)

$(T)/%.c.o: tests/guest/%.c mk/tiny.mk mk/compiler.mk
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(TINY_CFLAGS) -MMD -MP -c -o $@ $<

$(T)/%.asm.o: tests/guest/%.asm mk/tiny.mk mk/compiler.mk
	$(call say,NASM,$<)
	@mkdir -p $(@D)
	$(Q)$(NASM) $(NASMFLAGS) -Itests/guest/include/ -M -MF $(@:.o=.d) -MQ $@ -MP $< && \
		$(NASM) $(NASMFLAGS) -Itests/guest/include/ -o $@ $<

# The runtime's main.c knows its guest's name.
$(T)/%.main.o: tests/guest/lib/main.c mk/tiny.mk mk/compiler.mk
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
