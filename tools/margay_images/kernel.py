# SPDX-License-Identifier: GPL-2.0-only
"""The kernel of a root: which one, and the modules that its start needs, in the order in which they are loaded."""

import collections
import gzip
import io
import lzma
import os
import re
import struct
import zlib

import zstandard

from . import version_order
from .errors import ImageError
from .root import WHOLE

MODULES = ("lib/modules", "usr/lib/modules")
# Where a distribution's package has it; RELEASE is a modules folder's name.
KERNELS = ("boot/vmlinuz-%s", "lib/modules/%s/vmlinuz", "usr/lib/modules/%s/vmlinuz")
RELEASE = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+~_-]{0,127}")
SUFFIX = re.compile(r"\.ko(\.gz|\.xz|\.zst)?$")
# Which option says that a driver is there, so that one that is neither a module nor built in has a name to ask for.
DRIVERS = {"virtio_pci": "CONFIG_VIRTIO_PCI", "virtio_blk": "CONFIG_VIRTIO_BLK", "squashfs": "CONFIG_SQUASHFS",
           "overlay": "CONFIG_OVERLAY_FS"}
# A scratch disk has it. Without it the overlay can only be in memory.
WANTED = ("ext4",)
# How a root is compressed: the first that the kernel reads. RHEL 8's reads no zstd.
COMPRESSORS = {"zstd": "CONFIG_SQUASHFS_ZSTD", "gzip": "CONFIG_SQUASHFS_ZLIB"}

# What an image takes from a root's kernel: its bytes, the modules of the initrd, what compresses the root.
Start = collections.namedtuple("Start", "release image modules compressor")


def releases(root):
    """[(release, path of its kernel)], oldest first."""
    found = {}
    for folder in MODULES:
        for release in root.names(folder):
            paths = [path % release for path in KERNELS if root.file(path % release)]
            if RELEASE.fullmatch(release) and paths:
                found[release] = paths[0]
    return sorted(found.items(), key=lambda pair: version_order.kernel_key(pair[0]))


def choose(root, wanted=None):
    """(release, bytes of a bzImage)"""
    there = releases(root)
    if wanted:
        there = [pair for pair in there if pair[0] == wanted]
    if not there:
        raise ImageError("%s: no kernel%s in it: install one there (Debian: linux-image-amd64, RHEL: kernel), or give it by "
                         "--kernel-package" % (root.what, " " + wanted if wanted else ""))
    release, path = there[-1]
    data = root.file(path).read(root.what + ": " + path)
    # The setup header (Documentation/arch/x86/boot.rst).
    if len(data) < 0x260 or data[0x202:0x206] != b"HdrS" or struct.unpack_from("<H", data, 0x206)[0] < 0x20c:
        raise ImageError("%s: %s is no kernel for x86 that boots in 64 bits" % (root.what, path))
    return release, data


def module_name(path):
    return SUFFIX.sub("", os.path.basename(path)).replace("-", "_")


def unpacked_zstd(data):
    """The reader says nothing of data that is cut; the object, which has no limit, does."""
    with zstandard.ZstdDecompressor().stream_reader(data) as reader:
        unpacked = reader.read(WHOLE + 1)
    if len(unpacked) <= WHOLE:
        whole = zstandard.ZstdDecompressor().decompressobj()
        whole.decompress(data)
        if not whole.eof:
            raise EOFError("it is cut")
    return unpacked


def expand(data, path):
    """A module as it is linked: what loads it may know no compression."""
    try:
        if path.endswith(".xz"):
            data = lzma.open(io.BytesIO(data)).read(WHOLE + 1)
        elif path.endswith(".gz"):
            data = gzip.open(io.BytesIO(data)).read(WHOLE + 1)
        elif path.endswith(".zst"):
            data = unpacked_zstd(data)
    except (lzma.LZMAError, zlib.error, zstandard.ZstdError, OSError, EOFError) as error:
        raise ImageError("%s: damaged: %s" % (path, error)) from error
    if len(data) > WHOLE:
        raise ImageError("%s: unpacks to more than %d bytes" % (path, WHOLE))
    return data


class Modules:
    """Of one release, by depmod's lists."""

    def __init__(self, root, release):
        self.root, self.release = root, release
        self.folder = self.folder_of(root, release)
        self.needs, self.builtin, self.before = {}, set(), {}
        for path, others in self.lines("modules.dep", r"(\S+):\s*(.*)"):
            self.needs[path] = others.split()
        for (path,) in self.lines("modules.builtin", r"(\S+)"):
            self.builtin.add(module_name(path))
        for name, others in self.lines("modules.softdep", r"softdep (\S+) pre: (.*?)(?: post:.*)?", missing=True):
            self.before[name] = [other.replace("-", "_") for other in others.split()]
        self.paths = {module_name(path): path for path in self.needs}
        # By a name of what several can do, as crypto-crc32c.
        self.able = {}
        for alias, name in self.lines("modules.alias", r"alias ([\w-]+) (\S+)", missing=True):
            if name in self.paths:
                self.able.setdefault(alias.replace("-", "_"), []).append(self.paths[name])

    @staticmethod
    def folder_of(root, release):
        found = (root.resolve("%s/%s" % (top, release)) for top in MODULES)
        return next(path for path, _ in filter(None, found))

    def lines(self, name, pattern, missing=False):
        file = self.root.file(self.folder + "/" + name)
        if file is None:
            if missing:
                return
            raise ImageError("%s: %s/%s is missing: run depmod there" % (self.root.what, self.folder, name))
        for line in file.read(self.folder + "/" + name).decode("utf-8", "replace").split("\n"):
            match = re.fullmatch(pattern, line.strip())
            if match:
                yield match.groups()

    def able_to(self, name):
        """The paths of the module of this name, or of all that say they can do this."""
        return [self.paths[name]] if name in self.paths else self.able.get(name, [])

    def order(self, names):
        """Paths of these and all that they need, each behind what it needs. Built-in ones are there already."""
        done = []

        def add(path, above):
            if path in done or path in above:
                return
            first = [self.able_to(name) for name in self.before.get(module_name(path), ())]
            for other in sum(first, []) + self.needs.get(path, []):
                add(other, above | {path})
            done.append(path)

        for name in names:
            if name in self.paths:
                add(self.paths[name], frozenset())
        return done

    def read(self, path):
        file = self.root.file(self.folder + "/" + path)
        if file is None:
            raise ImageError("%s: %s/%s is missing, though modules.dep names it" % (self.root.what, self.folder, path))
        return expand(file.read(path), path)

    def for_start(self):
        """[(name, bytes)] of what the initrd loads, in order."""
        for name, option in DRIVERS.items():
            if name not in self.paths and name not in self.builtin:
                raise ImageError("%s: the kernel of %s has no %s (%s; RHEL has some modules in kernel-modules)" %
                                 (self.root.what, self.folder, name, option))
        return [(module_name(path), self.read(path)) for path in self.order([*DRIVERS, *WANTED])]

    def compressor(self):
        """By the kernel's configuration; a kernel without one can be expected to read what Debian's reads."""
        config = self.root.file("boot/config-" + self.release) or self.root.file(self.folder + "/config")
        if config is None:
            return "zstd"
        lines = config.read("config").split(b"\n")
        for name, option in COMPRESSORS.items():
            if option.encode() + b"=y" in lines:
                return name
        raise ImageError("%s: the kernel of %s reads no squashfs of %s (%s)" %
                         (self.root.what, self.folder, " or ".join(COMPRESSORS), ", ".join(COMPRESSORS.values())))


def start_of(root, wanted=None):
    release, image = choose(root, wanted)
    modules = Modules(root, release)
    return Start(release, image, modules.for_start(), modules.compressor())
