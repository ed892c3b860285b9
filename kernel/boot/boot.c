/* SPDX-License-Identifier: GPL-2.0-only */
/* What the boot loader gave to this boot. */
#include "kernel/boot/boot.h"

struct bootinfo boot_info;
struct cmdline boot_cmdline;

const struct cmdline *cmdline_of_boot(void)
{
	return &boot_cmdline;
}

const struct bootinfo *bootinfo_of_boot(void)
{
	return &boot_info;
}
