/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How banks interrupt at corrected errors: mce.h (SDM vol. 3, 16.5; AMD's PPRs, "MCA Registers").
 */
#include "arch/x86_64/cpu/mce.h"

#define CTL2_CMCI BIT(30)
#define CTL2_THRESHOLD 0x7fffull
/* AMD's MCi_MISC0, of a counter of errors. */
#define MISC_VALID BIT(63)
#define MISC_COUNTER BIT(62)
#define MISC_LOCKED BIT(61)
#define MISC_LVT_SHIFT 52
#define MISC_ENABLE BIT(51)
#define MISC_INTERRUPT (3ull << 49)
#define MISC_BY_APIC BIT(49)
#define MISC_OVERFLOW BIT(48)
#define MISC_COUNT_SHIFT 32
#define MISC_COUNT (0xfffull << MISC_COUNT_SHIFT)

/* Which of AMD's banks can, is in their MISC. */
enum mce_way mce_way(const struct mce_kind *kind, u64 cap)
{
	if (cap & MCG_CAP_CMCI)
		return MCE_BY_CMCI;
	return kind->smca || kind->succor ? MCE_BY_THRESHOLD : MCE_BY_TIME;
}

u64 mce_ctl2(u64 ctl2)
{
	return ctl2 & CTL2_CMCI ? 0 : (ctl2 & ~CTL2_THRESHOLD) | CTL2_CMCI | 1;
}

u64 mce_threshold(u64 misc, unsigned *lvt)
{
	if ((misc & (MISC_VALID | MISC_COUNTER | MISC_LOCKED)) != (MISC_VALID | MISC_COUNTER))
		return 0;
	*lvt = misc >> MISC_LVT_SHIFT & 0xf;
	/* It interrupts when it comes to 0xfff. */
	return (misc & ~(MISC_INTERRUPT | MISC_OVERFLOW | MISC_COUNT)) | MISC_ENABLE |
	       MISC_BY_APIC | 0xffeull << MISC_COUNT_SHIFT;
}
