# SPDX-License-Identifier: GPL-2.0-only
"""A guest starts another kernel by itself: by kexec, and when it has panicked (kdump). The VM goes on; all CPUs come up again.

On QEMU a guest of two CPUs starts another kernel by kexec, and panics with one loaded for that, which then has the
memory of the first as /proc/vmcore; once while an NVMe of its own reads and writes without end.
"""

import os
import shutil
import subprocess

import cluster  # noqa: F401  (for its path)
import margay_run
import node
import passthrough
import pytest
import remapping
import systems


@pytest.fixture(scope="module", name="initrds")
def fixture_initrds(tmp_path_factory):
    """What the first kernel has: the program, the kernel again, and an archive with the program for that."""
    top = tmp_path_factory.mktemp("kexec")
    root = str(top / "root")
    os.makedirs(os.path.join(root, "kexec"))
    os.mkdir(os.path.join(root, "proc"))
    os.mkdir(os.path.join(root, "dev"))
    subprocess.run(["gcc", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-s",
                    "-o", os.path.join(root, "kexec", "run"), os.path.join(os.path.dirname(__file__), "kexec.c")], check=True)
    small, large = str(top / "small"), str(top / "large")
    systems.archive(root, small)
    shutil.copy(small, os.path.join(root, "kexec", "initrd"))
    shutil.copy(node.guest_file("vmlinuz"), os.path.join(root, "kexec", "vmlinuz"))
    systems.archive(root, large)
    return large


def run(name, machine, initrds, words):
    # /dev/console is the root archive's that the kernel has built in.
    text = node.vm_text(machine, "quiet rdinit=/kexec/run " + words, cpus="2", memory="512M")
    iso = node.margay_iso(name, {"vm0.conf": text}, {"kernel": node.guest_file(node.KERNEL), "initrd": initrds})
    with node.start(name, machine, iso, cpus=2) as running:
        done = node.Run(running, running.wait())
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert not done.lines("kexec: failed")
    # One VM from its start to its power-off: what the other kernel does is no end of it.
    assert done.has_line("vm0: end=poweroff") and not done.lines("vm0: restart")
    return done


def test_kexec(initrds):
    done = run("kexec", "qemu", initrds, "kexec.do=exec")
    assert [line.rstrip("\r") for line in done.lines("^kexec: ")] == [
        "kexec: at exec with 2 CPUs", "kexec: loaded", "kexec: at afte with 2 CPUs"]


@pytest.mark.full
def test_kdump(initrds):
    """The crash kernel has one CPU and the whole memory of the one that panicked, but for its own part."""
    done = run("kdump", "qemu", initrds, "crashkernel=160M kexec.do=crash")
    said = [line.rstrip("\r") for line in done.lines("^kexec: ")]
    assert said[:3] == ["kexec: at cras with 2 CPUs", "kexec: loaded", "kexec: at core with 1 CPUs"]
    assert said[3].startswith("kexec: core: ELF, ") and 300 <= int(said[3].split()[3]) < 512


@pytest.mark.full
def test_kdump_under_disk_load(initrds, tmp_path):
    """The disk is in the middle of DMA when its driver is gone: the crash kernel comes up all the same, and has
    the whole dump; nothing is blocked."""
    disk = passthrough.make_disk("kdump")
    initrd = str(tmp_path / "initrd")
    systems.join(initrd, node.guest_file("initrd-drivers"), initrds)
    text = node.vm_text("qemu", "crashkernel=160M kexec.do=crash", cpus="2", memory="768M", pci="00:06.0", dma="iommu")
    iso = node.margay_iso("kdump-load", {"vm0.conf": text}, {"kernel": node.guest_file(node.KERNEL), "initrd": initrd})
    extra = remapping.WIDE + passthrough.DEVICES["nvme"][0] + ["-drive", "if=none,id=data,format=raw,file=%s" % disk]
    with node.start("kdump-load", "qemu", iso, cpus=2, memory="1536M", extra=extra, timeout=900) as running:
        running.expect("^guest# ", prompt=True)
        running.send("modprobe nvme; until [ -b /dev/nvme0n1 ]; do sleep 1; done\r")
        for name, words in ("read", "if=/dev/nvme0n1 of=/dev/null iflag"), ("written", "if=/dev/zero of=/dev/nvme0n1 oflag"):
            running.send("while dd %s=direct bs=256k count=%d 2>/dev/null; do echo >/tmp/%s; done &\r" %
                         (words, passthrough.DISK // (256 << 10), name))
        # Both are under way: the whole disk was read once, and written. The disk's own counts stay 0: it is one way of many to it.
        running.send("until [ -s /tmp/read ] && [ -s /tmp/written ]; do sleep 1; done\r")
        running.send("echo busy $((6 * 7)); /kexec/run\r")
        running.expect(r"^busy 42\r?$")
        done = node.Run(running, running.wait())
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.has_line("vm0: end=poweroff") and not done.lines("vm0: restart|kexec: failed|DMA blocked")
    said = [line.rstrip("\r") for line in done.lines("^kexec: ")]
    assert said[:3] == ["kexec: at cras with 2 CPUs", "kexec: loaded", "kexec: at core with 1 CPUs"]
    assert said[3].startswith("kexec: core: ELF, ") and 500 <= int(said[3].split()[3]) < 768
