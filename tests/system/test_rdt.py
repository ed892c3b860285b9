# SPDX-License-Identifier: GPL-2.0-only
"""Parts of caches and of memory bandwidth, on CPUs that have none of that (no emulator has): each key is refused with file and
line, what is not asked for is not missed, and `stats` says nothing of it."""

import margay_run
import monitor_console
import node
import tiny

WISHES = {
    "cache": ("cache = 8/20", "cache: these CPUs cannot divide their caches"),
    "percent": ("bandwidth = 50%", "bandwidth: these CPUs cannot divide memory bandwidth"),
    "gigabytes": ("bandwidth = 20G", "bandwidth: these CPUs cannot divide memory bandwidth"),
}


def test_refused():
    vms = {name + ".conf": monitor_console.vm(name, "tick") + wish + "\n" for name, (wish, _) in WISHES.items()}
    vms["plain.conf"] = monitor_console.vm("plain", "tick")
    # Each wish is the last line of its file.
    line = monitor_console.vm("plain", "tick").count("\n") + 1
    iso = node.margay_iso("rdt-qemu", vms, {"behave": tiny.elf("behave")})
    with node.start("rdt", "qemu", iso, cpus=4, memory="256M", timeout=200) as running:
        for name, (_, why) in WISHES.items():
            running.expect(r"^%s: %s.conf:%d: %s\r?$" % (name, name, line, why))
        running.expect("^plain: vcpu0: CPU 0, ")
        console = monitor_console.Console(running)
        console.call()
        answer = console.answer("stats plain")
        assert answer[0].startswith("plain: all vCPUs") and not [text for text in answer if "cache of CPU" in text]
        assert console.end().status == margay_run.VM_FAILED
