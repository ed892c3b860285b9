# SPDX-License-Identifier: GPL-2.0-only
"""A guest starts another kernel by itself: by kexec, and when it has panicked (kdump). The VM goes on; all CPUs come up again.

On QEMU a guest of two CPUs starts another kernel by kexec, and panics with one loaded for that, which then has the
memory of the first as /proc/vmcore.
"""

import os
import shutil
import subprocess

import margay_run
import node
import pytest


def archive(root, target):
    names = [os.path.relpath(os.path.join(path, name), root) for path, folders, files in os.walk(root) for name in folders + files]
    done = subprocess.run(["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0", "-0"], cwd=root,
                          input="\0".join(sorted(names)).encode(), stdout=subprocess.PIPE, check=True)
    with open(target, "wb") as f:
        f.write(done.stdout)


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
    archive(root, small)
    shutil.copy(small, os.path.join(root, "kexec", "initrd"))
    shutil.copy(node.guest_file("vmlinuz"), os.path.join(root, "kexec", "vmlinuz"))
    archive(root, large)
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
