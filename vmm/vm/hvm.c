/* SPDX-License-Identifier: GPL-2.0-only */
/* Which of the backends that are linked in runs the VMs, and what it can. */
#include "vmm/hvm.h"

#include <margay/errno.h>

const struct hvm_ops *hvm;
struct hvm_caps hvm_caps;

extern const struct hvm_ops *const __start_hvm_backends[], *const __stop_hvm_backends[];

int hvm_find_backend(void (*tell)(const struct hvm_feature *f))
{
	int result = -ENODEV;

	for (const struct hvm_ops *const *b = __start_hvm_backends; b < __stop_hvm_backends; b++) {
		int err = (*b)->probe(&hvm_caps, tell);

		if (!err) {
			hvm = *b;
			return 0;
		}
		if (err != -ENODEV)
			result = err;
	}
	return result;
}
