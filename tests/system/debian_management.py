# SPDX-License-Identifier: GPL-2.0-only
"""A machine on QEMU whose management VM is a stock Debian, the one of tools/guest-debian that has Python, on a disk that keeps what
is written; and what is typed there.
"""

import os
import re

import client_json
import debian_guest
import disk
import node

CLOUD = os.path.join(node.GUEST, "debian-cloud")
MANAGEMENT = {"name": "management", "kernel": "kernel", "initrd": "initrd", "cmdline": "console=ttyS0 root=/dev/nvme0n1 ro",
              "memory": "1G", "memory_map": "identity", "cpus": "0-0", "pci": "00:06.0", "disk": "brought", "control": "yes",
              "control_may": "create, destroy, console, cpus:1-2, memory:512M", "on_crash": "restart"}


class Machine:
    """Its disk is that of the management VM, and keeps what was written when it is switched off and on. In the VM a second disk has
    a folder of the host, its file system in memory of the node.
    """

    def __init__(self, directory, name, folder):
        self.name = name
        brought = os.path.join(directory, "brought.img")
        disk.run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", folder, brought, "32M")
        root = os.path.join(directory, "root.img")
        disk.run("cp", "--sparse=always", os.path.join(CLOUD, "root.img"), root)
        self.disk = ["-drive", "if=none,id=root,format=raw,file=" + root, "-device", "nvme,drive=root,serial=margay,addr=6"]
        modules = {"kernel": os.path.join(CLOUD, "vmlinuz"), "initrd": os.path.join(CLOUD, "initrd"), "brought": brought}
        text = "".join("%s = %s\n" % line for line in MANAGEMENT.items())
        self.iso = node.margay_iso(name, {"management.conf": text}, modules)

    def on(self, name="on"):
        return node.start(self.name + "-" + name, "qemu", self.iso, cpus=3, memory="2G", extra=self.disk,
                          timeout=60 * debian_guest.MINUTES)


class Management:
    """What is typed in the management VM. What it says is read when it is over, by numbers: the node's own lines come in between,
    and a line of the VM that they cut is there again.
    """

    def __init__(self, running):
        self.console = debian_guest.Console(running)

    def say(self, command):
        """(its status, what it says)"""
        self.console.do("{ %s; } >/tmp/said 2>&1; echo $? >/tmp/status" % command)
        shown = self.console.do("awk '{ print \"|\" NR \"|\" $0 }' /tmp/status /tmp/said")
        lines = {int(number): line for number, line in re.findall(r"^\|(\d+)\|(.*)$", shown, flags=re.MULTILINE)}
        assert sorted(lines) == list(range(1, len(lines) + 1)), shown
        return int(lines.pop(1)), "\n".join(lines[number] for number in sorted(lines))

    def good(self, command):
        status, said = self.say(command)
        assert status == 0, (command, status, said)
        return said

    def vms(self):
        """{name: (its state, how often it has started)} without the management VM."""
        vms = client_json.judge(self.good("margay --json list"), "list")
        return {vm["name"]: (vm["state"], vm["starts"]) for vm in vms if not vm["commands"]}
