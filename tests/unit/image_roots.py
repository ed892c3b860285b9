# SPDX-License-Identifier: GPL-2.0-only
"""A small root file system for the tests of margay-build: a made-up kernel, modules in each compression, and secrets."""

import gzip
import lzma
import os
import subprocess
import sys

import zstandard

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(TOP, "tools", "margay-build")
RELEASE = "6.1.0-41-amd64"
TIME = 1_600_000_000
SECRET = b"-----SECRET-----"


def kernel(mark=b"kernel"):
    """What begins like a bzImage (boot protocol 2.15)."""
    return bytes(0x202) + b"HdrS" + b"\x0f\x02" + bytes(0x100) + mark


MODULES = {
    "kernel/fs/ext4/ext4.ko.xz": lzma.compress(b"ext4"), "kernel/fs/jbd2/jbd2.ko.zst": zstandard.compress(b"jbd2"),
    "kernel/crypto/crc32c_generic.ko.gz": gzip.compress(b"crc32c_generic"),
    "kernel/arch/x86/crypto/crc32c-intel.ko": b"crc32c_intel",
    "kernel/drivers/virtio/virtio_ring.ko": b"virtio_ring", "kernel/drivers/virtio/virtio_pci.ko": b"virtio_pci",
    "kernel/drivers/block/virtio_blk.ko": b"virtio_blk", "kernel/fs/overlayfs/overlay.ko": b"overlay",
    "kernel/drivers/net/none.ko": b"none",
}
DEP = """kernel/fs/ext4/ext4.ko.xz: kernel/fs/jbd2/jbd2.ko.zst
kernel/fs/jbd2/jbd2.ko.zst:
kernel/crypto/crc32c_generic.ko.gz:
kernel/arch/x86/crypto/crc32c-intel.ko:
kernel/drivers/virtio/virtio_ring.ko:
kernel/drivers/virtio/virtio_pci.ko: kernel/drivers/virtio/virtio_ring.ko
kernel/drivers/block/virtio_blk.ko: kernel/drivers/virtio/virtio_ring.ko
kernel/fs/overlayfs/overlay.ko:
kernel/drivers/net/none.ko:
"""
LISTS = {
    "modules.dep": DEP, "modules.builtin": "kernel/fs/squashfs/squashfs.ko\n",
    "modules.softdep": "softdep jbd2 pre: crypto-crc32c\nsoftdep virtio_blk pre: not-there post: none\n",
    "modules.alias": "alias crypto-crc32c crc32c_intel\nalias crypto-crc32c crc32c_generic\nalias pci:v*d* virtio_pci\n",
}
# As init.sh loads them.
ORDER = ["virtio_ring", "virtio_pci", "virtio_blk", "overlay", "crc32c_intel", "crc32c_generic", "jbd2", "ext4"]
SECRETS = ("etc/ssh/ssh_host_ed25519_key", "etc/ssh/ssh_host_ed25519_key.pub", "etc/munge/munge.key", "etc/krb5.keytab",
           "etc/ssl/private/ssl-cert-snakeoil.key", "var/lib/systemd/random-seed", "root/.ssh/id_ed25519", "home/user/.ssh/id_rsa",
           "root/.bash_history", "etc/NetworkManager/system-connections/site.nmconnection", "var/spool/slurmctld/jwt_hs256.key",
           "etc/pki/tls/private/node.key", "etc/apt/auth.conf.d/site.conf", "etc/nvme/hostid", "home/user/.docker/config.json",
           "root/.netrc")
STAY = ("etc/ssh/sshd_config", "etc/ssh/ssh_host_notes", "root/.ssh/authorized_keys", "etc/munge/README", "etc/ssl/certs/ca.pem")


def files(release=RELEASE):
    """{path: bytes}"""
    modules = "usr/lib/modules/%s/" % release
    return {
        "boot/vmlinuz-" + release: kernel(release.encode()), "boot/initrd.img-" + release: b"initrd",
        **{modules + path: data for path, data in MODULES.items()},
        **{modules + name: text.encode() for name, text in LISTS.items()},
        "usr/sbin/init": b"\x7fELF init", "usr/bin/tool": bytes(range(256)) * 2000, "etc/hostname": b"node\n",
        "etc/passwd": b"root:x:0:0::/root:/bin/sh\n", "etc/shadow": b"root:*:1::::::\nuser:$y$abc:1::::::\n",
        "tmp/rest": b"rest", "run/rest": b"rest", "var/tmp/stays": b"stays", "a file\nof \xff name": b"odd",
        "etc/machine-id": b"0123456789abcdef0123456789abcdef\n",
        **{path: SECRET for path in SECRETS}, **{path: path.encode() for path in STAY}}


FOLDERS = ("proc", "sys", "dev")
LINKS = {"sbin": "usr/sbin", "lib": "usr/lib", "etc/mtab": "../proc/mounts", "var/lib/dbus/machine-id": "/etc/machine-id"}


def encoded(path):
    return path.encode("latin-1") if "\xff" in path else path.encode()


def make(top, contents=None, time=TIME, backwards=False):
    """A tree, and its path; in another order it is made differently, but the same."""
    contents = files() if contents is None else contents
    order = sorted(contents, reverse=backwards)
    for path in order:
        name = os.path.join(os.fsencode(top), encoded(path))
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as f:
            f.write(contents[path])
    for folder in FOLDERS:
        os.makedirs(os.path.join(top, folder), exist_ok=True)
    for path, target in LINKS.items():
        os.makedirs(os.path.dirname(os.path.join(top, path)), exist_ok=True)
        os.symlink(target, os.path.join(top, path))
    os.link(os.path.join(top, "usr/bin/tool"), os.path.join(top, "usr/bin/a-tool"))
    os.chmod(os.path.join(top, "usr/bin/tool"), 0o4755)
    os.setxattr(os.path.join(top, "etc/hostname"), "user.margay", b"\x00\xff\x80")
    for folder, folders, names in os.walk(os.fsencode(top), topdown=False):
        for name in names + folders:
            os.utime(os.path.join(folder, name), (time, time), follow_symlinks=False)
            if not os.path.islink(os.path.join(folder, name)) and os.path.isdir(os.path.join(folder, name)):
                os.chmod(os.path.join(folder, name), 0o755)
    return str(top)


def build(root, image, *words, status=0, **environment):
    """(standard output, standard error), in lines."""
    clean = {key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"}
    done = subprocess.run([sys.executable, TOOL, str(root), str(image), "--name", "test", "--image-version", "1", *words],
                          env={**clean, **environment}, capture_output=True, text=True, errors="surrogateescape", check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout.splitlines(), done.stderr.splitlines()


def contents(image):
    return {name: open(os.path.join(image, name), "rb").read() for name in sorted(os.listdir(image))}


def differences(found, wanted):
    """Of two contents(), a line each: in which file, from which byte on."""
    lines = []
    for name in sorted(found.keys() | wanted.keys()):
        one, other = found.get(name), wanted.get(name)
        if one is None or other is None:
            lines.append("%s: only in the %s" % (name, "second" if one is None else "first"))
        elif one != other:
            at = len(os.path.commonprefix((one, other)))
            lines.append("%s: from byte %d of %d on %s, not %s, of %d" % (
                name, at, len(one), one[at:at + 8].hex() or "nothing", other[at:at + 8].hex() or "nothing", len(other)))
    return lines
