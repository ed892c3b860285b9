/* SPDX-License-Identifier: GPL-2.0-only */
/* See check-kernel.h. */
#include "tools/check-kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <margay/has.h>
#include "vmm/load/bzimage.h"
#include "vmm/load/linux_built.h"

#define STEP (1u << 20)
#define LARGEST (1u << 30) /* a kernel has 60 MB; what unpacks to more is none */
#define UNKNOWN "what it was built with is not known"

/* How the kernel in a bzImage begins (Linux, lib/decompress.c), and what unpacks it. */
/* clang-format off */
static const struct {
	const char *magic;
	const char *program;
} packers[] = {
	{ "\x1f\x8b", "gzip" }, { "\xfd" "7zXZ", "xz" }, { "\x28\xb5\x2f\xfd", "zstd" },
	{ "\x02\x21\x4c\x18", "lz4" },
	{ "BZh", "bzip2" }, { "\x89" "LZO", "lzop" }, { "\x5d", "xz" },
};
/* clang-format on */

static void run(const char *program, int from, int to)
{
	/*
	 * It may say that the kernel's size, which stands behind what it unpacks, is none of its
	 * own.
	 */
	if (dup2(from, 0) < 0 || dup2(to, 1) < 0 || !freopen("/dev/null", "w", stderr))
		_exit(1);
	execlp(program, program, "-dc", (char *)NULL);
	_exit(1);
}

/* NULL: it is too large, or there is no memory for it. */
static u8 *read_all(int from, size_t *size)
{
	u8 *data = NULL;

	for (*size = 0; *size <= LARGEST;) {
		u8 *larger = realloc(data, *size + STEP);
		ssize_t got;

		if (!larger)
			break;
		data = larger;
		got = read(from, data + *size, STEP);
		if (got <= 0)
			return data;
		*size += (size_t)got;
	}
	free(data);
	return NULL;
}

/* What the program makes of so many bytes; the caller frees it. NULL: nothing. */
static u8 *unpack(const char *program, const u8 *packed, size_t packed_size, size_t *size)
{
	FILE *input = tmpfile();
	int out[2];
	u8 *data;
	pid_t child;

	if (!input || fwrite(packed, 1, packed_size, input) != packed_size || fflush(input) ||
	    lseek(fileno(input), 0, SEEK_SET) || pipe(out)) {
		if (input)
			fclose(input);
		return NULL;
	}
	child = fork();
	if (!child) {
		/* It ends when nobody reads any more. */
		close(out[0]);
		run(program, fileno(input), out[1]);
	}
	fclose(input);
	close(out[1]);
	data = child > 0 ? read_all(out[0], size) : NULL;
	close(out[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	return data;
}

/* What the compressed kernel of a bzImage was built without. */
static unsigned unpacked_without(const u8 *data, size_t size)
{
	unsigned without = LINUX_BUILT_UNKNOWN;
	struct bzimage img;

	if (!bzimage_is_linux(data, size) || bzimage_parse(data, size, &img))
		return without;
	data += img.offset + img.hdr.payload_offset;
	for (unsigned i = 0; i < ARRAY_SIZE(packers); i++)
		if (img.hdr.payload_length > 8 &&
		    !memcmp(data, packers[i].magic, strlen(packers[i].magic))) {
			u8 *whole = unpack(packers[i].program, data, img.hdr.payload_length, &size);

			without = whole ? linux_built_without(whole, size) : without;
			free(whole);
			break;
		}
	return without;
}

static void tell(const struct vm_config *c, const char *why, const char *what)
{
	fprintf(stderr, "%s: kernel %s: %s%s%s\n", c->file, c->kernel, why ? why : "",
		why ? ": " : "", what);
}

/* Why it takes no x2APIC mode; NULL: it does. */
static const char *no_x2apic(const struct vm_config *c, unsigned without)
{
	if (without & LINUX_BUILT_NO_KVM_GUEST)
		return "built without KVM_GUEST";
	return without & LINUX_BUILT_NO_X2APIC ? "built without X86_X2APIC"
					       : vm_config_linux(c, LINUX_NO_X2APIC);
}

bool check_kernel(const struct vm_config *c, const void *data, size_t size, bool all)
{
	unsigned without = linux_built_without(data, size);
	const char *clock = linux_no_clock(c, data, size), *x2apic;

	if (all && without & LINUX_BUILT_UNKNOWN)
		without = unpacked_without(data, size);
	x2apic = no_x2apic(c, without);
	if (!clock && without & LINUX_BUILT_NO_KVM_GUEST)
		clock = x2apic;
	if (x2apic && c->interrupts == VM_INTERRUPTS_DIRECT) {
		struct config_error err;

		vm_config_error(&err, c->file, c->line_direct, VM_CONFIG_NOT_DIRECT, x2apic);
		fprintf(stderr, "%s\n", err.text);
		return false;
	}
	if (clock && !HAS(CONFIG_VM_TSC_ONLY))
		tell(c, clock,
		     "the image has no CONFIG_VM_TSC_ONLY: it is told no rate of its TSC, and needs a CPU that says it");
	else if (clock)
		tell(c, clock,
		     "it is told the rate of its TSC (tsc_early_khz=, which Linux knows from 5.8 on)");
	if (x2apic && c->interrupts == VM_INTERRUPTS_AUTO)
		tell(c, x2apic, "it takes no x2APIC mode, so interrupts = auto is emulated");
	if (all && !clock && !x2apic && without & LINUX_BUILT_UNKNOWN)
		tell(c, NULL,
		     HAS(CONFIG_VM_TSC_ONLY) ? UNKNOWN "; the node finds out when it runs"
					     : UNKNOWN);
	else if (all && !clock && !x2apic)
		tell(c, NULL, "it uses KVM's clock and x2APIC mode");
	return true;
}
