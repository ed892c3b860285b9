// SPDX-License-Identifier: GPL-2.0-only
/*
 * virt_mgmt DEVICE CONTROLLER QUEUES INTERRUPTS: what `nvme virt-mgmt` does for a secondary
 * controller that is to be a virtual function's (NVM Express Base 1.4, 5.22): gives it queues and
 * interrupts of those that are free, and brings it online.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define VIRTUALIZATION_MANAGEMENT 0x1c
enum { OFFLINE = 7, ASSIGN = 8, ONLINE = 9 };
enum { QUEUES, INTERRUPTS };

/* The command's status, 0 if it worked; -1: none. */
static int command(int fd, unsigned controller, unsigned what, unsigned action, unsigned count)
{
	struct nvme_admin_cmd c = {
		.opcode = VIRTUALIZATION_MANAGEMENT,
		.cdw10 = controller << 16 | what << 8 | action,
		.cdw11 = count,
	};

	return ioctl(fd, NVME_IOCTL_ADMIN_CMD, &c);
}

int main(int argc, char **argv)
{
	int fd = argc == 5 ? open(argv[1], O_RDONLY) : -1;
	unsigned controller = argc == 5 ? (unsigned)atoi(argv[2]) : 0;
	int queues, interrupts, online;

	if (fd < 0) {
		printf("margay-virt-mgmt: %s\n", strerror(errno));
		return 1;
	}
	/* It may be online from before. */
	(void)command(fd, controller, 0, OFFLINE, 0);
	queues = command(fd, controller, QUEUES, ASSIGN, (unsigned)atoi(argv[3]));
	interrupts = command(fd, controller, INTERRUPTS, ASSIGN, (unsigned)atoi(argv[4]));
	online = command(fd, controller, 0, ONLINE, 0);
	printf("margay-virt-mgmt: controller %u: %#x %#x %#x\n", controller, (unsigned)queues,
	       (unsigned)interrupts, (unsigned)online);
	return queues || interrupts || online;
}
