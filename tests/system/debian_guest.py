# SPDX-License-Identifier: GPL-2.0-only
"""Debian as installed, on a disk (tools/guest-debian): QEMU's arguments for it, and root at its console."""

import os

import node

DEBIAN = os.path.join(node.GUEST, "debian")
CMDLINE = "console=ttyS0 root=/dev/nvme0n1 ro crashkernel=192M"


def disk(directory):
    """That of a directory of tools/guest-debian. What is written is QEMU's own, and stays over restarts of the VM."""
    return ["-drive", "if=none,id=root,format=raw,snapshot=on,file=" + os.path.join(directory, "root.img"),
            "-device", "nvme,drive=root,serial=margay,addr=6"]


DISK = disk(DEBIAN)
MINUTES = 60
BOOT = 10 * MINUTES  # of wall time, on a busy machine


class Console:
    """Root at ttyS0, who is logged in when the system has come up."""

    def __init__(self, running, host="debian", failed=()):
        """failed: units that are to fail."""
        self.node = running
        self.host = host
        self.failed = list(failed)
        self.login()

    def login(self):
        """What is typed then is not shown again, nor do the kernel's lines fall into answers."""
        self.node.expect("^root@%s:~# " % self.host, timeout=BOOT, prompt=True)
        self.node.send("set +o emacs; stty -echo; PS1=; export SYSTEMD_PAGER=cat; dmesg -n 1; echo silent\n")
        # What is typed before that would still be shown.
        self.node.expect(r"^silent\r?$", timeout=BOOT)
        state = self.do("systemctl is-system-running --wait").split("\n")[-1]
        failed = self.do("systemctl --failed --plain --no-legend")
        assert [line.split()[0] for line in failed.splitlines()] == self.failed, failed
        assert state == ("degraded" if self.failed else "running")

    def do(self, command):
        """What the command says."""
        begin = len(self.node.text)
        self.node.send("%s; echo \"<\"$?\">\"\n" % command)
        end = self.node.expect(r"^<\d+>\r?$", timeout=BOOT)
        said = self.node.text[begin : end.start()].replace("\r", "").strip()
        return said.removeprefix("root@%s:~# " % self.host).strip()

    def leave(self, command):
        """One that ends this kernel's life."""
        self.node.send(command + "\n")

    def boots(self, expected=None):
        """Comes up again; expected: what Margay says before."""
        if expected:
            self.node.expect("^%s\r?$" % expected, timeout=BOOT)
        self.login()
