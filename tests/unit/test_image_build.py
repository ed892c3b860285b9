# SPDX-License-Identifier: GPL-2.0-only
"""tools/margay-build over a small root with a made-up kernel: the same bytes each time, secrets out, one line for what cannot be.

What is in an image is read by unsquashfs and cpio. That it boots is not shown here.
"""

import errno
import filecmp
import json
import os
import stat
import struct
import subprocess
import tarfile
import time

import pytest
import zstandard

import image_roots as roots
from image_roots import build, contents, differences
from margay_images import acls, build as building, kernel, manifest, root, root_sources, version_order
from margay_images.errors import ImageError


@pytest.fixture(name="made", scope="module")
def fixture_made(tmp_path_factory):
    """(the tree, the image of it, the lines of its making)"""
    top = tmp_path_factory.mktemp("made")
    tree = roots.make(top / "tree")
    out, complaints = build(tree, top / "image")
    assert complaints == []
    return tree, str(top / "image"), out


def pack(tree, target, *options):
    subprocess.run(["tar", "--numeric-owner", "--xattrs", "--xattrs-include=*", "-C", tree, *options, "-cf", str(target), "."],
                   check=True)
    return target


def unpack(image, target):
    subprocess.run(["unsquashfs", "-quiet", "-no-progress", "-d", str(target), os.path.join(image, "root.squashfs")], check=True)
    return str(target)


def test_image(made):
    """The four files, as the manifest says them; the kernel is the root's."""
    tree, image, out = made
    assert sorted(os.listdir(image)) == ["initrd", "kernel", "manifest.json", "root.squashfs"]
    value = manifest.of_directory(image)
    assert (value["name"], value["version"], value["kernel_release"], value["created"], value["cmdline"], value["needs"]) == \
        ("test", "1", roots.RELEASE, roots.TIME, "console=ttyS0", {"memory_mib": 256, "options": ["CONFIG_VIRTIO"]})
    assert filecmp.cmp(os.path.join(image, "kernel"), os.path.join(tree, "boot/vmlinuz-" + roots.RELEASE), shallow=False)
    assert out[-1].startswith("margay-build: %s: test:1, Linux %s: kernel 0.0 MB, initrd " % (image, roots.RELEASE))
    assert all(os.stat(os.path.join(image, name)).st_mode & 0o777 == 0o644 for name in os.listdir(image))


def test_same_input_same_bytes(made, tmp_path):
    """Made anew in another order and place, and as archives of each compression, whose own order is another."""
    wanted = contents(made[1])
    again = roots.make(tmp_path / "again", backwards=True)
    build(again, tmp_path / "again.image", TZ="Asia/Tokyo", LC_ALL="C")
    assert not differences(contents(tmp_path / "again.image"), wanted)
    names = ["proc", "usr", "var", "etc", "boot", "a file\nof \udcff name", *sorted(set(os.listdir(again)))]
    backwards = tmp_path / "backwards.tar"
    with tarfile.open(backwards, "w", format=tarfile.PAX_FORMAT) as tar:
        for name in dict.fromkeys(names[::-1]):
            tar.add(os.path.join(again, name), arcname="./" + name, filter=with_xattrs(again))
    for number, archive in enumerate((pack(again, tmp_path / "plain"), pack(again, tmp_path / "gz", "-z"),
                                      pack(again, tmp_path / "xz", "-J"), pack(again, tmp_path / "zst", "--zstd"), backwards)):
        build(archive, tmp_path / str(number))
        assert not differences(contents(tmp_path / str(number)), wanted), archive


def with_xattrs(top):
    def add(info):
        path = os.path.join(top, info.name)
        if info.isreg() and not os.path.islink(path):
            info.pax_headers = {"SCHILY.xattr." + name: os.getxattr(path, name).decode("utf-8", "surrogateescape")
                                for name in os.listxattr(path)}
        return info
    return add


def test_another_input_gives_others(made, tmp_path):
    """The control: one byte, one mode, one time is enough."""
    wanted = contents(made[1])["root.squashfs"]
    for number, change in enumerate((lambda top: open(top + "/etc/hostname", "w", encoding="ascii").write("edon\n"),
                                     lambda top: os.chmod(top + "/etc/passwd", 0o600),
                                     lambda top: os.utime(top + "/etc/passwd", (5, 5)))):
        tree = roots.make(tmp_path / ("tree%d" % number))
        change(tree)
        os.utime(os.path.join(tree, "etc/hostname"), (roots.TIME, roots.TIME))
        build(tree, tmp_path / str(number))
        assert contents(tmp_path / str(number))["root.squashfs"] != wanted, number


def test_source_date_epoch(tmp_path):
    """What is newer has that time, as others do it: trees made at different hours are the same."""
    images = []
    for number, when in enumerate((roots.TIME + 5, roots.TIME + 500)):
        tree = roots.make(tmp_path / ("tree%d" % number), time=when)
        build(tree, tmp_path / str(number), SOURCE_DATE_EPOCH=str(roots.TIME))
        images.append(contents(tmp_path / str(number)))
    assert not differences(*images) and json.loads(images[0]["manifest.json"])["created"] == roots.TIME
    assert "SOURCE_DATE_EPOCH=soon" in build(tmp_path / "tree0", tmp_path / "x", status=1, SOURCE_DATE_EPOCH="soon")[1][0]


def test_times_in_the_future(tmp_path):
    """One that comes within a second is waited for; of a later one a line says that the next image will be another."""
    lines, soon = [], int(time.time()) + 1
    building.let_come(soon, lines.append)
    assert time.time() >= soon and not lines
    tree = roots.make(tmp_path / "tree", time=4_000_000_000)
    out, _ = build(tree, tmp_path / "image")
    assert "margay-build: not the same bytes next time: 2096-10-02 07:06:40 UTC, the newest time in it, is in the future " \
        "(SOURCE_DATE_EPOCH)" in out
    out, _ = build(tree, tmp_path / "again", SOURCE_DATE_EPOCH=str(int(time.time())))
    assert not any("not the same" in line for line in out)


def test_the_root_has_the_time_of_the_newest(tmp_path):
    """The image's own folder, which is in no archive, too, though a file's time, which umoci has rounded, was still to come."""
    newest = int(time.time()) + 1
    build(roots.make(tmp_path / "tree", time=newest), tmp_path / "image")
    assert os.stat(unpack(tmp_path / "image", tmp_path / "out")).st_mtime == newest


def seen(path):
    """What a file system says of a path, but what differs by place."""
    status = os.lstat(path)
    kind = stat.S_IFMT(status.st_mode)
    links = status.st_nlink if kind == stat.S_IFREG else 0
    data = open(path, "rb").read() if kind == stat.S_IFREG else os.readlink(path) if kind == stat.S_IFLNK else b""
    return kind, stat.S_IMODE(status.st_mode), status.st_uid, status.st_gid, int(status.st_mtime), links, data, \
        {name: os.getxattr(path, name, follow_symlinks=False) for name in os.listxattr(path, follow_symlinks=False)}


def paths(top):
    top = os.fsencode(top)
    return {os.path.relpath(os.path.join(folder, name), top) for folder, folders, files in os.walk(top) for name in folders + files}


def test_root_is_the_tree(made, tmp_path):
    """Each file with its bytes, mode, owner, time, links and attributes; but for secrets and what is of a system that runs."""
    tree, image, _ = made
    out = unpack(image, tmp_path / "out")
    gone = {path.encode() for path in roots.SECRETS} | {b"tmp/rest", b"run/rest"} | \
        {b"boot/vmlinuz-" + roots.RELEASE.encode(), b"boot/initrd.img-" + roots.RELEASE.encode()}
    assert paths(tree) - paths(out) == gone and paths(out) <= paths(tree)
    for path in paths(out) - {b"etc/machine-id"}:
        assert seen(os.path.join(os.fsencode(out), path)) == seen(os.path.join(os.fsencode(tree), path)), path
    assert os.stat(out + "/usr/bin/tool").st_nlink == 2 and os.stat(out + "/usr/bin/tool").st_mode & 0o7777 == 0o4755
    assert os.getxattr(out + "/etc/hostname", "user.margay") == b"\x00\xff\x80"


def test_secrets(made, tmp_path):
    """None is in the image, each is a line; what only looks like one stays."""
    _, image, lines = made
    out = unpack(image, tmp_path / "out")
    for path in paths(out):
        path = os.path.join(os.fsencode(out), path)
        assert not os.path.isfile(path) or os.path.islink(path) or roots.SECRET not in open(path, "rb").read(), path
    assert all(os.path.exists(os.path.join(out, path)) for path in roots.STAY)
    taken = [line.removeprefix("margay-build: taken out: ").split(", ")[0] for line in lines if "taken out" in line]
    assert taken == sorted(roots.SECRETS) + ["etc/machine-id"]
    assert open(os.path.join(out, "etc/machine-id"), "rb").read() == b"" and os.path.islink(out + "/var/lib/dbus/machine-id")
    assert "margay-build: stays: etc/shadow, with a password of user" in lines


def test_secret_that_is_kept(made, tmp_path):
    """By its owner's word: a key by which all VMs of one image let each other in."""
    lines, _ = build(made[0], tmp_path / "image", "--keep", "/root/.ssh/id_ed25519", "--keep", "etc/machine-id")
    assert "margay-build: kept as told: root/.ssh/id_ed25519, private key of ssh" in lines
    out = unpack(str(tmp_path / "image"), tmp_path / "out")
    assert open(out + "/root/.ssh/id_ed25519", "rb").read() == roots.SECRET
    assert len(open(out + "/etc/machine-id", "rb").read()) == 33 and not os.path.exists(out + "/home/user/.ssh/id_rsa")
    _, lines = build(made[0], tmp_path / "none", "--keep", "root/.ssh/id_ed25518", status=1)
    assert len(lines) == 1 and lines[0].endswith("--keep root/.ssh/id_ed25518: there is no such file in it")


def test_initrd(made, tmp_path):
    """What cpio unpacks: init, busybox, and the modules behind what they need, ready to be loaded."""
    subprocess.run(["cpio", "-i", "--quiet", "--no-absolute-filenames", "--nonmatching", "dev/console"], check=True, cwd=tmp_path,
                   stdin=open(os.path.join(made[1], "initrd"), "rb"))
    order = (tmp_path / "modules/order").read_text().split()
    assert order == roots.ORDER
    assert all((tmp_path / "modules" / (name + ".ko")).read_bytes() == name.encode() for name in order)
    assert os.access(tmp_path / "init", os.X_OK) and (tmp_path / "init").read_text().startswith("#!/bin/busybox sh\n")
    done = subprocess.run([tmp_path / "bin/sh", "-n", tmp_path / "init"], check=False)
    assert done.returncode == 0
    listed = subprocess.run(["cpio", "-itv", "--quiet"], stdin=open(os.path.join(made[1], "initrd"), "rb"), capture_output=True,
                            text=True, check=True).stdout
    console = [line for line in listed.splitlines() if line.endswith("dev/console")]
    assert len(console) == 1 and console[0].startswith("crw-------") and " 5,   1 " in console[0]


def test_init_has_its_programs(tmp_path):
    """What init.sh calls is in the initrd: each first word of a command is the shell's own, a function of it, or an applet."""
    from margay_images import initrd
    with open(initrd.INIT, encoding="ascii") as f:
        text = f.read()
    called = {name for name in subprocess.run(["/bin/busybox", "--list"], capture_output=True, text=True, check=True).stdout.split()
              if any(word == name for line in text.split("\n") if not line.lstrip().startswith("#")
                     for word in command_words(line))}
    own = {"echo", "[", "test", "printf", "true", "false", "sh"}
    assert called - own <= set(initrd.APPLETS) and {"mount", "insmod", "switch_root", "mke2fs"} <= called


def command_words(line):
    """The words of a line at which a command may begin."""
    for separator in ("&&", "||", "$(", "|", ";", "; then", "if ", "exec ", "until ", "\"$("):
        line = line.replace(separator, "\n")
    return [part.split()[0] for part in line.split("\n") if part.split()]


def test_newest_kernel(tmp_path):
    """Of several; or the one that is asked for."""
    for number, (older, newer) in enumerate((("4.18.0-305.el8", "4.18.0-305.3.1.el8_4"), ("6.9.0-1-amd64", "6.10.0-1-amd64"))):
        tree = roots.make(tmp_path / ("tree%d" % number), {**roots.files(older), **roots.files(newer)})
        build(tree, tmp_path / str(number))
        assert manifest.of_directory(str(tmp_path / str(number)))["kernel_release"] == newer
    build(tree, tmp_path / "older", "--kernel", "6.9.0-1-amd64")
    assert contents(tmp_path / "older")["kernel"].endswith(b"6.9.0-1-amd64")
    assert "no kernel 6.11 in it" in build(tree, tmp_path / "none", "--kernel", "6.11", status=1)[1][0]


@pytest.mark.parametrize("newer, older", (
    ("4.18.0-305.3.1.el8_4.x86_64", "4.18.0-305.el8.x86_64"), ("5.14.0-362.24.1.el9_3.x86_64", "5.14.0-362.8.1.el9_3.x86_64"),
    ("6.8.0-151-generic", "6.8.0-90-generic"), ("6.1.0-10-amd64", "6.1.0-9-amd64"), ("6.12.95+deb12-amd64", "6.1.0-57-amd64"),
    ("6.10.0-amd64", "6.10~rc7-amd64"), ("6.10-1", "6.10"), ("6.10", "6.10~rc1"), ("6.10.1", "6.10.rc1")))
def test_order_of_kernels(newer, older):
    """RPM's, of all distributions' releases; Debian's own order has the first pair the other way round."""
    assert version_order.kernel_key(newer) > version_order.kernel_key(older)


def rpm_files(config=b"CONFIG_SQUASHFS=m\nCONFIG_SQUASHFS_ZLIB=y\nCONFIG_SQUASHFS_ZSTD=y\n"):
    """As RPMs of RHEL have it: kernel and configuration beside the modules, all of which are packed, squashfs among them."""
    release = "5.14.0-362.24.1.el9_3.x86_64"
    folder = "usr/lib/modules/%s/" % release
    squashfs = "kernel/fs/squashfs/squashfs.ko.xz"
    files = {path: data for path, data in roots.files(release).items() if not path.startswith(("boot/", "var/lib/systemd/"))}
    files.update({folder + "vmlinuz": roots.kernel(b"of an RPM"), folder + "config": config,
                  folder + squashfs: roots.lzma.compress(b"sq"), folder + "modules.builtin": b"",
                  folder + "modules.dep": (roots.DEP + squashfs + ":\n").encode()})
    if config is None:
        del files[folder + "config"]
    return {**files, "var/lib/rpm/rpmdb.sqlite": b"database", "usr/lib/sysimage/rpm/rpmdb.sqlite": b"database",
            "etc/os-release": b'ID_LIKE="rhel fedora"\n', "etc/machine-id": b"uninitialized\n"}


RPM_SECRETS = ("etc/pki/consumer/key.pem", "etc/pki/entitlement/1234-key.pem", "root/anaconda-ks.cfg", "root/original-ks.cfg",
               "etc/sysconfig/network-scripts/keys-site", "var/lib/sss/secrets/.secrets.mkey", "etc/insights-client/machine-id",
               "etc/cockpit/ws-certs.d/0-self-signed.key", "var/lib/ubuntu-advantage/private/machine-token.json",
               "var/lib/snapd/device/private-keys-v1/x")
RPM_STAY = ("etc/pki/consumer/cert.pem", "etc/pki/entitlement/1234.pem", "root/ks.cfg", "etc/cockpit/ws-certs.d/0-self-signed.cert")


def test_root_of_rpms(tmp_path):
    """Its kernel is found and its modules are unpacked; what RHEL's and Ubuntu's subscriptions leave is out, the database stays."""
    secret = {path: roots.SECRET for path in RPM_SECRETS}
    tree = roots.make(tmp_path / "tree", {**rpm_files(), **secret, **{path: b"no secret" for path in RPM_STAY}})
    said, _ = build(tree, tmp_path / "image")
    assert contents(tmp_path / "image")["kernel"].endswith(b"of an RPM")
    assert manifest.of_directory(str(tmp_path / "image"))["kernel_release"] == "5.14.0-362.24.1.el9_3.x86_64"
    order = subprocess.run(["cpio", "-i", "--quiet", "--to-stdout", "modules/order", "modules/squashfs.ko"], check=True,
                           capture_output=True, input=contents(tmp_path / "image")["initrd"]).stdout.decode()
    assert sorted(order.split()) == sorted([*roots.ORDER, "squashfs", "sq"])
    out = unpack(str(tmp_path / "image"), tmp_path / "out")
    assert not any(os.path.lexists(os.path.join(out, path)) for path in RPM_SECRETS)
    assert all(os.path.exists(os.path.join(out, path)) for path in
               (*RPM_STAY, "var/lib/rpm/rpmdb.sqlite", "usr/lib/sysimage/rpm/rpmdb.sqlite"))
    assert open(os.path.join(out, "etc/machine-id"), "rb").read() == b""
    assert not [line for line in said if "etc/machine-id" in line], "there was none in it"


@pytest.mark.parametrize("config, wanted", ((None, "zstd"), (b"CONFIG_SQUASHFS_ZLIB=y\nCONFIG_SQUASHFS_ZSTD=y\n", "zstd"),
                                            (b"CONFIG_SQUASHFS_ZLIB=y\n# CONFIG_SQUASHFS_ZSTD is not set\n", "gzip")))
def test_compressor_is_one_that_the_kernel_reads(tmp_path, config, wanted):
    """RHEL 8's reads no zstd."""
    build(roots.make(tmp_path / "tree", rpm_files(config)), tmp_path / "image")
    done = subprocess.run(["unsquashfs", "-stat", str(tmp_path / "image/root.squashfs")], capture_output=True, text=True,
                          check=True)
    assert "Compression %s\n" % wanted in done.stdout


def with_changed(path, data):
    """The files of a root but with another one, or without it."""
    files = {**roots.files(), path: data}
    return {name: data for name, data in files.items() if data is not None}


MODULES = "usr/lib/modules/%s/" % roots.RELEASE


@pytest.mark.parametrize("text, path, data", (
    ("no kernel in it: install one there", "boot/vmlinuz-" + roots.RELEASE, None),
    ("is no kernel for x86", "boot/vmlinuz-" + roots.RELEASE, b"x" * 1000),
    ("is no kernel for x86", "boot/vmlinuz-" + roots.RELEASE, b""),
    ("modules.dep is missing: run depmod there", MODULES + "modules.dep", None),
    ("has no virtio_blk (CONFIG_VIRTIO_BLK; RHEL has some modules in kernel-modules)", MODULES + "modules.dep",
     roots.DEP.replace("virtio_blk.ko:", "x.ko:").encode()),
    ("has no squashfs (CONFIG_SQUASHFS; ", MODULES + "modules.builtin", b""),
    ("reads no squashfs of zstd or gzip (CONFIG_SQUASHFS_ZSTD, CONFIG_SQUASHFS_ZLIB)", "boot/config-" + roots.RELEASE,
     b"# CONFIG_SQUASHFS_ZSTD is not set\nCONFIG_SQUASHFS_XZ=y\n"),
    ("virtio_pci.ko is missing, though modules.dep names it", MODULES + "kernel/drivers/virtio/virtio_pci.ko", None),
    ("ext4.ko.xz: damaged", MODULES + "kernel/fs/ext4/ext4.ko.xz", b"\xfd7zXZ\0 damaged"),
    pytest.param("jbd2.ko.zst: damaged: it is cut", MODULES + "kernel/fs/jbd2/jbd2.ko.zst", zstandard.compress(b"jbd2" * 99)[:-3],
                 id="cut zst"),
    pytest.param("crc32c_generic.ko.gz: damaged", MODULES + "kernel/crypto/crc32c_generic.ko.gz",
                 roots.gzip.compress(b"crc32c" * 99)[:-3], id="cut gz"),
    ("no root file system that starts: it has no /sbin/init", "usr/sbin/init", None),
))
def test_roots_that_are_refused(tmp_path, text, path, data):
    """One line, and nothing is left."""
    tree = roots.make(tmp_path / "tree", with_changed(path, data))
    (tmp_path / "out").mkdir()
    out, lines = build(tree, tmp_path / "out" / "image", status=1)
    assert len(lines) == 1 and text in lines[0] and lines[0].startswith("margay-build: "), lines
    assert os.listdir(tmp_path / "out") == []


def test_memory_has_an_end(monkeypatch):
    """A module that unpacks to more than any has, and a file that is longer, are refused before they are in memory."""
    monkeypatch.setattr(kernel, "WHOLE", 1000)
    for suffix, pack_one in (("xz", roots.lzma.compress), ("gz", roots.gzip.compress), ("zst", zstandard.compress)):
        assert kernel.expand(pack_one(bytes(1000)), "x.ko." + suffix) == bytes(1000)
        with pytest.raises(ImageError, match="x.ko.%s: unpacks to more than 1000 bytes" % suffix):
            kernel.expand(pack_one(bytes(1001)), "x.ko." + suffix)
    with pytest.raises(ImageError, match="modules.dep: %d bytes are too many" % (root.WHOLE + 1)):
        root.Entry("file", size=root.WHOLE + 1).read("modules.dep")


def test_not_into_itself(made, tmp_path):
    """An image in the tree that it is made of would be in the next image."""
    tree = roots.make(tmp_path / "tree")
    os.symlink(tree, tmp_path / "link")
    for target in os.path.join(tree, "image"), str(tmp_path / "link" / "srv"):
        assert "of which it is made" in build(tree, target, status=1)[1][0]
    build(tree, tmp_path / "tree-image")
    assert not differences(contents(tmp_path / "tree-image"), contents(made[1]))


def test_file_systems_without_attributes(made, tmp_path, monkeypatch):
    """As many on a network: their files have none. Another error is one."""
    def listxattr(path, follow_symlinks):
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(os, "listxattr", listxattr)
    number = errno.ENOTSUP
    assert not any(entry.xattrs for entry in root_sources.of(made[0], str(tmp_path)).entries.values())
    number = errno.EIO
    with pytest.raises(OSError):
        root_sources.of(made[0], str(tmp_path))


def test_access_control_lists(tmp_path):
    """A squashfs has none: the group's bits of the mode, which are the list's mask, become what the group itself may."""
    tree = roots.make(tmp_path / "tree")
    # The owner 6, user 1234 6, the group 4, all of them at most 6, others 0.
    items = ((1, 6, 2**32 - 1), (2, 6, 1234), (4, 4, 2**32 - 1), (16, 6, 2**32 - 1), (32, 0, 2**32 - 1))
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *item) for item in items)
    os.setxattr(tree + "/etc/passwd", acls.ACCESS, acl)
    assert os.stat(tree + "/etc/passwd").st_mode & 0o777 == 0o660
    lines, _ = build(tree, tmp_path / "image")
    assert "margay-build: left out: access control lists, which squashfs has not, of 1 files, the first is etc/passwd" in lines
    out = unpack(str(tmp_path / "image"), tmp_path / "out")
    assert os.stat(out + "/etc/passwd").st_mode & 0o777 == 0o640
    assert [acls.of_group(value) for value in (acl, acl[:-1], b"", acl[:4])] == [4, 0, 0, 0]


def archive_of(path, *members, **fields):
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, kind, target in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            info.pax_headers = fields
            tar.addfile(info)
    return path


def test_links_of_archives(tmp_path):
    """A hard link's file is where the links in its path lead."""
    archive = archive_of(tmp_path / "tar", ("lib", tarfile.SYMTYPE, "usr/lib"), ("lib/x", tarfile.REGTYPE, ""),
                         ("y", tarfile.LNKTYPE, "./lib/x"))
    entries = root_sources.of(str(archive), str(tmp_path)).entries
    assert set(entries) == {"lib", "usr", "usr/lib", "usr/lib/x", "y"}
    assert entries["y"].inode == entries["usr/lib/x"].inode is not None


def test_archives_that_are_refused(tmp_path):
    """What leaves the root, links to nothing, is cut or no archive at all: one line each, and nothing is left."""
    (tmp_path / "out").mkdir()
    tree = roots.make(tmp_path / "tree")
    whole, packed = pack(tree, tmp_path / "whole").read_bytes(), pack(tree, tmp_path / "packed", "-z").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:len(whole) // 2])
    (tmp_path / "cut.gz").write_bytes(packed[:len(packed) // 2])
    with tarfile.open(tmp_path / "whole") as tar:
        between = tar.getmembers()[9].offset
    (tmp_path / "between").write_bytes(whole[:between])
    (tmp_path / "flipped").write_bytes(whole[:between] + b"x" + whole[between + 1:])
    (tmp_path / "cut.zst").write_bytes(zstandard.compress(whole)[:-1000])
    (tmp_path / "text").write_text("no archive\n" * 100)
    for text, path in (
            ("has a file outside of itself: ../x", archive_of(tmp_path / "up", ("../x", tarfile.REGTYPE, ""))),
            ("x is a link to y, which is not there", archive_of(tmp_path / "link", ("x", tarfile.LNKTYPE, "y"))),
            ("no root file system: it has no /dev", archive_of(tmp_path / "empty", ("x", tarfile.REGTYPE, ""))),
            ("x has files in it and is none that can",
             archive_of(tmp_path / "odd", ("x", tarfile.REGTYPE, ""), ("x/y", tarfile.REGTYPE, ""))),
            ("x has files in it and is none that can",
             archive_of(tmp_path / "late", ("x/y", tarfile.REGTYPE, ""), ("x", tarfile.SYMTYPE, "etc"))),
            ("has a file outside of itself: ../y", archive_of(tmp_path / "out-link", ("x", tarfile.LNKTYPE, "../y"))),
            ("x has no time that a file can have: nan", archive_of(tmp_path / "nan", ("x", tarfile.REGTYPE, ""), mtime="nan")),
            ("cut: at byte %d" % between, tmp_path / "between"), ("cut: at byte %d" % between, tmp_path / "flipped"),
            ("", tmp_path / "cut.zst"), ("", tmp_path / "cut"), ("cut.gz: damaged", tmp_path / "cut.gz"),
            ("no tar archive", tmp_path / "text"),
            ("neither a directory nor a file", tmp_path / "nothing")):
        _, lines = build(path, tmp_path / "out" / "image", status=1)
        assert len(lines) == 1 and text in lines[0], lines
        assert os.listdir(tmp_path / "out") == []


def test_device_nodes_and_owners(made, tmp_path):
    """Of an archive, by whoever is not root; one without its folders' entries has them all the same."""
    tree = made[0]
    with tarfile.open(tmp_path / "tar", "w", format=tarfile.PAX_FORMAT) as tar:
        for folder in roots.FOLDERS:
            tar.add(os.path.join(tree, folder), arcname=folder)
        for path in ("boot", "usr", "lib", "sbin"):
            tar.add(os.path.join(tree, path), arcname=path)
        info = tarfile.TarInfo("srv/deep/null")
        info.type, info.devmajor, info.devminor, info.uid, info.gid, info.mode = tarfile.CHRTYPE, 1, 3, 1234, 70000, 0o666
        tar.addfile(info)
    build(tmp_path / "tar", tmp_path / "image")
    listed = subprocess.run(["unsquashfs", "-lln", str(tmp_path / "image/root.squashfs")], capture_output=True, text=True,
                            check=True).stdout
    null = [line.split()[:4] for line in listed.splitlines() if line.endswith("srv/deep/null")]
    assert null == [["crw-rw-rw-", "1234/70000", "1,", "3"]]
    assert any(line.startswith("drwxr-xr-x 0/0") and line.endswith("srv/deep") for line in listed.splitlines())


def test_what_stops_it(made, tmp_path):
    """A sqfstar that fails, a name that is no name, a directory that is there: one line, and nothing is left."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "out").mkdir()
    fake = tmp_path / "bin" / "sqfstar"
    path = "%s:%s" % (tmp_path / "bin", os.environ["PATH"])
    for script, text in (("head -c 1000 >/dev/null; echo 'No space left on device' >&2; exit 1", "No space left on device"),
                         ("cat >/dev/null", "status 0"), ("cat >/dev/null; for out; do :; done; echo x >\"$out\"", "status 0")):
        fake.write_text("#!/bin/sh\n%s\n" % script)
        fake.chmod(0o755)
        _, lines = build(made[0], tmp_path / "out/image", status=1, PATH=path)
        assert len(lines) == 1 and "sqfstar cannot write" in lines[0] and text in lines[0], lines
    assert "is there already" in build(made[0], tmp_path / "bin", status=1)[1][0]
    assert "--image-version latest" in build(made[0], tmp_path / "out/image", "--image-version", "latest", status=1)[1][0]
    assert "--name X" in build(made[0], tmp_path / "out/image", "--name", "X", status=1)[1][0]
    assert "--cmdline" in build(made[0], tmp_path / "out/image", "--cmdline", "a\nb", status=1)[1][0]
    assert os.listdir(tmp_path / "out") == []


def test_sockets_and_mounts_stay_out(tmp_path):
    """Of a tree in which something runs."""
    tree = roots.make(tmp_path / "tree")
    os.mknod(os.path.join(tree, "etc/socket"), stat.S_IFSOCK | 0o600)
    os.mkfifo(os.path.join(tree, "etc/fifo"))
    script = 'mount -t tmpfs none "$1/proc" && touch "$1/proc/not-this" && exec "$0" "$1" "$2" --name test --image-version 1'
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    done = subprocess.run([*unshare, "sh", "-c", script, roots.TOOL, tree, str(tmp_path / "image")], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert "margay-build: left out: etc/socket, a socket" in done.stdout and "left out: what is mounted at proc" in done.stdout
    out = unpack(str(tmp_path / "image"), tmp_path / "out")
    assert not os.path.exists(out + "/etc/socket") and stat.S_ISFIFO(os.stat(out + "/etc/fifo").st_mode)
    assert os.listdir(out + "/proc") == []
