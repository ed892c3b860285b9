# SPDX-License-Identifier: GPL-2.0-only
"""Images that margay-build has made boot as VMs: a small root of busybox on the guest's kernel, with what is written in memory and
on a scratch disk; and what cannot boot ends as a VM that failed, with a line that says why.

`margay-build --test` boots one, too. Whole distributions are booted by test_image_debian.py and
test_image_rpm.py.
"""

import io
import os
import re
import subprocess
import sys
import tarfile

import margay_run
import monitor_console
import node
import pytest
import small_image
import tiers

INIT = """#!/bin/sh
export PATH=/bin:/sbin
echo "margay-test: words: $(cat /proc/cmdline)"
echo "margay-test: mounts: $(awk '$2 == "/" { print $1, $3 }' /proc/mounts | tr '\\n' ' ')"
echo written >/etc/written && echo "margay-test: written: $(cat /etc/written)"
echo "margay-test: own: $(cat /etc/own) $(stat -c '%u %a' /etc/own)"
echo "margay-test: upper: $(df -k / | awk 'END { print $2 }')"
echo "margay-test: proc: $(ls /proc/1/exe) $(ls /sys/kernel | head -c 4) $([ -c /dev/null ] && echo null)"
echo "margay-test: done"
poweroff -f
"""
# Another one, which does what an init that is not systemd has to do for `margay-build --test`.
TRIED = """#!/bin/sh
[ -x /run/margay/self-test ] && /run/margay/self-test
"""
SELF_TEST = """#!/bin/sh
echo "one of /proc: $(head -n 1 /proc/version | cut -c1-5)"
exit %d
"""
OWN = b"this VM's\n"
MEMORY = 192 << 10  # KiB
LANES = 2


def own_files(directory):
    """What one VM has of its own, laid over its root."""
    path = os.path.join(directory, "own.tar")
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        member = tarfile.TarInfo("etc/own")
        member.size, member.mode, member.uid = len(OWN), 0o640, 7
        tar.addfile(member, io.BytesIO(OWN))
    return path


def start(name, machine, directory, vms, **options):
    """vms: {name: (lines of its file behind kernel and initrd, words behind the image's)}; they follow each other in two lanes, so
    that none waits for its disk longer than it would alone."""
    files = {file: os.path.join(directory, file) for file in ("initrd", "root.squashfs")}
    files["own.tar"] = own_files(directory)
    files["kernel"] = node.guest_file(node.KERNEL)
    names, texts = list(vms), {}
    for number, (vm, (lines, words)) in enumerate(vms.items()):
        after = {"after": names[number - LANES]} if number >= LANES else {}
        texts[vm + ".conf"] = node.vm_text(machine, words, name=vm, memory="%dM" % (MEMORY >> 10), **after) + "".join(
            line + "\n" for line in lines)
    return node.start(name, machine, node.margay_iso("%s-%s" % (name, machine), texts, files), **options)


@pytest.fixture(name="small", scope="module")
def fixture_small(tmp_path_factory):
    return small_image.make(tmp_path_factory.mktemp("small"), "small", INIT)


def check_good(run, where, kib):
    """The root is an overlay; it takes what is written, and has so much room for it."""
    assert run.facts["mounts"] == "overlay overlay " and run.facts["written"] == "written", run.text
    assert run.facts["proc"] == "/proc/1/exe boot null", "what the initrd had mounted has moved with it"
    assert kib[0] < int(run.facts["upper"]) < kib[1], where


# What is wrong with a VM's file, and what the initrd says of it.
WRONG = {
    "no-root": ([], "", "there is no disk /dev/vda: the VM's file must name it (disk =)"),
    "kernel": (["disk = kernel"], "", "/dev/vda is no squashfs that this kernel reads"),
    "no-disk": (["disk = root.squashfs"], "margay.overlay=/dev/vdb",
                "there is no disk /dev/vdb: the VM's file must name it (disk =)"),
    "nonsense": (["disk = root.squashfs"], "margay.overlay=nonsense", "margay.overlay=nonsense cannot be mounted"),
    "files": (["disk = root.squashfs", "disk = kernel"], "margay.files=/dev/vdb",
              "/dev/vdb is no tar archive that can be unpacked"),
    "no-init": (["disk = root.squashfs"], "init=/sbin/none", "the root has no program /sbin/none"),
}


GOOD = {
    "ram": (["disk = root.squashfs"], ""),
    "some": (["disk = root.squashfs", "disk = own.tar"], "margay.overlay=ram:20% margay.files=/dev/vdb"),
    "scratch": (["disk = root.squashfs", "disk = scratch:256M"], "margay.overlay=/dev/vdb"),
}
ROOM = {"ram": (MEMORY // 3, MEMORY // 2), "some": (MEMORY // 8, MEMORY // 5), "scratch": (220 << 10, 256 << 10)}


@pytest.mark.parametrize("good, wrong", [(("some", "scratch"), ("nonsense", "no-init")), tiers.full(tuple(GOOD), tuple(WRONG))])
def test_boots(small, good, wrong):
    """With what is written in memory and on a scratch disk; and each VM that cannot boot is a failed one, beside those that do."""
    vms = {**{vm: GOOD[vm] for vm in good}, **{vm: WRONG[vm][:2] for vm in wrong}}
    with start("image-boot", "qemu", small, vms, cpus=LANES, memory="2G", timeout=900) as running:
        monitor_console.whole_lines(running)
        run = node.Run(running, running.wait())
    assert run.outcome.status == margay_run.VM_FAILED, run.outcome.text
    for vm in good:
        assert run.has_line("%s: end=poweroff" % vm), run.of(vm).text
        check_good(run.of(vm), vm, ROOM[vm])
        assert run.of(vm).facts["own"].strip() == ("this VM's 7 640" if vm == "some" else ""), vm
    for vm in wrong:
        assert run.has_line("%s: end=triple-fault" % vm), run.of(vm).text
        said = re.escape(WRONG[vm][2])
        assert re.search(r"^\[ *[\d.]+\] initrd: %s$" % said, run.of(vm).text, re.MULTILINE), run.of(vm).text
    assert run.has_line("margay: node: end=poweroff vms=%d failed=%d" % (len(vms), len(wrong)))


@pytest.mark.full
@pytest.mark.slow
def test_boots_on_bochs(small):
    """VT-x."""
    vms = {"vm0": (["disk = root.squashfs", "disk = scratch:64M"], "margay.overlay=/dev/vdb")}
    with start("image-boot", "bochs", small, vms) as running:
        run = node.finish(running)
    assert run.outcome.status == margay_run.OK, run.outcome.text
    check_good(run, "scratch", (50 << 10, 64 << 10))


@pytest.mark.full
@pytest.mark.slow
def test_no_root_on_bochs(small):
    with start("image-no-root", "bochs", small, {"vm0": ([], "")}) as running:
        run = node.Run(running, running.wait())
    assert run.has_line("vm0: end=triple-fault") and run.lines("initrd: there is no disk /dev/vda"), run.outcome.text


@pytest.mark.parametrize("status", [tiers.full(0), 3])
def test_margay_build_tries_it(tmp_path, status):
    """The image's own test decides whether it is one; what it says is shown."""
    root, image = str(tmp_path / "root"), str(tmp_path / "image")
    small_image.make_root(root, TRIED)
    os.makedirs(os.path.join(root, "usr", "lib", "margay"))
    test = os.path.join(root, "usr", "lib", "margay", "self-test")
    with open(test, "w", encoding="ascii") as f:
        f.write(SELF_TEST % status)
    os.chmod(test, 0o755)
    log = node.log_of("image-tried-%d" % status, "qemu")
    done = subprocess.run([sys.executable, os.path.join(node.TOP, "tools", "margay-build"), root, image, "--name", "tried",
                           "--image-version", "1", "--test", "--log", log], capture_output=True, text=True, check=False)
    assert done.returncode == (1 if status else 0), done.stdout + done.stderr
    lines = [line.removeprefix("margay-build: test: ") for line in done.stdout.splitlines() if ": test: " in line]
    assert re.fullmatch(r"up: init, \d+\.\d+ s; memory: \d+ KiB, \d+ used, \d+ cached", lines[0]), lines
    assert lines[1] == "self-test: one of /proc: Linux" and os.path.exists(image) == (not status)
    why = "/usr/lib/margay/self-test: status 3"
    if status:
        assert lines[2:] == ["end: bad: " + why]
        assert done.stderr == "margay-build: --test: tried: %s (%s has its console)\n" % (why, log)
    else:
        assert lines[2:] == ["end: good"] and done.stderr == ""
