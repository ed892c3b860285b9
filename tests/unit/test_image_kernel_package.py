# SPDX-License-Identifier: GPL-2.0-only
"""tools/margay-build --kernel-package: a root without a kernel, a Debian package of a made-up one, modules that gcc has made."""

import os
import subprocess

import pytest

import image_roots as roots
from image_roots import build, contents, differences
from margay_images import manifest

RELEASE = "6.12.1-amd64"
# What a module has that depmod reads: the symbols that it gives, and those that it asks for.
GIVES = 'const char given[] __attribute__((section("__ksymtab_strings"))) = "ring_symbol"; int __ksymtab_ring_symbol;'
ASKS = "extern void ring_symbol(void); void start(void); void start(void) { ring_symbol(); }"
MODULES = {"drivers/virtio/virtio_ring": GIVES, "drivers/virtio/virtio_pci": ASKS, "drivers/block/virtio_blk": ASKS,
           "fs/squashfs/squashfs": "", "fs/overlayfs/overlay": ""}
CONTROL = "Package: linux-image\nVersion: 1\nArchitecture: amd64\nMaintainer: x <x@x.invalid>\nDescription: x\n"


@pytest.fixture(name="package", scope="module")
def fixture_package(tmp_path_factory):
    """As Debian 12's: below /lib, without depmod's lists."""
    top = tmp_path_factory.mktemp("package")
    files = {"boot/vmlinuz-" + RELEASE: roots.kernel(b"installed"), "boot/config-" + RELEASE: b"\nCONFIG_SQUASHFS_ZSTD=y\n",
             "lib/modules/%s/modules.builtin" % RELEASE: b"", "lib/modules/%s/modules.order" % RELEASE: b"",
             "usr/share/doc/linux/copyright": b"x", "DEBIAN/control": CONTROL.encode()}
    for path, data in files.items():
        (top / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
        (top / "tree" / path).write_bytes(data)
    for path, source in MODULES.items():
        target = top / "tree/lib/modules" / RELEASE / "kernel" / (path + ".ko")
        target.parent.mkdir(parents=True, exist_ok=True)
        info = 'const char name[] __attribute__((section(".modinfo"))) = "name=%s";' % os.path.basename(path)
        subprocess.run(["gcc", "-c", "-x", "c", "-o", target, "-"], input=(info + source).encode(), check=True)
    os.chmod(top / "tree", 0o700)
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", top / "tree", top / "linux.deb"], check=True,
                   stdout=subprocess.DEVNULL)
    return str(top / "linux.deb")


@pytest.fixture(name="tree", scope="module")
def fixture_tree(tmp_path_factory):
    """A container's root, so to speak: /lib is a link to /usr/lib, and nothing of a kernel."""
    files = {path: data for path, data in roots.files().items() if not path.startswith(("boot/", "usr/lib/modules/"))}
    return roots.make(tmp_path_factory.mktemp("tree") / "tree", {**files, "usr/lib/os-release": b"ID=x\n"})


def test_kernel_of_a_package(tree, package, tmp_path):
    """The package's kernel, its modules where the root's link leads, and an initrd by the lists that depmod makes of them."""
    _, lines = build(tree, tmp_path / "none", status=1)
    assert len(lines) == 1 and lines[0].endswith("or give it by --kernel-package")
    build(tree, tmp_path / "image", "--kernel-package", package)
    value = manifest.of_directory(str(tmp_path / "image"))
    assert value["kernel_release"] == RELEASE and contents(tmp_path / "image")["kernel"].endswith(b"installed")
    order = subprocess.run(["cpio", "-i", "--quiet", "--to-stdout", "modules/order"], check=True, capture_output=True,
                           input=contents(tmp_path / "image")["initrd"]).stdout.decode().split()
    assert order == ["virtio_ring", "virtio_pci", "virtio_blk", "squashfs", "overlay"]
    out = str(tmp_path / "out")
    subprocess.run(["unsquashfs", "-quiet", "-no-progress", "-d", out, str(tmp_path / "image/root.squashfs")], check=True)
    modules = os.path.join(out, "usr/lib/modules", RELEASE)
    assert os.path.islink(out + "/lib") and os.path.exists(modules + "/kernel/fs/overlayfs/overlay.ko")
    assert {"modules.dep", "modules.dep.bin", "modules.alias", "modules.builtin"} <= set(os.listdir(modules))
    done = subprocess.run(["/sbin/modprobe", "-d", out, "-S", RELEASE, "--show-depends", "virtio_blk"], capture_output=True,
                          text=True, check=True)
    assert [line.split("/")[-1].strip() for line in done.stdout.splitlines()] == ["virtio_ring.ko", "virtio_blk.ko"]
    assert os.stat(out + "/usr").st_mode & 0o777 == 0o755 and open(out + "/usr/lib/os-release", "rb").read() == b"ID=x\n"


def test_same_bytes(tree, package, tmp_path):
    """depmod's lists are of the package alone, not of the hour in which they were made."""
    build(tree, tmp_path / "1", "--kernel-package", package)
    build(tree, tmp_path / "2", "--kernel-package", package, TZ="Asia/Tokyo")
    assert not differences(contents(tmp_path / "1"), contents(tmp_path / "2"))


def test_packages_that_are_refused(tree, tmp_path):
    """No package, and one without a kernel: one line, and nothing is left."""
    (tmp_path / "out").mkdir()
    (tmp_path / "text").write_text("no package")
    (tmp_path / "tree/DEBIAN").mkdir(parents=True)
    (tmp_path / "tree/DEBIAN/control").write_text(CONTROL)
    subprocess.run(["dpkg-deb", "--build", tmp_path / "tree", tmp_path / "empty.deb"], check=True, stdout=subprocess.DEVNULL)
    for name, text in (("text", "no package of Debian"), ("empty.deb", "0 kernels with their modules in it, not one")):
        _, lines = build(tree, tmp_path / "out/image", "--kernel-package", str(tmp_path / name), status=1)
        assert len(lines) == 1 and text in lines[0], lines
    assert os.listdir(tmp_path / "out") == []
