/* SPDX-License-Identifier: GPL-2.0-only */
/* See linux_built.h. */
#include "vmm/load/linux_built.h"

#include <margay/has.h>
#include <margay/string.h>

#include "vmm/load/elf.h"

/*
 * In Linux: init/main.c, always; arch/x86/kernel/kvmclock.c, with KVM_GUEST;
 * arch/x86/kernel/apic/apic.c, with X86_X2APIC.
 */
#define LINUX_WORD "loglevel"
#define KVM_WORD "no-kvmclock"
#define X2APIC_WORD "nox2apic"

/*
 * Is the text there, with what ends it and what was before it? By its last byte, which says how far
 * to go on (Horspool, 1980).
 */
static bool has_text(const u8 *p, u64 n, const char *text)
{
	const size_t len = strlen(text) + 2;
	u8 wanted[32] = { 0 }, step[256];

	memcpy(wanted + 1, text, len - 2);
	memset(step, (int)len, sizeof(step));
	for (size_t i = 0; i + 1 < len; i++)
		step[wanted[i]] = (u8)(len - 1 - i);
	for (u64 at = 0; at + len <= n; at += step[p[at + len - 1]])
		if (!p[at + len - 1] && !memcmp(p + at, wanted, len))
			return true;
	return false;
}

/*
 * In what is loaded; symbols and the debugger's texts are not. Such words are in the last segment,
 * which the kernel frees.
 */
static bool knows(const void *data, const struct elf_image *img, const char *word)
{
	for (unsigned i = img->count; i-- > 0;)
		if (has_text((const u8 *)data + img->segment[i].offset, img->segment[i].filesz,
			     word))
			return true;
	return false;
}

unsigned linux_built_without(const void *data, u64 size)
{
	struct elf_image img;

	if (!HAS(CONFIG_ELF) || !elf_is_elf(data, size) || elf_parse(data, size, &img) ||
	    !knows(data, &img, LINUX_WORD))
		return LINUX_BUILT_UNKNOWN;
	return (knows(data, &img, KVM_WORD) ? 0 : LINUX_BUILT_NO_KVM_GUEST) |
	       (knows(data, &img, X2APIC_WORD) ? 0 : LINUX_BUILT_NO_X2APIC);
}

const char *linux_no_clock(const struct vm_config *c, const void *data, u64 size)
{
	const char *word = vm_config_linux(c, LINUX_NO_CLOCK);

	if (!HAS(CONFIG_VM_PVCLOCK))
		return "this image has no CONFIG_VM_PVCLOCK";
	if (c->no_pvclock)
		return "pvclock = no";
	if (word)
		return word;
	return linux_built_without(data, size) & LINUX_BUILT_NO_KVM_GUEST
		       ? "built without KVM_GUEST"
		       : NULL;
}
