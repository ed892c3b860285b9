# SPDX-License-Identifier: GPL-2.0-only
"""The machines that margay-run boots an ISO on: how each emulator is started.

Every machine connects its first serial port, as a client, to a TCP port of
ours; so one piece of code (margay_run.py) reads and types on all of them.
"""

import os
import re
import shutil

NAMES = ("qemu", "bochs", "kvm")


class MachineError(Exception):
    """The machine cannot be started here; the text says what is missing."""


def mebibytes(size):
    match = re.fullmatch(r"(\d+)([MG])", size)
    if not match:
        raise MachineError("memory %s: expected a number with M or G, as in 512M" % size)
    return int(match[1]) << (10 if match[2] == "G" else 0)


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


def qemu(iso, cpus, memory, port, extra, accel):
    return [
        find("qemu-system-x86_64", "qemu-system-x86"),
        "-name", "margay", "-M", "q35", "-accel", accel, "-cpu", "host" if accel == "kvm" else "max",
        "-m", "%dM" % mebibytes(memory), "-smp", str(cpus), "-no-reboot", "-display", "none", "-monitor", "none",
        "-nic", "none", "-chardev", "socket,id=console,host=127.0.0.1,port=%d" % port, "-serial", "chardev:console",
        "-cdrom", iso, "-boot", "d",
    ] + list(extra)


# corei7_haswell_4770: skylake's CPUID leaf 0x15 contradicts its TSC. With
# sync=none idle time is skipped; a person at the console wants real time.
BOCHSRC = """\
config_interface: textconfig
display_library: term
romimage: file=/usr/share/bochs/BIOS-bochs-latest, options=fastboot
vgaromimage: file=/usr/share/seabios/vgabios-stdvga.bin
memory: guest={memory}, host={memory}
cpu: model=corei7_haswell_4770, count={cpus}, ips=50000000, reset_on_triple_fault=0, ignore_bad_msrs=0
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


def bochs(iso, cpus, memory, port, extra, directory, log, interactive):
    """Writes bochsrc into directory; extra: further configuration lines, which override."""
    program = find("bochs-bin", "bochs")
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
            memory=mebibytes(memory), cpus=cpus, iso=os.path.abspath(iso), port=port, log=os.path.abspath(log),
            sync="slowdown" if interactive else "none",
        ))
        f.writelines(line + "\n" for line in extra)
    # Debian's build has the debugger in it: it wants to be told to continue.
    commands = os.path.join(directory, "commands")
    with open(commands, "w", encoding="ascii") as f:
        f.write("c\n")
    return [program, "-q", "-f", rc, "-rc", commands]
