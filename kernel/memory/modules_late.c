/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Modules that came after the boot (modules.h, <margay/host.h>): who has given them keeps them
 * where they are.
 */
#include "kernel/memory/modules.h"

#include <margay/errno.h>
#include <margay/host.h>
#include <margay/string.h>

static char names[HOST_LATE_MODULES][BOOTINFO_MODULE_STRING];
static struct host_module late[HOST_LATE_MODULES];
static unsigned count; /* of those that were ever used */

const struct host_module *module_late(unsigned i)
{
	return i < __atomic_load_n(&count, __ATOMIC_ACQUIRE) ? &late[i] : NULL;
}

int host_module_add(const char *name, const void *data, u64 size)
{
	unsigned i = 0;

	while (i < count && late[i].name[0])
		i++;
	if (i == HOST_LATE_MODULES)
		return -ENOSPC;
	snprintf(names[i], sizeof(names[i]), "%s", name);
	late[i].args = "";
	late[i].data = data;
	late[i].size = size;
	/* Whoever finds the name finds the rest. */
	__atomic_store_n(&late[i].name, names[i], __ATOMIC_RELEASE);
	if (i == count)
		__atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
	return 0;
}

void host_module_remove(const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(late[i].name, name))
			__atomic_store_n(&late[i].name, "", __ATOMIC_RELEASE);
}
