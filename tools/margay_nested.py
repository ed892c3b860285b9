# SPDX-License-Identifier: GPL-2.0-only
"""The machines nested-svm and nested-vtx: a node of QEMU and KVM, on a Linux host that is emulated itself, by QEMU (SVM) or
Bochs (VT-x). To the node KVM is the processor. tools/nested-host makes the host; tools/nested/init.sh is all that runs in it.

The node's console is the host's first serial port. What the host says, its kernel's log among it, goes to the second one,
a file, whose last line tells how the node's QEMU ended.
"""

import os
import re
import subprocess
import sys

import margay_machines
from margay_machines import MachineError

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GUEST = os.path.join(os.environ.get("MARGAY_BUILD", os.path.join(TOP, "build")), "guest")
INITRD = os.path.join(GUEST, "initrd-nested")
KERNEL = {"nested-svm": os.path.join(GUEST, "vmlinux"), "nested-vtx": os.path.join(GUEST, "vmlinuz-nested")}
HOST_MEMORY = 512  # MiB beside the node's: kernel, initrd, QEMU
# Mitigations cost instructions that nobody here measures. The emulators' TSC is one for all CPUs; a watchdog that a busy
# machine has delayed would say otherwise.
# init.sh writes to the I/O APIC, and the HPET, where it is used, has the PIT's interrupt.
CMDLINE = "console=ttyS1,115200 panic=-1 mitigations=off tsc=reliable iomem=relaxed hpet=disable"
DATA = "/dev/sda"
# Bochs' time is instructions. An exit of the node's guest is some 38,000 of them: at Bochs' usual 50 million a second two vCPUs
# with 250 ticks each would have no time left between these.
IPS = 500000000
HEADS, SECTORS = 16, 32  # of a drive of Bochs', whose capacity is whole cylinders
GEOMETRY = HEADS * SECTORS * 512
END = re.compile(r"^nested: (.*?)\r?$", re.MULTILINE)
GOOD_END = "QEMU ended with status 0"


def host_complaint(text):
    """What the host's log says of a node that did not end by itself, or None."""
    ends = END.findall(text)
    if ends == [GOOD_END]:
        return None
    return "the node's host: " + (ends[-1] if ends else "it did not come to its end")


def host_drive(extra):
    """(the node's arguments, file): the one file of a -drive among them is a disk of the host, which QEMU there finds as DATA."""
    files = [match[1] for match in (re.match(r"if=.*\bfile=([^,]+)$", word) for word in extra) if match]
    if len(files) > 1:
        raise MachineError("%s: the host of a nested machine has one drive" % files[1])
    if not files:
        return list(extra), None
    if os.path.getsize(files[0]) % GEOMETRY:
        raise MachineError("%s: the host of a nested machine takes drives of whole %d bytes" % (files[0], GEOMETRY))
    return [word.replace("file=" + files[0], "file=" + DATA) for word in extra], files[0]


def cmdline(drive, boot, cpus, memory, extra):
    """The host kernel's, with the node's QEMU arguments behind it; drive: the device with the image."""
    node = margay_machines.qemu_arguments(drive, boot, cpus, memory, "stdio,id=console,signal=off", extra, "kvm")
    for word in node:
        if re.search(r"[\s\"'@]", word):
            raise MachineError("argument %r: no blanks, quotes or @ come through the command line of the host's kernel" % word)
    # One word: the kernel panics of more than 32 for its first process.
    text = " ".join([CMDLINE, "--", "@".join([drive] + node)])
    if len(text) > 2047:
        raise MachineError("too many arguments: the host's kernel has a command line of 2047 characters")
    return text


def command(machine, image, boot, cpus, memory, port, extra, directory, log, bochs_log, interactive, accel, host=()):
    """As margay_machines.qemu() and bochs(); extra is the node's QEMU's, host that of the QEMU below. log: of the host."""
    if (boot.firmware, boot.medium) != ("bios", "cd"):
        raise MachineError("machine %s has no %s with a %s: only a BIOS and a CD" % (machine, boot.firmware, boot.medium))
    for path in (KERNEL[machine], INITRD):
        if not os.path.exists(path):
            raise MachineError("%s is missing: make nested-host" % path)
    host_memory = "%dM" % (margay_machines.mebibytes(memory) + HOST_MEMORY)
    extra, drive = host_drive(extra)
    if machine == "nested-svm":
        return [
            margay_machines.find("qemu-system-x86_64", "qemu-system-x86"),
            "-name", "margay-host", "-M", "pc", "-accel", accel, "-cpu", "max", "-m", host_memory, "-smp", "1",
            "-no-reboot", "-display", "none", "-monitor", "none", "-nic", "none",
            "-chardev", "socket,id=console,host=127.0.0.1,port=%d" % port, "-serial", "chardev:console",
            "-serial", "file:" + log, "-kernel", KERNEL[machine], "-initrd", INITRD,
            "-append", cmdline("/dev/sr0", boot, cpus, memory, extra),
            "-drive", "if=none,id=medium,format=raw,media=cdrom,file=" + image.replace(",", ",,"),
            "-device", "ide-cd,drive=medium",
        ] + (["-drive", "if=ide,index=0,format=raw,file=" + drive.replace(",", ",,")] if drive else []) + list(host)
    iso = os.path.join(directory, "host.iso")
    made = subprocess.run(
        [sys.executable, os.path.join(TOP, "tools", "margay-image"), "--linux", KERNEL[machine], "--initrd", INITRD,
         "--cmdline", cmdline("/dev/sr1", boot, cpus, memory, extra), "-o", iso], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise MachineError("no ISO of the host: " + made.stderr.strip())
    disk = ['ata0-slave: type=disk, mode=flat, path="%s", cylinders=%d, heads=%d, spt=%d' % (
        os.path.abspath(drive), os.path.getsize(drive) // GEOMETRY, HEADS, SECTORS)] if drive else []
    return margay_machines.bochs(iso, margay_machines.Boot(), 1, host_memory, port, disk + [
        # The host's kernel reads MSRs that Bochs has not, at each exit; and its own exits fill a log by the gigabyte.
        "cpu: ignore_bad_msrs=1, ips=%d" % IPS, "error: action=ignore", "info: action=ignore",
        "ata1: enabled=1, ioaddr1=0x170, ioaddr2=0x370, irq=15",
        'ata1-master: type=cdrom, path="%s", status=inserted' % os.path.abspath(image),
        'com2: enabled=1, mode=file, dev="%s"' % os.path.abspath(log),
    ], directory, bochs_log, interactive)
