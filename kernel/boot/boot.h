/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the boot loader gave to this boot, for those who fill it in: kernel/main.c, and
 * kernel/console/console_find.c with what the operator has not said. All others have
 * cmdline_of_boot() and bootinfo_of_boot().
 */
#ifndef KERNEL_BOOT_H
#define KERNEL_BOOT_H

#include "kernel/boot/bootinfo.h"
#include "kernel/boot/cmdline.h"

extern struct bootinfo boot_info;
extern struct cmdline boot_cmdline;

#endif
