/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The end of a hardware check with `dump`, all that tools/margay-replay needs of the machine; and
 * with `json`; both in the log.
 */
#ifndef VMM_HWCHECK_DUMP_H
#define VMM_HWCHECK_DUMP_H

#include <margay/types.h>

/*
 * Boot CPU, before any VM exists; the other CPUs have no work. Takes as long as the console's line
 * needs for it.
 */
void hwcheck_dump(void);

#if IS_ENABLED(CONFIG_CHECK_JSON)
/* Something that this node should have, by its name in the report: before hwcheck_json(). */
void hwcheck_json_missing(const char *name);

/*
 * A block for tools/margay-fleet, of lines `json: TEXT` between `json: begin` and `json: end CRC`:
 * the texts together are one JSON object, docs/operating.md has its keys; the CRC-32 is theirs,
 * without line ends. able: VMs can run. As hwcheck_dump().
 */
void hwcheck_json(bool able);
#else
static inline void hwcheck_json_missing(const char *) { }

static inline void hwcheck_json(bool) { }
#endif

#endif
