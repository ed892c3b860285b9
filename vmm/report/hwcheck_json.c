/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See hwcheck_dump.h. Each line of the block has "json: " in front, since others may put something
 * before it; CPUID's brand: SDM vol. 2, APM vol. 3; Device Serial Number: PCI Express Base 5.0,
 * 7.9.3, an EUI-64.
 */
#include "vmm/report/hwcheck_dump.h"

#include <margay/host.h>
#include <margay/string.h>

#include "vmm/report/hwcheck_encode.h"

#define CAP_SERIAL_NUMBER 3

static u32 crc;
static char missing[1024]; /* names, each ended by a line end; what does not fit is left out */

/* A line of the block. */
static __printf(1, 2) void put(const char *fmt, ...)
{
	char text[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	crc = dump_crc(crc, text);
	host_log("json: %s", text);
	host_console_drain();
}

void hwcheck_json_missing(const char *name)
{
	size_t n = strlen(missing);

	if (n + strlen(name) + 2 <= sizeof(missing))
		snprintf(missing + n, sizeof(missing) - n, "%s\n", name);
}

static void put_cpu(void)
{
	struct cpuid_regs r;
	char brand[49] = "";
	u64 microcode = 0;
	bool intel;

	host_cpuid(0x80000000, 0, &r);
	if (r.eax >= 0x80000004)
		for (unsigned i = 0; i < 3; i++)
			host_cpuid(0x80000002 + i, 0, (struct cpuid_regs *)(brand + 16 * i));
	/* What a JSON string cannot hold; a hypervisor below may say anything. */
	for (char *c = brand; *c; c++)
		*c = *c < ' ' || *c > '~' || *c == '"' || *c == '\\' ? '?' : *c;
	host_cpuid(0, 0, &r);
	intel = !memcmp(&r.ebx, "Genu", 4);
	/* Intel's revision is there after CPUID: SDM vol. 3, 10.11.7.1. */
	if (intel)
		(void)host_wrmsr(MSR_BIOS_SIGN_ID, 0);
	host_cpuid(1, 0, &r);
	(void)host_rdmsr(MSR_BIOS_SIGN_ID, &microcode);
	put("\"cpu\":\"%s\",\"signature\":\"%#x\",\"microcode\":\"%#x\",", brand, r.eax,
	    (u32)(intel ? microcode >> 32 : microcode));
}

/*
 * The MAC address of which a network card has made its Device Serial Number; nothing without one.
 */
static void mac_address(unsigned i, const struct pci_info *f, char text[40])
{
	struct pci_cap cap[64];
	bool able = f->id.class_code >> 16 == 2;
	unsigned n = able ? MIN(host_pci_caps(i, cap, ARRAY_SIZE(cap)), ARRAY_SIZE(cap)) : 0;

	for (unsigned k = 0; k < n; k++) {
		u32 low, high;

		if (!cap[k].extended || cap[k].id != CAP_SERIAL_NUMBER)
			continue;
		low = host_pci_read(i, cap[k].offset + 4, 4);
		high = host_pci_read(i, cap[k].offset + 8, 4);
		if ((high & 0xff) == 0xff && low >> 24 >= 0xfe)
			snprintf(text, 40, ",\"mac\":\"%02x:%02x:%02x:%02x:%02x:%02x\"", high >> 24,
				 high >> 16 & 0xff, high >> 8 & 0xff, low >> 16 & 0xff,
				 low >> 8 & 0xff, low & 0xff);
	}
}

static void put_pci(void)
{
	struct pci_info f;

	put("\"pci\":[");
	for (unsigned i = 0; host_pci_info(i, &f); i++) {
		char mac[40] = "";

		mac_address(i, &f, mac);
		put("%s{\"address\":\"" PCI_FULL_FORMAT
		    "\",\"id\":\"%04x:%04x\",\"class\":\"%06x\",\"node\":%d%s}",
		    i ? "," : "", PCI_FULL_FORMAT_ARGS(f.address), f.id.vendor, f.id.device,
		    f.id.class_code, f.has_node ? (int)f.node : -1, mac);
	}
	put("],");
}

void hwcheck_json(bool able)
{
	crc = 0;
	host_log("json: begin");
	put("{\"margay\":\"%s\",\"image\":\"%s\",\"able\":%s,", host_version(), host_image(),
	    able ? "true" : "false");
	put_cpu();
	put("\"cpus\":%u,\"tsc_khz\":%lu,\"memory\":[", host_cpu_count(), host_tsc_khz());
	for (unsigned i = 0; i < host_node_count(); i++)
		put("%s%lu", i ? "," : "", host_node_memory(i));
	put("],");
	put_pci();
	put("\"missing\":[");
	for (char *at = missing, *end; (end = strchr(at, '\n')); at = end + 1)
		put("%s\"%.*s\"", at == missing ? "" : ",", (int)(end - at), at);
	put("]}");
	host_log("json: end %08x", crc);
}
