# SPDX-License-Identifier: GPL-2.0-only
"""Two machines of QEMU on one network, each with a network card, which is passed through where the machine runs Margay;
guest/cluster.sh is what they do together.
"""

import os
import subprocess
import sys
import tempfile
import time

import monitor_console
import node

sys.path.insert(0, os.path.join(node.TOP, "tests", "bench"))
import systems  # noqa: E402  (path set above)

RANKS = (1, 2)
CARD = "igb"
TIMEOUT = 1200
# The initrd unpacks to 110 MiB, and the root file system takes half of the memory.
MEMORY = "512M"
RDMA = ("/usr/bin/ibv_rc_pingpong", "/usr/bin/ib_write_bw", "/usr/bin/ib_send_bw")
REMOTE = """#!/bin/sh
# For mpirun: a command on another machine, which waits for it at this port.
host=$1
shift
echo "$*" | nc "$host" 7002
"""


def initrd():
    """Behind initrd-drivers: Debian's tools of RDMA, its MPI and hpcc, and an all-to-all of ours."""
    directory = os.path.join(node.BUILD, "cluster")
    os.makedirs(directory, exist_ok=True)
    with tempfile.TemporaryDirectory() as root:
        systems.copy_hpcc(root)
        systems.copy_rdma(root)
        for path in RDMA:
            systems.copy_program(root, path)
        os.makedirs(os.path.join(root, "bin"), exist_ok=True)
        subprocess.run(["mpicc", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-o", os.path.join(root, "bin", "all_to_all"),
                        os.path.join(node.TOP, "tests", "system", "mpi", "all_to_all.c")], check=True)
        for path, text, mode in (("bin/remote", REMOTE, 0o755), ("etc/passwd", "root:x:0:0:root:/tmp:/bin/sh\n", 0o644),
                                 ("etc/hosts", "10.0.9.1 machine1\n10.0.9.2 machine2\n127.0.0.1 localhost\n", 0o644)):
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="ascii") as f:
                f.write(text)
            os.chmod(os.path.join(root, path), mode)
        systems.archive(root, os.path.join(directory, "tools.cpio"))
    target = os.path.join(directory, "initrd")
    systems.join(target, node.guest_file("initrd-drivers"), os.path.join(directory, "tools.cpio"))
    return target


def words(rank, hpcc, driver=CARD):
    return "margay.test=cluster margay.drivers=%s margay.rank=%d margay.hpcc=%s" % (driver, rank, hpcc)


def card(rank, netdev, at):
    """QEMU's arguments for the rank's card at this device number, and the network that it is on."""
    return ["-netdev", netdev, "-device", "%s,netdev=net%d,addr=%d,mac=52:54:00:00:00:0%d" % (CARD, rank, at, rank)]


def start(system, rank, wire, archive):
    """The rank's machine. Rank 1 has the wire, a socket, before rank 2 comes to it."""
    name = "cluster-%s-%d" % (system, rank)
    if system == "native":
        iso = node.image(name, "--linux", node.guest_file("vmlinuz"), "--initrd", archive,
                         "--cmdline", "console=ttyS0 panic=-1 " + words(rank, "yes"))
    else:
        vm = node.vm_text("qemu", words(rank, "yes"), memory=MEMORY, pci="00:06.0", dma="window")
        iso = node.margay_iso(name, {"vm0.conf": vm}, {"kernel": node.guest_file(node.KERNEL), "initrd": archive})
    server = "on" if rank == 1 else "off"
    extra = card(rank, "stream,id=net%d,server=%s,addr.type=unix,addr.path=%s" % (rank, server, wire), 6)
    return node.start(name, "qemu", iso, native=system == "native", extra=extra, timeout=TIMEOUT)


def two_machines(system):
    """What both ranks said."""
    archive = initrd()
    with tempfile.TemporaryDirectory() as directory:
        wire = os.path.join(directory, "wire")
        with start(system, 1, wire, archive) as first:
            give_up = time.monotonic() + 60
            while not os.path.exists(wire) and time.monotonic() < give_up:
                time.sleep(0.1)
            with start(system, 2, wire, archive) as second:
                return [node.finish(running) for running in (first, second)]


def two_guests():
    """The same of two VMs of one machine, vm0 and vm1, without hpcc. CPU 0 has none: docs/testing.md says what QEMU does
    to it."""
    archive = initrd()
    vms = {"vm%d.conf" % (rank - 1): node.vm_text("qemu", words(rank, "no"), pci="00:%02x.0" % (4 + 2 * rank), dma="window",
                                           memory=MEMORY, cpus="%d-%d" % (rank, rank),
                                           on_end="poweroff_node" if rank == 1 else "stop")
           for rank in RANKS}
    iso = node.margay_iso("cluster-guests", vms, {"kernel": node.guest_file(node.KERNEL), "initrd": archive})
    # An igb's virtual functions take numbers beside those of another at 7.
    extra = [word for rank in RANKS for word in card(rank, "hubport,id=net%d,hubid=0" % rank, 4 + 2 * rank)]
    with node.start("cluster-guests", "qemu", iso, cpus=3, memory="2G", extra=extra, timeout=TIMEOUT) as running:
        monitor_console.whole_lines(running)
        done = node.finish(running, "[vm0] ")
    return [done.of("vm0"), done.of("vm1")]


def two_on_a_segment():
    """The same of two VMs with no card at all, on a virtual network."""
    archive = initrd()
    vms = {"vm%d.conf" % (rank - 1): node.vm_text("qemu", words(rank, "no", "virtio_net"), memory=MEMORY,
                                           net="cluster") for rank in RANKS}
    iso = node.margay_iso("cluster-segment", vms, {"kernel": node.guest_file(node.KERNEL), "initrd": archive})
    with node.start("cluster-segment", "qemu", iso, cpus=2, memory="2G", timeout=TIMEOUT) as running:
        monitor_console.whole_lines(running)
        done = node.finish(running, "[vm0] ")
    return [done.of("vm0"), done.of("vm1")]
