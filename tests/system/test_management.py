# SPDX-License-Identifier: GPL-2.0-only
"""The management VM, on QEMU: Debian's kernel with its own virtio_console and the program `margay`, which sends images, makes VMs
of them, starts, watches and ends them.

`test_management.c`: messages, rights, images, files, dumps; `fuzz_management`: anything it may send.

In the full tier it crashes after each message of a VM's life, and finds all as that has left it; a start and a stop
are counted (`test_costs`); the commands of first-hour.md are run; 200 VMs, on Bochs 20, are made, run and forgotten
beside one that computes (`test_cycles`), with no byte lost and no exit of that one's; programs on two CPUs of its
command one VM at once (`test_two_cpus`), first one that makes and ends it beside one that lists, prints, sends
images, then two that do all of it.
"""

import hashlib
import json
import os
import re

import instructions
import management
import margay_run
import node
import pytest
import tiny
from monitor_console import Console, whole_lines

BEHAVE = "name = %s\nkernel = behave\nmemory = 32M\ndebug_exit = yes\ncmdline = machine=qemu mode=%s\n"


SCRIPT = management.RUN + r"""
run info margay --json info
run nothing margay --json list
run put margay image put behave
run twin margay image put behave twin
run taken margay image put one.conf behave
run create margay create one.conf
run again margay create one.conf
run wrong margay create wrong.conf
run outside margay create outside.conf
run list margay --json list
run table margay list
run start margay start one
run wait margay wait one
run console margay console one
run in-use margay image rm behave
run destroy margay destroy one
run gone margay start one
run before margay --json node
# A message that is none, one that is cut, one of another version, and an announcement whose data never come.
printf 'this is no message at all' >/dev/$port
printf '\115\122\107\131\001\000\002' >/dev/$port
printf '\115\122\107\131\007\000\002\000\001\000\000\000\000\000\000\000' >/dev/$port
exec 3>/dev/$port
printf '\115\122\107\131\001\000\022\000\001\000\000\000\104\000\000\000a 8 %064d' 0 >&3
printf '\115\122\107\131\001\000\023\000\002\000\000\000\003\000\000\000abc' >&3
run during margay --json node
exec 3>&-
run after margay --json node
run refused margay --json info
run images margay --json image list
run kernel margay image put vmlinuz
run initrd margay image put initrd tenant
run linux margay create linux.conf
run hang margay create hang.conf
run start-linux margay start linux
run start-hang margay start --wait hang
run running margay list --json
run text margay show --file hang
run restart margay restart hang
run pci margay --json pci
run end margay wait linux
run said sh -c "margay console linux | grep margay-test:"
run keys margay create keys.conf
run keys margay start keys
until margay show keys | grep -q "^keys  *running"; do sleep 0.1; done
echo hello | margay console keys >/dev/null
until margay console keys </dev/null | grep -q "key a"; do sleep 0.1; done
run typed margay console keys
run pause margay pause hang
run paused margay pause hang
run resume margay resume hang
run stats margay --json stats hang
run not-over margay destroy hang
run stop margay kill hang
run metrics margay metrics
run stopped margay wait hang
run boot margay kill management
run keys margay kill keys
run keys margay wait keys
run list-at-last margay list --json
for vm in linux hang keys; do run forget margay destroy $vm; done
for image in behave twin vmlinuz tenant; do run rm margay image rm $image; done
run at-last margay --json node
run no-images margay --json image list
run usage margay start
run log margay log 3
run events margay --json events
run whole-log sh -c "margay log 9999 | head -n 3"
"""
FILES = {
    "one.conf": BEHAVE % ("one", "once"),
    "wrong.conf": "name = wrong\nkernel = none\nmemory = 32M\ncpu = 1\ncontrol = yes\n",
    "outside.conf": BEHAVE % ("outside", "once") + "cpus = 0-0\n",
    "linux.conf": "name = linux\nkernel = vmlinuz\ninitrd = tenant\nmemory = 256M\ncpus = 1-1\n"
                  "cmdline = console=ttyS0 panic=-1 margay.test=smp\n",
    "keys.conf": BEHAVE % ("keys", "keys") + "cpus = 1-1\n",
    "hang.conf": BEHAVE % ("hang", "hang") + "cpus = 2-2\n",
}


def test_commands():
    """All that a VM may do to others, by the client's own words; what is refused, with its reason; and that nothing is left."""
    files = {**FILES, "behave": tiny.elf("behave"), "vmlinuz": node.guest_file("vmlinuz"), "initrd": node.guest_file("initrd")}
    with management.start("management-commands", SCRIPT, files) as running:
        whole_lines(running)
        run = node.Run(running, running.wait())
    assert run.has_line("margay: node: end=poweroff vms=1 failed=0"), run.text[-4000:]
    said, status = management.answers(run)
    assert run.of("management").facts["unloaded"] in ("built in", "margay: virtio_console is not loaded: modprobe virtio_console")
    refused = {"taken", "again", "wrong", "outside", "in-use", "gone", "paused", "not-over", "boot"}
    assert {what for what, code in status.items() if code == 1} == refused, status
    assert {what: code for what, code in status.items() if code > 1} == {"usage": 2, "stopped": 10, "keys": 10}
    info = json.loads(said["info"])
    assert info["management"] == "management" and info["may"] == ["create", "destroy", "console"] and info["memory"] == 512 << 20
    assert [vm["name"] for vm in json.loads(said["nothing"])] == ["management"]
    assert said["taken"] == "margay: behave: there is an image of that name, with another content (--replace)"
    assert said["again"] == "margay: one.conf:1: name = one: one.conf has that name already: choose another"
    # All that is wrong with a file, and nothing of it is left.
    assert said["wrong"].startswith("margay: wrong.conf:4: unknown key 'cpu': expected one of ")
    assert said["outside"] == "margay: outside.conf:6: cpus: control_may does not have CPU 0"
    one = json.loads(said["list"])[1]
    assert (one["name"], one["state"], one["cpus"], one["memory"], one["created"]) == ("one", "not-started", 1, 32 << 20, True)
    assert re.search(r"^one +not-started +1 +33554432 ", said["table"], re.MULTILINE)
    assert "one   exit" in said["wait"] and said["console"] == "behave: begins\ntiny: behave: ok checks=1"
    assert said["in-use"] == "margay: behave: a VM file names it" and said["gone"] == "margay: one: there is no such VM"
    # The image is there once; what has begun to come takes memory, and gives it back.
    images = {image["name"]: image for image in json.loads(said["images"])}
    assert images["behave"]["sha256"] == images["twin"]["sha256"] and images["kernel"]["boot"] is True and "a" not in images
    with open(files["behave"], "rb") as f:
        assert images["behave"]["sha256"] == hashlib.sha256(f.read()).hexdigest()
    assert management.free(said["before"]) - management.free(said["during"]) == 2 << 20
    assert management.free(said["before"]) == management.free(said["after"])
    assert json.loads(said["refused"])["refused"] == 3
    states = {vm["name"]: vm["state"] for vm in json.loads(said["running"])}
    assert states["management"] == states["hang"] == "running" and states["linux"] in ("running", "changing")
    assert said["text"] == FILES["hang.conf"].rstrip()
    assert {vm["end"] for vm in json.loads(said["list-at-last"])} == {None, "poweroff", "stopped"}
    assert re.search(r"^linux +poweroff ", said["end"], re.MULTILINE)
    assert "margay-test: cpus: 1" in said["said"] and "margay-test: lines: 20000" in said["said"]
    assert said["typed"].split("\n") == ["behave: begins"] + ["behave: key %x" % ord(c) for c in "hello\n"]
    function = json.loads(said["pci"])[0]
    assert function["function"] == "0000:00:00.0" and function["vendor"] == "0x8086" and function["fit"] is False
    assert said["paused"] == "margay: hang is in that state already"
    assert said["not-over"] == "margay: hang is not over: stop it first"
    assert [row["vcpu"] for row in json.loads(said["stats"])] == [0]
    assert re.search(r"^hang +stopped ", said["stopped"], re.MULTILINE)
    assert re.search(r'^margay_vm_exits_total\{vm="management",vcpu="0",reason="[^"]+"\} [0-9]+$', said["metrics"], re.MULTILINE)
    assert said["boot"] == "margay: management is of the boot: control_may does not have it"
    assert len(run.lines("hang: end=stopped$")) == 2
    # The images are gone, too: two more than at `before`, of 2 MiB each.
    assert all(image["boot"] for image in json.loads(said["no-images"]))
    assert management.is_back(said["before"], said["at-last"], 2 << 20)
    assert "management: hang: destroyed" in said["log"]
    check_events(json.loads(said["events"]), {vm["name"]: vm["ended"] for vm in json.loads(said["list-at-last"])})
    assert all(re.match(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+0000 margay: ", line) for line in said["whole-log"].split("\n"))


def check_events(events, ended):
    """All that the script has brought about, and whose it was; by the node's clock, as the VMs' ends are."""
    assert [event["number"] for event in events] == list(range(1, len(events) + 1))
    user = next(event["user"] for event in events if event["user"])
    assert user in ("root", "uid=0")  # whether its initrd has a file of users
    happened = [(event["event"], event["vm"] or event["image"], event["end"], event["status"], event["by"], event["user"])
                for event in events]
    by = ("management", user)
    for known in (("started", "management", None, None, None, None), ("image-put", "behave", None, None, *by),
                  ("create", "one", None, None, *by), ("start", "one", None, None, *by), ("started", "one", None, None, *by),
                  ("ended", "one", "exit", 0, None, None), ("destroy", "one", None, None, *by),
                  ("ended", "linux", "poweroff", None, None, None), ("pause", "hang", None, None, *by),
                  ("ended", "hang", "stopped", None, *by), ("image-remove", "twin", None, None, *by)):
        assert known in happened, known
    assert sum(event[:2] == ("started", "hang") for event in happened) == 2 and "restarted" not in [event[0] for event in happened]
    refused = [(event["event"], event["vm"], event["text"]) for event in events if (event["text"] or "").startswith("refused: ")]
    assert ("kill", "management", "refused: management is of the boot: control_may does not have it") in refused
    at = {event["vm"]: event["time"] for event in events if event["event"] == "ended"}
    assert all(abs(ended[name] - at[name]) < 2 for name in ("linux", "hang", "keys"))


# Of each of two. The machine has five CPUs, one of which is never idle: a build host of two cores, beside others, took 17 s
# for a VM.
CYCLES = {"qemu": 100, "bochs": 10}
CYCLE = management.RUN + r"""
run put margay image put behave a
run put margay image put ports b
cycle() {
	margay create $1.conf && margay start $1 && margay wait $1 >/tmp/$1 && grep -q "^$1  *exit " /tmp/$1 &&
	margay console $1 </dev/null | grep -q "tiny: $2: ok checks=" && margay destroy $1
}
cycle a behave && cycle b ports
run before margay --json node
run exits margay --json stats watched
good=0
for n in $(seq CYCLES); do
	cycle a behave && cycle b ports && good=$((good + 1))
done
run good echo $good
run after margay --json node
run exits-after margay --json stats watched
"""


@pytest.mark.full
@pytest.mark.parametrize("machine", ["qemu", "bochs"])
def test_cycles(machine):
    """Two images, each made, started, ended and forgotten again and again beside a VM that computes; each by its own output. No
    byte of memory is lost, and the other VM's CPU has nothing to do for it."""
    # Each on a core of its own, though Bochs 3.0 gives a core of one thread two APIC IDs, as if it had two.
    vm = "name = %%s\nkernel = %%s\nmemory = 32M\ndebug_exit = yes\ncmdline = machine=%s mode=once\n" % machine
    watched = "name = watched\nkernel = behave\nmemory = 32M\ncpus = 4-4\ncmdline = machine=%s mode=hang\n" % machine
    files = {"behave": tiny.elf("behave"), "ports": tiny.elf("ports"), "a.conf": vm % ("a", "a"), "b.conf": vm % ("b", "b")}
    script = CYCLE.replace("CYCLES", str(CYCLES[machine]))
    with management.start("management-cycles-" + machine, script, files, machine=machine, others={"watched.conf": watched},
                         modules={"behave": tiny.elf("behave")}, rights="create, destroy, console, cpus:2, memory:64M",
                         node_cpus=5, times=3) as running:
        whole_lines(running)
        running.expect("^.management. margay-test: done")
        console = Console(running)
        assert console.answer("vm stop watched") == ["watched: stops"]
        run = node.Run(running, running.wait())
    said, _ = management.answers(run)
    assert said["good"] == str(CYCLES[machine]), run.text[-4000:]
    assert management.free(said["before"]) == management.free(said["after"])
    assert json.loads(said["before"])["hypervisor"]["used"] == json.loads(said["after"])["hypervisor"]["used"]
    assert said["exits"] == said["exits-after"]


# In files of their own, for two CPUs. A VM's life again and again, while all that leaves it as it is comes from the other CPU,
# with a VM and an image of its own; each counts what went well. Then the same VM's life from both: each command may meet it in
# any state.
LIVES = 30
LIFE = r"""
good=0
for n in $(seq LIVES); do
	margay create one.conf && margay start one && { until margay show one | grep -q "^one  *running"; do :; done; } &&
	margay pause one && margay resume one && margay kill one && { margay wait one >/tmp/one; [ $? = 10 ]; } &&
	grep -q "^one  *stopped " /tmp/one && margay console one </dev/null | grep -q "behave: hangs at" && margay destroy one &&
	good=$((good + 1))
done
echo $good >/tmp/good
"""
LOOKS = r"""
looked=0
until [ -e /tmp/good ]; do
	margay --json list | sed -n 's/.*"name":"one","state":"\([a-z-]*\)".*/\1/p' >>/tmp/seen
	for what in show stats console; do margay $what one >>/tmp/looks 2>&1 </dev/null; done
	margay --json node >/tmp/node && margay --json pci >/tmp/pci && margay log 50 >/tmp/log && margay metrics >/tmp/metrics &&
	margay image put behave twin && margay create two.conf && margay image list >/tmp/images && margay destroy two &&
	margay image rm twin && looked=$((looked + 1))
done
echo $looked >/tmp/looked
"""
RIVAL = r"""
for n in $(seq LIVES); do
	for what in "create one.conf" "start one" "pause one" "resume one" "restart one" "console one" "kill one" "destroy one"; do
		margay $what >>/tmp/said.$1 2>&1 </dev/null
		echo "${what% *} $?" >>/tmp/status.$1
	done
done
"""
TWO_CPUS = management.RUN + r"""
all() { margay --json node && margay --json image list && margay --json list | grep -o '"name":"[^"]*"' || echo failed; }
run put margay image put behave
run twin margay image put behave twin
for vm in one two; do
	margay create $vm.conf && margay start $vm && until margay show $vm | grep -q "^$vm  *running"; do :; done
	margay kill $vm && margay wait $vm >/dev/null && margay console $vm </dev/null >/dev/null
done
for vm in one two; do margay destroy $vm; done
run rm margay image rm twin
run before all
taskset 1 sh ./life >/dev/null &
taskset 2 sh ./looks
wait
run good cat /tmp/good
run looked cat /tmp/looked
run seen sort -u /tmp/seen
run between all
taskset 1 sh ./rival 0 &
taskset 2 sh ./rival 1
wait
run rivals sh -c "sort /tmp/status.0 /tmp/status.1 | uniq -c"
run words sh -c "sort -u /tmp/said.0 /tmp/said.1 | grep ^margay:"
margay wait one >/dev/null 2>&1
margay destroy one 2>/dev/null
run after all
"""


@pytest.mark.full
def test_two_cpus():
    """Two programs on two CPUs of the management VM, at one VM: whatever order their commands come in, nothing is left of it, and
    of one that only looks nothing fails."""
    files = {"behave": tiny.elf("behave"), "looks": LOOKS, "one.conf": BEHAVE % ("one", "hang") + "cpus = 2-2\n",
             "two.conf": BEHAVE.replace("= behave", "= twin") % ("two", "hang") + "cpus = 2-2\n"}
    files.update((name, text.replace("LIVES", str(LIVES))) for name, text in (("life", LIFE), ("rival", RIVAL)))
    with management.start("management-two-cpus", TWO_CPUS, files, "create, destroy, console, cpus:2, memory:128M",
                         cpus="0-1") as running:
        whole_lines(running)
        run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.OK, run.text[-4000:]
    said, _ = management.answers(run)
    assert said["good"] == str(LIVES) and int(said["looked"]) > LIVES // 3, run.text[-4000:]
    # It has been seen in all the states of its life, or nobody was in anybody's way.
    assert {"not-started", "running", "paused"} <= set(said["seen"].split()), said["seen"]
    count = {(what, int(status)): int(n) for n, what, status in re.findall(r"(\d+) ([a-z ]+) (\d+)", said["rivals"])}
    assert sum(count.values()) == 2 * 8 * LIVES and {status for _, status in count} == {0, 1}, count
    assert all(count.get((what, 0)) for what in ("create", "start", "pause", "resume", "restart", "console", "kill", "destroy"))
    assert count["create", 0] - count["destroy", 0] in (0, 1) and count[("create", 1)] > 0, count
    assert "failed" not in said["before"] and said["before"] == said["between"] == said["after"], run.text[-4000:]


# What the management VM does, a message each; it crashes after each of them in turn, restarts, and says what it finds.
STEPS = management.MESSAGE + r"""
step1() {
	printf 'image %d %s' $(stat -c %s behave) $(sha256sum behave | cut -d' ' -f1) >/tmp/text
	exec 3>/dev/$port
	message 18 /tmp/text
}
step2() { head -c 10000 behave >/tmp/text; message 19 /tmp/text; }
step3() { exec 3>&-; margay image put behave image; }
step4() { margay create one.conf; }
step5() { margay start one; until margay show one | grep -q "^one  *running"; do sleep 0.1; done; }
step6() { margay pause one; }
step7() { margay resume one; }
step8() { margay kill one; margay wait one >/dev/null; }
step9() { margay destroy one; }
step10() { margay image rm image; }
starts=$(margay show management | sed -n 's/^management  *[a-z]*  *[0-9]*  *[0-9]*  *[0-9]*  *\([0-9]*\) .*/\1/p')
run found-$starts margay --json list
run images-$starts margay --json image list
run node-$starts margay --json node
margay kill one 2>/dev/null
margay wait one >/dev/null 2>&1
margay destroy one 2>/dev/null
margay image rm image 2>/dev/null
if [ "$starts" -le 10 ]; then
	for n in $(seq $starts); do step$n || echo "margay-test: step: 1: $n"; done
	sync
	echo c >/proc/sysrq-trigger
fi
"""
FOUND = [None, None, None, None, "not-started", "running", "paused", "running", "stopped", None, None]


@pytest.mark.full
def test_crashes():
    """Whoever commands crashes after each message of a VM's life; all is as that message has left it when it comes back, and what
    had begun to come is gone."""
    one = "name = one\nkernel = image\nmemory = 32M\ncmdline = machine=qemu mode=hang\n"
    files = {"behave": tiny.elf("behave"), "one.conf": one}
    with management.start("management-crashes", management.RUN + STEPS, files, on_end=None, on_crash="restart", on_reboot="restart",
                         on_poweroff="poweroff_node") as running:
        whole_lines(running)
        run = node.Run(running, running.wait())
    said, _ = management.answers(run)
    assert "step" not in said and run.has_line("management: restart 10"), run.text[-4000:]
    for n, state in enumerate(FOUND):
        vms = {vm["name"]: vm["state"] for vm in json.loads(said["found-%d" % (n + 1)])}
        assert vms == {"management": "running", **({"one": state} if state else {})}, n
        images = {image["name"] for image in json.loads(said["images-%d" % (n + 1)]) if not image["boot"]}
        assert images == ({"image"} if 3 <= n <= 9 else set()), n
        taken = (2 << 20 if images else 0) + (32 << 20 if state in ("running", "paused") else 0)
        assert management.free(said["node-1"]) - management.free(said["node-%d" % (n + 1)]) == taken, n


# Each step waits until nothing of the one before is left to do.
START, STOP = 5000000, 1000000
COSTS = management.RUN + r"""
run put margay image put behave image
run create margay create one.conf
is() { until margay show one | grep -q "^one  *$1"; do sleep 0.5; done; }
for n in 1 2 3; do
	echo "margay-test: start"; sleep 3
	margay start one; is running
	echo "margay-test: stop"; sleep 3
	margay kill one; is stopped
done
"""


@pytest.mark.full
def test_costs():
    """Instructions of the hypervisor's, from outside: from the command to a guest's first instruction, with 1 GiB of memory; from
    the command to its end; and none on the CPU of another VM. There is no screen, on which a free CPU would draw what is said."""
    one = "name = one\nkernel = image\nmemory = 1G\ncpus = 2-2\ndebug_exit = yes\ncmdline = machine=qemu mode=hang\n"
    watched = "name = watched\nkernel = behave\nmemory = 32M\ncpus = 1-1\ncmdline = machine=qemu mode=hang\n"
    counted = instructions.Counted("management-costs")
    starts, stops = [], []
    with management.start("management-costs", COSTS, {"behave": tiny.elf("behave"), "one.conf": one},
                         others={"watched.conf": watched}, modules={"behave": tiny.elf("behave")},
                         rights="create, destroy, cpus:2, memory:1100M", node_memory="2G",
                         extra=[*counted.arguments, "-vga", "none"]) as running:
        whole_lines(running)
        for _ in range(3):
            running.expect("^.management. margay-test: start")
            before = counted.look()
            while counted.look()[2][1] == before[2][1]:
                assert running.poll() is None
            starts.append([b[0] - a[0] for a, b in zip(before, counted.look())])
            running.expect("^.management. margay-test: stop")
            before = counted.look()
            running.expect("^one: end=stopped.*\n")
            stops.append([b[0] - a[0] for a, b in zip(before, counted.look())])
        running.expect("^.management. margay-test: done")
        assert Console(running).answer("vm stop watched") == ["watched: stops"]
        running.wait()
    # All but the first, before which the memory is zeroed; what follows the guest's first instruction until the look is in it, too.
    image = os.path.getsize(tiny.elf("behave"))
    assert all(0 < sum(done) < START + image // 8 for done in starts[1:]), starts
    assert all(0 < sum(done) < STOP for done in stops), stops
    assert all(done[1] == 0 for done in starts + stops), (starts, stops)


def first_hour_key(text, key):
    return re.search(r"^%s +?= (.*)$" % key, text, re.MULTILINE)[1]


@pytest.mark.full
def test_first_hour():
    """An operator's first hour, as docs/first-hour.md has it: all that is typed in the management VM is right, and ends as
    it says."""
    lines = [line for block in management.of_page("first-hour", "sh", "management") for line in block.splitlines()]
    assert len(lines) > 15 and all(line.startswith("margay ") for line in lines)
    script = "cd /management\n" + management.RUN + "".join("run line%d sh -c '%s'\n" % pair for pair in enumerate(lines))
    (vm,), (job,) = (management.of_page("first-hour", "conf", name) for name in ("management.conf", "job.conf"))
    files = {"job.conf": job.replace("panic=-1", "panic=-1 margay.test=smp"), "vmlinuz": node.guest_file("vmlinuz"),
             "user.img": node.guest_file("initrd")}
    with management.start("management-first-hour", script, files, rights=first_hour_key(vm, "control_may")) as running:
        whole_lines(running)
        run = node.Run(running, running.wait())
    said, status = management.answers(run)
    # All but to wait for one that is killed.
    assert sorted(status.values()) == [0] * (len(lines) - 1) + [10], (status, run.text[-4000:])
    by_line = {line: said["line%d" % n] for n, line in reversed(list(enumerate(lines)))}
    assert re.search(r"^job +poweroff ", by_line["margay wait job"], re.MULTILINE)
    assert "Linux version" in by_line["margay console job </dev/null"] and run.of("job").has_line("margay-test: cpus: 1")
    assert 'margay_vm_starts_total{vm="job"} 1' in by_line["margay metrics"]
    assert re.search(r"^job +stopped ", said["line%d" % (len(lines) - 5)], re.MULTILINE)


@pytest.mark.full
def test_typed_in_the_page():
    """What docs/management-vm.md has typed in the management VM, with the first hour's job; its input is no terminal. A core
    file is there at the end."""
    lines = [line for block in management.of_page("management-vm", "sh", "management") for line in block.splitlines()]
    assert len(lines) > 8 and all(line.startswith("margay ") for line in lines)
    typed = "".join("run line%d sh -c '%s </dev/null'\n" % pair for pair in enumerate(lines))
    script = "cd /management\n" + management.RUN + typed + "run core sh -c 'head -c 4 job.core | tail -c 3'\n"
    (vm,), (job,) = (management.of_page(*place) for place in (
        ("management-vm", "conf", "management.conf"), ("first-hour", "conf", "job.conf")))
    files = {"job.conf": job.replace("panic=-1", "panic=-1 margay.test=smp"), "vmlinuz": node.guest_file("vmlinuz"),
             "user.img": node.guest_file("initrd")}
    with management.start("management-page", script, files, rights=first_hour_key(vm, "control_may")) as running:
        whole_lines(running)
        run = node.Run(running, running.wait())
    said, status = management.answers(run)
    assert set(status.values()) == {0}, (status, run.text[-4000:])
    assert said["core"] == "ELF"
    by_line = {line: said["line%d" % n] for n, line in enumerate(lines)}
    assert re.search(r"^20\S+ destroy job, by management for ", by_line["margay events"], re.MULTILINE)
    assert re.search(r"^20\S+ management: job: destroyed$", by_line["margay log 100"], re.MULTILINE)
