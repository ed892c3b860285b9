/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * register DEVICE LOOPS: registers a buffer of 1 MiB with an RDMA device, again and again, each
 * registration between the markers 1 and 2 (marker.h).
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../marker.h"

#define BYTES (1ul << 20)

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return ibv_open_device(list[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	struct ibv_context *device = argc == 3 ? open_device(argv[1]) : NULL;
	struct ibv_pd *domain = device ? ibv_alloc_pd(device) : NULL;
	char *buffer = malloc(BYTES);

	if (!domain || !buffer) {
		fprintf(stderr, "register: no RDMA device, or no memory\n");
		return 1;
	}
	memset(buffer, 1, BYTES);
	for (int i = atoi(argv[2]); i > 0; i--) {
		struct ibv_mr *region;

		MARKER(1);
		region = ibv_reg_mr(domain, buffer, BYTES,
				    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		MARKER(2);
		if (!region || ibv_dereg_mr(region)) {
			perror("register");
			return 1;
		}
	}
	return 0;
}
