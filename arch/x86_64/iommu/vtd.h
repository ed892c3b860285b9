/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VT-d registers, tables in memory and descriptors: Intel Virtualization Technology for Directed
 * I/O 4.0.
 */
#ifndef ARCH_IOMMU_VTD_H
#define ARCH_IOMMU_VTD_H

#include "arch/x86_64/iommu/iommu_ops.h"

/* Offsets, 11.4; 64 bits wide: CAP, ECAP, RTADDR, IQH, IQT, IQA, IRTA. */
enum vtd_reg {
	VTD_CAP = 0x08,
	VTD_ECAP = 0x10,
	VTD_GCMD = 0x18,
	VTD_GSTS = 0x1c,
	VTD_RTADDR = 0x20,
	VTD_FSTS = 0x34,
	VTD_FECTL = 0x38,
	VTD_FEDATA = 0x3c,
	VTD_FEADDR = 0x40,
	VTD_FEUADDR = 0x44,
	VTD_PMEN = 0x64,
	VTD_IQH = 0x80,
	VTD_IQT = 0x88,
	VTD_IQA = 0x90,
	VTD_IRTA = 0xb8,
};
#define VTD_REGISTERS KIB(32) /* as far as fault records can be */

/* Capabilities, 11.4.2. */
#define VTD_CAP_ND(cap) ((cap) & 7) /* 2^(4 + 2n) domains */
#define VTD_CAP_RWBF BIT(4) /* the write buffer must be flushed */
#define VTD_CAP_PMR (BIT(5) | BIT(6)) /* protected memory regions */
#define VTD_CAP_CM BIT(7) /* caching mode: what is not there is kept, too */
#define VTD_CAP_SAGAW_4 BIT(10) /* tables of 4 levels */
#define VTD_CAP_MGAW(cap) (((cap) >> 16 & 0x3f) + 1)
#define VTD_CAP_FRO(cap) (((cap) >> 24 & 0x3ff) * 16) /* fault records begin there */
#define VTD_CAP_2M BIT(34)
#define VTD_CAP_1G BIT(35)
#define VTD_CAP_NFR(cap) (((cap) >> 40 & 0xff) + 1)
#define VTD_CAP_DRAIN (BIT(54) | BIT(55)) /* writes and reads under way are waited for */
#define VTD_ECAP_C BIT(0) /* tables are read through the CPUs' caches */
#define VTD_ECAP_QI BIT(1) /* queued invalidation */
#define VTD_ECAP_IR BIT(3) /* interrupt remapping */
#define VTD_ECAP_EIM BIT(4) /* with APIC IDs of 32 bits */
#define VTD_ECAP_SC BIT(7) /* VTD_SNP is not reserved */

/* Global command and status, 11.4.4: the same bits. */
#define VTD_TE 0x80000000u /* translation */
#define VTD_SRTP 0x40000000u /* take the root table */
#define VTD_EAFL 0x10000000u /* faults go to a log in memory */
#define VTD_WBF 0x08000000u /* flush the write buffer; status: it is under way */
#define VTD_QIE 0x04000000u /* queued invalidation */
#define VTD_IRE 0x02000000u /* interrupt remapping */
#define VTD_SIRTP 0x01000000u /* take its table */
#define VTD_CFI 0x00800000u /* messages of the format without remapping pass */
#define VTD_KEPT 0x96ffffffu /* status bits that a command must repeat */

#define VTD_FSTS_CLEAR 0x7du /* written as 1, but for the records' own bit 1, 11.4.7.1 */
#define VTD_FSTS_FAULT 0x03u /* a record has one, and no record was left for one */
#define VTD_FSTS_QUEUE 0x70u /* invalidation queue: error, completion, timeout */
#define VTD_FECTL_MASK 0x80000000u
#define VTD_PMEN_ENABLE 0x80000000u
#define VTD_PMEN_STATUS 1u

#define VTD_IRTA_EIME BIT(11) /* APIC IDs have 32 bits; below: the table has 2^(n + 1) entries */

/*
 * A fault record, 11.4.7.4: two quadwords; the second begins with the requester ID, and has the
 * reason in its bits 39:32.
 */
#define VTD_FRCD_READ BIT(62)
#define VTD_FRCD_VALID BIT(63)
#define VTD_FRCD_CLEAR 0x80000000u /* in its last doubleword */
/* from here on, 5.1.4.1: an interrupt's, whose entry is in bits 63:48 of the first */
#define VTD_REASON_INTERRUPT 0x20u

/* Root, context and page table entries, 9.1, 9.3, 9.8: two quadwords, but a page table's. */
#define VTD_PRESENT BIT(0)
#define VTD_CONTEXT_FPD BIT(1) /* its faults are not noted */
#define VTD_CONTEXT_4_LEVELS 2u /* in the second quadword */
#define VTD_CONTEXT_COUNT_SHIFT 3 /* ignored by hardware: its faults so far */
#define VTD_CONTEXT_COUNT 15u
#define VTD_CONTEXT_DOMAIN_SHIFT 8
#define VTD_R BIT(0)
#define VTD_W BIT(1)
#define VTD_LARGE BIT(7)
/* of a leaf: accesses look into the CPUs' caches, whatever a device says of them */
#define VTD_SNP BIT(11)

/*
 * An interrupt's entry, 9.10: two quadwords; the second has who may use it. how: as in an I/O
 * APIC's; wide: VTD_IRTA_EIME.
 */
#define VTD_IRTE(how) \
	(VTD_PRESENT | ((how) >> 15 & 1) << 4 | ((how) >> 8 & 7) << 5 | ((how) & 0xff) << 16)
#define VTD_IRTE_ID(id, wide) ((u64)(id) << ((wide) ? 32 : 40))
#define VTD_IRTE_SOURCE BIT(18) /* all 16 bits of the requester ID below are compared */

/*
 * What names an entry: a message's address, 5.1.5.2, and an I/O APIC's input, 5.1.5.1; bit 15 of
 * its number stays 0.
 */
/* several: the data is added to it */
#define VTD_MESSAGE(n, several) (0xfee00010u | (n) << 5 | ((several) ? 8u : 0))
/* all but delivery mode and destination stays */
#define VTD_INPUT(n, entry) ((u64)(n) << 49 | BIT(48) | ((entry) & 0x1f8ff))

/* Descriptors of the invalidation queue, 6.5.2: two quadwords. */
#define VTD_QUEUE_SIZE PAGE_SIZE /* ours */
#define VTD_INV_CONTEXT 1u
#define VTD_INV_IOTLB 2u
#define VTD_INV_INTERRUPT 4u /* all entries, but with VTD_INV_ENTRY() */
#define VTD_INV_WAIT 5u
#define VTD_INV_GLOBAL 0x10u
#define VTD_INV_DOMAIN 0x20u
#define VTD_INV_DRAIN 0xc0u
#define VTD_INV_DOMAIN_SHIFT 16
#define VTD_INV_ENTRY(n) (0x10u | (u64)(n) << 32)
/* writes the upper half of the first quadword to the second's address */
#define VTD_WAIT_STATUS 0x20u
#define VTD_WAIT_FENCE 0x40u

/* vtd_tables.c: entries as all units have them, and with VTD_SNP in leaves. */
extern const struct stage2_format vtd_format, vtd_snooped;

#endif
