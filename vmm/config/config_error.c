/* SPDX-License-Identifier: GPL-2.0-only */
/* Pure module: what is said of a VM file that is wrong, and lists, of which a part may be. */
#include <margay/errno.h>
#include <margay/string.h>

#include "vmm/config/config_parse.h"

static int error_v(struct config_error *err, const char *file, unsigned line, const char *fmt,
		   va_list ap)
{
	int n;

	if (line)
		n = snprintf(err->text, sizeof(err->text), "%.100s:%u: ", file, line);
	else
		n = snprintf(err->text, sizeof(err->text), "%.100s: ", file);
	vsnprintf(err->text + n, sizeof(err->text) - (size_t)n, fmt, ap);
	/* What the file says may be anything; the console gets printable text. */
	for (char *c = err->text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return -EINVAL;
}

int vm_config_error(struct config_error *err, const char *file, unsigned line, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_v(err, file, line, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int config_fail(struct parser *p, const char *fmt, ...)
{
	va_list ap;

	p->over |= !config_goes_on(p);
	va_start(ap, fmt);
	error_v(p->err, p->file, p->line, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int config_wrong(struct parser *p, const char *key, const char *expected, struct span found)
{
	return config_fail(p, "%s: expected %s, found '%.*s'%s", key, expected,
			   (int)MIN(found.n, (size_t)CONFIG_SHOWN_MAX), found.p,
			   found.n > CONFIG_SHOWN_MAX ? "..." : "");
}

int config_list(struct parser *p, const char *key, const char *missing, struct span v,
		int (*one)(struct parser *p, struct span v))
{
	bool more;

	do {
		struct span part = span_part(&v, ',', &more);
		int err = one(p, span_trim(part));

		if (err)
			return err;
		if (more && !v.n)
			return config_wrong(p, key, missing, (struct span){ part.p, part.n + 1 });
	} while (more);
	return 0;
}
