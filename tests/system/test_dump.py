# SPDX-License-Identifier: GPL-2.0-only
"""`margay dump`: a guest's memory and registers as a core file, held against the machine's own memory and what the operator sees;
and VMs that a crash does not end."""

import base64
import glob
import hashlib
import os
import re
import shutil
import struct
import tempfile

import cluster  # noqa: F401  (for its path)
import node
import numa
import pytest
import systems
import test_commander as commander
import tiny
from monitor_console import Console, whole_lines
from test_commander import RUN, answers

DISK = 320 << 20
NVME = ["-drive", "if=none,id=out,format=raw,file=%s", "-device", "nvme,drive=out,serial=out,addr=6"]
MEMORY = 160 << 20
RIGHTS = "create, destroy, console, dump, cpus:1-2, memory:256M"
LINUX = ("name = linux\nkernel = vmlinuz\ninitrd = tenant\nmemory = 160M\ncpus = 1-2\non_crash = %s\n"
         "cmdline = console=ttyS0 panic=-1\n")
# Types a line into the guest's shell when it shows its prompt for the n-th time.
BEGIN = RUN + r"""
modprobe nvme
prompts() { margay console linux </dev/null | grep -c '^guest# '; }
type_in() { until [ "$(prompts)" -ge "$1" ]; do sleep 0.2; done; echo "$2" | margay console linux >/dev/null; }
run kernel margay image put vmlinuz
run initrd margay image put initrd tenant
run create margay create linux.conf
run start margay start linux
until margay show linux | grep -q "^linux  *running"; do sleep 0.1; done
"""
SCRIPT = BEGIN + r"""
type_in 1 'insmod /pvpanic.ko; insmod /pvpanic-mmio.ko; (taskset 2 yes >/dev/null &)'
type_in 2 'true'
until [ "$(prompts)" -ge 3 ]; do sleep 0.2; done
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
type_in 3 'echo c >/proc/sysrq-trigger'
run wait sh -c 'margay wait linux | grep "^linux  *crashed"'
run refused margay resume linux
rm /tmp/core
run crashed margay dump linux /tmp/core
run crash-head sh -c "head -c 8192 /tmp/core | base64 -w 0"
cat /tmp/core >/dev/nvme0n1
sync
run stop margay stop linux
run stopped sh -c 'margay wait linux | grep "^linux  *panicked"'
run destroy margay destroy linux
"""


def notes(head):
    """{name: descriptors} of a core file whose beginning this is."""
    count = struct.unpack_from("<H", head, 56)[0]
    headers = [struct.unpack_from("<IIQQQQQQ", head, 64 + 56 * i) for i in range(count)]
    assert headers[0][0] == 4 and [h[0] for h in headers[1:]] == [1] * (count - 1)
    found, at, end = {}, headers[0][2], headers[0][2] + headers[0][5]
    while at < end:
        name, size, _ = struct.unpack_from("<III", head, at)
        text = head[at + 12:at + 12 + name].rstrip(b"\0").decode()
        at += 12 + (name + 3) // 4 * 4
        found.setdefault(text, []).append(head[at:at + size])
        at += (size + 3) // 4 * 4
    return found, headers[1:]


def registers(status):
    """By name, of an NT_PRSTATUS: those that this looks at."""
    words = struct.unpack_from("<27Q", status, 112)
    return {"rax": words[10], "rip": words[16], "cs": words[17], "rflags": words[18], "rsp": words[19]}


def check_head(text, run):
    """Where the memory is in that core file, and the registers of each vCPU."""
    found, segments = notes(base64.b64decode(text.replace("\n", "")))
    assert set(found) == {"CORE", "VMCOREINFO"}
    release = re.search(rb"^OSRELEASE=(\S+)\n", found["VMCOREINFO"][0])[1].decode()
    assert release in run.text and b"\nKERNELOFFSET=" in found["VMCOREINFO"][0]
    assert [len(status) for status in found["CORE"]] == [336, 336]
    assert [struct.unpack_from("<I", status, 32)[0] for status in found["CORE"]] == [1, 2]
    return segments, [registers(status) for status in found["CORE"]]


def tenant():
    """A small initrd with the panic port's driver: there is room for the image, the guest and its dump."""
    target = os.path.join(node.BUILD, "commander", "tenant")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with tempfile.TemporaryDirectory() as root:
        for name in ("pvpanic.ko", "pvpanic-mmio.ko"):
            found = glob.glob(os.path.join(node.BUILD, "guest", "modules-6.1.*", "kernel/drivers/misc/pvpanic", name))
            shutil.copy(*found, root)
        systems.archive(root, target + ".cpio")
    systems.join(target, node.guest_file("initrd"), target + ".cpio")
    return target


def start(name, script, crash, extra=(), machine=None, **keys):
    text = node.vm_text("qemu", "margay.test=commander", name="service", cpus="0-0", memory="512M", control="yes",
                        control_may=RIGHTS, memory_map="identity", **keys)
    flag = "name = flag\nkernel = behave\nmemory = 32M\ncpus = 3-3\ncmdline = machine=qemu mode=hang\n"
    files = {"vmlinuz": node.guest_file("vmlinuz"), "initrd": tenant(), "linux.conf": LINUX % crash}
    iso = node.margay_iso(name, {"service.conf": text, "flag.conf": flag}, {
        "kernel": node.guest_file("vmlinuz"), "initrd": commander.initrd(name, script, files), "behave": tiny.elf("behave"),
    }, elf=commander.elf())
    return node.start(name, "qemu", iso, cpus=4, memory=machine.memory, timeout=600, extra=[*machine.arguments, *extra])


@pytest.mark.full
def test_dump():
    """A paused guest's core has its memory to the byte, by the machine's own, and the registers that the operator sees; a crash
    leaves one to be read."""
    disk = os.path.join(node.BUILD, "disks", "dump.img")
    os.makedirs(os.path.dirname(disk), exist_ok=True)
    with open(disk, "wb") as f:
        f.truncate(DISK)
    with numa.Machine("4", [numa.Node("0-3", "1536M")]) as machine, start(
            "dump", SCRIPT, "dump", [word.replace("%s", disk) for word in NVME], machine, pci="00:06.0") as running:
        whole_lines(running)
        console = Console(running)
        running.expect("^.service. margay-test: compare")
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
    segments, found = check_head(said["head"], run)
    assert [(s[4], s[5], s[6]) for s in segments] == [(0, MEMORY, MEMORY)] and int(said["size"]) == segments[0][2] + MEMORY
    for vcpu, lines in zip(found, shown):
        for name, value in vcpu.items():
            assert re.search(r"\b%s +0*%x\b" % (name, value), " ".join(lines)), (name, hex(value), lines)
    assert run.has_line(r"linux: has crashed \(panicked\): it is kept for its dump; stop or restart it then")
    _, crashed = check_head(said["crash-head"], run)
    assert all(vcpu["cs"] == 0x10 for vcpu in crashed), crashed
    assert len(run.lines("^linux: end=panicked$")) == 1
