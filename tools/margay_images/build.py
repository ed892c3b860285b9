# SPDX-License-Identifier: GPL-2.0-only
"""Makes an image directory of a root: kernel, initrd, squashfs and manifest. The same input gives the same bytes.

Nothing of the machine or of the hour is in it: paths are sorted, times are those of the input and at most the epoch, which is
SOURCE_DATE_EPOCH, or else the newest time in the input.
"""

import os
import tempfile
import time

from . import (acls, canonical, effort, initrd, kernel, kernel_package, manifest, root_sources, secrets, slurm_vm, squashfs,
               trial)
from .errors import ImageError

# Of a system that runs; in an image these folders are empty. /boot is the kernel's, which is beside the root.
EMPTIED = ("boot", "dev", "proc", "run", "sys", "tmp")
# What init.sh moves there.
NEEDED = ("dev", "proc", "sys")
MOMENT_S = 1  # a time that is so near comes soon: umoci rounds up


def epoch_of(root):
    text = os.environ.get("SOURCE_DATE_EPOCH")
    if text is None:
        return root.newest()
    if not text.isdigit() or not 0 <= int(text) < 2**32:
        raise ImageError("SOURCE_DATE_EPOCH=%s: expected seconds since 1970" % text)
    return int(text)


def let_come(epoch, say):
    """The root itself is in no archive: sqfstar gives it the time of now, if that is before the epoch, whatever -root-time says."""
    ahead = epoch - time.time()
    if ahead > MOMENT_S:
        text = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(epoch))
        say("not the same bytes next time: %s UTC, the newest time in it, is in the future (SOURCE_DATE_EPOCH)" % text)
    elif ahead > 0:
        # And some for the clock of time(2), which lags by a tick.
        time.sleep(ahead + 0.1)


def check_root(root):
    """It is one that init.sh can go to."""
    for folder in NEEDED:
        found = root.entries.get(folder)
        if found is None or found.kind != "folder":
            raise ImageError("%s: no root file system: it has no /%s" % (root.what, folder))
    if not root.file("sbin/init"):
        raise ImageError("%s: no root file system that starts: it has no /sbin/init (Debian: systemd-sysv)" % root.what)


def value_of(options, release, epoch, directory):
    value = {"kind": manifest.KIND, "format": manifest.FORMAT, "name": options.name, "version": options.version,
             "architecture": "amd64", "created": epoch, "kernel_release": release, "cmdline": options.cmdline,
             "needs": {"memory_mib": options.memory, "options": ["CONFIG_VIRTIO"]},
             "files": {name: manifest.measure(os.path.join(directory, name)) for name in manifest.FILES}}
    return manifest.check(value, "manifest", indexed=False)


def check_options(options):
    """Before an hour is spent."""
    if not manifest.is_name(options.name):
        raise ImageError("--name %s: up to 63 of a-z, 0-9, +, . and -, a letter or digit first" % options.name)
    if not manifest.is_version(options.version):
        raise ImageError("--image-version %s: up to 63 of letters, digits, +, ., ~ and -, a digit first" % options.version)
    if not manifest.CMDLINE.fullmatch(options.cmdline):
        raise ImageError("--cmdline: more than 2,047 characters, or some that are not printable ASCII")
    if options.memory < 1:
        raise ImageError("--memory %d: in MiB, at least 1" % options.memory)
    if os.path.lexists(options.directory):
        raise ImageError("%s: is there already" % options.directory)
    inside = os.path.join(os.path.realpath(options.root), "")
    if os.path.isdir(options.root) and os.path.realpath(options.directory).startswith(inside):
        raise ImageError("%s: lies in %s, of which it is made" % (options.directory, options.root))


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def take_out(root, options, say):
    """What no image has; a line for each thing of which somebody may not think."""
    for line in root.notes + secrets.take_out(root, options.keep) + acls.take_out(root):
        say(line)
    for folder in EMPTIED:
        root.remove_below(folder)


def write_image(made, root, options, start, epoch):
    """The four files in a new folder; the manifest's value."""
    os.mkdir(made)
    os.chmod(made, 0o755)
    write(os.path.join(made, "kernel"), start.image)
    write(os.path.join(made, "initrd"), initrd.make(start.modules))
    squashfs.make(root, os.path.join(made, "root.squashfs"), epoch, start.compressor)
    value = value_of(options, start.release, epoch, made)
    write(os.path.join(made, manifest.NAME), canonical.write(value))
    for name in (*manifest.FILES, manifest.NAME):
        os.chmod(os.path.join(made, name), 0o644)
    return value


def build(options, say):
    """Writes options.directory, whole or not at all; say() gets the lines of what was left out, and of what it took."""
    check_options(options)
    if options.test:
        trial.hypervisor(options.hypervisor)
    above = os.path.dirname(os.path.abspath(options.directory))
    with tempfile.TemporaryDirectory(dir=above, prefix=".margay-build-") as scratch:
        cost = effort.Effort(scratch)
        root = root_sources.of(options.root, scratch, options.tag)
        cost.look()
        check_root(root)
        wanted = kernel_package.install(root, options.kernel_package, scratch) if options.kernel_package else options.kernel
        if options.slurm:
            slurm_vm.put_in(root)
        start = kernel.start_of(root, wanted)
        epoch = epoch_of(root)
        let_come(epoch, say)
        take_out(root, options, say)
        made = os.path.join(scratch, "image")
        value = write_image(made, root, options, start, epoch)
        cost.look()
        say(cost.text())
        if options.test:
            trial.run(made, value, options, say)
        os.rename(made, options.directory)
    return value
