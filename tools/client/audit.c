/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * See audit.h. The user is whom the kernel has noted at the login, which no later program changes;
 * names come from /etc/passwd, for the program is static in an initrd.
 */
#include "audit.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "journal.h"
#include "libmargay.h"

#define NOBODY 4294967295ul /* as the kernel has it of who has not logged in */
#define PATIENCE 1          /* second: a command is not kept by who would write it down */

/* Of /etc/passwd; 0: it is not there. */
static int find_name(unsigned long uid, char *name, size_t size)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *entry;
	int found = 0;

	while (f && !found && (entry = fgetpwent(f)))
		if (entry->pw_uid == uid) {
			snprintf(name, size, "%s", entry->pw_name);
			found = 1;
		}
	if (f)
		fclose(f);
	return found;
}

static unsigned long login_uid(void)
{
	FILE *f = fopen("/proc/self/loginuid", "re");
	unsigned long uid = NOBODY;

	if (f && fscanf(f, "%lu", &uid) != 1)
		uid = NOBODY;
	if (f)
		fclose(f);
	return uid;
}

const char *audit_user(void)
{
	static char name[MARGAY_USER_MAX + 1];
	const char *sudo = getenv("SUDO_USER"), *sudo_uid = getenv("SUDO_UID");
	unsigned long uid = login_uid(), user = uid == NOBODY ? getuid() : uid;

	/* One of a directory of users: sudo knows his name. */
	if (sudo && *sudo && (uid == NOBODY || (sudo_uid && strtoul(sudo_uid, NULL, 10) == uid)))
		snprintf(name, sizeof(name), "%s", sudo);
	else if (!find_name(user, name, sizeof(name)))
		snprintf(name, sizeof(name), "uid=%lu", user);
	return name;
}

/* What changes nothing, so that who reads the journal may leave it out. */
static int only_looks(const char *command)
{
	static const char *const those[] = { "info",     "list",       "show",    "wait",
					     "watch",    "stats",      "metrics", "log",
					     "events",   "journal",    "node",    "pci",
					     "net show", "image list", NULL };

	for (const char *const *c = those; *c; c++)
		if (!strcmp(command, *c))
			return 1;
	return 0;
}

void audit_command(const char *command, char *const *words)
{
	int priority = only_looks(command) ? LOG_INFO : LOG_NOTICE;
	char text[1000] = "";
	size_t n = 0;

	for (; *words && n < sizeof(text); words++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "", *words);
	if (!journal_open(PATIENCE)) {
		openlog("margay", LOG_PID, LOG_AUTHPRIV);
		syslog(priority, "%s: margay %s %s", audit_user(), command, text);
		closelog();
		return;
	}
	journal_begin(priority, "margay");
	journal_field("MESSAGE", "%s: margay %s%s%s", audit_user(), command, *text ? " " : "",
		      text);
	journal_field("SYSLOG_FACILITY", "%d", LOG_AUTHPRIV >> 3);
	journal_field("MARGAY_USER", "%s", audit_user());
	journal_field("MARGAY_COMMAND", "%s", command);
	journal_field("MARGAY_ARGUMENTS", "%s", text);
	journal_end();
	journal_close();
}
