/* SPDX-License-Identifier: GPL-2.0-only */
/* UNIT: @tests/unit/virtio_net.sources vmm/config/config_net.c vmm/config/config*.c vmm/config/meta_lines.c lib/span.c @tests/unit/fake_vm.sources -lcmocka */
/* FUZZ: -max_len=2000 -len_control=0 vmm/dev/virtio/virtio.c vmm/dev/virtio/virtio_net.c vmm/dev/virtio/virtio_net_copy.c vmm/dev/virtio/virtio_net_send.c vmm/dev/virtio/net_switch.c vmm/dev/virtio/net_frame.c */
/*
 * Frames from a hostile driver, to one that keeps the rules and one that is hostile, too. Checked:
 * who keeps the rules has in its memory, outside of the buffers that it has offered, what was there
 * before; each frame there is one that it can take: its header is about bytes that it has, none
 * larger than a frame but TCP's if it wants these, and no checksum left to do that it has not asked
 * for; it is of a VLAN that it has, with a tag if that is how it has it, and none behind that; work
 * ends; and after all that frames of a driver that keeps the rules arrive.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/virtio_guest.h"
#include "vmm/dev/virtio/net_frame.h"

#define STEPS 250
/* of go_on(): 20 pieces each of what 128 chains may have in frames of 1,365 pieces, to two */
#define ROUNDS 30000
#define BUFFERS 40u
#define BUFFER_AT 0x100000u
#define BUFFER 0x1000u
enum { RX, TX };
enum {
	CSUM = BIT(0),
	GUEST_CSUM = BIT(1),
	GUEST_TSO4 = BIT(7),
	GUEST_TSO6 = BIT(8),
	MRG = BIT(15)
};
enum { GOOD, HOSTILE, OTHER, GUESTS };

static struct {
	struct vm *vm;
	u16 offered[ARRAY_SIZE(offered)];
} guest[GUESTS];
static unsigned now;
static u32 features; /* of the good one */
static u16 seen;
static const struct kind {
	u16 mtu;
	struct {
		u16 pvid;
		u16 first;
		u16 last;
	} port[GUESTS];
} kinds[] = {
	{ 0, { { 0 } } },
	{ 9000, { { 10, 0, 0 }, { 10, 20, 29 }, { 20, 10, 40 } } },
	{ 1280, { { 0, 20, 29 }, { 20, 30, 30 }, { 10, 1, 4094 } } },
	{ 2000, { { 10, 20, 20 }, { 0, 10, 30 }, { 30, 0, 0 } } },
};
static const struct kind *kind;

/* What guest n's file says. */
static void set_net(unsigned n)
{
	struct vm_config_net *c = &fake_vm_config.net[0];

	*c = (struct vm_config_net){ .segment = "lan0",
				     .mac = 2 | (u64)(n + 1) << 40,
				     .bridge = n != GOOD,
				     .mtu = kind->mtu,
				     .pvid = kind->port[n].pvid,
				     .nr_trunk = kind->port[n].first != 0 };
	c->trunk[0] = (struct vm_config_vlans){ kind->port[n].first, kind->port[n].last };
}

/* The first bytes of what the good one got: a tag as it has it, of a VLAN that it has. */
static void check_tag(const u8 *p, u32 size)
{
	u32 type = (u32)p[12] << 8 | p[13], vid, inner;

	if (kind == kinds)
		return;
	if (type != 0x8100) {
		CHECK(kind->port[GOOD].pvid && type != 0x88a8);
		return;
	}
	CHECK(size >= 18);
	vid = ((u32)p[14] << 8 | p[15]) & 0xfff;
	inner = (u32)p[16] << 8 | p[17];
	CHECK(vid >= kind->port[GOOD].first && vid <= kind->port[GOOD].last &&
	      vid != kind->port[GOOD].pvid && inner != 0x8100 && inner != 0x88a8);
}

static void use(unsigned n)
{
	memcpy(guest[now].offered, offered, sizeof(offered));
	now = n;
	vm = guest[n].vm;
	memcpy(offered, guest[n].offered, sizeof(offered));
}

static void work(void)
{
	for (unsigned rounds = 0; vm->vcpus[0]->unfinished; rounds++) {
		CHECK(rounds < ROUNDS);
		pci_virtual_go_on(vm->vcpus[0]);
	}
}

static void offer_buffers(void)
{
	for (u16 i = 0; i < BUFFERS; i++) {
		set_desc(RX, i, BUFFER_AT + i * BUFFER, BUFFER / 2, 2, 0);
		offer(RX, i);
	}
}

/* What the good one has got since the last look. */
static void check_frames(void)
{
	use(GOOD);
	while (seen != (u16)ram(USED(RX) + 2, 2)) {
		struct net_header h;
		u32 size = 0,
		    frame_max = NET_ETHERNET + NET_TAG + vm_config_mtu(fake_vm_config.net);
		u64 first = 0;

		for (u16 i = 0, n = 1; i < n; i++, seen++) {
			u64 entry = ram(USED(RX) + 4 + seen % 128u * 8, 8),
			    at = BUFFER_AT + (entry & 0xff) * BUFFER;

			CHECK((entry & 0xffffffff) < BUFFERS && seen != (u16)ram(USED(RX) + 2, 2) &&
			      entry >> 32 <= BUFFER / 2);
			if (!i) {
				memcpy(&h, guest_ptr(vm, gpa(at), sizeof(h)), sizeof(h));
				first = at + sizeof(h);
				n = h.num_buffers;
				CHECK(n >= 1 && (n == 1 || features & MRG));
			}
			size += (u32)(entry >> 32);
		}
		size -= (u32)sizeof(h);
		CHECK(!(h.flags & ~NET_NEEDS_CSUM) && (!h.flags || features & GUEST_CSUM));
		CHECK(!h.flags || h.csum_start + h.csum_offset + 2u <= size);
		if (h.gso_type) {
			CHECK(h.gso_type == NET_GSO_TCPV4 || h.gso_type == NET_GSO_TCPV6);
			CHECK(features & (h.gso_type == NET_GSO_TCPV4 ? GUEST_TSO4 : GUEST_TSO6));
			CHECK(h.gso_size && h.hdr_len < size &&
			      h.hdr_len + h.gso_size <= frame_max && h.flags);
			frame_max = NET_LARGE_MAX;
		}
		CHECK(size >= NET_ETHERNET && size <= frame_max);
		check_tag(guest_ptr(vm, gpa(first), 18), size);
	}
}

/* Nothing is written between its buffers, nor behind them. */
static void check_memory(void)
{
	use(GOOD);
	for (unsigned i = 0; i < BUFFERS; i++)
		for (unsigned k = BUFFER / 2; k < BUFFER; k += 8)
			CHECK(!ram(BUFFER_AT + i * BUFFER + k, 8));
	CHECK(ram(BUFFER_AT - 8, 8) == 0 && ram(BUFFER_AT + BUFFERS * BUFFER, 8) == 0);
}

static u64 address(struct fuzz_in *in)
{
	u8 tag = fuzz_u8(in);

	if (tag & 1)
		return 0x80000 + tag * 64u;
	return tag & 2 ? GUEST_RAM - (tag >> 2) : fuzz_number(in);
}

/* Tags in front of the type, of VLANs that somebody may have. */
static u32 tags(struct fuzz_in *in, u8 *p, u32 size)
{
	u8 op = fuzz_u8(in);
	u32 n = op & 64 ? op & 3 : 0;

	for (u32 i = 0; i < n; i++, size += 4) {
		memmove(p + 16, p + 12, size - 12);
		memcpy(p + 12, op & 4 ? (u8[]){ 0x88, 0xa8 } : (u8[]){ 0x81, 0 }, 2);
		p[14] = op & 0x80;
		p[15] = (u8)((op >> 3 & 7) * 10);
	}
	return n * 4;
}

/* A frame that may well be one, in a chain of one buffer or two. */
static void frame(struct fuzz_in *in)
{
	u8 op = fuzz_u8(in), v6 = op & 1, *p = guest_ptr(vm, gpa(0x80000), 0x20000);
	u8 to[6] = { 2, 0, 0, 0, 0, 1 };
	struct net_header *h = (void *)p;
	u32 l4 = v6 ? 54 : 34, data = op & 2 ? (u32)fuzz_le(in, 2) : fuzz_u8(in);

	memset(p, 0, 0x200);
	p += sizeof(*h);
	if (op & 4)
		memset(to, 255, sizeof(to));
	else if (!(op & 8))
		to[5] = fuzz_u8(in);
	memcpy(p, to, sizeof(to));
	memcpy(p + 6, (u8[]){ 2, 0, 0, 0, 0, fuzz_u8(in) }, 6);
	memcpy(p + 12, v6 ? (u8[]){ 0x86, 0xdd, 0x60 } : (u8[]){ 0x08, 0x00, 0x45 }, 3);
	p[v6 ? 20 : 23] = 6;
	p[l4 + 12] = 0x50;
	*h = (struct net_header){ 1,       v6 ? NET_GSO_TCPV6 : NET_GSO_TCPV4,
				  0,       op & 16 ? 1000 : (u16)fuzz_le(in, 2),
				  (u16)l4, 16,
				  0 };
	if (op & 32)
		h->gso_type = 0;
	if (kind != kinds) {
		u32 more = tags(in, p, l4 + 20 + data);

		h->csum_start += (u16)more;
		l4 += more;
	}
	for (unsigned n = fuzz_u8(in) & 3; n; n--) {
		u8 at = fuzz_u8(in) % 100;

		((u8 *)h)[at] = fuzz_u8(in);
	}
	set_desc(TX, 0, 0x80000, op & 64 ? 12 : 12 + l4 + 20 + data, op & 64 ? 1 : 0, 1);
	set_desc(TX, 1, op & 128 ? address(in) : 0x8000c, l4 + 20 + data, 0, 0);
	offer(TX, 0);
}

static void step(struct fuzz_in *in)
{
	u8 op = fuzz_u8(in), queue = op >> 6 & 1;

	use(op & 0x20 ? OTHER : HOSTILE);
	switch (op & 0xf) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
		frame(in);
		put(0, NOTIFY(TX), 2, TX);
		work();
		break;
	case 5: {
		u8 i = fuzz_u8(in) & 127;

		set_desc(queue, i, address(in), fuzz_u32(in) >> (fuzz_u8(in) & 31), fuzz_u8(in) & 7,
			 fuzz_u8(in));
		break;
	}
	case 6: offer(queue, fuzz_u8(in)); break;
	case 7:
		put(0, NOTIFY(fuzz_u8(in) % 8), 2, 0);
		work();
		break;
	case 8: set_ram(RING(queue) + (fuzz_le(in, 2) & 0xfffe), fuzz_le(in, 2), 2); break;
	case 9: drive(0, 3, (u32)fuzz_number(in)); break;
	case 10: {
		u32 at = (u32)fuzz_le(in, 2) & 0x3fff;
		unsigned size = 1u << (op >> 6);

		put(0, at & ~(size - 1), size, fuzz_number(in));
		work();
		break;
	}
	case 11: /* the control queue */
		set_ram(0x70000, fuzz_le(in, 4), 4);
		set_desc(2, 0, 0x70000, fuzz_u8(in) & 7, 1, 1);
		set_desc(2, 1, address(in), 1, 2, 0);
		offer(2, 0);
		put(0, NOTIFY(2), 2, 2);
		break;
	case 12:
		memset(guest_ptr(vm, gpa(RING(queue)), 0xa000), 0, 0xa000);
		offered[queue] = 0;
		break;
	case 13:
		fake_vm_destroy(vm);
		set_net(now);
		CHECK(!guest_start());
		guest[now].vm = vm;
		break;
	default:
		check_frames();
		memset(guest_ptr(vm, gpa(RING(RX)), 0xa000), 0, 0xa000);
		offered[RX] = seen = 0;
		drive(0, 2, features);
		offer_buffers();
	}
}

/* The good one gets what the hostile one sends once it keeps the rules. */
static void check_works(void)
{
	const u16 own = kind->port[HOSTILE].pvid, good = kind->port[GOOD].pvid;
	u32 tag = kind != kinds && !own ? good : 0, more, less;

	for (unsigned n = GOOD; n <= HOSTILE; n++) {
		use(n);
		memset(guest_ptr(vm, gpa(RING(0)), 0x20000), 0, 0x20000);
		memset(offered, 0, sizeof(offered));
		seen = 0;
		config_write(0, PCI_REG_BAR, 4, (u32)function(0)->bar);
		config_write(0, PCI_REG_BAR + 4, 4, 0);
		drive(0, 2, n ? CSUM : features);
		if (n == GOOD)
			offer_buffers();
	}
	memset(guest_ptr(vm, gpa(0x80000), 200), 0, 200);
	set_ram(0x8000c, 0x010000000002, 6);
	set_ram(0x8000c + 6, 0x020000000002, 6);
	set_ram(0x8000c + 40, 0x1122334455667788, 8);
	/* By a tag of what both have, where its own VLAN is not the other one's. */
	if (tag)
		set_ram(0x8000c + 12, 0x81 | (u64)tag << 24, 4);
	set_desc(TX, 0, 0x80000, 112, 0, 0);
	offer(TX, 0);
	put(0, NOTIFY(TX), 2, TX);
	use(GOOD);
	more = !kind->port[GOOD].pvid && kind != kinds && !tag ? 4 : 0;
	less = tag && tag == kind->port[GOOD].pvid ? 4 : 0;
	CHECK(ram(USED(RX) + 2, 2) == 1 && ram(USED(RX) + 8, 4) == 112 + more - less &&
	      ram(BUFFER_AT + 12 + 40 + more - less, 8) == 0x1122334455667788);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in input = { data, size };

	fake_host_reset();
	fake_host.ram[0].size = MAX(fake_host.ram[0].size, (u64)MIB(256));
	memset(guest, 0, sizeof(guest));
	now = 0;
	seen = 0;
	fake_vm_config.nr_nets = 1;
	features = (u32)fuzz_le(&input, 2);
	kind = &kinds[features >> 2 & 3];
	features &= GUEST_CSUM | GUEST_TSO4 | GUEST_TSO6 | MRG;
	for (unsigned n = 0; n < GUESTS; n++) {
		set_net(n);
		CHECK(!guest_start());
		guest[n].vm = vm;
		drive(0, 3, 0x3bbab);
	}
	now = GOOD;
	use(GOOD);
	drive(0, 2, features);
	offer_buffers();
	for (unsigned i = 0; input.left && i < STEPS; i++, fuzz_actions++)
		step(&input);
	check_frames();
	check_memory();
	check_works();
	for (unsigned n = 0; n < GUESTS; n++)
		fake_vm_destroy(guest[n].vm);
	return 0;
}
