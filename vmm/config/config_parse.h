/* SPDX-License-Identifier: GPL-2.0-only */
/* Private to vmm/config/: what the setters of the VM file's keys share. */
#ifndef VMM_CONFIG_PARSE_H
#define VMM_CONFIG_PARSE_H

#include <margay/has.h>
#include <margay/span.h>

#include "vmm/config/config.h"

/* Characters of a wrong value that an error repeats. */
#define CONFIG_SHOWN_MAX 40

struct parser {
	const char *file;
	unsigned line;
	struct vm_config *config;
	struct config_error *err;
	/* takes each error that is not the last; NULL: the first one ends it */
	void (*tell)(const char *text);
	unsigned errors;
	bool over; /* no more are looked for */
	const char *key; /* of the line */
	char *text;      /* where the configuration has it, if it is a text */
};

#define CONFIG_SEVERAL 2
#if IS_ENABLED(CONFIG_VM_MODULES)
/* Where struct key has `at`: may the key stand in several lines? */
static inline bool config_is_list(unsigned at)
{
	return at == CONFIG_SEVERAL;
}
#else
/* Modules are the first of them: images with disks or networks have those, too. */
static inline bool config_is_list(unsigned)
{
	return false;
}
#endif

/* Errors of a file that are told; what has so many is no VM file. */
#define CONFIG_ERRORS_MAX 20

/* One more, which is not in *err yet. Is another looked for, to be told after it? */
#if IS_ENABLED(CONFIG_BOOT_LOG)
static inline bool config_goes_on(struct parser *p)
{
	if (p->errors++)
		p->tell(p->err->text);
	return p->tell && p->errors != CONFIG_ERRORS_MAX;
}
#else
static inline bool config_goes_on(struct parser *p)
{
	p->errors++;
	return false;
}
#endif

/* Both return -EINVAL with the error at the present line, 0: of the file. */
int config_fail(struct parser *p, const char *fmt, ...) __printf(2, 3);
int config_wrong(struct parser *p, const char *key, const char *expected, struct span found);

/*
 * one() for each part of a list with commas; `key` and what is `missing` are for the error at a
 * comma that ends it.
 */
int config_list(struct parser *p, const char *key, const char *missing, struct span v,
		int (*one)(struct parser *p, struct span v));
/*
 * One of the words, ended by NULL, with HAS_WORD(): 0 and its index, or -EINVAL with an error that
 * lists those of the image.
 */
int config_word(struct parser *p, const char *key, struct span v, const char *const *words,
		unsigned *out);

/* The name of a boot module, into p->text. */
int config_module_name(struct parser *p, struct span v);

/* A line of `module =`. */
int config_set_module(struct parser *p, struct span v);

/* config_shape.c: the keys that say which part of the node a VM gets. */
int config_set_cpus(struct parser *p, struct span v);
int config_set_memory(struct parser *p, struct span v);
/* A size as of memory, in bytes; all of `v`. */
int config_size(struct parser *p, struct span v, u64 *out);

/* config_disk.c */
int config_set_disk(struct parser *p, struct span v);
/* The i-th disk that is a module; false past the last. */
bool config_disk_name(const struct vm_config *c, unsigned i, struct vm_config_name *out);

/* config_meta.c */
int config_set_meta(struct parser *p, struct span v);

/* config_control.c */
int config_set_control_may(struct parser *p, struct span v);

/* config_net.c */
int config_set_net(struct parser *p, struct span v);

/* config_ends.c */
int config_set_restart_limit(struct parser *p, struct span v);
/* After all keys: on_end, or the others? Sets these to on_end's. */
void config_resolve_ends(struct parser *p);

/* config_console.c */
int config_set_console_log(struct parser *p, struct span v);

/* config_rdt.c */
int config_set_cache(struct parser *p, struct span v);
int config_set_bandwidth(struct parser *p, struct span v);

#if IS_ENABLED(CONFIG_DIRECT_INTERRUPTS)
/* config_direct.c. After all keys: does what they say go with interrupts and ipi? */
void config_resolve_direct(struct parser *p);
#else
static inline void config_resolve_direct(struct parser *) { }
#endif

/* config_pci.c */
int config_set_pci(struct parser *p, struct span v);
int config_set_pci_irq(struct parser *p, struct span v);
int config_set_pci_node(struct parser *p, struct span v);
int config_set_dma(struct parser *p, struct span v);
/* `01:00.0`, `0000:01:00.0` */
bool config_pci_address(struct span s, struct pci_address *out);
/* After all keys: do dma, memory_map and pci go together? Sets what follows from the others. */
void config_resolve_dma(struct parser *p);

/* config_sriov.c */
int config_set_vfs(struct parser *p, struct span v);
#if IS_ENABLED(CONFIG_SRIOV)
/* `vf:00:08.0:1` */
bool config_pci_vf(struct span s, struct vm_config_pci *out);
/* After all keys: do vfs and pci go together? */
void config_resolve_vfs(struct parser *p);
#else
static inline bool config_pci_vf(struct span, struct vm_config_pci *)
{
	return false;
}

static inline void config_resolve_vfs(struct parser *) { }
#endif

#endif
