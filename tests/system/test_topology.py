# SPDX-License-Identifier: GPL-2.0-only
"""The guest is the node: what it sees of CPUs, caches and NUMA nodes is what
the same kernel sees on the bare machine, and its memory lies where it
thinks: looked up in the emulator's memory, one file per node.

`lscpu`, `numactl -H` and `lstopo` in the guest against the same kernel on the bare machine, field by field; `numa.py`
keeps each NUMA node's memory of QEMU in a file, in which the guest's stamped pages are looked up: they are where the
guest thinks, are not where it cannot know (`topology = flat`), and are gone after its end.

In the same runs `qemu_memory.c`, a plugin of QEMU's TCG, counts the loads and stores of the program that stamps, by
CPU and by the NUMA node of the machine's physical address: over 99 % are local on the bare machine and with `topology
= node`, under 75 % with `flat` (full tier, as the machines of one and of four nodes).

APIC IDs of 256 and more are compared as well (full tier), on a machine with VT-d, without which Linux does not take
such CPUs. Bochs has no NUMA: GRUB's `acpi` command adds SRAT and SLIT (`margay-image --acpi`); there (full tier) the
pages are looked up in the memory of the process, by Bochs' own table of blocks.
"""

import os
import re
import struct

import margay_run
import node
import numa
import pytest

INITRD = node.guest_file("initrd-topology")
PAGES = 16 << 8  # of `stamp 16`
WRITES = 10
# Of lscpu: what a virtual machine is and says of itself, and what SMBIOS says. No guest has 57-bit addresses.
NOT_COMPARED = re.compile(r"Flags|Hypervisor vendor|Virtualization|BogoMIPS|Vulnerability|BIOS|Address sizes")

SHAPES = {
    "one": ("3,sockets=1,cores=3,threads=1", [numa.Node("0-2", "1G")], ()),
    # Two sockets of one core with two threads.
    "two": ("4,sockets=2,cores=1,threads=2", [numa.Node("0-1", "2G"), numa.Node("2-3", "2G")], {(0, 1): 21}),
    # Uneven; one without memory, one without CPUs; two CPUs are absent, so that the APIC IDs are 0, 1, 2, 4.
    "four": (
        "4,maxcpus=6,sockets=2,cores=3,threads=1",
        [numa.Node("0-1", "1G"), numa.Node("2", "512M"), numa.Node("3-5", None), numa.Node(None, "1536M")],
        {(0, 1): 16, (0, 2): 22, (0, 3): 32, (1, 2): 22, (1, 3): 32, (2, 3): 16},
    ),
}
# Beyond what xAPIC mode and MADT type 0 can name, with holes. Linux on the bare machine takes such CPUs only with interrupt
# remapping that can name them, too.
WIDE = ("1,maxcpus=288,sockets=288,cores=1,threads=1", [numa.Node("0-255", "512M"), numa.Node("256-287", "512M")],
        {(0, 1): 21})
WIDE_IDS = [5, 254, 256, 287]
REMAPPING = ["-device", "intel-iommu,intremap=on,eim=on"]

# Where the kernel lies is missing from that node's memory: the same place in both boots.
COMMAND = "nokaslr margay.test=topology"


class Seen(node.Run):
    """A run of topology.sh; its stamps in the machine's memory while it ran."""

    def __init__(self, running, machine):
        running.expect(r"^margay-test: stamped: .*$")
        self.stamps = machine.stamps()
        running.send("\n")
        running.expect(r"^margay-test: done\r?$")
        running.hurry(node.ENDING)
        outcome = running.wait()
        super().__init__(running, outcome)

    def said(self, tool):
        return [line[len(tool) + 2:] for line in self.lines("^%s: " % tool)]

    def map_of(self, tool, separator=":"):
        pairs = [line.split(separator, 1) for line in self.said(tool) if separator in line]
        return {key.strip(): value.strip() for key, value in pairs}


def native_image(name, acpi=()):
    return node.image(name, "--linux", node.guest_file("vmlinuz"), "--initrd", INITRD,
                      "--cmdline", "console=ttyS0 panic=-1 " + COMMAND, *node.acpi_arguments(name, acpi))


def boot(name, machine, native=False, **keys):
    if native:
        iso = native_image(name)
    else:
        keys = dict({"cpus": "all", "memory": "all"}, **keys)
        iso = node.margay_iso(name, {"vm0.conf": node.vm_text("qemu", COMMAND, **keys)},
                              {"kernel": node.guest_file("vmlinuz"), "initrd": INITRD})
    extra = machine.arguments + machine.count(numa.COUNTED)
    with node.start(name, "qemu", iso, memory=machine.memory, cpus=machine.cpus, extra=extra, native=native) as running:
        seen = Seen(running, machine)
    # After it had ended; and the accesses of the program that stamps, {(CPU, node): Accesses}.
    seen.stamps_after = machine.stamps()
    seen.accesses, _ = machine.counted()
    return seen


@pytest.fixture(scope="module", params=[
    pytest.param(s, marks=[pytest.mark.xdist_group("topology-" + s)] + [pytest.mark.full] * (s != "two")) for s in SHAPES])
def pair(request):
    """The same shape bare and as a guest: (machine, bare, guest)."""
    with numa.Machine(*SHAPES[request.param]) as machine:
        bare = boot("topology-native-" + request.param, machine, native=True)
        for number, part in enumerate(machine.nodes):
            if part.memory:
                os.truncate(machine.path(number), 0)
        guest = boot("topology-" + request.param, machine)
        yield machine, bare, guest


def test_ends_well(pair):
    _, bare, guest = pair
    assert bare.outcome.status == margay_run.OK, bare.outcome.text
    assert guest.outcome.status == margay_run.OK, guest.outcome.text


def check_lscpu(bare, guest):
    native, virtual = bare.map_of("lscpu"), guest.map_of("lscpu")
    assert len(native) > 15
    for key in set(native) | set(virtual):
        if not NOT_COMPARED.match(key):
            assert virtual.get(key) == native.get(key), key
    # Core, socket, node and caches of each CPU.
    assert guest.said("lscpu-parse") == bare.said("lscpu-parse")
    assert len(guest.said("lscpu-parse")) == int(native["CPU(s)"])


def check_numactl(bare, guest):
    size = re.compile(r"node \d+ (size|free): (\d+) MB")
    assert [l for l in guest.said("numactl") if not size.match(l)] == [l for l in bare.said("numactl") if not size.match(l)]
    assert len(guest.said("numactl")) > 6
    native = [int(size.match(l)[2]) for l in bare.said("numactl") if " size: " in l]
    virtual = [int(size.match(l)[2]) for l in guest.said("numactl") if " size: " in l]
    assert len(native) == len(virtual)
    for n, v in zip(native, virtual):
        assert abs(n - v) <= 100


def check_lstopo(bare, guest):
    sizes = re.compile(r"\d+[KMG]B( total)?")
    drawn = [[sizes.sub("", line) for line in run.said("lstopo")] for run in (bare, guest)]
    assert drawn[0] == drawn[1]
    assert any("Package" in line for line in drawn[0]) and any("NUMANode" in line for line in drawn[0])


def test_lscpu(pair):
    check_lscpu(*pair[1:])


def test_numactl(pair):
    """Nodes, their CPUs and distances as bare; the memory but for what hypervisor or boot loader keep."""
    check_numactl(*pair[1:])


def test_lstopo(pair):
    check_lstopo(*pair[1:])


# Entries of the SRAT that name a CPU, by type: where the flags and where the APIC ID stand (ACPI 6.5, 5.2.16.1 and 5.2.16.3).
SRAT_HEADER = 48
SRAT_CPUS = {0: ("<I", 4, "<B", 3), 2: ("<I", 12, "<I", 8)}


def srat_ids(run):
    """APIC IDs of the enabled CPUs in the table that the kernel was given."""
    table = bytes.fromhex("".join(run.said("srat")))
    assert table[:4] == b"SRAT" and len(table) == struct.unpack_from("<I", table, 4)[0]
    ids, at = set(), SRAT_HEADER
    while at < len(table):
        kind, length = table[at], table[at + 1]
        assert length >= 2
        if kind in SRAT_CPUS:
            flags, flags_at, number, number_at = SRAT_CPUS[kind]
            if struct.unpack_from(flags, table, at + flags_at)[0] & 1:
                ids.add(struct.unpack_from(number, table, at + number_at)[0])
        at += length
    return ids


@pytest.mark.full
def test_ids_of_nine_bits():
    """Field by field as bare; that they work at all is test_smp.py's in the fast tier."""
    with numa.Machine(*WIDE) as machine:
        for number in WIDE_IDS:
            machine.arguments += ["-device", "max-x86_64-cpu,socket-id=%d,core-id=0,thread-id=0" % number]
        machine.arguments += REMAPPING
        bare = boot("topology-native-wide", machine, native=True)
        guest = boot("topology-wide", machine)
    for run in (bare, guest):
        assert run.outcome.status == margay_run.OK, run.outcome.text
        assert run.map_of("lscpu")["CPU(s)"] == str(1 + len(WIDE_IDS))
    assert srat_ids(guest) == {0, *WIDE_IDS} <= srat_ids(bare)
    for check in (check_lscpu, check_numactl, check_lstopo):
        check(bare, guest)
    assert complaints(guest) <= complaints(bare)


def test_apic_ids_are_the_machines(pair):
    machine, bare, guest = pair
    present = {int(i) for i in re.findall(r"^vm0: vcpu\d: CPU \d, APIC ID (\d+),", guest.text, re.MULTILINE)}
    assert srat_ids(guest) == present <= srat_ids(bare)
    assert present == {1: {0, 1, 2}, 2: {0, 1, 2, 3}, 4: {0, 1, 2, 4}}[len(machine.nodes)]


def complaints(run):
    bad = re.compile(r"SRAT.*(fail|error)|Firmware Bug|WARNING|BUG:|not found in|mismatch", re.IGNORECASE)
    return {re.sub(r"^\[.*?\] ", "", line) for line in run.dmesg if bad.search(line)}


def test_no_complaint_of_the_kernel(pair):
    """None that the bare machine does not bring: a package on two nodes is one."""
    _, bare, guest = pair
    assert any("SRAT" in line for line in guest.dmesg)
    assert complaints(guest) <= complaints(bare)


def test_large_pages(pair):
    """A free and aligned GiB is one leaf (node 1 of the first machine begins with one); nothing is 4 KiB."""
    machine, _, guest = pair
    leaves = re.search(r"^vm0: NPT: (\d+) 1G, (\d+) 2M, 0 4K leaves, \d+ tables$", guest.text, re.MULTILINE)
    given = [int(m[1]) for m in re.finditer(r"^vm0: memory: (\d+)M on node", guest.text, re.MULTILINE)]
    assert sum(given) == int(leaves[1]) * 1024 + int(leaves[2]) * 2
    assert int(leaves[1]) == (1 if len(machine.nodes) == 2 else 0)


def test_own_memory(pair):
    """The budget does not grow with the number of nodes: 4 MiB with four CPUs."""
    _, _, guest = pair
    assert int(re.search(r"^margay: own memory: .* held in all (\d+) KiB;", guest.text, re.MULTILINE)[1]) <= 4096


def node_of_cpu(machine):
    """By the machine's own arguments."""
    nodes = {}
    for number, part in enumerate(machine.nodes):
        for piece in (part.cpus or "").split("+"):
            first, _, last = piece.partition("-")
            nodes.update((cpu, number) for cpu in (range(int(first), int(last or first) + 1) if piece else ()))
    return nodes


def local_share(run, machine):
    """Part of all writes that went to memory of the writing CPU's own node, by the emulator's memory."""
    nodes = node_of_cpu(machine)
    local = sum(count for (where, cpu), count in run.stamps.items() if nodes[cpu] == where)
    assert sum(run.stamps.values()) >= 0.95 * PAGES * WRITES * machine.cpus
    return local / sum(run.stamps.values())


def test_memory_is_where_the_guest_thinks(pair):
    """As bare: every page that a CPU touched first lies on its node, or on the nearest that has memory."""
    machine, bare, guest = pair
    for run in (bare, guest):
        for cpu, home in list(node_of_cpu(machine).items())[:machine.cpus]:
            where = {n: count for (n, c), count in run.stamps.items() if c == cpu}
            if machine.nodes[home].memory:
                assert where.get(home, 0) >= 0.99 * sum(where.values()) > 0, (cpu, where)
            else:
                assert where, cpu


def access_shares(run, machine):
    """{CPU: {node: part of its accesses there}}, as the emulator's processors made them, behind both page tables."""
    every = {cpu: {n: a.loads + a.stores for (c, n), a in run.accesses.items() if c == cpu} for cpu in range(machine.cpus)}
    for by_node in every.values():
        assert sum(by_node.values()) >= 3 * PAGES * WRITES
    return {cpu: {n: count / sum(by_node.values()) for n, count in by_node.items()} for cpu, by_node in every.items()}


def local_accesses(run, machine):
    """Part of a CPU's accesses that its own node got, by CPU; of those whose node has memory."""
    shares, nodes = access_shares(run, machine), node_of_cpu(machine)
    return {cpu: shares[cpu].get(nodes[cpu], 0) for cpu in shares if machine.nodes[nodes[cpu]].memory}


def test_accesses_are_local(pair):
    """As bare."""
    machine, bare, guest = pair
    for run in (bare, guest):
        assert min(local_accesses(run, machine).values()) > 0.99


def test_memory_is_zeroed_after_use(pair):
    """Bare, the pages stay in the machine's memory; after the guest's end nothing of it is left."""
    _, bare, guest = pair
    assert sum(bare.stamps_after.values()) > 0.5 * sum(bare.stamps.values())
    assert sum(guest.stamps.values()) and not guest.stamps_after


@pytest.mark.full
def test_flat_topology_is_not_local():
    """The control: with NUMA hidden the same program works on another node's memory."""
    with numa.Machine(*SHAPES["two"]) as machine:
        flat = boot("topology-flat", machine, topology="flat", memory="node0:1G, node1:1G", leaf="2M")
        share = local_share(flat, machine)
        accesses = local_accesses(flat, machine)
    assert flat.outcome.status == margay_run.OK, flat.outcome.text
    assert share < 0.75
    assert sum(accesses.values()) / len(accesses) < 0.75
    shown = flat.map_of("lscpu")
    assert (shown["NUMA node(s)"], shown["Socket(s)"], shown["Core(s) per socket"], shown["Thread(s) per core"]) == (
        "1", "1", "4", "1")
    assert "available: 1 nodes (0)" in flat.said("numactl")
    assert flat.has_line(r"vm0: NPT: 0 1G, 1024 2M, 0 4K leaves, \d+ tables")


def boot_on_bochs(name, native=False):
    if native:
        iso = native_image(name, numa.BOCHS_NODES)
    else:
        iso = node.margay_iso(name, {"vm0.conf": node.vm_text("bochs", COMMAND, cpus="all", memory="all")},
                              {"kernel": node.guest_file(node.KERNEL), "initrd": INITRD}, acpi=numa.BOCHS_NODES)
    # Linux itself reads MSRs that Bochs has not, at a point where it cannot bear a fault; bare it unpacks for minutes.
    extra = ["cpu: ignore_bad_msrs=1"] if native else []
    with node.start(name, "bochs", iso, cpus=2, native=native, timeout=2400, extra=extra) as running:
        return Seen(running, numa.BochsMachine(running))


@pytest.mark.full
@pytest.mark.slow
def test_on_vt_x():
    """One CPU and half of the memory on each of two nodes: field by field as bare, and the pages are where they should be."""
    bare = boot_on_bochs("topology-native-bochs", native=True)
    guest = boot_on_bochs("topology-bochs")
    for run in (bare, guest):
        assert run.outcome.status == margay_run.OK, run.outcome.text
        assert local_share(run, numa.BochsMachine) == 1
    for check in (check_lscpu, check_numactl, check_lstopo):
        check(bare, guest)
    assert complaints(guest) <= complaints(bare)
    assert guest.has_line(r"vm0: EPT: \d+ 1G, \d+ 2M, 0 4K leaves, \d+ tables")
