/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The watchdogs of the machine, for the hardware check: by the table WDAT, which is its maker's own
 * word; without one the chipset's, where PCI functions say which it is. Registers are only read.
 *
 * Intel's TCO: ICH9 data sheet, 316972; the same in the PCHs up to the C610, and from the C230 and
 * C620 on behind a base of its own. AMD's: SP5100 register reference, 44413; PPR of family 17h,
 * 55570. Which functions have which is as Linux' lpc_ich, i2c-i801 and sp5100_tco know it.
 */
#include "kernel/check/watchdogs.h"

#include "arch/x86_64/cpu/insn.h"
#include "arch/x86_64/cpu/paging.h"
#include "kernel/acpi/acpi.h"
#include "kernel/acpi/wdat.h"
#include "kernel/log/printk.h"
#include "kernel/pci/pci_core.h"

#define RESTARTS "the machine restarts"
#define NO_ANSWER "its registers do not answer"

static void set(struct host_watchdog *w, enum host_watchdog_state state, const char *what)
{
	w->state = state;
	w->what = what;
}

static void set_left(struct host_watchdog *w, u64 seconds)
{
	w->timed = true;
	w->seconds = (u32)MIN(seconds, 0xffffffffull);
}

/* ---- WDAT ------------------------------------------------------------------------ */

/* Bytes of an access; 0: firmware means something else. */
static unsigned access_size(const struct acpi_gas *g)
{
	if (g->access_size)
		return g->access_size <= 4 ? 1u << (g->access_size - 1) : 0;
	return g->bit_width == 8 || g->bit_width == 16 || g->bit_width == 32 ? g->bit_width / 8 : 0;
}

static u32 read_port(u16 port, unsigned size)
{
	if (size == 1)
		return inb(port);
	return size == 2 ? inw(port) : inl(port);
}

static bool ask(const struct wdat_question *q, u32 *answer)
{
	const struct acpi_gas *g = &q->reg;
	unsigned size = access_size(g);
	volatile u8 *at;
	u64 raw;

	if (!q->mask || !size || g->address & (size - 1) || g->bit_offset >= 32)
		return false;
	if (g->space_id == ACPI_SPACE_IO && g->address <= 0x10000 - size && size <= 4) {
		raw = read_port((u16)g->address, size);
	} else if (g->space_id == ACPI_SPACE_MEMORY && (size == 1 || size == 4)) {
		at = mmio_map(g->address, size);
		if (!at)
			return false;
		raw = size == 1 ? mmio_read8(at) : mmio_read32(at);
	} else {
		return false;
	}
	*answer = (u32)(raw >> g->bit_offset) & q->mask;
	return true;
}

static bool by_table(struct host_watchdog *w)
{
	const struct acpi_sdt *table = acpi_table("WDAT", 0);
	const char *reason;
	struct wdat_info info;
	bool runs;
	u32 answer;

	if (!table)
		return false;
	reason = wdat_read(table, table->length, &info);
	if (reason)
		printk_error("acpi: table WDAT: %s: ignored", reason);
	if (reason || !info.enabled)
		return false;
	w->name = "WDAT";
	if (ask(&info.running, &answer)) {
		runs = answer == info.running.value;
	} else if (ask(&info.stopped, &answer)) {
		runs = answer != info.stopped.value;
	} else {
		set(w, HOST_WATCHDOG_UNKNOWN, "the table does not say how it is asked");
		return true;
	}
	set(w, runs ? HOST_WATCHDOG_RUNS : HOST_WATCHDOG_OFF, RESTARTS);
	if (runs && ask(&info.left, &answer))
		set_left(w, (u64)answer * info.tick_ms / 1000);
	return true;
}

/* ---- Intel's TCO ----------------------------------------------------------------- */

#define INTEL 0x8086
#define CLASS_ISA 0x0601
#define CLASS_SMBUS 0x0c05

/* of the ISA bridge */
#define LPC_PMBASE 0x40
#define LPC_ACPI_CNTL 0x44
#define LPC_ACPI_EN BIT(7)
#define LPC_RCBA 0xf0
#define RCBA_GCS 0x3410
#define GCS_NO_REBOOT BIT(5)
/* of the SMBus function */
#define SMBUS_TCOBASE 0x50
#define SMBUS_TCOCTL 0x54
#define SMBUS_TCO_EN BIT(8)

#define TCO_RLD 0
#define TCO_COUNT 0x3ff
#define TCO_TICK_MS 600
#define TCO1_CNT 8
#define TCO1_NO_REBOOT BIT(0)
#define TCO1_HALT BIT(11)

/* Where its ports are, and what keeps it from restarting the machine. */
enum tco_way {
	BY_ISA,           /* behind the ACPI ports; GCS */
	BY_SMBUS,         /* base of its own; a register that cannot be seen */
	BY_SMBUS_CONTROL, /* the same; a bit of TCO1_CNT */
};
/* clang-format off */
static const struct {
	u16 first;
	u16 last;
	enum tco_way way;
} tcos[] = {
	{ 0x2670, 0x267f, BY_ISA }, /* 631xESB */
	{ 0x2912, 0x2919, BY_ISA }, /* ICH9 */
	{ 0x3a14, 0x3a1a, BY_ISA }, /* ICH10 */
	{ 0x3b00, 0x3b16, BY_ISA }, /* 5 series, 3400 */
	{ 0x1c41, 0x1c5f, BY_ISA }, /* 6 series, C200 */
	{ 0x1d40, 0x1d41, BY_ISA }, /* C600 */
	{ 0x1e40, 0x1e5f, BY_ISA }, /* 7 series, C216 */
	{ 0x8c40, 0x8c5f, BY_ISA }, /* 8 series, C220 */
	{ 0x8d40, 0x8d5f, BY_ISA }, /* C610 */
	{ 0xa123, 0xa123, BY_SMBUS }, /* 100 series, C230 */
	{ 0xa1a3, 0xa1a3, BY_SMBUS }, /* C620 */
	{ 0xa223, 0xa223, BY_SMBUS },
	{ 0xa2a3, 0xa2a3, BY_SMBUS }, /* 200 series */
	{ 0xa323, 0xa323, BY_SMBUS_CONTROL }, /* 300 series, C240 */
	{ 0x1bc9, 0x1bc9, BY_SMBUS_CONTROL }, /* C740 */
};
/* clang-format on */

static bool tco_ports(const struct pci_function *f, enum tco_way way, u16 *base)
{
	struct pci_address a = f->address;

	if (way == BY_ISA) {
		*base = (pci_read(a, LPC_PMBASE, 4) & 0xff80) + 0x60;
		return *base != 0x60 && pci_read(a, LPC_ACPI_CNTL, 1) & LPC_ACPI_EN;
	}
	*base = pci_read(a, SMBUS_TCOBASE, 4) & 0xffe0;
	return *base && pci_read(a, SMBUS_TCOCTL, 4) & SMBUS_TCO_EN;
}

/* It counts: what comes of that? */
static void look_at_no_reboot(const struct pci_function *f, enum tco_way way, u16 control,
			      struct host_watchdog *w)
{
	u32 rcba = way == BY_ISA ? pci_read(f->address, LPC_RCBA, 4) : 0;
	volatile u8 *gcs = rcba & 1 ? mmio_map((rcba & 0xffffc000) + RCBA_GCS, 4) : NULL;
	bool no_reboot = gcs ? mmio_read32(gcs) & GCS_NO_REBOOT : control & TCO1_NO_REBOOT;

	if (way != BY_SMBUS_CONTROL && !gcs)
		set(w, HOST_WATCHDOG_UNKNOWN,
		    "it runs, and whether it restarts the machine cannot be seen");
	else if (no_reboot)
		set(w, HOST_WATCHDOG_HARMLESS, "NO_REBOOT is set");
	else
		set(w, HOST_WATCHDOG_RUNS, RESTARTS);
}

static bool look_at_tco(const struct pci_function *f, enum tco_way way, struct host_watchdog *w)
{
	u16 base, control;

	w->name = "TCO";
	if (!tco_ports(f, way, &base)) {
		set(w, HOST_WATCHDOG_UNKNOWN, "its ports are switched off");
		return true;
	}
	control = inw(base + TCO1_CNT);
	if (control == 0xffff)
		set(w, HOST_WATCHDOG_UNKNOWN, NO_ANSWER);
	else if (control & TCO1_HALT)
		set(w, HOST_WATCHDOG_OFF, "");
	else
		look_at_no_reboot(f, way, control, w);
	if (w->state == HOST_WATCHDOG_RUNS)
		set_left(w, (u64)(inw(base + TCO_RLD) & TCO_COUNT) * TCO_TICK_MS / 1000);
	return true;
}

static bool tco(const struct pci_function *f, struct host_watchdog *w)
{
	for (unsigned i = 0; f->id.vendor == INTEL && i < ARRAY_SIZE(tcos); i++) {
		unsigned class = tcos[i].way == BY_ISA ? CLASS_ISA : CLASS_SMBUS;

		if (f->id.class_code >> 8 == class && f->id.device >= tcos[i].first &&
		    f->id.device <= tcos[i].last)
			return look_at_tco(f, tcos[i].way, w);
	}
	return false;
}

/* ---- AMD's ------------------------------------------------------------------------- */

/* SMBus functions */
#define SBX00 0x43851002
#define SB800_REVISION 0x40
#define HUDSON 0x780b1022
#define FCH 0x790b1022
#define ZEN_REVISION 0x51 /* PM registers are in memory */

#define WDT_RUN BIT(0)
#define WDT_POWER_OFF BIT(2)
#define WDT_DISABLED BIT(3)
#define WDT_COUNT 4
#define BY_SECONDS 3 /* of two bits: the count's unit */

static void look_at_wdt(u64 at, bool seconds, struct host_watchdog *w)
{
	volatile u8 *wdt = mmio_map(at, 8);
	u32 control = wdt ? mmio_read32(wdt) : ~0u;

	if (control == ~0u) {
		set(w, HOST_WATCHDOG_UNKNOWN, NO_ANSWER);
		return;
	}
	if (control & WDT_DISABLED || !(control & WDT_RUN)) {
		set(w, HOST_WATCHDOG_OFF, "");
		return;
	}
	set(w, HOST_WATCHDOG_RUNS, control & WDT_POWER_OFF ? "the machine goes off" : RESTARTS);
	if (seconds)
		set_left(w, mmio_read32(wdt + WDT_COUNT) & 0xffff);
}

#define FCH_PM 0xfed80300u
#define FCH_DECODE_EN 0
#define FCH_WDT_EN BIT(7) /* registers and timer */
#define FCH_DECODE_EN3 3
#define FCH_WDT 0xfeb00000u

static void look_at_fch(struct host_watchdog *w)
{
	volatile u8 *pm = mmio_map(FCH_PM, 8);
	u8 enable = pm ? mmio_read8(pm + FCH_DECODE_EN) : 0xff;

	w->name = "FCH";
	if (enable == 0xff)
		set(w, HOST_WATCHDOG_UNKNOWN, NO_ANSWER);
	else if (!(enable & FCH_WDT_EN))
		set(w, HOST_WATCHDOG_OFF, "");
	else
		look_at_wdt(FCH_WDT, (mmio_read8(pm + FCH_DECODE_EN3) & 3) == BY_SECONDS, w);
}

#define SP5100_INDEX 0xcd6 /* choosing a register changes none */
#define SP5100_DATA 0xcd7
#define SP5100_WDT_CONTROL 0x69
#define SP5100_WDT_DISABLED BIT(0)
#define SP5100_WDT_BASE 0x6c
#define SP5100_MISC 0x41
#define SP5100_WDT_DECODE BIT(3)

static u8 read_sp5100(u8 index)
{
	outb(SP5100_INDEX, index);
	return inb(SP5100_DATA);
}

static void look_at_sp5100(const struct pci_function *f, struct host_watchdog *w)
{
	u8 control = read_sp5100(SP5100_WDT_CONTROL);
	u32 base = 0;

	w->name = "SP5100";
	for (u8 i = 4; i-- > 0;)
		base = base << 8 | read_sp5100((u8)(SP5100_WDT_BASE + i));
	base &= ~7u;
	if (control & SP5100_WDT_DISABLED)
		set(w, HOST_WATCHDOG_OFF, "");
	else if (!(pci_read(f->address, SP5100_MISC, 1) & SP5100_WDT_DECODE) || !base)
		set(w, HOST_WATCHDOG_UNKNOWN, "its registers are switched off");
	else
		look_at_wdt(base, (control >> 1 & 3) == BY_SECONDS, w);
}

static bool amd(const struct pci_function *f, struct host_watchdog *w)
{
	u8 revision = (u8)pci_read(f->address, PCI_REG_CLASS, 1);
	u32 id = (u32)f->id.device << 16 | f->id.vendor;

	if (id != SBX00 && id != HUDSON && id != FCH)
		return false;
	if (id == SBX00 && revision < SB800_REVISION) {
		look_at_sp5100(f, w);
	} else if (id == FCH && revision >= ZEN_REVISION) {
		look_at_fch(w);
	} else {
		w->name = "SB800";
		set(w, HOST_WATCHDOG_UNKNOWN, "of this chipset it is not read");
	}
	return true;
}

/* ---- all of them ------------------------------------------------------------------- */

static bool of_chipset(struct host_watchdog *w)
{
	const struct pci_function *f;

	for (unsigned i = 0; (f = pci_get(i)); i++)
		if (tco(f, w) || amd(f, w))
			return true;
	return false;
}

unsigned host_watchdogs(struct host_watchdog out[HOST_WATCHDOGS])
{
	unsigned n = 0;

	for (unsigned i = 0; i < HOST_WATCHDOGS; i++)
		out[i] = (struct host_watchdog){ 0 };
	/* The table's is the chipset's. */
	n += by_table(&out[n]) || of_chipset(&out[n]);
	n += watchdog_bmc(&out[n]);
	return n;
}
