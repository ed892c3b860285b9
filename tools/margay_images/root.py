# SPDX-License-Identifier: GPL-2.0-only
"""A root file system as the builder sees it, wherever it comes from: what has which path, and how its bytes are read.

Nothing is unpacked, so whose a file is needs no root to be kept. It is written as a tar archive, sorted by path: the same files
give the same bytes, whatever order they came in.
"""

import dataclasses
import io
import tarfile

from .errors import ImageError

TYPES = {"file": tarfile.REGTYPE, "folder": tarfile.DIRTYPE, "symlink": tarfile.SYMTYPE, "character": tarfile.CHRTYPE,
         "block": tarfile.BLKTYPE, "fifo": tarfile.FIFOTYPE}
LINKS = 40  # as many as Linux follows
XATTR = "SCHILY.xattr."
# What is read into memory is a kernel, a module or a list, and has no more.
WHOLE = 256 << 20


@dataclasses.dataclass
class Entry:
    """What one path has. Paths of one file share `inode`; None: it has one path."""

    kind: str
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    mtime: int = 0
    size: int = 0
    target: str = ""
    device: tuple = (0, 0)
    xattrs: dict = dataclasses.field(default_factory=dict)
    inode: object = None
    open: object = None

    def read(self, what):
        """what: how to call it in an error."""
        if self.size > WHOLE:
            raise ImageError("%s: %d bytes are too many" % (what, self.size))
        with self.open() as f:
            return f.read()


def of_bytes(data, mode, mtime):
    return Entry("file", mode=mode, size=len(data), mtime=mtime, open=lambda: io.BytesIO(data))


def normal(path, what):
    """A path as it is kept: from the root, without dots. None for the root itself."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts or "\0" in path:
        raise ImageError("%s: has a file outside of itself: %s" % (what, path))
    return "/".join(parts) or None


class Root:
    """{path: Entry}"""

    def __init__(self, what):
        self.what = what
        self.entries = {}
        self.notes = []
        self.below = None  # of a layer: what it is laid over

    def add(self, path, entry):
        """Later ones take the place of earlier ones, and go where links lead, as when an archive is unpacked."""
        path = self.placed(normal(path, self.what))
        if path is None:
            return
        if entry.kind != "folder" and path in self.entries and self.entries[path].kind == "folder":
            self.remove_below(path)
        self.entries[path] = entry

    def placed(self, path):
        """Where a path lies that may go through links, as lib/modules does where lib is a link to usr/lib."""
        folder, _, name = (path or "").rpartition("/")
        parts = folder.split("/")
        through = any(parent in self.entries and self.entries[parent].kind == "symlink"
                      for parent in ("/".join(parts[:end]) for end in range(1, len(parts) + 1)))
        if not folder or not through:
            return path
        return "/".join(filter(None, (self.through_links(folder), name)))

    def through_links(self, folder):
        """Of a folder that may not be there yet, behind each link in its path."""
        at, waiting, links = [], folder.split("/")[::-1], 0
        while waiting:
            part = waiting.pop()
            if part in ("", ".", ".."):
                at = at[:-1] if part == ".." else at
                continue
            entry = self.entries.get("/".join([*at, part]))
            if entry is None or entry.kind != "symlink":
                at.append(part)
                continue
            links += 1
            if links > LINKS:
                raise ImageError("%s: %s goes in circles" % (self.what, folder))
            at = [] if entry.target.startswith("/") else at
            waiting += entry.target.split("/")[::-1]
        return "/".join(at)

    def remove_below(self, folder):
        """What lies in a folder; how many entries that were."""
        inside = [path for path in self.entries if path.startswith(folder + "/")]
        for path in inside:
            del self.entries[path]
        return len(inside)

    def complete(self):
        """Folders that no entry was for, as some archives leave them out; links into nowhere were refused before."""
        for path in list(self.entries):
            while "/" in path:
                path = path.rsplit("/", 1)[0]
                self.entries.setdefault(path, Entry("folder", mode=0o755))
                if self.entries[path].kind != "folder":
                    raise ImageError("%s: %s has files in it and is none that can" % (self.what, path))

    def resolve(self, path):
        """(path behind all symbolic links, its entry), or None."""
        try:
            path = self.through_links(path)
        except ImageError:
            return None
        return (path, self.entries[path]) if path in self.entries else None

    def file(self, path):
        """The regular file that a path leads to, or None."""
        found = self.resolve(path)
        return found[1] if found and found[1].kind == "file" else None

    def names(self, folder):
        """What lies right in a folder; [] where there is none."""
        found = self.resolve(folder)
        if found is None:
            return []
        front = found[0] + "/"
        return sorted(path[len(front):] for path in self.entries if path.startswith(front) and "/" not in path[len(front):])

    def newest(self):
        return max((entry.mtime for entry in self.entries.values()), default=0)

    def write_tar(self, out):
        """A stream of a tar archive."""
        first = {}
        with tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="surrogateescape") as tar:
            for path in sorted(self.entries):
                entry = self.entries[path]
                info = tarfile.TarInfo(path)
                info.mode, info.uid, info.gid, info.mtime = entry.mode, entry.uid, entry.gid, entry.mtime
                info.type = TYPES[entry.kind]
                info.linkname = entry.target
                info.devmajor, info.devminor = entry.device
                if entry.inode is not None and entry.kind == "file":
                    if entry.inode in first:
                        info.type, info.linkname = tarfile.LNKTYPE, first[entry.inode]
                        tar.addfile(info)
                        continue
                    first[entry.inode] = path
                # The names of the archive's own records are text, their values are not.
                info.pax_headers = {XATTR + name: value.decode("utf-8", "surrogateescape") for name, value in
                                    sorted(entry.xattrs.items())}
                self.add_to(tar, info, entry, path)

    def add_to(self, tar, info, entry, path):
        if entry.kind != "file":
            tar.addfile(info)
            return
        info.size = entry.size
        with entry.open() as f:
            try:
                tar.addfile(info, f)
            except (OSError, tarfile.TarError) as error:
                if isinstance(error, BrokenPipeError):
                    raise
                raise ImageError("%s: cannot read %s: %s" % (self.what, path, error)) from error
            if f.read(1):
                raise ImageError("%s: %s grew while it was read" % (self.what, path))
