# SPDX-License-Identifier: GPL-2.0-only
"""Bad input: one clear line each, and nothing else lost.

A node says of bad VM files what margay-check says, before it says anything of a start.
"""

import os
import re
import subprocess
import sys

import margay_run
import node
import pytest

GOOD_END = "margay.test=end margay.end=poweroff"

# {VM file: (text that replaces lines of a good one, the line expected)}
BAD = {
    "config.conf": ({"memory": "lots"}, r"margay: config\.conf:4: .*memory.*"),
    "key.conf": ({"colour": "red"}, r"margay: key\.conf:6: .*colour.*"),
    "module.conf": ({"name": "module", "initrd": "nothere"}, r"module: module\.conf:2: .*nothere.*"),
    "notlinux.conf": ({"name": "notlinux", "kernel": "initrd"},
                      r"notlinux: notlinux\.conf:1: kernel = initrd: .*; give a bzImage or vmlinux.*"),
    "cpu.conf": ({"name": "cpu", "cpus": "7-7"}, r"cpu: cpu\.conf:7: cpus: the machine has CPUs 0-0, found 7"),
    "many.conf": ({"name": "many", "cpus": "2"}, r"many: many\.conf:7: cpus: the machine has 1, found 2"),
    "node.conf": ({"name": "node", "memory": "node3:64M"},
                  r"node: node\.conf:4: memory: the machine has NUMA nodes 0-0, found node3"),
    "short.conf": ({"name": "short", "kernel": "short"}, r"short: short\.conf:1: kernel = short: .*truncated.*"),
    "large.conf": ({"name": "large", "memory": "64G"}, r"large: large\.conf:4: memory: not enough: node0 65536M of \d+M free.*"),
}


@pytest.fixture(
    scope="module",
    params=[pytest.param(m, marks=[pytest.mark.xdist_group("bad-" + m), pytest.mark.slow] + [pytest.mark.full] * (m == "bochs"))
            for m in node.MACHINES],
)
def bad_run(request):
    """One boot with all the bad VM files and, last, a good one."""
    machine = request.param
    short = os.path.join(node.BUILD, "iso", "short-" + machine)
    os.makedirs(os.path.dirname(short), exist_ok=True)
    with open(node.guest_file("vmlinuz"), "rb") as whole, open(short, "wb") as half:
        half.write(whole.read(os.path.getsize(node.guest_file("vmlinuz")) // 2))
    vms = {name: node.vm_text(machine, GOOD_END, **keys) for name, (keys, _) in BAD.items()}
    vms["good.conf"] = node.vm_text(machine, GOOD_END, name="good")
    iso = node.margay_iso(
        "bad-" + machine, vms,
        {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd"), "short": short},
        check=False,
    )
    with node.start("bad", machine, iso) as running:
        return node.Run(running, running.wait())


@pytest.mark.parametrize("file", BAD)
def test_one_clear_line(bad_run, file):
    assert bad_run.has_line(BAD[file][1])


def test_nothing_looks_like_a_start(bad_run):
    """Of a VM that is refused there are no lines but that one, and that it was not started."""
    for file, (_, line) in BAD.items():
        name = file.split(".")[0]
        told = [text.rstrip("\r") for text in bad_run.lines("^%s: " % name)]
        assert [text for text in told if not re.fullmatch("%s|%s: not started" % (line, name), text)] == []
    assert bad_run.lines("good: memory: ")


def test_the_good_vm_ran(bad_run):
    assert bad_run.has_line("good: end=poweroff")
    assert bad_run.has_line(r"margay: node: end=poweroff vms=%d failed=%d" % (len(BAD) + 1, len(BAD)))
    assert bad_run.outcome.status == margay_run.VM_FAILED, bad_run.outcome.text


def small_iso(name, machine, cmdline=""):
    """A node whose guest kernel is never looked at."""
    return node.margay_iso(
        name, {"vm0.conf": node.vm_text(machine, GOOD_END)},
        {"kernel": node.guest_file("initrd"), "initrd": node.guest_file("initrd")}, cmdline, check=False,
    )


@pytest.mark.parametrize(
    "machine, extra", [("qemu", ["-cpu", "max,-svm"]), ("bochs", ["cpu: model=p4_prescott_celeron_336"])]
)
def test_no_virtualization(machine, extra):
    iso = small_iso("novirt-" + machine, machine)
    with node.start("novirt", machine, iso, extra=extra, timeout=300) as running:
        run = node.Run(running, running.wait())
    assert run.has_line(r"margay: no virtualization: CPUID shows neither VT-x \(.*\) nor SVM \(.*\).*")
    assert run.has_line(r"margay: node: end=idle vms=1 failed=1")
    assert run.outcome.status == margay_run.VM_FAILED, run.outcome.text


# The second one has no leaf 80000001h: asked for it, it gives leaf 0, where that bit is one of "AuthenticAMD".
@pytest.mark.parametrize("lacks, cpu", [("bit", "max,-lm"), ("leaf", "pentium3,vendor=AuthenticAMD,level=0,xlevel=0")])
def test_no_long_mode(lacks, cpu):
    """Said by the first instructions of all; the CPU halts then."""
    name = "no-long-mode-" + lacks
    with node.start(name, "qemu", small_iso(name, "qemu"), extra=["-cpu", cpu], timeout=300) as running:
        running.expect(r"margay: this CPU has no long mode \(CPUID 80000001h EDX bit 29\)\r\n")


@pytest.mark.parametrize("console", ["none", "com2"])
def test_no_serial_port(console):
    """No console, or one that the machine has not: the guest runs, the node powers off, nothing is said."""
    name = "console-" + console
    iso = node.margay_iso(
        name, {"vm0.conf": node.vm_text("qemu", GOOD_END)},
        {"kernel": node.guest_file(node.KERNEL), "initrd": node.guest_file("initrd")}, "console=" + console,
    )
    trace = os.path.join(node.LOGS, name + ".trace")
    with node.start(name, "qemu", iso, exits=False, extra=["-trace", "qemu_system_shutdown_request,file=" + trace]) as running:
        run = node.Run(running, running.wait())
    assert run.exited, run.outcome.text
    assert not run.lines("margay|Linux")
    # By power-off (QEMU's SHUTDOWN_CAUSE_GUEST_SHUTDOWN): a triple fault resets the machine, which ends QEMU as well.
    with open(trace, encoding="ascii") as f:
        assert re.findall(r"qemu_system_shutdown_request reason=(\d+)", f.read()) == ["6"]


def test_image_tool_refuses_a_bad_vm_file(tmp_path):
    """The same words as the hypervisor's, before anything is booted."""
    keys, line = BAD["config.conf"]
    (tmp_path / "config.conf").write_text(node.vm_text("qemu", "", **keys))
    done = subprocess.run(
        [sys.executable, os.path.join(node.TOP, "tools", "margay-image"), "--vm", str(tmp_path / "config.conf"),
         "--module", "kernel=" + node.guest_file("vmlinuz"), "--module", "initrd=" + node.guest_file("initrd"),
         "-o", str(tmp_path / "x.iso")],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode != 0
    assert re.search(line.replace("margay: ", ""), done.stdout + done.stderr)
    assert not (tmp_path / "x.iso").exists()
