/* SPDX-License-Identifier: GPL-2.0-only */
/* What first_stage.c has of an IOMMU, and what that has of it. */
#ifndef FIRST_STAGE_H
#define FIRST_STAGE_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned u32;
typedef unsigned long long u64;

/* a page that firmware keeps: the unit's ACPI table, and what 00:0a.0 reaches */
#define KEPT 0x9f000u
#define KEPT_DEVICE 0x0a

extern const u32 unit_table;     /* its signature */
extern const u32 unit_memory[8]; /* what that table says of KEPT */
extern const u32 unit_edu;       /* device and function, on bus 0, that leaves the fault */
void unit_turn_on(void);
int unit_has_noted(void);

void want(int ok, const char *what);

#endif
