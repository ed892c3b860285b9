/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pure module: the disk of a VM whose file has `meta =` lines: a FAT12 volume labelled cidata, with
 * the files that cloud-init's data source NoCloud reads: meta-data, user-data, network-config.
 */
#ifndef VMM_DEV_VIRTIO_CIDATA_H
#define VMM_DEV_VIRTIO_CIDATA_H

#include <margay/types.h>

struct vm_config;

#define CIDATA_SIZE KIB(16)

/*
 * Makes the volume: the same bytes for the same lines and name, which is what the guest is called
 * unless a line says otherwise.
 */
void cidata_make(u8 image[CIDATA_SIZE], const struct vm_config *config, const char *name);

#endif
