# SPDX-License-Identifier: GPL-2.0-only
"""A root that is on a disk's image, raw or qcow2, as vendors hand out theirs: a partition, and what its fstab mounts beside it.

File systems are read by Linux, mounted read-only in a mount namespace that ends with the program in it, so nothing stays
mounted. What comes out is a tar archive. Only root may mount.
"""

import json
import os
import subprocess

from .errors import ImageError

QCOW2 = b"QFI\xfb"
# Where a file system or a table of partitions says what it is: (offset, bytes).
MARKS = ((0x1fe, b"\x55\xaa"), (0x438, b"\x53\xef"), (0, b"XFSB"), (0x10040, b"_BHRfS_M"))
# Neither replays a journal, which would write.
OPTIONS = {"ext2": "ro", "ext3": "ro,noload", "ext4": "ro,noload", "xfs": "ro,norecovery,nouuid", "btrfs": "ro"}
# $1 image, $2 mount point, then of each file system: path in the root, offset, size, type, options.
MOUNT = """
image=$1 top=$(realpath -e -- "$2")
shift 2
# A path of the image, as $found. Its links and dots may lead to this machine's files: none of those is mounted over or read.
inside() {
	found=$(realpath -e -- "$top/$1" 2>/dev/null) || return 1
	case $found in "$top" | "$top"/*) ;; *) return 1 ;; esac
}
while [ $# -gt 0 ]; do
	inside "$1" || { echo "/$1, where fstab mounts something, is no folder in it" >&2; exit 1; }
	mount -t "$4" -o "loop,offset=$2,sizelimit=$3,nodev,nosuid,noexec,$5" "$image" "$found"
	shift 5
done
"""
# Status 3: no root file system is there.
LOOK = MOUNT + """
inside usr && inside etc && [ -d "$found" ] || exit 3
! inside etc/fstab || [ ! -f "$found" ] || head -c 1048576 "$found"
"""
PACK = MOUNT + 'exec tar -C "$top" --numeric-owner --xattrs --xattrs-include="*" --exclude=lost+found --format=pax ' \
    '--pax-option=delete=atime,delete=ctime -cf "$TARGET" .\n'
NO_ROOT = 3
SECTOR = 512


def is_disk(path):
    with open(path, "rb") as f:
        begin = f.read(4)
        f.seek(257)
        # A tar archive may have any bytes where a mark would be.
        if begin == QCOW2 or f.read(5) == b"ustar":
            return begin == QCOW2
        for offset, mark in MARKS:
            f.seek(offset)
            if f.read(len(mark)) == mark:
                return True
    return False


def run(command, path, package, good=(0,), **variables):
    """(status, output); an error is a line."""
    clean = {**os.environ, "LC_ALL": "C", "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin", **variables}
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=clean, check=False)
    except FileNotFoundError as error:
        raise ImageError("%s is missing: install Debian's package %s" % (command[0], package)) from error
    if done.returncode not in good:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().split("\n")
        raise ImageError("%s: %s: %s" % (path, command[0], said[0] or "status %d" % done.returncode))
    return done.returncode, done.stdout.decode("utf-8", "replace")


def raw(path, scratch):
    """The image itself, or what a qcow2 has in it. That names other files of this machine as it likes, so it may name none."""
    with open(path, "rb") as f:
        if f.read(4) != QCOW2:
            return path
    info = json.loads(run(["qemu-img", "info", "--output=json", "-f", "qcow2", path], path, "qemu-utils")[1])
    if "backing-filename" in info or "data-file" in info.get("format-specific", {}).get("data", {}):
        raise ImageError("%s: needs another file: make it whole by qemu-img convert" % path)
    # What lies behind the end of a file that is cut would be read as zeros. Status 3: only room is lost.
    run(["qemu-img", "check", "-f", "qcow2", path], path, "qemu-utils", good=(0, 3))
    target = os.path.join(scratch, "disk.raw")
    run(["qemu-img", "convert", "-f", "qcow2", "-O", "raw", path, target], path, "qemu-utils")
    return target


def pieces(image):
    """[(offset, size)] of what may be file systems: each partition, or all of it."""
    command = ["partx", "--raw", "--noheadings", "--output", "START,SECTORS", image]
    status, text = run(command, image, "util-linux", good=(0, 1))
    # That there is no table is a file system alone, or nothing; blkid tells.
    if status:
        return [(0, os.path.getsize(image))]
    return [tuple(int(number) * SECTOR for number in line.split()) for line in text.strip().split("\n") if line]


def file_systems(image):
    """[{offset, size, TYPE, UUID, LABEL, ...}], as blkid names it, of those that Linux is asked to read."""
    found = []
    for offset, size in pieces(image):
        command = ["blkid", "-p", "-O", str(offset), "-S", str(size), "-o", "export", image]
        _, text = run(command, image, "util-linux", good=(0, 2))
        facts = dict(line.split("=", 1) for line in text.split("\n") if "=" in line)
        if facts.get("TYPE") in OPTIONS:
            found.append({**facts, "offset": offset, "size": size})
    return found


def namespace(script, image, scratch, mounts, **variables):
    top = os.path.join(scratch, "mounted")
    os.makedirs(top, exist_ok=True)
    words = [word for path, fs in mounts
             for word in (path, str(fs["offset"]), str(fs["size"]), fs["TYPE"], OPTIONS[fs["TYPE"]])]
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-eu", "-c", script, "sh", image, top, *words]
    return run(command, image, "util-linux", good=(0, NO_ROOT), **variables)


def wanted(fstab):
    """[(mount point, what is mounted)] beside the root, those above first."""
    found = []
    for line in fstab.split("\n"):
        fields = [] if line.lstrip().startswith("#") else line.split()
        if len(fields) >= 3 and fields[1].startswith("/") and fields[1] != "/" and fields[2] in OPTIONS:
            found.append((fields[1].strip("/"), fields[0]))
    return sorted(found)


def named(systems, name):
    """The file system that a line of fstab means, or None: /dev/sdb1 is of a machine that is not here."""
    key, _, value = name.partition("=")
    value = value.strip('"')
    blkid = {"UUID": "UUID", "LABEL": "LABEL", "PARTUUID": "PART_ENTRY_UUID", "PARTLABEL": "PART_ENTRY_NAME"}.get(key)
    return next((fs for fs in systems if blkid and fs.get(blkid, "").lower() == value.lower()), None)


def to_tar(path, scratch):
    """(a tar archive of the root, the lines of what is not in it)"""
    if os.geteuid() != 0:
        raise ImageError("%s: the image of a disk is read by mounting it: do this as root, or bring its root as a tar archive" %
                         path)
    image = raw(path, scratch)
    systems = file_systems(image)
    roots = []
    for fs in systems:
        status, fstab = namespace(LOOK, image, scratch, [("", fs)])
        if status != NO_ROOT:
            roots.append((fs, fstab))
    if len(roots) != 1:
        raise ImageError("%s: %s root file system on it (%s)" %
                         (path, "more than one" if roots else "no", ", ".join(fs["TYPE"] for fs in systems) or
                          "nothing of %s" % ", ".join(OPTIONS)))
    mounts, notes = [("", roots[0][0])], []
    for point, name in wanted(roots[0][1]):
        fs = named(systems, name)
        if fs:
            mounts.append((point, fs))
        else:
            notes.append("left out: /%s, which fstab mounts from %s" % (point, name))
    target = os.path.join(scratch, "disk.tar")
    namespace(PACK, image, scratch, mounts, TARGET=target)
    return target, notes
