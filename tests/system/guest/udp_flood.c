// SPDX-License-Identifier: GPL-2.0-only
/*
 * udp_flood ADDRESS COUNT BYTES: sends so many datagrams, each with its number and x's, and says
 * how many the kernel took.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	char data[1400];
	int s = socket(AF_INET, SOCK_DGRAM, 0), sent = 0, count, bytes;

	if (argc != 4 || s < 0 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1)
		return 1;
	count = atoi(argv[2]);
	bytes = atoi(argv[3]);
	memset(data, 'x', sizeof(data));
	for (int i = 0; i < count && bytes >= (int)sizeof(uint32_t) && bytes <= (int)sizeof(data);
	     i++) {
		uint32_t number = htonl((uint32_t)i);

		memcpy(data, &number, sizeof(number));
		sent += sendto(s, data, (size_t)bytes, 0, (struct sockaddr *)&to, sizeof(to)) ==
			bytes;
	}
	printf("%d\n", sent);
	return 0;
}
