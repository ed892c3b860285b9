# SPDX-License-Identifier: GPL-2.0-only
"""margay-check, which finds before a node boots what the node would refuse; no emulator.

VM files and command lines: some 90 wrong ones, and what margay-check says of each.
"""

import functools
import gzip
import lzma
import os
import struct
import subprocess
import sys

import node
import pytest

GOOD = "kernel = k\nmemory = 512M\n"
SIZE = "memory: expected a size with K, M, G or T, like 512M or 12G, found '%s'"
FUNCTION = "pci: expected an address like 01:00.0, class:0107, or vendor and device like 8086:10d3, found '%s'"
LIMIT = "restart_limit: expected 1 to 100000 restarts in a time of up to 30 days, like 5 in 10m, found '%s'"
CPUS = "cpus: expected a number of vCPUs, a list of CPUs like 1-3,6, or all, found '%s'"
LIST = "cpus: expected a list of CPUs like 1-3,6, found '%s'"
LINE = "expected 'key = value' or a '#' comment, found '%s'"
DIRECT = "interrupts = direct: %s: use emulated"
MAC = "net: mac: expected one address, of one interface, like 02:00:00:00:00:01, found '%s'"
THEN = "expected stop, restart, poweroff_node or reboot_node, found '%s'"
KEYS = ("name, kernel, initrd, cmdline, cpus, memory, leaf, memory_map, remote_memory, cache, bandwidth, topology, "
        "allow_smt_sharing, trusted, clock, interrupts, ipi, cstates, watchdog, pvclock, counters, on_end, on_poweroff, "
        "on_reboot, on_crash, restart_limit, console_log, disk, net, meta, console, control, control_may, pci, pci_irq, pci_node, "
        "vfs, dma, on_fault, on_mce, module, dmi, debug_exit, after")
MAY = ("control_may: expected create, destroy, console, dump, boot, modules, trusted, ipi:direct, dma:identity, cpus:, memory:, "
       "pci: or net:, found '%s'")
KERNEL = "1: kernel = k: %s; give a bzImage or vmlinux of x86-64 Linux, or a multiboot kernel"

# (what stands behind the two lines of a good file, from line 3 on; what is said of it)
WRONG = [
    ("cpu = 3", "3: unknown key 'cpu': expected one of " + KEYS), ("cpus 3", "3: " + LINE % "cpus 3"),
    ("control = maybe", "3: control: expected no or yes, found 'maybe'"), ("control = yes\ncontrol_may = all", "4: " + MAY % "all"),
    ("control_may = create", " control_may: without control = yes it may nothing"),
    ("control = yes\ncontrol_may = cpus:3-2", "4: control_may: expected cpus: and a CPU or a range like 2-7, found '3-2'"),
    ("control = yes\ncontrol_may = cpus:x", "4: control_may: expected cpus: and a CPU or a range like 2-7, found 'x'"),
    ("control = yes\ncontrol_may = cpus:4096", "4: control_may: expected CPUs up to 4095, found 4096"),
    ("control = yes\ncontrol_may = memory:2G,memory:2G", "4: control_may: memory: is given twice"),
    ("control = yes\ncontrol_may = memory:2", "4: control_may: expected a size with K, M, G or T, like 512M or 12G, found '2'"),
    ("control = yes\ncontrol_may = net:", "4: control_may: expected net: and a segment's name, found ''"),
    ("control = yes\ncontrol_may = pci:1", "4: control_may: expected pci: and an address like 01:00.0, found '1'"),
    ("control = yes\ncontrol_may = create,", "4: control_may: expected another right behind the comma, found 'create,'"),
    ("cpus: 3", "3: " + LINE % "cpus: 3"), ("[vm]", "3: " + LINE % "[vm]"), ("; comment", "3: " + LINE % "; comment"),
    ("initrd =", "3: initrd: expected a value after '='"), ("memory = 1G", "3: memory: given twice, first in line 2"),
    ("cpus = 0", "3: cpus: expected 1 to 4096 vCPUs, found 0"), ("cpus = 4097", "3: cpus: expected 1 to 4096 vCPUs, found 4097"),
    ("cpus = -1", "3: " + CPUS % "-1"), ("cpus = four", "3: " + CPUS % "four"), ("cpus = 3-1", "3: " + LIST % "3-1"),
    ("cpus = 1,1", "3: cpus: CPU 1 is named twice"), ("cpus = 1-3,", "3: " + LIST % "1-3,"), ("cpus = 1, 2", "3: " + LIST % "1, 2"),
    ("cpus = 4096-4096", "3: cpus: expected numbers up to 4095, found 4096"),
    ("leaf = 2G", "3: leaf: expected 4K, 2M or 1G, found '2G'"),
    ("memory_map = 1:1", "3: memory_map: expected auto, offset or identity, found '1:1'"),
    ("remote_memory = yes", "3: remote_memory: expected refuse or allow, found 'yes'"),
    ("topology = host", "3: topology: expected node or flat, found 'host'"),
    ("allow_smt_sharing = true", "3: allow_smt_sharing: expected no or yes, found 'true'"),
    ("trusted = 1", "3: trusted: expected no or yes, found '1'"),
    ("clock = stop", "3: clock: expected follow or freeze, found 'stop'"),
    ("interrupts = direct\ncmdline = ro nox2apic\ncounters = yes", "3: " + DIRECT % "counters = yes would have no interrupt",
     "3: " + DIRECT % "cmdline has nox2apic"), ("watchdog = maybe", "3: watchdog: expected yes or no, found 'maybe'"),
    ("interrupts = direct\nclock = freeze\ntopology = flat\nallow_smt_sharing = yes",
     *("3: " + DIRECT % why for why in (
         "topology = flat has other APIC IDs than the CPUs", "clock = freeze cannot stop the CPUs' own timers",
         "allow_smt_sharing lets others use its cores"))),
    ("ipi = direct", "3: ipi = direct: needs interrupts = direct, by which the guest has local APICs of its own"),
    ("ipi = open", "3: ipi: expected filtered or direct, found 'open'"),
    ("on_end = reboot", "3: on_end: " + THEN % "reboot"), ("on_reboot = reset", "3: on_reboot: " + THEN % "reset"),
    ("on_end = stop\non_reboot = restart",
     "4: on_end: not beside on_poweroff, on_reboot or on_crash"),
    ("restart_limit = 5", "3: " + LIMIT % "5"), ("restart_limit = 0 in 10m", "3: " + LIMIT % "0 in 10m"),
    ("restart_limit = 5 in 1d", "3: " + LIMIT % "5 in 1d"),
    ("pci = eth0\ndma = window", "3: " + FUNCTION % "eth0"), ("pci = 01:20.0\ndma = window", "3: " + FUNCTION % "01:20.0"),
    ("pci = 01:00.0\ndma = vfio", "4: dma: expected identity, window, iommu or auto, found 'vfio'"),
    ("pci = 01:00.0\ndma = identity\nmemory_map = offset", "4: dma = identity: needs memory_map = identity, or none"),
    ("pci_irq = 00:03.0 11", "3: pci_irq, pci_node: without pci no function has them"),
    ("module =", "3: module: expected a value after '='"), ("module = a\n" * 5, "7: module: expected at most 4 modules"),
    ("name = my vm", "3: name: expected letters, digits, '-' and '_', found 'my vm'"),
    ("name = " + "x" * 32, "3: name: expected a name of at most 31 bytes, found 32"),
    ("after = nobody", "3: after = nobody: no earlier VM file is of that name; the order is the boot loader's"),
    ("name = a\nafter = a", "4: after = a: no earlier VM file is of that name; the order is the boot loader's"),
    ("debug_exit = on", "3: debug_exit: expected no or yes, found 'on'"),
    ("cmdline = a\x07b", "3: expected text, found control character 0x07"),
    ("cmdline = " + "x" * 2048, "3: cmdline: expected text of at most 2047 bytes, found 2048"),
    ("initrd = my initrd", "3: initrd: expected one module name without blanks, found 'my initrd'"),
    ("disk =", "3: disk: expected a value after '='"), ("disk = scratch:33M", "3: disk: expected a multiple of 2M, found '33M'"),
    ("meta = a", "3: meta: expected KEY=VALUE, a key of letters, digits, '-', '_' and '.', or io.systemd.credential:NAME=VALUE, "
                 "found 'a'"),
    ("meta = a=b\nmeta = a=c", "4: meta: a: given twice"),
    ("disk = root\n" * 5, "7: disk: expected at most 4 disks"),
    ("console = hvc0", "3: console: expected uart or virtio, found 'hvc0'"),
    ("net = lan0 mac=02:00:00:00:00", "3: " + MAC % "02:00:00:00:00"),
    ("net = lan0 mac=01:00:00:00:00:01", "3: " + MAC % "01:00:00:00:00:01"),
    ("net = lan0 queues=4", "3: net: expected mac=..., mtu=..., pvid=..., trunk=..., bridge, isolated, mirror or offload=no behind "
     "the segment, found 'queues=4'"),
    ("net = lan0 mtu=9001", "3: net: mtu: expected one number from 1280 to 9000, found '9001'"),
    ("net = lan0 pvid=4095", "3: net: pvid: expected one number from 1 to 4094, found '4095'"),
    ("net = lan0 trunk=10,29-20", "3: net: trunk: expected VLANs from 1 to 4094, like 10,20-29, found '29-20'"),
    ("net = lan0\n" * 5, "7: net: expected at most 4 interfaces"),
    # All errors of a file, one line each.
    ("cpus = x\nleaf = 3\ncolour\non_end = q", "3: " + CPUS % "x", "4: leaf: expected 4K, 2M or 1G, found '3'",
     "5: " + LINE % "colour", "6: on_end: " + THEN % "q"),
]
# (the whole file, what is said)
WHOLE = [
    ("", " required key 'kernel' is missing: the name of the module to boot",
     " required key 'memory' is missing: a size like 512M or 12G"),
    ("kernal = k\nmemory = 1G\n", "1: unknown key 'kernal': expected one of " + KEYS,
     " required key 'kernel' is missing: the name of the module to boot"),
    *(("kernel = k\nmemory = %s\n" % size, "2: " + SIZE % size) for size in ("512", "512MB", "512m", "1P", "50%", "1.5G", '"1G"')),
    ("kernel = k\nmemory = 31M\n", "2: memory: expected 32M to 64T, found '31M'"),
    ("kernel = k\nmemory = 33M\n", "2: memory: expected a multiple of 2M, found '33M'"),
    ("kernel = k\nmemory = node0:8G,node0:1G\n", "2: memory: node0 is named twice"),
    ("kernel = k\nmemory = node0=8G\n", "2: memory: expected a part like node0:8G or node0:all, found 'node0=8G'"),
    ("\ufeff" + GOOD, "1: begins with a byte-order mark: save it without one"),
]
WORDS = [
    ("console=com3", "expected com1, com2, 0x<port>, mmio:0x<address>, mmio32:0x<address> or none, then "
     ",<baud> and ,irq=<number> if wanted"),
    ("check=stay,5", "expected check, or check= with seconds from 1 to 3600"), ("quiet", "expected check, console=, "),
    ("mitigate=spectre", "expected auto, off, or what to force on: spec_ctrl, "), ("panic=5s", "expected halt, or seconds from 1"),
    ("screen=on", "expected none, or seconds from 1 to 600"), ("escape=^[", "expected ^ and a letter other than j and m, or none"),
    ("gdb=com5,vm0", "expected com1 to com4"), ("loglevel=7", "expected error, info or debug"),
    ("iommu=on", "expected off"),
]


def check(*arguments):
    """(lines, exit status), without the line by which it says that all is right."""
    done = subprocess.run([os.path.join(node.BUILD, "margay-check"), "--quiet", *map(str, arguments)],
                          capture_output=True, text=True, check=False)
    assert not done.stdout or not done.stderr
    return (done.stdout + done.stderr).splitlines(), done.returncode


def aloud(*arguments):
    """(what comes to standard output, to standard error, exit status)"""
    done = subprocess.run([os.path.join(node.BUILD, "margay-check"), *map(str, arguments)],
                          capture_output=True, text=True, check=False)
    return done.stdout, done.stderr, done.returncode


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_wrong_files(tmp_path):
    cases = [(GOOD + text + "\n", *said) for text, *said in WRONG] + WHOLE
    for text, *said in cases:
        lines, status = check(written(tmp_path / "f.conf", text))
        assert (lines, status) == (["f.conf:" + line for line in said], 1)
    assert check(written(tmp_path / "f.conf", GOOD)) == ([], 0)


def test_beside_each_other(tmp_path):
    def vm(name, text):
        return written(tmp_path / name, GOOD + text)

    a, b = vm("a.conf", "name = a\ncpus = 1-3\n"), vm("b.conf", "name = b\ncpus = 3-4\n")
    after, third = vm("after.conf", "name = b\nafter = a\ncpus = 3-4\n"), vm("third.conf", "name = c\nafter = a\ncpus = 4-4\n")
    trusted, number = vm("t.conf", "name = t\ntrusted = yes\n"), vm("n.conf", "name = n\ncpus = 2\n")
    own = ": give each VM its own, or let this one wait for that one's end by after ="
    assert check(a, number) == ([], 0)
    assert check(a, b) == (["b.conf:4: cpus: CPU 3 is a's" + own], 1)
    assert check("--each", a, b) == ([], 0)
    assert check(a, after) == ([], 0)
    assert check(after, a) == (["after.conf:4: after = a: no earlier VM file is of that name; the order is the boot loader's"], 1)
    # One that waits for what is wrong, or could not be read so far, is right: a node starts it at once.
    wrong = vm("wrong.conf", "name = a\ncpus = x\n")
    assert check(wrong, after) == (["wrong.conf:4: " + CPUS % "x"], 1)
    assert check(wrong, a, after) == (["wrong.conf:4: " + CPUS % "x"], 1)
    # Both wait for the same one, not for each other.
    assert check(a, after, third) == (["third.conf:5: cpus: CPU 4 is b's" + own], 1)
    # One that waits for who waits for the first.
    assert check(a, vm("b.conf", "name = b\nafter = a\ncpus = 5-5\n"), vm("c.conf", "name = c\nafter = b\ncpus = 2-2\n")) == ([], 0)
    assert check(a, vm("again.conf", "name = a\n")) == (["again.conf:3: name = a: a.conf has that name already: choose another"], 1)
    assert check(number, vm("vm1.conf", ""), vm("x.conf", "name = vm1\n")) == (
        ["x.conf:3: name = vm1: vm1.conf has that name already: choose another"], 1)
    assert check(trusted, number) == (
        ["t.conf:4: trusted = yes: not beside n.conf, which is not trusted: it could read that one's memory"], 1)
    assert check(trusted) == ([], 0)


def test_too_many(tmp_path):
    """A node takes 64 boot modules, VM files and kernels; of several nodes any number of files."""
    files = [written(tmp_path / ("%02d.conf" % i), GOOD) for i in range(64)]
    assert check(*files[:63]) == ([], 0)
    assert check(*files) == (["64 VM files and 1 more modules: the hypervisor takes 64 in all"], 1)
    assert check("--each", *files) == ([], 0)
    modules = ["--module", "k", "--module", "i"]
    assert check(*modules, *files[:62]) == ([], 0)
    assert check(*modules, *files[:63]) == (["63 VM files and 2 more modules: the hypervisor takes 64 in all"], 1)


def test_usage(tmp_path):
    vm = written(tmp_path / "vm.conf", GOOD)
    for arguments, said in ((("--nonsense", vm), "unknown option"), (("--module",), "--module needs a name"),
                            (("--cmdline",), "--cmdline needs a text"), ((), "no file given"), (("--each",), "no file given"),
                            (("--module", "vm:vm.conf=%s" % vm, vm), "a VM file is given without --module")):
        lines, status = check(*arguments)
        assert (lines[0], status) == ("margay-check: " + said, 2) and lines[1].startswith("usage: margay-check ")
    for option, said in (("--help", "usage: margay-check "), ("--version", "margay-check 0.")):
        lines, status = check(option)
        assert lines[0].startswith(said) and status == 0
    # What is no VM file is not read whole.
    large = written(tmp_path / "large.conf", GOOD + "#" * (1 << 20))
    assert check(large) == (["%s: larger than 1M: not a VM file" % large], 1)
    assert check(written(large, GOOD + "#" * ((1 << 20) - len(GOOD) - 1) + "\n"))[0][0].startswith("large.conf:3: expected a line")


def test_all_is_right(tmp_path):
    """One line says so, and by what image; only one, and none with an error, with --quiet, or where a program reads the modules."""
    image = os.path.join(node.BUILD, "margay.elf")
    a, b = (written(tmp_path / name, GOOD) for name in ("a.conf", "b.conf"))
    right = " right for %s" % image
    unseen = "; without --module nobody has looked for kernels and disks"
    assert aloud("--image", image, a) == ("1 VM file is%s%s\n" % (right, unseen), "", 0)
    assert aloud("--image", image, "--module", "k", a, b) == ("2 VM files are%s\n" % right, "", 0)
    assert aloud("--image", image, "--cmdline", "loglevel=info") == ("the command line is%s\n" % right, "", 0)
    # A warning is no error.
    lonely = written(tmp_path / "lonely.conf", GOOD + "net = lan0\n")
    assert aloud("--image", image, "--module", "k", lonely) == (
        "1 VM file is%s\n" % right, "lonely.conf:3: net = lan0: nobody else is on this segment\n", 0)
    wrong = written(tmp_path / "wrong.conf", GOOD + "leaf = 3\n")
    assert aloud("--image", image, a, wrong) == ("", "wrong.conf:3: leaf: expected 4K, 2M or 1G, found '3'\n", 1)
    assert aloud("--quiet", "--image", image, a) == ("", "", 0)
    assert aloud("--modules", "--image", image, a) == ("k\n", "", 0)


def test_options_anywhere(tmp_path):
    """Before, between and behind the files, but not behind a --."""
    a, b = (written(tmp_path / name, GOOD + "name = a\n") for name in ("a.conf", "b.conf"))
    same = (["b.conf:3: name = a: a.conf has that name already: choose another"], 1)
    lacking = (["a.conf:1: kernel = k: the boot loader gave no module of that name"], 1)
    assert check(a, b) == same
    assert check(a, "--each", b) == check(a, b, "--each") == check("--each", "--", a, b) == ([], 0)
    assert check(a, "--module", "x") == check("--module", "x", a) == lacking
    assert check(a, "--module", "k") == check(a, "--cmdline", "loglevel=info", "--module", "k") == ([], 0)
    assert check(a, "--module")[0][0] == "margay-check: --module needs a name"
    assert check(a, "--", "--each") == (["--each: No such file or directory"], 1)


def test_qcow2(tmp_path, kernel):
    """What looks like a disk to whoever has made it, and is none for a guest."""
    qcow2 = str(tmp_path / "root.qcow2")
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", qcow2, "64M"], check=True)
    vm = written(tmp_path / "vm.conf", GOOD + "disk = root\n")
    modules = ["--module", "k=" + kernel, "--module"]
    assert check(vm, *modules, "root=" + qcow2) == (
        ["vm.conf:3: disk = root: a qcow2 image, whose sectors are not the disk's: qemu-img convert -O raw makes it one that can "
         "be used"], 1)
    subprocess.run(["qemu-img", "convert", "-O", "raw", qcow2, str(tmp_path / "raw")], check=True)
    assert check(vm, *modules, "root=%s" % (tmp_path / "raw")) == ([], 0)
    assert check(qcow2) == (["%s: a qcow2 image" % qcow2], 1)


def test_networks_beside_each_other(tmp_path):
    def vm(name, *nets):
        return written(tmp_path / (name + ".conf"), GOOD + "name = %s\n" % name + "".join("net = %s\n" % net for net in nets))

    mac = "02:00:00:00:00:01"
    taken = "net: %s is the address of %%s already: give another by mac=" % mac
    a, b = vm("a", "lan0 mac=" + mac), vm("b", "lan0")
    assert check(a, b) == ([], 0)
    # Wherever it is: another segment may be joined to the first one.
    other = vm("c", "lan0", "lan1 mac=" + mac)
    lines, status = check(a, other, b)
    assert (lines[0], status) == ("c.conf:5: " + taken % "a.conf:4", 1)
    assert check(vm("d", "lan0 mac=" + mac, "lan0 mac=" + mac), b)[0][0] == "d.conf:5: " + taken % "d.conf:4"
    # One MTU, and VLANs or none, for all of a segment.
    large, tagged = vm("e", "lan0 mtu=9000"), vm("f", "lan0 pvid=10", "lan2 trunk=1-4094")
    lines, status = check(a, large)
    assert (lines[0], status) == (
        "e.conf:4: net = lan0: its MTU is 9000 here, 1500 by a.conf:4: all of a segment have the same mtu=", 1)
    assert check(a, b, tagged)[0][0] == (
        "f.conf:4: net = lan0: VLANs here, none by a.conf:4: all of a segment have pvid= or trunk=, or none")
    assert check(vm("g", "lan0 pvid=20 trunk=10,30-39"), vm("h", "lan0 pvid=10")) == ([], 0)
    # A segment of one VM's is no error.
    assert check(a) == (["a.conf:4: net = lan0: nobody else is on this segment"], 0)


@pytest.fixture(name="kernel")
def fixture_kernel():
    return node.guest_file("vmlinuz")


def test_who_commands(tmp_path):
    """One VM does; and what a crash leaves is for somebody who may read it."""
    def vm(name, *lines):
        return written(tmp_path / (name + ".conf"), "name = %s\n" % name + GOOD + "\n".join(lines) + "\n")

    a, b = vm("a", "control = yes"), vm("b", "control = yes", "control_may = dump, boot")
    assert check(a, b) == (["b.conf:4: control: a commands this node already"], 1)
    kept = vm("kept", "on_crash = dump")
    nobody = "on_crash: dump: no other VM has control_may = dump, boot to read it: give it to one"
    for others in ((), (a,), (vm("c", "control = yes", "control_may = dump"),), (vm("d", "control = yes", "control_may = boot"),)):
        assert check(*others, kept) == (["kept.conf:4: " + nobody], 1)
    assert check(kept, b) == check(b, kept) == check("--each", kept) == ([], 0)
    assert check(vm("e", "control = yes", "control_may = dump, boot", "on_crash = dump")) == (["e.conf:6: " + nobody], 1)


def test_modules(tmp_path, kernel):
    vm = written(tmp_path / "vm.conf", "kernel = k\nmemory = 512M\ninitrd = i\n")
    initrd = node.guest_file("initrd")
    with open(kernel, "rb") as f:
        image = f.read()
    arm = written(tmp_path / "arm", b"MZ" + bytes(0x36) + b"ARM\x64" + bytes(4000))
    assert check("--module", "k=" + kernel, "--module", "i=" + initrd, vm) == ([], 0)
    assert check("--module", "k", "--module", "i", vm) == ([], 0)
    for content, said in ((gzip.compress(image[:100000]), "compressed: gunzip it"),
                          (image[:len(image) // 2], "truncated: shorter than its header says"),
                          (arm.read_bytes(), "a kernel for ARM64"),
                          (b"hello\n" * 500, "not a Linux kernel image, or truncated")):
        path = written(tmp_path / "k", content)
        assert check("--module", "k=%s" % path, "--module", "i=" + initrd, vm) == (["vm.conf:" + KERNEL % said], 1)
    empty = written(tmp_path / "empty", b"")
    assert check("--module", "k=%s" % arm, "--module", "i=%s" % empty, vm) == (
        ["vm.conf:" + KERNEL % "a kernel for ARM64", "vm.conf:3: initrd = i: the file is empty"], 1)
    assert check("--module", "x", vm) == (
        ["vm.conf:1: kernel = k: the boot loader gave no module of that name",
         "vm.conf:3: initrd = i: the boot loader gave no module of that name"], 1)
    assert check("--no-others", vm) == (
        ["vm.conf:1: kernel = k: the boot loader gave no module of that name",
         "vm.conf:3: initrd = i: the boot loader gave no module of that name"], 1)
    assert check(vm) == ([], 0)
    more = written(tmp_path / "more.conf", GOOD + "\nmodule = i\n")
    assert check("--module", "k=" + kernel, "--module", "i=%s" % empty, more) == (["more.conf:4: module = i: the file is empty"], 1)
    assert check("--module", "k", "--module", "i=%s" % empty, more) == ([], 0)
    # One module may be more than one thing of a VM's.
    disks = written(tmp_path / "disks.conf", GOOD + "disk = k\ndisk = d\ndisk = scratch:32M\n")
    assert check("--module", "k=" + kernel, "--module", "d", disks) == ([], 0)
    assert check("--module", "k=" + kernel, disks) == (["disks.conf:4: disk = d: the boot loader gave no module of that name"], 1)
    assert check("--module", "k=" + kernel, "--module", "d=%s" % empty, disks) == (["disks.conf:4: disk = d: the file is empty"], 1)
    # A '=' may be in the name or in the path.
    there = written(tmp_path / "a=b", image)
    odd = written(tmp_path / "odd.conf", "kernel = a=b\nmemory = 512M\n")
    assert check("--module", "a=b=%s" % there, odd) == ([], 0)
    assert check("--module", "k=%s" % there, "--module", "i", vm) == ([], 0)
    assert check("--module", "k", "--module", "i", "--module", "k", vm) == (
        ["k: two modules have this name: the second one is not found"], 1)
    assert check("--module", "k=%s" % (tmp_path / "nothere"), "--module", "i", vm) == (
        ["%s: No such file or directory" % (tmp_path / "nothere")], 1)
    packed = written(tmp_path / "packed", gzip.compress(b"x"))
    for own in "microcode:a", "facts:a":
        assert check("--module", "k", "--module", "i", "--module", "%s=%s" % (own, packed), vm) == (
            [own + ": compressed: gunzip it"], 1)
    for text, said in (("tables = 12ab\nproximity = 0000:80 1\nend = 1\n", None), ("tables = 0\nend = 0\n", None),
                       ("hello\n", "1: expected tables = and a hash"), ("", "0: cut off: no end"),
                       ("tables = 12ab\nproximity = 0000:80 1\n", "2: cut off: no end"),
                       ("tables = 0\nend = 3\n", "2: cut off: number of facts: 0x3 here, 0 expected"),
                       ("tables = 12ab\nend = 3\n", "2: cut off: number of facts: 0x3 here, 0 expected"),
                       ("tables = 12ab\nroute = x\nend = 1\n", "2: route = 0000:00/1c.0/0 A 16")):
        facts = written(tmp_path / "facts", text)
        assert check("--module", "k", "--module", "i", "--module", "facts:a=%s" % facts, vm) == (
            ([], 0) if not said else (["facts:a:" + said], 1))
    lines, status = check("--module", "k", "--module", "i", "--module", "microcode:a=" + kernel, vm)
    assert status == 1 and lines[0].startswith("microcode:a: neither Intel's nor AMD's microcode: ")
    assert check(written(tmp_path / "packed.conf", packed.read_bytes())) == (
        ["%s: compressed: gunzip it" % (tmp_path / "packed.conf")], 1)


def uncompressed(*words):
    """An x86-64 ELF file of one segment that has these words, each between zeros."""
    text = bytes(64) + b"".join(word.encode() + b"\0" for word in words)
    head = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0x100000, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return head + struct.pack("<IIQQQQQQ", 1, 5, 120, 0x100000, 0x100000, len(text), len(text), 1) + text


def bzimage(payload):
    """Debian's kernel with another compressed part."""
    with open(node.guest_file("vmlinuz"), "rb") as f:
        head = bytearray(f.read(0x10000))
    start = (head[0x1f1] + 1) * 512
    head[0x1f4:0x1f8] = struct.pack("<I", (len(payload) + 0x1000 + 15) // 16)
    head[0x248:0x250] = struct.pack("<II", 0x1000, len(payload))
    return bytes(head[:start + 0x1000]) + payload + bytes(16)


def test_what_linux_uses(tmp_path):
    """Of a Linux without KVM's clock or x2APIC mode it is said what the node does, and why: by words, and by the kernel's image."""
    def vm(*lines):
        return written(tmp_path / "vm.conf", GOOD + "\n".join(lines) + "\n")

    rate = "vm.conf: kernel k: %s: it is told the rate of its TSC (tsc_early_khz=, which Linux knows from 5.8 on)"
    xapic = "vm.conf: kernel k: %s: it takes no x2APIC mode, so interrupts = auto is emulated"
    assert check(vm("cmdline = ro no-kvmclock")) == ([rate % "cmdline has no-kvmclock"], 0)
    assert check(vm("cmdline = ro nopv")) == ([rate % "cmdline has nopv", xapic % "cmdline has nopv"], 0)
    assert check(vm("interrupts = emulated", "cmdline = ro nopv")) == ([rate % "cmdline has nopv"], 0)
    assert check(vm("pvclock = no")) == ([rate % "pvclock = no"], 0)
    assert check("--modules", vm("cmdline = ro nopv")) == (["k"], 0)
    for name in "vmlinuz", "vmlinux":
        module = "k=" + node.guest_file(name)
        assert check("--module", module, vm()) == ([], 0)
        assert check("--module", module, "--kernels", vm()) == (["vm.conf: kernel k: it uses KVM's clock and x2APIC mode"], 0)
    # By which it has no timer.
    for word in "nolapic", "acpi=off":
        assert check("--module", module, vm("cmdline = ro " + word)) == (
            ["vm.conf:3: cmdline has %s: Linux has no other timer here: leave it out" % word], 1)
    # Packed it tells that only when it is unpacked.
    without, built = uncompressed("loglevel", "nox2apic"), "built without KVM_GUEST"
    plain = "k=%s" % written(tmp_path / "without", without)
    for arguments in ((), ("--kernels",)):
        assert check("--module", plain, *arguments, vm()) == ([rate % built, xapic % built], 0)
    assert check("--module", plain, vm("interrupts = direct")) == (["vm.conf:3: " + DIRECT % built], 1)
    xapic_only = written(tmp_path / "xapic", uncompressed("loglevel", "no-kvmclock"))
    assert check("--module", "k=%s" % xapic_only, vm()) == ([xapic % "built without X86_X2APIC"], 0)
    for pack in gzip.compress, lzma.compress, functools.partial(lzma.compress, format=lzma.FORMAT_ALONE):
        packed = "k=%s" % written(tmp_path / "packed", bzimage(pack(without)))
        assert check("--module", packed, vm()) == ([], 0)
        assert check("--module", packed, "--kernels", vm()) == ([rate % built, xapic % built], 0)
        assert check("--module", packed, "--kernels", vm("interrupts = direct")) == (["vm.conf:3: " + DIRECT % built], 1)
    # One that nothing unpacks.
    odd = written(tmp_path / "odd", bzimage(b"x" * 100))
    assert check("--module", "k=%s" % odd, "--kernels", vm()) == (
        ["vm.conf: kernel k: what it was built with is not known; the node finds out when it runs"], 0)


def test_command_line(tmp_path):
    vm = written(tmp_path / "vm.conf", GOOD + "name = a\n")
    for word, said in WORDS:
        lines, status = check("--cmdline", "loglevel=info %s panic=halt" % word, vm)
        assert status == 1 and len(lines) == 1 and lines[0].startswith("command line: '%s': %s" % (word, said))
    assert check("--cmdline", "console=com2,9600 check=5,dump gdb=com1,a", vm) == ([], 0)
    assert check("--cmdline", "gdb=com2,b", vm) == (["command line: gdb= names a VM that no VM file describes: b"], 1)
    assert check("--cmdline", "gdb=com1,a", vm) == (["command line: gdb=: its port is the console's: choose another"], 1)
    lines, status = check("--cmdline", "quiet splash", vm)
    assert (len(lines), status) == (2, 1)


def test_image_tool_wants_all_modules(tmp_path):
    vm = written(tmp_path / "vm.conf", GOOD)
    for tool, out in ("margay-image", "x.iso"), ("margay-netboot", "x"):
        done = subprocess.run([sys.executable, os.path.join(node.TOP, "tools", tool), "--vm", str(vm), "-o", str(tmp_path / out)],
                              capture_output=True, text=True, check=False)
        assert done.returncode != 0 and not (tmp_path / out).exists()
        assert done.stderr.splitlines()[0] == "vm.conf:1: kernel = k: the boot loader gave no module of that name"


def test_image_tool_passes_all_on(tmp_path, kernel):
    """margay-image tells what margay-check does of the image that it takes, and writes nothing."""
    section = written(tmp_path / "section", b"image test\nlacks VM_COUNTERS\n")
    lacks = str(tmp_path / "lacks.elf")
    subprocess.run(["objcopy", "--update-section", ".margay_options=%s" % section, os.path.join(node.BUILD, "margay.elf"), lacks],
                   check=True)
    vm = written(tmp_path / "vm.conf", GOOD + "cpus = x\nleaf = 3\n")
    packed = written(tmp_path / "packed", gzip.compress(b"x"))
    needs = written(tmp_path / "needs.conf", GOOD + "counters = yes\n")
    done = subprocess.run(
        [sys.executable, os.path.join(node.TOP, "tools", "margay-image"), "--elf", lacks, "--vm", str(needs), "--module",
         "k=" + kernel, "-o", str(tmp_path / "x.iso")], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[0] == "needs.conf:3: counters: needs CONFIG_VM_COUNTERS" and done.returncode == 1
    for arguments, said in ((["--module", "k=" + kernel], 2), ([], 2), (["--module", "k=%s" % packed, "--cmdline", "quiet"], 3)):
        done = subprocess.run(
            [sys.executable, os.path.join(node.TOP, "tools", "margay-image"), "--vm", str(vm), *arguments,
             "-o", str(tmp_path / "x.iso")], capture_output=True, text=True, check=False)
        assert done.returncode != 0 and len(done.stderr.splitlines()) == said + 1
        assert done.stderr.endswith("margay-image: not written: correct this first (--no-check overrides)\n")
        assert not (tmp_path / "x.iso").exists()
