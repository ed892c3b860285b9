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
#define EPERM 1
#define ENOENT 2
#define EIO 5
#define ENXIO 6
#define E2BIG 7
#define ENOEXEC 8
#define EAGAIN 11
#define ENOMEM 12
#define EFAULT 14
#define EBUSY 16
#define EEXIST 17
#define ENODEV 19
#define EINVAL 22
#define ENOSPC 28
#define ERANGE 34
#define ENOSYS 38
#define EALREADY 114
#endif

#endif
