/* SPDX-License-Identifier: GPL-2.0-only */
/* Error numbers: functions return 0 or one of these, negated. Values as in Linux. */
#ifndef MARGAY_ERRNO_H
#define MARGAY_ERRNO_H

#ifdef __STDC_HOSTED__
#if __STDC_HOSTED__
#include <errno.h>
#endif
#endif

#ifndef EPERM
enum {
	EPERM = 1,
	ENOENT = 2,
	EIO = 5,
	ENXIO = 6,
	E2BIG = 7,
	ENOEXEC = 8,
	EAGAIN = 11,
	ENOMEM = 12,
	EFAULT = 14,
	EBUSY = 16,
	EEXIST = 17,
	ENODEV = 19,
	EINVAL = 22,
	ENOSPC = 28,
	ERANGE = 34,
	ENOSYS = 38,
	EALREADY = 114,
};
#endif

#endif
