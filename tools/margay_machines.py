# SPDX-License-Identifier: GPL-2.0-only
"""The machines that margay-run boots: how each emulator is started, and how its
firmware comes to what it boots.

Every machine connects its first serial port, as a client, to a TCP port of
ours; so one piece of code (margay_run.py) reads and types on all of them.
"""

import collections
import os
import re
import shutil

NAMES = ("qemu", "bochs", "bochs-svm", "kvm", "nested-svm", "nested-vtx")
# Which of them runs.
EMULATOR = {"qemu": "qemu", "bochs": "bochs", "bochs-svm": "bochs", "kvm": "kvm", "nested-svm": "qemu", "nested-vtx": "bochs"}
FIRMWARE = ("bios", "uefi")
MEDIA = ("cd", "usb", "disk", "net")

# How the machine boots: MEDIA says as what it finds the image, which is a directory served by TFTP for "net", where
# `file` is what its DHCP server tells it to load. mac: of its one network card, which only "net" has.
# written: the machine writes on the image, if that is a disk.
Boot = collections.namedtuple("Boot", "firmware medium file mac written",
                              defaults=("bios", "cd", None, "52:54:00:12:34:56", False))

# What a machine of this firmware loads from the directory of tools/margay-netboot.
NETBOOT_FILE = {"bios": "margay/bios.0", "uefi": "margay/x64.efi"}

OVMF = "/usr/share/OVMF/OVMF_%s_4M.fd"


class MachineError(Exception):
    """The machine cannot be started here; the text says what is missing."""


def mebibytes(size):
    match = re.fullmatch(r"(\d+)([MG])", size)
    if not match:
        raise MachineError("memory %s: expected a number with M or G, as in 512M" % size)
    return int(match[1]) << (10 if match[2] == "G" else 0)


TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NEWER_QEMU = os.path.join(TOP, "build", "qemu-11.1", "qemu-system-x86_64")
# Where tools/fast-bochs could make it, who runs Bochs gets this one.
FAST_BOCHS = os.path.join(TOP, "build", "bochs", "bochs")


def find(program, package):
    path = shutil.which(program)
    if path is None:
        raise MachineError("%s is missing: tools/setup run (Debian package %s)" % (program, package))
    return path


def check_nested_kvm():
    """Nested virtualization as this host's KVM offers it, or a MachineError."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        raise MachineError("machine kvm needs /dev/kvm, readable and writable by you: no KVM on this host, or not allowed")
    for module in ("kvm_intel", "kvm_amd"):
        parameter = "/sys/module/%s/parameters/nested" % module
        if os.path.exists(parameter):
            with open(parameter, encoding="ascii") as f:
                if f.read().strip() in ("1", "Y"):
                    return
            raise MachineError(
                "machine kvm needs nested virtualization, which is off: modprobe -r %s && modprobe %s nested=1"
                % (module, module)
            )
    raise MachineError("machine kvm needs the module kvm_intel or kvm_amd, and neither is loaded")


def qemu_firmware(firmware):
    if firmware == "bios":
        return []  # SeaBIOS, which QEMU has with it
    for part in ("CODE", "VARS"):
        if not os.path.exists(OVMF % part):
            raise MachineError("%s is missing: tools/setup run (Debian package ovmf)" % (OVMF % part))
    return [
        "-drive", "if=pflash,unit=0,format=raw,readonly=on,file=" + OVMF % "CODE",
        "-drive", "if=pflash,unit=1,format=raw,snapshot=on,file=" + OVMF % "VARS",
    ]


def qemu_medium(image, boot):
    """The device that holds the image, and the firmware told to boot from it. Nothing is written to it, but by boot.written."""
    if boot.medium == "net":
        file = boot.file or NETBOOT_FILE[boot.firmware]
        return [
            "-netdev", "user,id=net,tftp=%s,bootfile=%s" % (image.replace(",", ",,"), file),
            "-device", "virtio-net-pci,netdev=net,bootindex=1,mac=" + boot.mac,
        ]
    device = {"cd": "ide-cd", "usb": "usb-storage", "disk": "ide-hd"}[boot.medium]
    file = image.replace(",", ",,")
    media = "media=cdrom" if boot.medium == "cd" else "snapshot=off" if boot.written else "snapshot=on"
    return ["-nic", "none"] + (["-device", "qemu-xhci"] if boot.medium == "usb" else []) + [
        "-drive", "if=none,id=medium,format=raw,%s,file=%s" % (media, file),
        "-device", device + ",drive=medium,bootindex=1",
    ]


def qemu_arguments(image, boot, cpus, memory, console, extra, accel):
    """console: QEMU's word for the character device of the first serial port, named console; accel: for the accelerator."""
    return [
        "-name", "margay", "-M", "q35", "-accel", accel, "-cpu", "host" if accel == "kvm" else "max",
        "-m", "%dM" % mebibytes(memory), "-smp", str(cpus), "-no-reboot", "-display", "none", "-monitor", "none",
        "-chardev", console, "-serial", "chardev:console",
    ] + qemu_firmware(boot.firmware) + qemu_medium(image, boot) + list(extra)


def numa_arguments(machine, nodes, cpus, memory):
    """QEMU's for a machine of so many NUMA nodes: a socket each, CPUs and memory in equal parts, distances as of two sockets."""
    if machine not in ("qemu", "kvm"):
        raise MachineError("--numa %d: the machine %s has one NUMA node: use qemu or kvm" % (nodes, machine))
    if not 1 <= nodes <= 8:
        raise MachineError("--numa %d: expected 1 to 8 nodes" % nodes)
    if cpus % nodes:
        raise MachineError("--numa %d: expected --cpus with a multiple of %d, so that each node has as many, found %d"
                           % (nodes, nodes, cpus))
    part, rest = divmod(mebibytes(memory), nodes)
    each = cpus // nodes
    arguments = ["-smp", "%d,sockets=%d,cores=%d,threads=1" % (cpus, nodes, each)]
    for n in range(nodes):
        arguments += ["-object", "memory-backend-ram,id=numa%d,size=%dM" % (n, part + (rest if n == 0 else 0)),
                      "-numa", "node,nodeid=%d,cpus=%d-%d,memdev=numa%d" % (n, n * each, (n + 1) * each - 1, n)]
    for n in range(nodes):
        for other in range(n):
            arguments += ["-numa", "dist,src=%d,dst=%d,val=21" % (n, other)]
    return arguments


def qemu(image, boot, cpus, memory, port, extra, accel, newer):
    program = find("qemu-system-x86_64", "qemu-system-x86")
    # Before 11.1 no interrupt passes QEMU's AMD IOMMU. What else needs it says so.
    if newer or any(word.startswith("amd-iommu") for word in extra):
        program = NEWER_QEMU
        if not os.path.exists(program):
            raise MachineError("%s is missing: make newer-qemu" % program)
    return [program] + qemu_arguments(
        image, boot, cpus, memory, "socket,id=console,host=127.0.0.1,port=%d" % port, extra, accel)


# VT-x: skylake's CPUID leaf 0x15 contradicts its TSC. SVM: the newest of AMD's.
BOCHS_MODEL = {"bochs": "corei7_haswell_4770", "bochs-svm": "ryzen"}
# With sync=none idle time is skipped; a person at the console wants real time.
BOCHSRC = """\
config_interface: textconfig
display_library: {display}
romimage: file=/usr/share/bochs/BIOS-bochs-latest, options=fastboot
vgaromimage: file=/usr/share/seabios/vgabios-stdvga.bin
memory: guest={memory}, host={memory}
cpu: model={model}, count={cpus}, ips=50000000, reset_on_triple_fault=0, ignore_bad_msrs=0
clock: sync={sync}, time0=1000000000
pci: enabled=1, chipset=i440fx
vga: extension=vbe, update_freq=1
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path="{iso}", status=inserted
boot: cdrom
com1: enabled=1, mode=socket-client, dev=127.0.0.1:{port}
port_e9_hack: enabled=1
mouse: enabled=0
log: "{log}"
panic: action=fatal
error: action=report
info: action=report
debug: action=ignore
"""


def bochs(iso, boot, cpus, memory, port, extra, directory, log, interactive, debugger=False, machine="bochs"):
    """Writes bochsrc into directory; extra: further configuration lines, which override; debugger: who calls talks to Bochs' own,
    which only Debian's program has; machine: whose model."""
    fast = os.path.exists(FAST_BOCHS) and not debugger
    program = FAST_BOCHS if fast else find("bochs-bin", "bochs")
    if (boot.firmware, boot.medium) != ("bios", "cd"):
        raise MachineError("machine %s has no %s with a %s: only a BIOS and a CD" % (machine, boot.firmware, boot.medium))
    for rom, package in (
        ("/usr/share/bochs/BIOS-bochs-latest", "bochsbios"),
        ("/usr/share/seabios/vgabios-stdvga.bin", "seabios"),
    ):
        if not os.path.exists(rom):
            raise MachineError("%s is missing: tools/setup run (Debian package %s)" % (rom, package))
    if mebibytes(memory) > 2048:
        raise MachineError("memory %s: Bochs has at most 2G" % memory)
    rc = os.path.join(directory, "bochsrc")
    with open(rc, "w", encoding="utf-8") as f:
        f.write(BOCHSRC.format(
            model=BOCHS_MODEL[machine], memory=mebibytes(memory), cpus=cpus, iso=os.path.abspath(iso), port=port,
            log=os.path.abspath(log), sync="slowdown" if interactive else "none", display="nogui" if fast else "term",
        ))
        f.writelines(line + "\n" for line in extra)
    if fast:
        return [program, "-q", "-f", rc]
    # Debian's program has the debugger in it: that wants to be told to continue.
    commands = os.path.join(directory, "commands")
    with open(commands, "w", encoding="ascii") as f:
        f.write("c\n")
    return [program, "-q", "-f", rc, "-rc", commands]
