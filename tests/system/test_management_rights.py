# SPDX-License-Identifier: GPL-2.0-only
"""What the management VM may hand out, and whom it may command: memory, for which images go that nobody names; a PCI function,
which comes back; VMs of the boot. Full tier.

Images that go when there is room needed, for an image or for a VM, and those that stay, with what is left to the
byte; a disk by `pci =` for one VM, then for another, which is killed while it writes; `boot`, granted and refused.
"""

import hashlib
import json
import os
import re

import management
import margay_run
import node
import pytest
import tiny
from management import RUN, TYPING, answers, free, is_back, tenant
from monitor_console import Console, whole_lines
from passthrough import make_disk

pytestmark = pytest.mark.full
MIB = 1 << 20


def finish(running):
    """The whole run of a node that ends when its management VM does."""
    run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.OK, run.text[-4000:]
    return run, *answers(run)


# ---- memory ------------------------------------------------------------------------------------

# 52 MiB: `one`, and what it is made of, leave 18 for images.
SMALL = "name = %s\nkernel = behave\nmemory = %s\ndebug_exit = yes\ncmdline = machine=qemu mode=once\n"
ROOM = RUN + r"""
image() {
	{ echo $1; head -c $((($2 << 20) - 2)) /dev/zero; } >/tmp/$1
	run put-$1 margay image put /tmp/$1
	rm /tmp/$1
	run with-$1 margay --json image list
	run node-$1 margay --json node
}
run put margay image put behave
run create margay create one.conf
image a 8
image b 7
image c 6
image d 21
image e 19
image f 8
life() {
	run start margay start $1
	run wait margay wait $1
	run console-$1 margay console $1
	run destroy margay destroy $1
}
run in-use margay image rm behave
life one
run two margay create two.conf
run with-two margay --json image list
run three margay create three.conf
life two
run rm margay image rm behave
run at-last margay --json node
"""


def test_room():
    """The oldest image that no VM's file names goes when there is no room for another, or for a VM; one that is named stays, and
    who does not find room even so is told how much there is, to the byte."""
    files = {"behave": tiny.elf("behave"), **{vm + ".conf": SMALL % (vm, memory)
                                              for vm, memory in (("one", "32M"), ("two", "46M"), ("three", "32M"))}}
    with management.start("management-room", ROOM, files, "create, destroy, console, cpus:1-2, memory:52M") as running:
        whole_lines(running)
        run, said, status = finish(running)
    assert {what for what, code in status.items() if code} == {"put-d", "put-e", "three", "in-use"}, (status, run.text[-4000:])
    there = {what[5:]: [image["name"] for image in json.loads(text) if not image["boot"]]
             for what, text in said.items() if what.startswith("with-")}
    assert there == {"a": ["behave", "a"], "b": ["behave", "a", "b"], "c": ["behave", "c", "b"], "d": ["behave", "c", "b"],
                     "e": ["behave", "c", "b"], "f": ["behave", "c", "f"], "two": ["behave"]}, there
    assert [line.split(": ", 1)[1] for line in run.lines("management: image")] == [
        "image %s goes: nobody names it, and its room is needed" % name for name in "abcf"]
    # Nothing goes for what has no room beside the VMs, nor beside what they name, which stays.
    refused = "margay: %s: %d bytes in whole 2 MiB: control_may has memory for %d more"
    assert said["put-d"] == refused % ("d", 22 * MIB, (52 - 32 - 2 - 8 - 6) * MIB)
    assert said["put-e"] == refused % ("e", 20 * MIB, (52 - 32 - 2 - 8 - 6) * MIB)
    assert said["three"] == "margay: three.conf:3: memory: %d bytes with its disks: control_may has %d left" % (
        32 * MIB, (52 - 2 - 46) * MIB)
    assert said["in-use"] == "margay: behave: a VM file names it"
    assert all(said["console-" + vm] == "behave: begins\ntiny: behave: ok checks=1" for vm in ("one", "two"))
    left = [free(said["node-" + image]) for image in "abcdef"]
    assert [(a - b) // MIB for a, b in zip(left, left[1:])] == [8, 6 - 8, 0, 0, 0], left
    # Nothing is left of behave, c and f.
    assert is_back(said["node-f"], said["at-last"], 16 * MIB), said["at-last"]


# ---- a PCI function ------------------------------------------------------------------------------

DISK_VM = ("name = %s\nkernel = vmlinuz\ninitrd = tenant\nmemory = 128M\ncpus = %s\npci = 00:%s.0\n%s"
           "cmdline = console=ttyS0 panic=-1\n")
IDENTITY = "memory_map = identity\n"
# In their order: the tenant has no modprobe's lists.
NVME = ("lib/crc64", "lib/crc64-rocksoft", "crypto/crct10dif_common", "lib/crc-t10dif", "block/t10-pi",
        "drivers/nvme/host/nvme-core", "drivers/nvme/host/nvme")
FUNCTION = RUN + TYPING + r"""
begins() {
	run start-$1 margay start $1
	type_in $1 1 "for m in MODULES; do insmod /\$m.ko; done"
	type_in $1 2 "until [ -b /dev/nvme0n1 ]; do sleep 1; done; echo sum: \$(sha256sum </dev/nvme0n1) sum"
	type_in $1 3 "$2"
	type_in $1 4 true
	until [ "$(prompts $1)" -ge 5 ]; do sleep 0.2; done
	run console-$1 sh -c "margay console $1 </dev/null | grep '^sum:'"
}
ends() {
	run wait-$1 margay wait $1
	run pci-over-$1 margay --json pci
}
run kernel margay image put vmlinuz
run initrd margay image put initrd tenant
run before margay --json node
run pci-before margay --json pci
run create-first margay create first.conf
begins first "yes margay | dd of=/dev/nvme0n1 bs=64k count=16 iflag=fullblock conv=fsync"
run pci-first margay --json pci
run create-second margay create second.conf
run taken margay start second
run not-yet margay wait second
run pci-still margay --json pci
run other margay create other.conf
run offset margay create offset.conf
type_in first 5 "poweroff -f"
ends first
run destroy-first margay destroy first
begins second "(while true; do dd if=/dev/zero of=/dev/nvme0n1 bs=64k seek=16 count=32 conv=fsync; done) 2>/dev/null &"
run pci-second margay --json pci
run kill margay kill second
ends second
run once margay --json node
run restart margay start second
until margay show second | grep -q "^second  *running"; do sleep 0.1; done
run kill-again margay kill second
run wait-again margay wait second
run twice margay --json node
run destroy-second margay destroy second
run after margay --json node
""".replace("MODULES", " ".join(map(os.path.basename, NVME)))


def functions(text):
    return {row["function"]: row for row in json.loads(text)}


def test_function():
    """A disk of the node's, for one VM that it makes and then for another, which does not start before: both find what the file
    behind it has, and leave what they say that they have written; it is nobody's then, also after a kill amid writes. No function
    but the one that it may have."""
    image = make_disk("management-function", 4 * MIB)
    with open(image, "rb") as f:
        content = f.read()
    files = {"first.conf": DISK_VM % ("first", "1-1", "06", IDENTITY), "second.conf": DISK_VM % ("second", "2-2", "06", IDENTITY),
             "other.conf": DISK_VM % ("other", "2-2", "07", IDENTITY),
             "offset.conf": DISK_VM % ("offset", "2-2", "06", "memory_map = offset\ndma = identity\n"),
             "vmlinuz": node.guest_file("vmlinuz"), "initrd": tenant(*("../%s.ko" % name for name in NVME))}
    other = make_disk("management-other", MIB)
    nvme = ["-drive", "if=none,id=one,format=raw,file=" + image, "-device", "nvme,drive=one,serial=one,addr=6",
            "-drive", "if=none,id=two,format=raw,file=" + other, "-device", "nvme,drive=two,serial=two,addr=7"]
    with management.start("management-function", FUNCTION, files, "create, destroy, console, cpus:1-2, memory:384M, dma:identity, "
                         "pci:00:06.0", extra=nvme) as running:
        whole_lines(running)
        run, said, status = finish(running)
    assert {what: code for what, code in status.items() if code} == {
        "other": 1, "offset": 1, "not-yet": 30, "wait-second": 10, "wait-again": 10}, (status, run.text[-4000:])
    assert said["other"] == "margay: other.conf:6: pci: control_may has not all of these, by address"
    assert said["offset"] == "margay: offset.conf:8: dma = identity: needs memory_map = identity, or none"
    assert re.search("^second  *not-started .* 6 +pci: 00:06.0 is first's", said["not-yet"], re.MULTILINE)
    assert len(run.lines("^second: second.conf:6: pci: 00:06.0 is first's")) == len(run.lines("^second: not started")) == 1
    owners = {what: functions(said["pci-" + what])["0000:00:06.0"]["owner"]
              for what in ("before", "first", "still", "over-first", "second", "over-second")}
    assert owners == {"before": None, "first": "first", "still": "first", "over-first": None, "second": "second",
                      "over-second": None}
    assert all(row["owner"] is None for name, row in functions(said["pci-second"]).items() if name != "0000:00:06.0")
    written = (b"margay\n" * MIB)[:MIB] + content[MIB:]
    assert said["console-first"] == "sum: %s - sum" % hashlib.sha256(content).hexdigest()
    assert said["console-second"] == "sum: %s - sum" % hashlib.sha256(written).hexdigest()
    with open(image, "rb") as f:
        found = f.read()
    assert found[:MIB] == written[:MIB] and found[3 * MIB:] == content[3 * MIB:] and found[MIB:MIB + 65536] == bytes(65536)
    assert not run.lines("did not stop|not used again")
    assert said["once"] == said["twice"]
    assert is_back(said["before"], said["after"], 0)


# ---- VMs of the boot ------------------------------------------------------------------------------

BOOT = RUN + r"""
typed() {
	echo $2 | margay console watched >/dev/null
	until margay console watched </dev/null | grep -q "key $1"; do sleep 0.1; done
}
until margay show watched | grep -q "^watched  *running"; do sleep 0.1; done
run pause margay pause watched
run resume margay resume watched
WATCHED
run destroy margay destroy watched
for what in kill pause restart; do run $what-itself margay $what management; done
run dump-itself margay dump management /tmp/core
run list margay --json list
"""
GRANTED = r"""
run type typed 68 h
run kill margay kill watched
run wait margay wait watched
run killed margay --json list
run start margay start watched
run again typed 69 i
run restart margay restart watched
run third typed 6a j
run console sh -c 'margay console watched </dev/null'
run stop margay kill watched
run over margay wait watched
"""
REFUSED = r"""
for what in kill start restart console; do run $what margay $what watched; done
run stop margay stop --timeout 1 watched
run dump margay dump watched /tmp/core
"""


@pytest.mark.parametrize("right", ["granted", "refused"])
def test_boot(right):
    """`boot` lets it do with a VM of the boot what it does with its own, but not forget it, and nothing with itself; without it
    nothing at all, and that one runs on."""
    granted = right == "granted"
    watched = "name = watched\nkernel = behave\nmemory = 32M\ncpus = 2-2\ncmdline = machine=qemu mode=keys\n"
    script = BOOT.replace("WATCHED", GRANTED if granted else REFUSED)
    rights = "create, destroy, console, dump, cpus:1" + (", boot" if granted else "")
    with management.start("management-boot-" + right, script, {}, rights, others={"watched.conf": watched},
                         modules={"behave": tiny.elf("behave")}) as running:
        whole_lines(running)
        if not granted:
            running.expect("^.management. margay-test: done")
            assert Console(running).answer("vm stop watched") == ["watched: stops"]
        run, said, status = finish(running)
    itself = "margay: management is of the boot: control_may does not have it"
    assert all(said[what + "-itself"] == itself for what in ("kill", "pause", "restart", "dump"))
    wrong = {what for what, code in status.items() if code} - {"kill-itself", "pause-itself", "restart-itself", "dump-itself"}
    vms = {vm["name"]: vm for vm in json.loads(said["list"])}
    assert vms["management"]["state"] == "running" and not vms["watched"]["created"]
    if granted:
        assert wrong == {"destroy", "wait", "over"} and status["wait"] == status["over"] == 10, (status, said)
        assert said["destroy"] == "margay: watched is of the boot: it can be stopped", (status, said)
        assert {vm["name"]: vm["state"] for vm in json.loads(said["killed"])} == {"management": "running", "watched": "stopped"}
        assert (vms["watched"]["state"], vms["watched"]["starts"]) == ("stopped", 3), vms
        assert re.findall("behave: .*", said["console"]) == [line for key in ("68", "69", "6a") for line in (
            "behave: begins", "behave: key " + key, "behave: key a")]
        assert len(run.lines("^watched: end=stopped")) == 3
    else:
        assert wrong == {"pause", "resume", "kill", "start", "restart", "console", "stop", "dump", "destroy"}, (status, said)
        assert {said[what] for what in wrong} == {itself.replace("management", "watched")}, said
        assert (vms["watched"]["state"], vms["watched"]["starts"]) == ("running", 1), vms
        assert len(run.lines("^.watched. behave: begins")) == 1
