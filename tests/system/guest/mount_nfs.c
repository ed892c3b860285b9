// SPDX-License-Identifier: GPL-2.0-only
/*
 * mount_nfs ADDRESS:PATH DIRECTORY OPTIONS: NFSv4 with the kernel's own options, which need no
 * mount.nfs and no names.
 */
#include <stdio.h>
#include <sys/mount.h>

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	if (mount(argv[1], argv[2], "nfs4", 0, argv[3])) {
		perror("mount_nfs");
		return 1;
	}
	return 0;
}
