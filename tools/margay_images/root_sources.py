# SPDX-License-Identifier: GPL-2.0-only
"""Where a root comes from: a directory, a tar archive, compressed or not, an OCI image as either of them (oci.py), or the image of
a disk (disk.py).
"""

import bz2
import errno
import gzip
import lzma
import os
import shutil
import stat
import tarfile
import zlib

import zstandard

from . import disk, oci
from .errors import ImageError
from .root import XATTR, Entry, Root, normal

TIME_LIMIT = 1 << 32
KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "symlink", stat.S_IFCHR: "character", stat.S_IFBLK: "block",
         stat.S_IFIFO: "fifo"}
# By the first bytes of a file.
PACKED = ((b"\x1f\x8b", gzip.open), (b"\xfd7zXZ\0", lzma.open), (b"BZh", bz2.open),
          (b"\x28\xb5\x2f\xfd", lambda f: zstandard.ZstdDecompressor().stream_reader(f, read_across_frames=True)))


def xattr_names(path):
    """None where the file system has no such attributes, as many on a network."""
    try:
        return os.listxattr(path, follow_symlinks=False)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        return []


def entry_of(path, status):
    entry = Entry(KINDS[stat.S_IFMT(status.st_mode)], mode=stat.S_IMODE(status.st_mode), uid=status.st_uid, gid=status.st_gid,
                  mtime=max(0, int(status.st_mtime)))
    # What a link has is its target's; Linux lets no user attributes be there.
    entry.xattrs = {name: os.getxattr(path, name, follow_symlinks=False) for name in xattr_names(path)}
    if entry.kind == "file":
        entry.size = status.st_size
        entry.open = lambda: open(path, "rb")
        if status.st_nlink > 1:
            entry.inode = (status.st_dev, status.st_ino)
    elif entry.kind == "symlink":
        entry.target = os.readlink(path)
    elif entry.kind in ("character", "block"):
        entry.device = (os.major(status.st_rdev), os.minor(status.st_rdev))
    return entry


def of_directory(top):
    """Not what is mounted in it, nor sockets: those are of the system that runs there."""
    root = Root(top)
    device = os.stat(top).st_dev

    def refuse(error):
        raise ImageError("%s: cannot read %s: %s" % (top, error.filename, error.strerror))

    for folder, folders, files in os.walk(top, onerror=refuse):
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            status = os.lstat(path)
            relative = os.path.relpath(path, top)
            if stat.S_IFMT(status.st_mode) not in KINDS:
                root.notes.append("left out: %s, a socket" % relative)
                continue
            root.add(relative, entry_of(path, status))
            if status.st_dev != device:
                root.notes.append("left out: what is mounted at %s" % relative)
                if name in folders:
                    folders.remove(name)
    return root


def unpacked(path, scratch):
    """The file itself, or what its compression has in it, in scratch."""
    with open(path, "rb") as f:
        begin = f.read(8)
    for magic, opener in PACKED:
        if begin.startswith(magic):
            target = os.path.join(scratch, "unpacked.tar")
            try:
                with open(path, "rb") as packed, opener(packed) as source, open(target, "wb") as out:
                    shutil.copyfileobj(source, out, 1 << 20)
            except (OSError, EOFError, lzma.LZMAError, zlib.error, zstandard.ZstdError) as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                raise ImageError("%s: damaged: %s" % (path, error)) from error
            return target
    return path


def tar_entry(tar, member):
    kind = {tarfile.DIRTYPE: "folder", tarfile.SYMTYPE: "symlink", tarfile.CHRTYPE: "character", tarfile.BLKTYPE: "block",
            tarfile.FIFOTYPE: "fifo"}.get(member.type, "file" if member.isreg() else None)
    if kind is None:
        raise ImageError("%s: %s is of a kind that no root has" % (tar.name, member.name))
    # Written as text, so it may be no number; a squashfs has 32 bits for it.
    if not -TIME_LIMIT < member.mtime < TIME_LIMIT:
        raise ImageError("%s: %s has no time that a file can have: %s" % (tar.name, member.name, member.mtime))
    entry = Entry(kind, mode=member.mode & 0o7777, uid=member.uid, gid=member.gid, mtime=max(0, int(member.mtime)))
    entry.target = member.linkname if kind == "symlink" else ""
    entry.device = (member.devmajor, member.devminor) if kind in ("character", "block") else (0, 0)
    entry.xattrs = {name[len(XATTR):]: value.encode("utf-8", "surrogateescape") for name, value in member.pax_headers.items()
                    if name.startswith(XATTR)}
    if kind == "file":
        entry.size = member.size
        entry.open = lambda: tar.extractfile(member)
    return entry


def check_end(root, tar):
    """To tarfile whatever is no header is the end of an archive: so is where one was cut, or damaged."""
    tar.fileobj.seek(tar.offset)
    if tar.fileobj.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise ImageError("%s: damaged, or cut: at byte %d there is neither a file nor the end of the archive" %
                         (root.what, tar.offset))


def linked(root, member):
    """The entry of the file that a hard link names."""
    target = normal(member.linkname, root.what)
    for layer in (root, root.below):
        first = layer.entries.get(layer.placed(target)) if layer and target else None
        if first is not None:
            break
    if first is None or first.kind != "file":
        raise ImageError("%s: %s is a link to %s, which is not there" % (root.what, member.name, member.linkname))
    return first


def add_members(root, tar):
    for member in tar:
        if not member.islnk():
            root.add(member.name, tar_entry(tar, member))
            continue
        # A path that comes to an earlier one's file.
        first = linked(root, member)
        first.inode = first.inode or ("first", member.linkname, id(first))
        root.add(member.name, first)
    check_end(root, tar)


def opened(path):
    """Stays open until the image is written: nothing is copied."""
    return tarfile.open(path, "r:", encoding="utf-8", errors="surrogateescape")


def read_layer(path, root, scratch):
    """Of an OCI image; path is a copy of ours, and its digest was right, so it is not cut: what lacks at its end, as in those that
    `umoci insert` 0.4.7 writes, are zeros.
    """
    path = unpacked(path, scratch)
    with open(path, "ab") as f:
        f.write(bytes(-f.tell() % tarfile.BLOCKSIZE + 2 * tarfile.BLOCKSIZE))
    try:
        add_members(root, opened(path))
    except (tarfile.TarError, EOFError) as error:
        raise ImageError("%s: a layer is no tar archive: %s" % (root.what, error)) from error


def of_file(path, scratch, tag):
    plain, notes = unpacked(path, scratch), []
    if disk.is_disk(plain):
        plain, notes = disk.to_tar(plain, scratch)
    try:
        tar = opened(plain)
        if oci.is_archive(tar):
            return oci.of_archive(path, tar, scratch, tag, read_layer)
        root = Root(path)
        root.notes += notes
        add_members(root, tar)
    except (tarfile.TarError, EOFError) as error:
        raise ImageError("%s: no tar archive: %s" % (path, error)) from error
    return root


def of(path, scratch, tag=None):
    """tag: of an OCI image, where there are several."""
    if os.path.isdir(path):
        root = oci.of_directory(path, scratch, tag, read_layer) if oci.is_directory(path) else of_directory(path)
    elif os.path.isfile(path):
        root = of_file(path, scratch, tag)
    else:
        raise ImageError("%s: neither a directory nor a file" % path)
    root.complete()
    return root
