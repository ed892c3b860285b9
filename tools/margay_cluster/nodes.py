# SPDX-License-Identifier: GPL-2.0-only
"""The nodes: what they boot by the network, made by margay-netboot and an administrator's hand, and the machines, which QEMU
emulates: a new one, for older ones lose interrupts now and then (docs/testing.md). A thread of each reads its console and writes
it down with the time.
"""

import os
import subprocess
import sys
import threading
import time

import margay_machines

from . import places
from .places import run, write

NETBOOT = os.path.join(places.RUN, "netboot")
CMDLINE = "console=ttyS0 margay.files=/dev/vdb " + places.WORDS
# The management VM's card is 00:06.0; that of jobs' VMs, 00:08.0, it may only give away.
VM = """\
name        = management
kernel      = kernel
initrd      = initrd
disk        = root.squashfs
disk        = {files}
memory      = 1G
cpus        = 1-1
pci         = 00:06.0
dma         = iommu
control     = yes
control_may = create, destroy, console, cpus:2, memory:1536M, pci:00:08.0
on_crash    = restart
cmdline     = {cmdline}
"""
NODE = 'vms="{name}.conf"\nmodules="kernel initrd root.squashfs {name}.tar"\nfiles="(http,{head})/margay"\n'
# CPU 0 has no VM: QEMU loses a bit of that one's state now and then (docs/testing.md).
MEMORY, CPUS = "3584M", 3
# It comes before the devices that it stands in front of. The boot loader has the card that the firmware's iPXE drives.
UNIT = ["-device", "amd-iommu,intremap=on,xtsup=on,dma-remap=on"]
CARDS = {1: ("e1000e", "addr=6,bootindex=1"), 2: ("igb", "addr=8,rombar=0")}


def make_netboot(image, archives):
    """The boot server's directory. image: the management VMs'; archives: {node: its own files}."""
    words, vms = [], os.path.join(places.RUN, "vms")
    for node in archives:
        path = os.path.join(vms, node.name + ".conf")
        write(path, VM.format(files=node.name + ".tar", cmdline=CMDLINE))
        words += ["--vm", path, "--module", "%s.tar=%s" % (node.name, archives[node])]
    for name in "kernel", "initrd", "root.squashfs":
        words += ["--module", "%s=%s" % (name, os.path.join(image, name))]
    # Beside each other the VM files are judged as one node's: each is another one's.
    run(sys.executable, os.path.join(places.TOP, "tools", "margay-netboot"), "--elf", os.path.join(places.BUILD, "margay.elf"),
        "--no-check", *words, "-o", NETBOOT, stdout=subprocess.DEVNULL)
    check(vms, archives)
    for node in archives:
        name = node.mac(1).replace(":", "-") + ".cfg"
        write(os.path.join(NETBOOT, "margay", "nodes", name), NODE.format(name=node.name, head=places.HEAD))


def check(vms, archives):
    """What docs/booting.md has its reader type."""
    modules = os.path.join(NETBOOT, "margay", "modules")
    words = [word for name in sorted(os.listdir(modules)) for word in ("--module", "%s=%s" % (name, os.path.join(modules, name)))]
    for node in archives:
        run(os.path.join(places.BUILD, "margay-check"), "--quiet", "--image", os.path.join(places.BUILD, "margay.elf"), *words,
            os.path.join(vms, node.name + ".conf"), stderr=None)


def command(node):
    """QEMU's."""
    words = ["setpriv", "--pdeathsig", "KILL", margay_machines.NEWER_QEMU, "-name", node.name, "-M", "q35", "-accel", "tcg", "-cpu",
             "max", "-m", MEMORY, "-smp", str(CPUS), "-display", "none", "-monitor", "none", "-serial", "stdio", *UNIT]
    for card, (model, options) in CARDS.items():
        words += ["-netdev", "tap,id=net%d,ifname=%s,script=no,downscript=no" % (card, node.tap(card)),
                  "-device", "%s,netdev=net%d,mac=%s,%s" % (model, card, node.mac(card), options)]
    return words


class Machine:
    """One that runs, from now on."""

    def __init__(self, node):
        self.node = node
        with open(os.path.join(places.LOGS, node.name + "-qemu.log"), "wb") as log:
            self.process = subprocess.Popen(command(node), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        threading.Thread(target=self.keep, daemon=True).start()

    def keep(self):
        with open(os.path.join(places.LOGS, self.node.name + ".log"), "wb", buffering=0) as log:
            for line in self.process.stdout:
                log.write(b"%.3f " % time.time() + line.rstrip(b"\r\n") + b"\n")

    def end(self):
        self.process.kill()
        self.process.wait()
