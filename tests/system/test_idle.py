# SPDX-License-Identifier: GPL-2.0-only
"""The hypervisor does nothing while nobody asks for anything: its instructions, counted from outside (qemu_code.c).

The guests loop with interrupts off, so that nothing of theirs is an exit. How
long is nothing that a busy test machine decides: as long as they take to
execute so many instructions of their own.

`qemu_code.c`, a plugin of QEMU's TCG, counts the instructions of the hypervisor's image by CPU: none on any CPU while
guests compute and nobody types; a key costs some on CPU 0 alone, a pause on the paused CPU; with a screen free CPUs
draw, and none that has a guest. Bochs has no plugins.

The same plugin counts what an idle Linux executes: with `interrupts = direct` its cpuidle has no driver and halts at
once (140,000 in a second); with `emulated` haltpoll polls (240,000; full tier).

Not counted so: what a line that stands still costs; `test_flood` shows on Bochs, whose line is as slow as a real one,
that the operator gets through. That a halted vCPU's CPU sleeps in MWAIT, and with `idle=halt` in HLT: by the time
that Bochs takes where its MWAIT does nothing.

What a VM prints is not paid for by the one on CPU 0 (`CONFIG_CONSOLE_FOLLOWS`): by the
instructions that CPU executes in the hypervisor while another VM prints for ever, there are none, and there are some
in an image without virtio, which lacks it; on Bochs by exits. Whom the interrupt goes to, and when: test_console_follow.c. An NMI
that is on its way to a CPU which just loses the interrupt is nobody's: a guest there that may send NMIs by itself
(`ipi = direct`) could be shown one that it has not sent.
"""

import os
import re

import instructions
import monitor_console
import node
import pytest

IDLE_SECONDS = 5
IDLE_MOST = 500000  # of a Linux in one of them; a loop that polls would be a hundred million


@pytest.mark.parametrize("screen", [False, True])
def test_costs_nothing_while_nobody_types(screen):
    """Two guests at work, two CPUs free, one of them after a guest, the monitor console open: not one instruction. With a screen
    a free CPU draws what is printed, and none that has a guest. Keys are taken by the CPU of the guest that printed last."""
    vms = {"%s.conf" % name: monitor_console.vm(name, mode, cpus="%d-%d" % (cpu, cpu))
           for cpu, (name, mode) in enumerate({"a": "hang", "b": "hang", "flood": "flood"}.items())}
    name = "idle-screen" if screen else "idle"
    counted = instructions.Counted(name)
    extra = counted.arguments + ([] if screen else ["-vga", "none"])
    with monitor_console.start(name, "qemu", vms, instructions.CPUS, extra=extra, timeout=200) as running:
        running.expect(r"^\[flood\] flood 20 ")
        console = monitor_console.Console(running)
        console.call()
        assert console.answer("vm stop flood") == ["flood: stops"]
        console.settle("flood")
        assert counted.settled(running, (0, 1)) == [0] * instructions.CPUS
        # The controls: a key costs something, on one CPU alone but for the screen; a kick does on the CPU that is kicked.
        before = counted.look()
        assert console.answer("=") == ["unknown command '=': help lists them"]
        if screen:
            counted.settled(running, (0, 1))
        typed = [b[0] - a[0] for a, b in zip(before, counted.look())]
        assert typed[:2] == [0, 0] and typed[2] > 1000 and (screen or not any(typed[3:])), typed
        before = counted.look()
        assert console.answer("vm pause b") == ["b: paused"]
        paused = [b[0] - a[0] for a, b in zip(before, counted.look())]
        assert paused[0] == 0 and paused[1] > 0 and (screen or paused[3] == 0), paused
        console.end()


@pytest.mark.parametrize("interrupts", [pytest.param("emulated", marks=pytest.mark.full), "direct"])
@pytest.mark.parametrize("follows", [True, False])
def test_printing_is_its_own(follows, interrupts):
    """A guest prints for ever; the one on the boot CPU does not pay for it where the serial line's interrupt follows who prints."""
    vms = {"%s.conf" % name: monitor_console.vm(name, name, cpus="%d-%d" % (cpu, cpu), interrupts=interrupts,
                                                topology="node")
           for cpu, name in enumerate(("hang", "flood"))}
    name = "printing-%s-%s" % (follows, interrupts)
    elf = os.path.join(node.BUILD, "margay.elf") if follows else node.variant("no-virtio", "VIRTIO=n")
    counted = instructions.Counted(name, elf)
    with monitor_console.start(name, "qemu", vms, instructions.CPUS, elf=elf,
                               extra=counted.arguments + ["-vga", "none"]) as running:
        running.expect(r"^\[flood\] flood 20 ")
        counted.meanwhile(running, (0,))
        cost = counted.meanwhile(running, (0,))
        assert (cost[0] == 0) == follows and cost[1] > 1000 and cost[2:] == [0] * (instructions.CPUS - 2), cost
        console = monitor_console.Console(running)
        console.call()
        console.end()


@pytest.mark.full
@pytest.mark.parametrize("follows", [True, False])
def test_printing_on_vtx(follows):
    """The same on Bochs, by the exits for NMIs that the one on the boot CPU has had: as many as there were kicks."""
    vms = {"%s.conf" % name: monitor_console.vm(name, name, "bochs", cpus="%d-%d" % (cpu, cpu))
           for cpu, name in enumerate(("hang", "flood"))}
    elf = os.path.join(node.BUILD, "margay.elf") if follows else node.variant("no-virtio", "VIRTIO=n")
    with monitor_console.start("printing-vtx-%s" % follows, "bochs", vms, 2, elf=elf) as running:
        running.expect(r"^\[flood\] flood 100 ")
        console = monitor_console.Console(running)
        console.call()
        console.end()
    nmis = int(re.search(r"^\S* *hang: vcpu0: exits=.* nmi=(\d+)", running.text, re.MULTILINE)[1])
    assert (nmis < 10) == follows and 0 < nmis, nmis


@pytest.mark.parametrize("interrupts, driver", [
    ("direct", "none"), pytest.param("emulated", "haltpoll", marks=pytest.mark.full)])
def test_idle_linux(interrupts, driver):
    """A Linux whose HLT is no exit halts at once; where it is one, and the hint REALTIME is shown, it polls before, by a driver
    that soon sees when it does so in vain."""
    counted = instructions.Counted("idle-linux-" + interrupts)
    iso = node.margay_iso("idle-linux-" + interrupts, {"vm0.conf": node.vm_text("qemu", "quiet", interrupts=interrupts)},
                          {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd")})
    with node.start("idle-linux-" + interrupts, "qemu", iso, cpus=1, extra=counted.arguments) as running:
        running.expect("guest# ", prompt=True)
        running.send("cat /sys/devices/system/cpu/cpuidle/current_driver\n")
        running.expect("^%s\r\n" % driver)
        running.send("sleep 1; echo be''gins; sleep %d; echo en''ds\n" % IDLE_SECONDS)
        running.expect("^begins")
        before = counted.look()[0][1]
        running.expect("^ends")
        done = (counted.look()[0][1] - before) / IDLE_SECONDS
        running.send("poweroff\n")
        assert running.wait().status == 0
    assert 0 < done < IDLE_MOST


def cpu_seconds(running):
    """That the emulator has used."""
    with open("/proc/%d/stat" % running.process.pid, encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
def test_halted_cpus_sleep_by_mwait():
    """The only CPU of a node, whose guest halts for 20 ms again and again: where Bochs takes MWAIT for nothing it loops, and with
    idle=halt it does not. Where MWAIT sleeps it does not either: Bochs skips the time, as in HLT."""
    used = {}
    for word, option in (("", "cpu: mwait_is_nop=1"), ("idle=halt", "cpu: mwait_is_nop=1"), ("", "cpu: mwait_is_nop=0")):
        vms = {"a.conf": monitor_console.vm("a", "tick", "bochs", cmdline="machine=bochs mode=tick period=20000")}
        with monitor_console.start("idle-halted", "bochs", vms, 1, word, extra=[option]) as running:
            running.expect(r"^behave: ticks=50\r?$")
            before = cpu_seconds(running)
            running.expect(r"^behave: ticks=200\r?$")
            used[word, option] = cpu_seconds(running) - before
            console = monitor_console.Console(running)
            console.call()
            assert console.end().status == 0
    loops, halts, sleeps = used.values()
    assert loops > 5 * max(halts, sleeps), used
