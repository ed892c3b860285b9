# SPDX-License-Identifier: GPL-2.0-only
"""The small image for MPI programs of docs/images.md, by the page's own lines: what it takes to distribute, how much memory is used
and how long it takes until it has come up, and an MPI program of two processes in a VM.

What margay-mpi-root leaves of a root is looked at without a network; all else is in the full tier.
"""

import os
import re
import shutil
import subprocess
import sys

import management
import margay_run
import node
import pytest
import small_image
import systems
import throwaway

TOOLS = os.path.join(node.TOP, "tools")
RECIPE = os.path.join(TOOLS, "margay-mpi-root")
LIB = "/usr/lib/x86_64-linux-gnu"
ALL_TO_ALL = os.path.join(node.TOP, "tests", "system", "mpi", "all_to_all.c")
# The limits: those of other lightweight hypervisors' small images.
DISTRIBUTED = 30e6
USED_KIB = 24 << 10
BOOT_S = 1.0
WORDS = "margay.self-test printk.devkmsg=on panic=-1 quiet "
ICOUNT = ["-icount", "shift=0,sleep=off"]  # an instruction is a nanosecond
SELF_TEST = "#!/bin/sh\ngrep -q boot-only /proc/cmdline || exec mpiexec -n 2 all_to_all\n"
# In front of the page's own: a program, and what runs it.
HOOKS = """--extract-hook='mkdir -p "$1/usr/local/bin" "$1/usr/lib/margay"' --extract-hook='cp all_to_all "$1/usr/local/bin/"' \
--extract-hook='cp self-test "$1/usr/lib/margay/"' """


# ---- the recipe ---------------------------------------------------------------------------------


def extracted(root):
    """What mmdebstrap would extract, but with this machine's programs under MPICH's names, and much that is not to stay."""
    lib = os.path.join(root, LIB.lstrip("/"))
    for folder in (lib + "/ucx", root + "/bin", root + "/usr/bin", root + "/usr/local/bin", root + "/usr/share/doc/mpich",
                   root + "/etc/apt/apt.conf.d"):
        os.makedirs(folder)
    systems.copy_program(root, "/bin/true", "/bin/busybox", "/usr/bin/sed")
    for target, source in (("usr/bin/mpiexec.hydra", "/bin/true"), ("usr/bin/hydra_pmi_proxy", "/bin/true"),
                           ("usr/local/bin/own", "/usr/bin/sed"), (LIB + "/libmpich.so.12.2", "/bin/true"),
                           (LIB + "/ucx/libuct_cma.so.0", "/bin/true")):
        shutil.copy(source, os.path.join(root, target.lstrip("/")))
    os.symlink("libmpich.so.12.2", lib + "/libmpich.so.12")
    for path in "usr/share/doc/mpich/README", "etc/apt/apt.conf.d/00mmdebstrap", "usr/local/share":
        with open(os.path.join(root, path), "w", encoding="ascii") as f:
            f.write("x")
    small_image.add_kernel(root, (*small_image.MODULES, "*failover", "pvpanic*", "xfs"))


@throwaway.ALLOWED
def test_what_the_recipe_leaves(tmp_path):
    """The programs, what they are linked to, what the site has added with its libraries, and the kernel's modules; nothing else."""
    root = str(tmp_path / "root")
    extracted(root)
    linked = subprocess.run(["ldd", "/usr/bin/sed"], capture_output=True, text=True, check=True).stdout
    subprocess.run([RECIPE, root], check=True)
    for path in ("usr/bin/mpiexec.hydra", "usr/bin/mpiexec", "usr/bin/hydra_pmi_proxy", "usr/local/bin/own", "usr/local/share",
                 LIB + "/libmpich.so.12", LIB + "/libmpich.so.12.2", LIB + "/ucx/libuct_cma.so.0", "etc/init.d/rcS", "sbin/init",
                 "bin/sh", *re.findall(r"(/\S+) \(0x", linked)):
        assert os.path.lexists(os.path.join(root, path.lstrip("/"))), path
    done = subprocess.run(["chroot", root, "/usr/local/bin/own", "-n", "s/x/y/p", "/usr/local/share"], capture_output=True,
                          text=True, check=True)
    assert done.stdout == "y"
    for path in "usr/share/doc", "usr/bin/sed", "bin/true":
        assert path == "bin/true" or not os.path.exists(os.path.join(root, path)), path
    release, = os.listdir(os.path.join(root, "lib", "modules"))
    modules = [name for _, _, names in os.walk(os.path.join(root, "lib", "modules", release)) for name in names if ".ko" in name]
    assert {"virtio_net.ko", "failover.ko", "squashfs.ko", "ext4.ko"} <= set(modules) and "xfs.ko" not in modules
    image = small_image.build(root, str(tmp_path / "image"), "mpi")
    assert os.path.getsize(os.path.join(image, "root.squashfs")) < 8 << 20


@throwaway.ALLOWED
def test_the_recipe_refuses(tmp_path):
    """A system, and a root that lacks a program: a line, and nothing is removed."""
    root = tmp_path / "root"
    (root / "sbin").mkdir(parents=True)
    os.symlink("/lib/systemd/none", root / "sbin" / "init")
    for why in "is a system, of which this would leave little", "/bin/busybox: is missing":
        done = subprocess.run([RECIPE, root], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (1, "") and done.stderr.endswith(why + "\n") and (root / "sbin").exists()
        assert [path.name for path in root.iterdir()] == ["sbin"]
        (root / "sbin" / "init").unlink(missing_ok=True)


# ---- the image ----------------------------------------------------------------------------------


@pytest.fixture(name="image", scope="module")
def fixture_image(tmp_path_factory):
    """The page's image, with a program and a self-test that runs it."""
    top = tmp_path_factory.mktemp("mpi")
    dev = str(top / "dev")
    subprocess.run(["mmdebstrap", "--quiet", "--variant=extract", "--include=libmpich-dev", "bookworm", dev], check=True)
    lib = dev + LIB
    subprocess.run(["gcc", "-std=gnu17", "-O2", "-o", top / "all_to_all", "-I", dev + "/usr/include/x86_64-linux-gnu/mpich",
                    ALL_TO_ALL, lib + "/libmpich.so", "-Wl,--unresolved-symbols=ignore-in-shared-libs"], check=True)
    shutil.rmtree(dev)
    (top / "self-test").write_text(SELF_TEST)
    (top / "self-test").chmod(0o755)
    text, = (block for block in management.of_page("images", "sh", "images") if "margay-mpi-root" in block)
    assert text.count("--extract-hook=") == 1
    environment = {**os.environ, "PATH": "%s:%s" % (TOOLS, os.environ["PATH"])}
    subprocess.run(["sh", "-ec", text.replace("--extract-hook=", HOOKS + "--extract-hook=")], cwd=top, env=environment, check=True)
    image, = top.glob("mpi-*")
    return str(image)


def start(name, image, node_cpus, words="", extra=(), **keys):
    files = {file: os.path.join(image, file) for file in ("kernel", "initrd", "root.squashfs")}
    text = node.vm_text("qemu", WORDS + words, name="mpi", **keys) + "disk = root.squashfs\n"
    iso = node.margay_iso(name, {"mpi.conf": text}, files)
    return node.start(name, "qemu", iso, cpus=node_cpus, extra=list(extra), exits=False, timeout=3600)


def said_by(run):
    """The lines of self_test.sh, of a VM that has ended well."""
    said = re.findall(r"margay-image: (.*)$", run.text, re.MULTILINE)
    assert run.outcome.status == margay_run.OK and said[-1] == "end: good", (run.outcome.text, said)
    return said


@pytest.mark.full
@pytest.mark.slow
def test_size(image, tmp_path):
    """What a store hands out of it, that is all a node fetches."""
    subprocess.run([sys.executable, os.path.join(TOOLS, "margay-image-store"), "push", tmp_path / "store", image], check=True)
    size = sum(os.path.getsize(os.path.join(folder, name)) for part in ("chunks", "index")
               for folder, _, names in os.walk(tmp_path / "store" / part) for name in names)
    assert 10e6 < size <= DISTRIBUTED, size


@pytest.mark.full
@pytest.mark.slow
def test_two_processes(image):
    """In a VM with two CPUs; and how much of its memory is used before they start."""
    with start("mpi-image", image, 2, cpus="2", memory="256M") as running:
        said = said_by(node.Run(running, running.wait()))
    assert [line for line in said if line.startswith("self-test: ")], said
    assert 10 << 10 < int(re.search(r", (\d+) used", said[0])[1]) <= USED_KIB, said[0]


@pytest.mark.full
@pytest.mark.slow
def test_a_second(image):
    """By the node's clock, which counts instructions, a nanosecond each: from the VM's first one to its end, so what the kernel
    takes to unpack itself, and the power-off, are in it."""
    with start("mpi-image-second", image, 1, "boot-only", ICOUNT, memory="256M", interrupts="emulated") as running:
        run = node.Run(running, running.wait())
        begun, ended = (float(re.search(r"^\[ *([\d.]+)\] mpi: %s" % what, running.raw, re.MULTILINE)[1])
                        for what in ("own memory", "end=poweroff"))
    up = float(re.search(r"up: init, ([\d.]+) s", said_by(run)[0])[1])
    assert 0.1 < up < ended - begun <= BOOT_S, (up, ended - begun)
