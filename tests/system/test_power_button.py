# SPDX-License-Identifier: GPL-2.0-only
"""`margay stop`: a guest's power button, by Debian's own drivers.

Guests with `button` and `evdev`, direct and emulated, one paused meanwhile, and one that does not heed it (full
tier).
"""

import management
import node
import pytest
from management import MESSAGE, RUN, TYPING, answers, tenant
from monitor_console import whole_lines

LINUX = ("name = %s\nkernel = vmlinuz\ninitrd = tenant\nmemory = 128M\ncpus = 1-2\ninterrupts = %s\non_end = restart\n"
         "cmdline = console=ttyS0 panic=-1\n")
SCRIPT = RUN + MESSAGE + TYPING + r"""
begins() {
	run create-$1 margay create $1.conf
	run start-$1 margay start $1
	type_in $1 1 "insmod /button.ko; insmod /evdev.ko; input=\$(grep -l 'Power Button' /sys/class/input/event*/device/name)"
	type_in $1 2 "exec 5</dev/input/event\$(echo \$input | tr -dc 0-9); echo waits; head -c 24 <&5 >/dev/null; $2"
	until margay console $1 </dev/null | grep -q "^waits"; do sleep 0.2; done
}
run kernel margay image put vmlinuz
run initrd margay image put initrd tenant
begins direct "poweroff -f"
run asked margay stop direct
run ended margay wait direct
run gone margay destroy direct
begins emulated "poweroff -f"
run pause margay pause emulated
exec 3<>/dev/$port
printf emulated >/tmp/text
message 25 /tmp/text
run pressed sh -c "dd bs=16 count=1 <&3 2>/dev/null | od -An -tu2 -j6 -N2"
exec 3>&-
run still margay show emulated
run resume margay resume emulated
run later margay wait emulated
run over margay stop emulated
begins deaf "echo heard"
run killed margay stop --timeout 3 deaf
run stopped margay wait deaf
run wrong margay stop none
"""


@pytest.mark.full
def test_stop():
    """A guest that waits for its button ends by itself, for good, whoever's its interrupts are, also one that was paused when it
    was pressed; one that does not heed it is ended when the time is over."""
    files = {name + ".conf": LINUX % (name, "emulated" if name == "emulated" else "direct")
             for name in ("direct", "emulated", "deaf")}
    files.update(vmlinuz=node.guest_file("vmlinuz"), initrd=tenant("acpi/button.ko", "input/evdev.ko"))
    with management.start("power-button", SCRIPT, files) as running:
        whole_lines(running)
        run = node.Run(running, running.wait())
    said, status = answers(run)
    assert {what: code for what, code in status.items() if code} == {
        "over": 1, "wrong": 1, "ended": 10, "later": 10, "stopped": 10}, (status, run.text[-4000:])
    assert said["asked"] == "direct: it has ended by itself" and "stopped" in said["ended"]
    assert said["pressed"].strip() == "0" and "paused" in said["still"] and "stopped" in said["later"]
    assert said["over"] == "margay: emulated does not run"
    assert said["killed"] == "deaf: it is ended at once" and "stopped" in said["stopped"] and run.lines("^.deaf. heard\r?$")
    assert said["wrong"] == "margay: none: there is no such VM"
    assert not run.lines("ACPI (Error|Warning|BIOS)|Excess arguments")
    for name, exits in (("direct", False), ("emulated", True)):
        lines = run.lines("^%s: vcpu0: exits=" % name)
        assert len(lines) == 1 and bool(node.INTERRUPT_EXIT.search(lines[0])) == exits, lines
