// SPDX-License-Identifier: GPL-2.0-only
/*
 * frames INTERFACE: what comes in there until SIGTERM, frames for others, too. By the last bytes of
 * the frames' addresses: how many there were of each sender, and how many of udp_flood's datagrams
 * from whom to whom; wrong: those whose content is not the next.
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define KNOWN 16 /* last bytes of addresses */

static struct flow {
	unsigned count;
	unsigned wrong;
} flow[KNOWN][KNOWN];
static unsigned from[256];
static volatile sig_atomic_t over;

static void stop(int signal)
{
	(void)signal;
	over = 1;
}

/* Behind the number there are x's, and no fewer than the sender said by IP. */
static int is_next(const unsigned char *data, size_t bytes, unsigned number)
{
	unsigned found;

	if (bytes < sizeof(found))
		return 0;
	memcpy(&found, data, sizeof(found));
	for (size_t i = sizeof(found); i < bytes; i++)
		if (data[i] != 'x')
			return 0;
	return ntohl(found) == number;
}

static void look(const unsigned char *frame, size_t bytes)
{
	const struct ether_header *ether = (const void *)frame;
	const struct iphdr *ip = (const void *)(ether + 1);
	const struct udphdr *udp = (const void *)(ip + 1);
	unsigned sender = ether->ether_shost[5], to = ether->ether_dhost[5];
	struct flow *f;

	from[sender]++;
	if (bytes < sizeof(*ether) + sizeof(*ip) + sizeof(*udp) ||
	    ether->ether_type != htons(ETHERTYPE_IP) || ip->protocol != IPPROTO_UDP ||
	    ip->ihl != 5 || udp->dest != htons(9) || sender >= KNOWN || to >= KNOWN)
		return;
	f = &flow[sender][to];
	if (ntohs(ip->tot_len) + sizeof(*ether) != bytes ||
	    !is_next((const unsigned char *)(udp + 1),
		     bytes - sizeof(*ether) - sizeof(*ip) - sizeof(*udp), f->count))
		f->wrong++;
	f->count++;
}

int main(int argc, char **argv)
{
	int s = socket(AF_PACKET, SOCK_RAW, 0), room = 16 << 20;
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct packet_mreq all = { .mr_type = PACKET_MR_PROMISC };
	struct sigaction term = { .sa_handler = stop };
	static unsigned char frame[65536 + 100];
	sigset_t blocked, before;

	if (argc != 2 || s < 0)
		return 1;
	at.sll_ifindex = all.mr_ifindex = (int)if_nametoindex(argv[1]);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	sigaction(SIGTERM, &term, NULL);
	if (setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    setsockopt(s, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)) ||
	    bind(s, (struct sockaddr *)&at, sizeof(at)))
		return 1;
	printf("ready\n");
	fflush(stdout);
	/*
	 * What has come before the signal is looked at: it comes through only where nothing waits.
	 */
	for (;;) {
		struct sockaddr_ll origin;
		socklen_t size = sizeof(origin);
		ssize_t got = recvfrom(s, frame, sizeof(frame), MSG_DONTWAIT,
				       (struct sockaddr *)&origin, &size);

		if (got >= (ssize_t)sizeof(struct ether_header) &&
		    origin.sll_pkttype != PACKET_OUTGOING)
			look(frame, (size_t)got);
		if (got >= 0)
			continue;
		if (over)
			break;
		fd_set in;
		FD_ZERO(&in);
		FD_SET(s, &in);
		pselect(s + 1, &in, NULL, NULL, NULL, &before);
	}
	for (unsigned i = 0; i < 256; i++)
		if (from[i])
			printf("from-%u: %u\n", i, from[i]);
	for (unsigned i = 0; i < KNOWN * KNOWN; i++)
		if (flow[i / KNOWN][i % KNOWN].count)
			printf("flood-%u-%u: %u, wrong %u\n", i / KNOWN, i % KNOWN,
			       flow[i / KNOWN][i % KNOWN].count, flow[i / KNOWN][i % KNOWN].wrong);
	return 0;
}
