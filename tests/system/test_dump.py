# SPDX-License-Identifier: GPL-2.0-only
"""`margay dump`: a guest's memory and registers as a core file, held against the machine's own memory and what the operator sees;
and VMs that a crash does not end.

A core that `margay dump` writes of a paused guest, held against the machine's memory and the monitor's registers; and
one of a guest that has panicked, with `on_crash = dump` (full tier).

By hand, on 2026-11-28: `crash` 8.0.2 with Debian's debug kernel prints `bt -a` of the latter
(`build/disks/dump.img`); its `ps` has the running tasks only, `list` walks all.

`test_margay_dump.py`: what a guest, a vCPU or a lack of rights may do to it, against a node that is a
pseudo-terminal, as `test_margay_client.py` has it for `metrics`, `stats` and `stop`. `test_ends` (full tier): the
same of tiny guests, of the boot or made at run time, that are paused, have died of a triple fault, or were bitten;
with emulated interrupts and with direct ones.
"""

import base64
import gzip
import hashlib
import os
import re

import management
import node
import numa
import pytest
import tiny
from core_file import Core
from management import RUN, TYPING, answers, tenant
from monitor_console import Console, whole_lines

DISK = 320 << 20
MEMORY = 160 << 20
RIGHTS = "create, destroy, console, dump, cpus:1-2, memory:256M"
TINY = 32 << 20
LINUX = ("name = linux\nkernel = vmlinuz\ninitrd = tenant\nmemory = 160M\ncpus = 1-2\non_crash = dump\n"
         "cmdline = console=ttyS0 panic=-1\n")
SCRIPT = RUN + TYPING + r"""
modprobe nvme
run kernel margay image put vmlinuz
run initrd margay image put initrd tenant
run create margay create linux.conf
run start margay start linux
until margay show linux | grep -q "^linux  *running"; do sleep 0.1; done
type_in linux 1 'insmod /pvpanic.ko; insmod /pvpanic-mmio.ko; (taskset 2 yes >/dev/null &)'
type_in linux 2 'true'
until [ "$(prompts linux)" -ge 3 ]; do sleep 0.2; done
run there sh -c 'echo x >core; margay dump linux core'
run nobody margay dump none /tmp/core
run whole margay dump linux /tmp/live
run goes-on sh -c 'margay list | grep "^linux  *running"'
rm /tmp/live
run pause margay pause linux
run dump margay dump linux /tmp/core
run still sh -c 'margay list | grep "^linux  *paused"'
run size stat -c %s /tmp/core
run sum sh -c "tail -c 167772160 /tmp/core | sha256sum"
run head sh -c "head -c 8192 /tmp/core | base64 -w 0"
echo "margay-test: compare"
until margay list | grep -q "^flag  *stopped"; do sleep 0.2; done
run resume margay resume linux
run others sh -c "margay pause linux; margay dump linux /tmp/c2; margay show linux | grep '^linux  *paused'"
rm /tmp/c2
run again margay resume linux
type_in linux 3 'echo c >/proc/sysrq-trigger'
run wait sh -c 'margay wait linux | grep "^linux  *crashed"'
run refused margay resume linux
rm /tmp/core
run crashed margay dump linux /tmp/core
run crash-head sh -c "head -c 8192 /tmp/core | base64 -w 0"
cat /tmp/core >/dev/nvme0n1
sync
run stop margay kill linux
run stopped sh -c 'margay wait linux | grep "^linux  *panicked"'
run destroy margay destroy linux
"""


def check_head(text, run):
    """A core file's beginning: of the kernel that runs, two vCPUs, all memory."""
    core = Core(base64.b64decode(text.replace("\n", "")))
    (said,) = core.of_linux()
    assert re.search(rb"^OSRELEASE=(\S+)\n", said)[1].decode() in run.text and len(core.registers()) == 2
    assert [segment[:2] for segment in core.segments] == [(0, MEMORY)]
    return core


def start(machine, disk):
    """The management VM has a disk, for what it dumps last; another VM's end is a sign to it."""
    text = node.vm_text("qemu", "margay.test=management", name="management", cpus="0-0", memory="512M", control="yes",
                        control_may=RIGHTS, memory_map="identity", pci="00:06.0")
    flag = "name = flag\nkernel = behave\nmemory = 32M\ncpus = 3-3\ncmdline = machine=qemu mode=hang\n"
    initrd = tenant("misc/pvpanic/pvpanic.ko", "misc/pvpanic/pvpanic-mmio.ko")
    files = {"vmlinuz": node.guest_file("vmlinuz"), "initrd": initrd, "linux.conf": LINUX}
    iso = node.margay_iso("dump", {"management.conf": text, "flag.conf": flag}, {
        "kernel": node.guest_file(node.KERNEL), "initrd": management.initrd("dump", SCRIPT, files, ["nvme"]),
        "behave": tiny.elf("behave"),
    })
    nvme = ["-drive", "if=none,id=out,format=raw,file=" + disk, "-device", "nvme,drive=out,serial=out,addr=6"]
    return node.start("dump", "qemu", iso, cpus=4, memory=machine.memory, timeout=600, extra=[*machine.arguments, *nvme])


@pytest.mark.full
def test_dump():
    """A paused guest's core has its memory to the byte, by the machine's own, and the registers that the operator sees; a crash
    leaves one to be read."""
    disk = os.path.join(node.BUILD, "disks", "dump.img")
    os.makedirs(os.path.dirname(disk), exist_ok=True)
    with open(disk, "wb") as f:
        f.truncate(DISK)
    with numa.Machine("4", [numa.Node("0-3", "1536M")]) as machine, start(machine, disk) as running:
        whole_lines(running)
        console = Console(running)
        running.expect("^.management. margay-test: compare")
        host = int(re.search(r"^linux: memory: 160M on node 0: 0 is at (\S+)\r$", running.text, re.M)[1], 16)
        with open(machine.path(0), "rb") as f:
            f.seek(host)
            memory = f.read(MEMORY)
        shown = [console.answer("regs linux %d" % vcpu, until="^exit -1:") for vcpu in range(2)]
        assert console.answer("vm stop flag") == ["flag: stops"]
        run = node.Run(running, running.wait())
    said, status = answers(run)
    assert {what for what, code in status.items() if code} == {"there", "nobody", "refused"}, (status, run.text[-3000:])
    assert said["there"] == "margay: core: File exists" and said["nobody"] == "margay: none: there is no such VM"
    assert said["refused"] == "margay: linux has crashed: stop or restart it"
    assert said["sum"].split()[0] == hashlib.sha256(memory).hexdigest()
    core = check_head(said["head"], run)
    assert int(said["size"]) == core.segments[0][2] + MEMORY
    for vcpu, lines in zip(core.registers(), shown):
        for name in ("rax", "rip", "rflags", "rsp", "r15", "cs"):
            value = vcpu[name]
            assert re.search(r"\b%s +0*%x\b" % (name, value), " ".join(lines)), (name, hex(value), lines)
    assert run.has_line(r"linux: has crashed \(panicked\): it is kept for its dump; stop or restart it then")
    crashed = check_head(said["crash-head"], run)
    assert [vcpu["cs"] for vcpu in crashed.registers()] == [0x10, 0x10]
    with open(disk, "rb") as f:
        on_disk = f.read(int(said["size"]))
    assert on_disk.startswith(crashed.data) and b"Kernel panic - not syncing: sysrq triggered crash" in on_disk
    assert len(run.lines("^linux: end=panicked$")) == 1


# Tiny guests; `hangs` and `fell` are of the boot.
BOOT = "kernel = behave\nmemory = 32M\ncmdline = machine=qemu mode=%s\n"
BITTEN = ("name = bitten\nkernel = dog\nmemory = 32M\ncpus = 3-3\ninterrupts = direct\non_crash = dump\ndebug_exit = yes\n"
          "cmdline = machine=qemu\n")
ENDS = RUN + r"""
run put margay image put dog
run create margay create bitten.conf
run start margay start bitten
until margay show hangs | grep -q "^hangs  *running"; do sleep 0.2; done
until margay console hangs </dev/null | grep -q "hangs at"; do sleep 0.2; done
run pause margay pause hangs
for vm in fell bitten; do run state-$vm sh -c "margay wait $vm | grep -o '^$vm  *[a-z]*'"; done
for vm in hangs fell bitten; do
	run dump-$vm margay dump $vm /tmp/core
	run core-$vm sh -c "gzip -c /tmp/core | base64 -w 0"
	rm /tmp/core
done
echo "margay-test: compare"
until margay show hangs | grep -q "^hangs  *stopped"; do sleep 0.2; done
run again margay restart fell
run crashed sh -c "margay wait fell | grep -o '^fell  *[a-z]*'"
for vm in fell bitten; do
	run kill-$vm margay kill $vm
	run over-$vm sh -c "margay wait $vm | grep -o '^$vm  *[a-z]*'"
done
run destroy margay destroy bitten
"""


@pytest.mark.full
def test_ends():
    """VMs of the boot, one of which is paused, and whom a triple fault or a bite of the watchdog has ended, with and without its
    CPU's own local APIC: the core has the memory to the byte, by the machine's own, and what the CPU did last stands at its RIP."""
    others = {"hangs.conf": "name = hangs\ncpus = 1-1\n" + BOOT % "hang",
              "fell.conf": "name = fell\ncpus = 2-2\non_crash = dump\n" + BOOT % "crash"}
    rights = "create, destroy, console, dump, boot, cpus:3, memory:64M"
    with numa.Machine("4", [numa.Node("0-3", "1536M")]) as machine, management.start(
            "dump-ends", ENDS, {"dog": tiny.elf("dog"), "bitten.conf": BITTEN}, rights, others=others,
            modules={"behave": tiny.elf("behave")}, node_memory=machine.memory, node_cpus=4, extra=machine.arguments) as running:
        whole_lines(running)
        running.expect("^.management. margay-test: compare")
        memory = {}
        with open(machine.path(0), "rb") as f:
            for vm, at in re.findall(r"^(\w+): memory: 32M on node 0: 0 is at (\S+)\r$", running.text, re.M):
                f.seek(int(at, 16))
                memory[vm] = f.read(TINY)
        console = Console(running)
        shown = " ".join(console.answer("regs hangs 0", until="^exit -1:"))
        assert console.answer("vm stop hangs") == ["hangs: stops"]
        run = node.Run(running, running.wait())
    said, status = answers(run)
    assert not any(status.values()), (status, run.text[-3000:])
    assert {said[what].split()[1] for what in ("state-fell", "state-bitten", "crashed")} == {"crashed"}
    cores, last = {}, {}
    for vm in ("hangs", "fell", "bitten"):
        core = cores[vm] = Core(gzip.decompress(base64.b64decode(said["core-" + vm].replace("\n", ""))))
        assert core.memory() == {0: memory[vm]} and any(memory[vm]) and len(core.registers()) == 1, vm
        rip = core.registers()[0]["rip"]
        last[vm] = memory[vm][rip:rip + 2].hex()
    assert last == {"hangs": "ebfe", "fell": "0f0b", "bitten": "ebfe"}
    (hangs,) = cores["hangs"].registers()
    assert (hangs["rax"], hangs["rbx"]) == (0x1122334455667788, 0xb0b0b0b0) and run.has_line(
        r".hangs. behave: hangs at %x in .*" % hangs["rip"])
    for name in ("rax", "rip", "rflags", "rsp", "cs"):
        assert re.search(r"\b%s +0*%x\b" % (name, hangs[name]), shown), (name, shown)
    assert run.has_line("bitten: interrupts: direct") and run.lines("^fell: interrupts: emulated")
    kept = "has crashed .%s.: it is kept for its dump; stop or restart it then"
    assert len(run.lines("^fell: " + kept % "triple-fault")) == 2 and len(run.lines("^bitten: " + kept % "watchdog")) == 1
    assert said["over-fell"].split()[1] == "panicked" and said["over-bitten"].split()[1] == "watchdog"
    assert [len(run.lines("^%s: end=%s$" % end)) for end in (("fell", "triple-fault"), ("bitten", "watchdog"))] == [2, 1]
