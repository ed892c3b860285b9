# SPDX-License-Identifier: GPL-2.0-only
"""The kernel of a VM that runs the node's own Debian: what the package's hooks for kernels and initrds do when Debian's call them,
in a directory (debian_root.py), with Debian's kernel under two versions; and the commands of docs/booting.md, typed as root on this
machine with a /boot that is thrown away."""

import functools
import os
import struct
import subprocess

import deb_package
import debian_root
import grub_entry
import margay_pages
import node
import pytest
import throwaway

OLD, NEW = "6.0.0-1-amd64", "9.0.0-1-amd64"
ENTRY, BEFORE = "Margay: vm0.conf", "Margay: previous versions>Margay: vm0.conf, previous kernel"


@functools.cache
def image(version):
    """Debian's kernel, which says in the place that Documentation/arch/x86/boot.rst names that it is of this version."""
    with open(node.guest_file("vmlinuz"), "rb") as f:
        data = f.read()
    at = struct.unpack_from("<H", data, 526)[0] + 512
    words = version.encode("ascii") + b" "
    return data[:at] + words + data[at + len(words):]


@pytest.fixture(scope="module", name="package")
def fixture_package():
    return deb_package.make_deb()["margay"]


class System:
    """One that has a VM of its own Debian."""

    def __init__(self, package, directory, names=("vm.kernel", "vm.initrd")):
        self.root = debian_root.Root(directory)
        self.boot, self.margay = self.root.boot, self.root.boot / "margay"
        self.root.dpkg("--install", package)
        config = self.root.path / "etc/default/margay-kernel"
        assert self.update().returncode == 0 and not list(self.margay.glob("*kernel*"))  # unasked it does nothing
        config.write_text("MARGAY_KERNEL=%s\nMARGAY_INITRD=%s\n" % names, encoding="ascii")
        (self.margay / "vm0.conf").write_text(node.vm_text("qemu", "", kernel="vm.kernel", initrd="vm.initrd"), encoding="ascii")
        self.hooks = self.root.path / "etc/kernel"
        for when in "postinst.d", "postrm.d":
            grub = self.hooks / when / "zz-update-grub"
            grub.write_text("#!/bin/sh\nexec update-grub\n", encoding="ascii")
            grub.chmod(0o755)
        initramfs = self.hooks / "postinst.d" / "initramfs-tools"
        initramfs.write_text('#!/bin/sh\nprintf 070701%s "$1" >"$ROOT/boot/initrd.img-$1"\n', encoding="ascii")
        initramfs.chmod(0o755)
        self.root.environment["PATH"] += ":%s/usr/sbin" % self.root.path
        self.root.called()

    def update(self, *words, **environment):
        return self.root.run("usr/sbin/margay-kernel", *(words or ("update",)), **environment)

    def parts(self, folder, version, file="vmlinuz"):
        return subprocess.run(["run-parts", "--arg=" + version, "--arg=%s/%s-%s" % (self.boot, file, version), folder],
                              env={**self.root.environment, "DPKG_ROOT": str(self.root.path)}, capture_output=True, text=True,
                              check=False)

    def install(self, version):
        (self.boot / ("vmlinuz-" + version)).write_bytes(image(version))
        return self.parts(self.hooks / "postinst.d", version)

    def remove(self, version):
        (self.boot / ("vmlinuz-" + version)).unlink()
        (self.boot / ("initrd.img-" + version)).unlink()
        return self.parts(self.hooks / "postrm.d", version)

    def pair(self, suffix=""):
        """The version of the VM's kernel, by its file, and what its initrd says; None: there is none."""
        kernel, initrd = (self.margay / (name + suffix) for name in ("vm.kernel", "vm.initrd"))
        if not kernel.exists() or not initrd.exists():
            assert not kernel.exists() and not initrd.exists()
            return None
        (version,) = [version for version in (OLD, NEW) if kernel.read_bytes() == image(version)]
        return version, initrd.read_text(encoding="ascii")[len("070701"):]


def test_installed_and_removed(package, tmp_path):
    """The newest is the VM's, the one before it stays while it is there, and GRUB has entries for both; all by one update-grub."""
    system = System(package, tmp_path)
    done = system.install(OLD)
    assert (done.returncode, done.stdout, done.stderr) == (0, "margay-kernel: the VM's kernel is %s\n" % OLD, "")
    assert system.pair() == (OLD, OLD) and system.pair(".previous") is None and system.root.called() == ["update-grub"]
    assert grub_entry.titles(system.root.grub_cfg()) == [ENTRY, "Margay: hardware check"]
    assert system.install(NEW).returncode == 0 and system.root.called() == ["update-grub"]
    assert system.pair() == (NEW, NEW) and system.pair(".previous") == (OLD, OLD)
    loads = {title: [words for command, words in grub_entry.boot(system.boot, title) if command == "module2"]
             for title in (ENTRY, BEFORE)}
    assert ["--nounzip", "%s/margay/vm.kernel" % system.boot, "vm.kernel"] in loads[ENTRY]
    assert ["--nounzip", "%s/margay/vm.initrd.previous" % system.boot, "vm.initrd"] in loads[BEFORE]
    assert ["--nounzip", "%s/margay/vm.kernel.previous" % system.boot, "vm.kernel"] in loads[BEFORE]
    # An older one again changes nothing, nor does the same again.
    assert system.install(OLD).stdout == "" and system.pair() == (NEW, NEW)
    # Where the newest goes, its modules go, too.
    assert system.remove(NEW).returncode == 0 and system.pair() == (OLD, OLD) and system.pair(".previous") is None
    assert grub_entry.titles(system.root.grub_cfg()) == [ENTRY, "Margay: hardware check"]
    assert system.install(NEW).returncode == 0 and system.remove(OLD).returncode == 0
    assert system.pair() == (NEW, NEW) and system.pair(".previous") is None
    # The last one: the VM keeps what it has, and the removal does not fail for that.
    done = system.remove(NEW)
    assert done.returncode == 0 and "the VM keeps its kernel" in done.stderr and system.pair() == (NEW, NEW)


def test_a_new_initrd(package, tmp_path):
    """By update-initramfs: the VM's becomes the same, and the previous pair stays that of another kernel."""
    system = System(package, tmp_path)
    system.install(OLD)
    system.install(NEW)
    system.root.called()
    (system.boot / ("initrd.img-" + NEW)).write_text("070701anew", encoding="ascii")
    done = system.parts(system.root.path / "etc/initramfs/post-update.d", NEW, "initrd.img")
    assert (done.returncode, done.stderr) == (0, "") and system.root.called() == ["update-grub"]
    assert system.pair() == (NEW, "anew") and system.pair(".previous") == (OLD, OLD)


def test_what_would_be_refused(package, tmp_path):
    """One line, and nothing changed: of a kernel that is none, of a disk that is full, of names that are none."""
    system = System(package, tmp_path)
    system.install(OLD)
    (system.boot / "vmlinuz-99").write_text("MZ", encoding="ascii")
    (system.boot / "initrd.img-99").write_text("070701", encoding="ascii")
    done = system.update()
    assert done.returncode == 1 and done.stderr.endswith("margay-kernel: the VM keeps its kernel: the hypervisor would refuse 99\n")
    assert system.pair() == (OLD, OLD)
    (system.boot / "vmlinuz-99").unlink()
    (system.boot / ("vmlinuz-" + NEW)).write_bytes(image(NEW))
    (system.boot / ("initrd.img-" + NEW)).write_text("070701", encoding="ascii")
    cp = system.root.programs / "cp"
    cp.write_text('#!/bin/sh\ncase $1 in *initrd*) exit 1 ;; esac\nexec /bin/cp "$@"\n', encoding="ascii")
    cp.chmod(0o755)
    done = system.update()
    assert (done.returncode, done.stderr.count("\n")) == (1, 1) and "no room" in done.stderr and system.pair() == (OLD, OLD)
    assert not [path for path in system.margay.iterdir() if path.name.startswith(".")]
    cp.unlink()
    for names in ("../x", "vm.initrd"), ("vm.kernel", "a b"), ("vm.kernel", ".hidden"):
        (system.root.path / "etc/default/margay-kernel").write_text("MARGAY_KERNEL='%s'\nMARGAY_INITRD='%s'\n" % names)
        done = system.update()
        assert (done.returncode, done.stderr.count("\n")) == (1, 1) and "expected a name" in done.stderr
    assert system.pair() == (OLD, OLD) and system.update("nonsense").returncode == 2


def test_a_package_that_is_gone(package, tmp_path):
    """Its hooks, which are files of configuration, stay until it is purged; they do nothing."""
    system = System(package, tmp_path)
    system.root.dpkg("--remove", "margay")
    assert (system.hooks / "postinst.d/margay").exists()
    done = system.install(OLD)
    assert (done.returncode, done.stdout + done.stderr) == (0, "") and system.pair() is None


@throwaway.ALLOWED
def test_the_page(package, tmp_path):
    """docs/booting.md, on a node that has the package."""
    tree = tmp_path / "tree"
    subprocess.run(["dpkg-deb", "-x", package, tree], check=True)
    probe = tree / "usr/sbin/grub-probe"
    probe.write_text("#!/bin/sh\necho /dev/nvme0n1p1\n", encoding="ascii")
    probe.chmod(0o755)
    typed = list(margay_pages.script("booting", "node"))
    assert typed
    script = "\n".join([
        "cp -r %s/boot/margay /boot/" % tree, "cp -r %s/etc/. /etc/" % tree, "mkdir -p /boot/grub",
        "grub-editenv /boot/grub/grubenv create", "cp /boot/margay/margay.elf /boot/margay/margay.elf.previous", *typed,
        "cmp /boot/vmlinuz-$(uname -r) /boot/margay/management.vmlinuz",
        "cmp /boot/initrd.img-$(uname -r) /boot/margay/management.initrd"])
    environment = {**os.environ, "MARGAY_UPDATE_GRUB": str(tree / "usr/share/margay/update-grub"),
                   "PATH": "%s/usr/sbin:%s/usr/bin:%s" % (tree, tree, os.environ["PATH"])}
    said, status = throwaway.run(script, str(tmp_path), str(tmp_path), environment, 300)
    assert status == 0, said
