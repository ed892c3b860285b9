/* SPDX-License-Identifier: GPL-2.0-only */
/* What an error in a machine-check bank means: mce.h. */
#include "arch/x86_64/cpu/mce.h"

#define MISC_MODE(misc) ((misc) >> 6 & 7) /* of the address (SDM vol. 3, 16.3.2.4) */
#define MISC_PHYSICAL 2
#define MISC_LSB(misc) ((misc) & 0x3f)    /* of what the address tells */
/*
 * The two that are defined to be recovered from where they are met (SDM vol. 3, 16.9.3.2): both are
 * told by banks of the core.
 */
/* but for the bit that says that corrected ones are filtered */
#define CODE(status) ((status) & 0xefff)
#define CODE_DATA_LOAD 0x134
#define CODE_INSTRUCTION_FETCH 0x150

/*
 * SDM vol. 3, 16.6.3, 16.6.4 and table 16-7. What an error that needs action hides (OVER, without
 * PCC) is none that is worse, but may have been another thread's of the core: two that read the
 * same page at once do that.
 */
static enum mce_verdict judge_ser(u64 status, bool taken, u64 mcg_status)
{
	const u64 tells_where = MCI_STATUS_ADDRV | MCI_STATUS_MISCV;

	if (!(status & MCI_STATUS_S) || !(status & MCI_STATUS_AR))
		return MCE_LOST;
	if (!taken)
		return MCE_NONE;
	/* Two CPUs of a core share banks: it concerns the one that used the memory. */
	if ((mcg_status & (MCG_STATUS_RIPV | MCG_STATUS_EIPV)) == MCG_STATUS_RIPV)
		return MCE_NONE;
	if ((status & tells_where) != tells_where)
		return MCE_FATAL;
	if (!(status & MCI_STATUS_OVER))
		return MCE_USED;
	return CODE(status) == CODE_DATA_LOAD || CODE(status) == CODE_INSTRUCTION_FETCH
		       ? MCE_USED_BY_CORE
		       : MCE_FATAL;
}

enum mce_verdict mce_judge(const struct mce_kind *kind, u64 status, bool taken, u64 mcg_status)
{
	if (!(status & MCI_STATUS_VAL))
		return MCE_NONE;
	if (!(status & MCI_STATUS_UC))
		return kind->succor && status & MCI_STATUS_DEFERRED ? MCE_LOST : MCE_CORRECTED;
	if (status & MCI_STATUS_PCC)
		return taken ? MCE_FATAL : MCE_NONE;
	if (kind->ser)
		return judge_ser(status, taken, mcg_status);
	if (!taken)
		return MCE_NONE;
	/*
	 * APM vol. 2, 9.3.2.2: recoverable where poison is used, or nothing of its kind was lost.
	 */
	return kind->succor && (kind->overflow || !(status & MCI_STATUS_OVER)) ? MCE_USED
									       : MCE_FATAL;
}

bool mce_page(const struct mce_kind *kind, u64 status, u64 address, u64 misc, u64 *page)
{
	if (!(status & MCI_STATUS_ADDRV))
		return false;
	/* Of AMD's banks those that tell of poison have physical addresses. */
	if (kind->ser && (!(status & MCI_STATUS_MISCV) || MISC_MODE(misc) != MISC_PHYSICAL ||
			  MISC_LSB(misc) > PAGE_SHIFT))
		return false;
	*page = address & (BIT(52) - PAGE_SIZE);
	return true;
}
