/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: see pci_report.h. Class codes: PCI Code and ID Assignment 1.11. */
#include "vmm/pci/pci_report.h"

#include <margay/string.h>

/* Appends, with `between` in front unless it is the first; what does not fit is cut. */
static __printf(3, 4) void add_text(char *text, const char *between, const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list ap;

	if (n)
		n += (size_t)snprintf(text + n, PCI_REPORT_TEXT - n, "%s", between);
	if (n >= PCI_REPORT_TEXT)
		return;
	va_start(ap, fmt);
	vsnprintf(text + n, PCI_REPORT_TEXT - n, fmt, ap);
	va_end(ap);
}

const char *pci_class_name(u32 class_code)
{
	/* A subclass of 0x100 is the base class alone: last of its kind. */
	/* clang-format off */
	static const struct {
		u16 base;
		u16 sub;
		const char *name;
	} names[] = {
		{ 0x01, 0x01, "IDE" },
		{ 0x01, 0x06, "SATA" },
		{ 0x01, 0x07, "SAS" },
		{ 0x01, 0x08, "NVMe" },
		{ 0x01, 0x100, "storage" },
		{ 0x02, 0x00, "Ethernet" },
		{ 0x02, 0x07, "InfiniBand" },
		{ 0x02, 0x100, "network" },
		{ 0x03, 0x00, "VGA" },
		{ 0x03, 0x02, "3D controller" },
		{ 0x03, 0x100, "display" },
		{ 0x04, 0x100, "multimedia" },
		{ 0x05, 0x100, "memory" },
		{ 0x06, 0x00, "host bridge" },
		{ 0x06, 0x01, "ISA bridge" },
		{ 0x06, 0x04, "PCI bridge" },
		{ 0x06, 0x100, "bridge" },
		{ 0x07, 0x00, "serial port" },
		{ 0x07, 0x100, "communication" },
		{ 0x08, 0x06, "IOMMU" },
		{ 0x08, 0x100, "system device" },
		{ 0x0b, 0x100, "processor" },
		{ 0x0c, 0x03, "USB" },
		{ 0x0c, 0x05, "SMBus" },
		{ 0x0c, 0x100, "serial bus" },
		{ 0x10, 0x100, "encryption" },
		{ 0x11, 0x100, "signal processing" },
		{ 0x12, 0x100, "accelerator" },
	};
	/* clang-format on */

	u32 base = class_code >> 16, sub = class_code >> 8 & 0xff;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].base == base && (names[i].sub == sub || names[i].sub == 0x100))
			return names[i].name;
	return "other";
}

static void add_size(char *text, u64 size)
{
	static const char unit[] = { 'K', 'M', 'G', 'T' };
	unsigned u = 0;

	if (size < KIB(1)) {
		add_text(text, " ", "%u bytes", (unsigned)size);
		return;
	}
	for (size >>= 10; size >= 1024 && u < ARRAY_SIZE(unit) - 1; size >>= 10)
		u++;
	add_text(text, " ", "%u%c", (unsigned)size, unit[u]);
}

void pci_report_bars(const struct pci_info *f, char text[PCI_REPORT_TEXT])
{
	text[0] = 0;
	for (unsigned i = 0; i < PCI_BARS; i++) {
		const struct pci_bar *b = &f->bar[i];

		if (!b->base && !b->size)
			continue;
		if (i == PCI_ROM_BAR)
			add_text(text, ", ", "ROM");
		else if (pci_bar_is_io(b))
			add_text(text, ", ", "BAR%u I/O", i);
		else
			add_text(text, ", ", "BAR%u%s", i,
				 b->flags & PCI_BAR_PREFETCH ? " pref" : "");
		if (b->base)
			add_text(text, " ", "%#lx", b->base);
		/* for which that is the rule: firmware that has read it takes the address back */
		else if (i != PCI_ROM_BAR)
			add_text(text, " ", "without address");
		if (b->size)
			add_size(text, b->size);
	}
	if (!text[0])
		add_text(text, "", "none");
}

static const char *pcie_name(u8 type)
{
	static const char *const names[] = {
		[PCIE_ENDPOINT] = "endpoint",
		[PCIE_LEGACY_ENDPOINT] = "legacy endpoint",
		[PCIE_ROOT_PORT] = "root port",
		[PCIE_UPSTREAM] = "upstream port",
		[PCIE_DOWNSTREAM] = "downstream port",
		[PCIE_TO_PCI] = "bridge",
		[PCI_TO_PCIE] = "bridge",
		[PCIE_INTEGRATED] = "integrated",
		[PCIE_EVENT_COLLECTOR] = "event collector",
	};

	return type < ARRAY_SIZE(names) && names[type] ? names[type] : "of unknown type";
}

void pci_report_caps(const struct pci_info *f, char text[PCI_REPORT_TEXT])
{
	static const struct {
		size_t at;
		const char *name;
	} flags[] = {
		{ offsetof(struct pci_info, flr), "FLR" },
		{ offsetof(struct pci_info, pm), "PM" },
		{ offsetof(struct pci_info, pm_reset), "reset by D3" },
		{ offsetof(struct pci_info, ats), "ATS" },
		{ offsetof(struct pci_info, pri), "PRI" },
		{ offsetof(struct pci_info, pasid), "PASID" },
		{ offsetof(struct pci_info, acs), "ACS" },
	};

	text[0] = 0;
	if (f->pcie)
		add_text(text, ", ", "PCIe %s", pcie_name(f->type));
	if (f->pin)
		add_text(text, ", ", "INT%c", 'A' + f->pin - 1);
	if (f->has_line)
		add_text(text, " ", "(GSI %u)", f->line);
	if (f->msi)
		add_text(text, ", ", "MSI %u", f->msi);
	if (f->msix)
		add_text(text, ", ", "MSI-X %u", f->msix);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (*(const bool *)((const char *)f + flags[i].at))
			add_text(text, ", ", "%s", flags[i].name);
	if (f->vfs)
		add_text(text, ", ", "SR-IOV %u VFs, %u on", f->vfs, f->vfs_on);
	if (f->header_type == PCI_HEADER_BRIDGE)
		add_text(text, ", ", "buses %02x-%02x behind it", f->secondary_bus,
			 f->subordinate_bus);
	if (!text[0])
		add_text(text, "", "none");
}
