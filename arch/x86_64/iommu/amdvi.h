/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * AMD-Vi registers, tables in memory, commands and events: AMD I/O Virtualization Technology
 * (IOMMU) Specification 3.07.
 */
#ifndef ARCH_IOMMU_AMDVI_H
#define ARCH_IOMMU_AMDVI_H

#include "arch/x86_64/iommu/iommu_ops.h"

/* Offsets, 3.4: all are 64 bits wide. */
enum amdvi_reg {
	AMDVI_DEVICES = 0x00,
	AMDVI_COMMANDS = 0x08,
	AMDVI_EVENTS = 0x10,
	AMDVI_CONTROL = 0x18,
	AMDVI_EXCLUSION = 0x20,
	AMDVI_FEATURES = 0x30,
	AMDVI_FEATURES_2 = 0x1a0,
	AMDVI_COMMAND_HEAD = 0x2000,
	AMDVI_COMMAND_TAIL = 0x2008,
	AMDVI_EVENT_HEAD = 0x2010,
	AMDVI_EVENT_TAIL = 0x2018,
	AMDVI_STATUS = 0x2020,
};
#define AMDVI_REGISTERS KIB(16)

/* Extended features, 3.4.2. */
#define AMDVI_FEATURE_XT BIT(2) /* interrupts to APIC IDs of 32 bits */
#define AMDVI_FEATURE_IA BIT(6) /* one command drops all */
#define AMDVI_FEATURE_GA BIT(7) /* interrupt entries of 128 bits */
/* 3: no host page tables; else at least four levels */
#define AMDVI_FEATURE_HATS(f) ((f) >> 10 & 3)
/* Further ones, 3.4.22: a function's interrupts; 1: 2048. */
#define AMDVI_FEATURE_INTERRUPTS(f) ((f) >> 8 & 3)

/* Control, 3.4.1. */
#define AMDVI_ENABLE BIT(0)
#define AMDVI_EVENT_LOG BIT(2)
#define AMDVI_EVENT_MESSAGE BIT(3)
#define AMDVI_COHERENT BIT(10) /* tables are read through the CPUs' caches */
#define AMDVI_COMMANDS_ON BIT(12)
#define AMDVI_GA BIT(17)
#define AMDVI_2K BIT(43) /* the low bit of two */
#define AMDVI_XT BIT(50)
/*
 * Whatever has the unit write to memory by itself, or tell of that: events, waits, commands, page
 * requests, guest interrupts.
 */
#define AMDVI_RINGS (BIT(2) | BIT(3) | BIT(4) | BIT(12) | BIT(13) | BIT(14) | BIT(28) | BIT(29))
/* How it is connected, which firmware knows: links, time to wait for an invalidation, snooping. */
#define AMDVI_CONNECTION (BIT(1) | 7ull << 5 | 15ull << 8)
/* What links want, as firmware says: the low four of an IVHD's flags, 5.2.2.1, as control bits. */
#define AMDVI_LINKS(flags) \
	(((flags) & 1ull) << 1 | ((flags) >> 1 & 3ull) << 8 | ((flags) >> 3 & 1ull) << 11)

/* Status, 3.4.13: those that are written as 1, and what runs. */
#define AMDVI_EVENTS_LOST BIT(0)
#define AMDVI_EVENT_TOLD BIT(1)
#define AMDVI_EVENTS_RUN BIT(3)
#define AMDVI_COMMANDS_RUN BIT(4)
#define AMDVI_RINGS_RUN (AMDVI_EVENTS_RUN | AMDVI_COMMANDS_RUN | BIT(7) | BIT(8))

/* Rings of a page: 2^8 entries, as bits 59:56 of their base registers say. */
#define AMDVI_RING(pa) ((pa) | 8ull << 56)
#define AMDVI_RING_MASK 0xff0u

/* Device table, 2.2.2.1: 32 bytes for each requester ID. */
#define AMDVI_IDS 65536u
#define AMDVI_DTE_WORDS 4
#define AMDVI_TABLE_SIZE (AMDVI_IDS * AMDVI_DTE_WORDS * 8ull)
static_assert(AMDVI_TABLE_SIZE == MIB(2), "the device table");
#define AMDVI_TABLE_PAGES (AMDVI_TABLE_SIZE / PAGE_SIZE - 1) /* in the base register */
/* Its first quadword: valid, translates; four levels below this root; reads and writes. */
#define AMDVI_DTE(root) (3ull | 4ull << 9 | (root))
#define AMDVI_R BIT(61)
#define AMDVI_W BIT(62)
/* Its second: the domain; what of the system management range passes (1: all writes); and */
#define AMDVI_DTE_SYSMGT(settings) ((u64)((settings) >> 4 & 3) << 40)
#define AMDVI_DTE_SYSMGT_OF(quad) ((quad) >> 40 & 3)
#define AMDVI_DTE_SILENT BIT(34) /* page faults are not noted */
/* Its third: interrupts. Without a table, or not by it, none but those that pass as they are. */
#define AMDVI_DTE_INTERRUPTS BIT(0)
#define AMDVI_DTE_ENTRIES(count) ((u64)__builtin_ctz(count) << 1)
#define AMDVI_DTE_INTERRUPT_ROOT 0x000fffffffffffc0ull
#define AMDVI_DTE_NMI_PASS BIT(58)
#define AMDVI_DTE_PASS (7ull << 56 | 3ull << 62) /* INIT, ExtINT, NMI; LINT0, LINT1 */
#define AMDVI_DTE_PASSING(settings) (((settings) & 7ull) << 56 | ((settings) >> 6 & 3ull) << 62)
#define AMDVI_DTE_REMAP (2ull << 60)

/*
 * Page table entries, 2.2.3. Bits 8:1 are ignored: bit 7 is the walker's own, a leaf above the
 * lowest level.
 */
#define AMDVI_PRESENT BIT(0)
#define AMDVI_LEAF BIT(7)
#define AMDVI_NEXT_LEVEL(n) ((u64)(n) << 9) /* 0: a leaf */
#define AMDVI_SNOOP BIT(60) /* whatever the device says of it */

/*
 * An interrupt's entry, 2.2.5.2, with AMDVI_GA: two quadwords. A function names 512 by the low bits
 * of its messages' data; with AMDVI_2K the bits of the delivery mode name more. An I/O APIC needs
 * these for its NMIs.
 */
#define AMDVI_INTERRUPTS 512u
#define AMDVI_INTERRUPTS_2K 2048u
#define AMDVI_IRTE(id) (1ull | ((id) & 0xffffffull) << 8)
#define AMDVI_IRTE_HIGH(id, vector) ((u64)(vector) | (u64)((id) >> 24) << 56)

/* Commands, 2.4: two quadwords, the first with the number in bits 63:60. */
/* writes the second quadword to the address in it, after all that was under way */
#define AMDVI_WAIT (1ull << 60 | 1 | 4)
#define AMDVI_DROP_DEVICE(id) (2ull << 60 | (id))
#define AMDVI_DROP_PAGES(domain) (3ull << 60 | (u64)(domain) << 32)
#define AMDVI_ALL_PAGES 0x7ffffffffffff003ull /* second quadword: all sizes, tables too */
#define AMDVI_DROP_INTERRUPTS(id) (5ull << 60 | (id))
#define AMDVI_DROP_ALL (8ull << 60)

/* Events, 2.5: two quadwords; the requester ID is the first's low word, its address the second. */
#define AMDVI_EVENT(e) ((e) >> 60)
#define AMDVI_EVENT_COMMAND 5u /* an illegal command */
#define AMDVI_EVENT_COMMAND_LOST 6u /* the ring cannot be read */
#define AMDVI_EVENT_INTERRUPT BIT(51)
#define AMDVI_EVENT_WRITE BIT(53)

/* amdvi_tables.c */
extern const struct stage2_format amdvi_format;
/* What an event says of a function, all but the count. False: it is about a command. */
bool amdvi_decode(const u64 e[2], struct iommu_fault *out);

#endif
