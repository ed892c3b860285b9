/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: gdb= of the command line. */
#include <margay/string.h>
#include "kernel/boot/cmdline_words.h"

#define BAUD_DEFAULT 115200u

/* com1 to com4, a speed if wanted, the VM's name. */
bool cmdline_gdb(struct span value, struct cmdline *out)
{
	static const u16 port[] = { 0x3f8, 0x2f8, 0x3e8, 0x2e8 };
	struct cmdline c = *out;
	struct span part;
	bool more;

	part = span_part(&value, ',', &more);
	if (!more || part.n != 4 || memcmp(part.p, "com", 3) != 0 || part.p[3] < '1' ||
	    part.p[3] > '4')
		return false;
	c.gdb_port = port[part.p[3] - '1'];
	c.gdb_irq = part.p[3] & 1 ? 4 : 3;
	c.gdb_baud = BAUD_DEFAULT;
	part = span_part(&value, ',', &more);
	if (more && !cmdline_baud(part, &c.gdb_baud))
		return false;
	if (more)
		part = span_part(&value, ',', &more);
	if (more || !part.n || part.n >= sizeof(c.gdb_vm))
		return false;
	memset(c.gdb_vm, 0, sizeof(c.gdb_vm));
	memcpy(c.gdb_vm, part.p, part.n);
	*out = c;
	return true;
}
