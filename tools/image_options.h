/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which options the image at hand lacks, by what its ELF file says: for image_has() of
 * <margay/has.h>.
 */
#ifndef TOOLS_IMAGE_OPTIONS_H
#define TOOLS_IMAGE_OPTIONS_H

/*
 * Reads them. NULL, or what is wrong with the file, after which the image counts as one with all.
 */
const char *image_options_read(const char *path);

#endif
