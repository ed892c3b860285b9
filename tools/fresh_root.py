# SPDX-License-Identifier: GPL-2.0-only
"""A new Debian in a directory, for tools/fresh: makes it, runs commands in it, and removes it.

Each command has mount, process and host-name namespaces of its own. What is mounted there ends with the command, and is never seen
outside: no mount is left that somebody could delete through. In the directory lie files only; /dev is made by each command anew.
"""

import os
import re
import shutil
import subprocess

ARCHIVE = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITES = {"12": "bookworm", "13": "trixie"}
# What somebody has who has just installed Debian, and what README.md presupposes.
PACKAGES = ("git", "make", "ca-certificates")
# Where the clone is, as its user sees it.
TREE = "/root/margay"
CERTIFICATES = "/usr/local/share/ca-certificates"
# How the registries are reached. Not who says so (Proxy-Auto-Detect is a program of this machine).
APT_SETTINGS = ("Acquire::http::Proxy", "Acquire::https::Proxy", "Acquire::https::Verify", "Acquire::Check-Valid-Until",
                "Acquire::Check-Date", "Acquire::Retries")
PROXIES = ("http_proxy", "https_proxy", "no_proxy")
# Type, where, options. Nothing else is there of a machine: no /sys, no disk, no /dev/kvm.
MOUNTS = (("proc", "proc", "nosuid,nodev,noexec"), ("tmpfs", "dev", "nosuid,mode=755"), ("tmpfs", "dev/shm", "nosuid,nodev"),
          ("devpts", "dev/pts", "nosuid,noexec,newinstance,ptmxmode=666,mode=620,gid=5"), ("tmpfs", "run", "nosuid,nodev,mode=755"))
DEVICES = (("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0))
LINKS = (("pts/ptmx", "ptmx"), ("/proc/self/fd", "fd"), ("fd/0", "stdin"), ("fd/1", "stdout"), ("fd/2", "stderr"))


class RootError(Exception):
    """What is wrong with the directory or the making of it."""


def entering():
    """The script that a command begins with: $1 is the root, then the command. It leaves the old root behind for good."""
    lines = ["set -eu", 'mount --bind "$1" "$1"', 'cd "$1"', "shift"]
    for kind, where, options in MOUNTS:
        lines += ["mkdir -p " + where, "mount -t %s -o %s %s %s" % (kind, options, kind, where)]
    lines += ["mknod -m 666 dev/%s c %d %d" % device for device in DEVICES]
    lines += ["ln -s %s dev/%s" % link for link in LINKS]
    lines += ["hostname fresh", "pivot_root . .", "umount -l .", "cd " + TREE, 'exec "$@"']
    return "\n".join(lines)


def environment(outer):
    """As after a login; of the caller's only how the network is reached."""
    clean = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "USER": "root",
             "LANG": "C.UTF-8", "TERM": "dumb"}
    clean.update({name: outer[name] for word in PROXIES for name in (word, word.upper()) if name in outer})
    return clean


def command(root, words, network=True):
    """What runs words in the root, and whatever they started ends with them."""
    spaces = ["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--uts", "--ipc",
              *([] if network else ["--net"])]
    # unshare itself takes no notice of SIGTERM.
    return ["setpriv", "--pdeathsig", "KILL", "unshare", *spaces, "sh", "-c", entering(), "sh", root, *words]


def mounted_below(directory, mountinfo):
    """The mount points at or below a directory, by the text of /proc/self/mountinfo."""
    found = []
    for line in mountinfo.splitlines():
        # Blanks, the ends of lines and backslashes are written in octal, as \040.
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), line.split(" ")[4])
        if point == directory or point.startswith(directory.rstrip("/") + "/"):
            found.append(point)
    return found


def may_remove(root, below, mountinfo):
    """Raises unless root is a directory, no link, somewhere below the one that is ours, with nothing mounted in it."""
    if os.path.islink(root) or os.path.realpath(root) != root:
        raise RootError("%s is reached by a symbolic link: it is not removed" % root)
    if not root.startswith(os.path.realpath(below) + "/"):
        raise RootError("%s is not below %s: it is not removed" % (root, below))
    mounted = mounted_below(root, mountinfo)
    if mounted:
        raise RootError("%s is mounted: unmount it; %s is not removed" % (mounted[0], root))


def remove(root, below):
    if not os.path.lexists(root):
        return
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as f:
        may_remove(root, below, f.read())
    # And should something be mounted in between, what is below it stays.
    subprocess.run(["rm", "-rf", "--one-file-system", root], check=True)


def sources(suite, archive=ARCHIVE):
    """Those of Debian's installer."""
    return ["deb %s %s main" % (archive, suite), "deb %s %s-updates main" % (archive, suite),
            "deb %s-security %s-security main" % (archive, suite)]


def apt_settings(dump):
    """The lines of `apt-config dump` that say how archives are reached."""
    kept = []
    for line in dump.splitlines():
        name, _, value = line.partition(" ")
        if value not in ('"";', "") and any(name.lower().startswith(setting.lower()) for setting in APT_SETTINGS) \
                and not name.lower().endswith("auto-detect"):
            kept.append(line + "\n")
    return "".join(kept)


def write(root, path, text):
    with open(os.path.join(root, path), "w", encoding="utf-8") as f:
        f.write(text)


def configure(root, log):
    """What a machine in this place would have: its name, its name server, how to reach the archives, whom to trust."""
    write(root, "etc/hostname", "fresh\n")
    write(root, "etc/hosts", "127.0.0.1 localhost fresh\n::1 localhost\n")
    shutil.copyfile("/etc/resolv.conf", os.path.join(root, "etc/resolv.conf"))
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    write(root, "etc/apt/apt.conf.d/99fresh", apt_settings(dump))
    os.makedirs(root + TREE, exist_ok=True)
    if os.path.isdir(CERTIFICATES):
        shutil.copytree(CERTIFICATES, root + CERTIFICATES, dirs_exist_ok=True)
        subprocess.run(command(root, ["update-ca-certificates"]), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                       env=environment(os.environ), check=True)


def git(log, *words):
    if subprocess.run(["git", *words], stdout=log, stderr=log, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        raise RootError("git failed: %s" % " ".join(words))


def clone(tree, commit, root, log):
    """The commit, and nothing that lies about in the tree. Its origin would name a place that is not there."""
    git(log, "clone", "--quiet", "--no-checkout", "file://" + tree, root + TREE)
    git(log, "-C", root + TREE, "checkout", "--quiet", "--detach", commit)
    git(log, "-C", root + TREE, "remote", "remove", "origin")


def update(tree, commit, root, log):
    """The commit instead of the one that is there; what was built stays."""
    git(log, "-C", root + TREE, "fetch", "--quiet", "file://" + tree, commit)
    git(log, "-C", root + TREE, "checkout", "--quiet", "--force", "--detach", commit)


def make(root, release, archive, log):
    """A Debian of that release with what README.md presupposes, and no more."""
    suite = SUITES[release]
    words = ["mmdebstrap", "--mode=root", "--variant=minbase", "--include=" + ",".join(PACKAGES), "--keyring=" + KEYRING,
             "--aptopt=Apt::Install-Recommends false", suite, root, *sources(suite, archive)]
    if subprocess.run(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        raise RootError("mmdebstrap could not make Debian %s" % release)
    # An option of ours, not of the machine's: its apt is as Debian's.
    option = os.path.join(root, "etc/apt/apt.conf.d/99mmdebstrap")
    if os.path.exists(option):
        os.unlink(option)
    configure(root, log)
