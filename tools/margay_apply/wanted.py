# SPDX-License-Identifier: GPL-2.0-only
"""What a folder wants of a node.

    *.conf       VM files: each VM is there, and runs
    off/*.conf   VM files: each VM is there, and does not run
    images/*     images, by their files' names; links count as what they lead to

Nothing else may be in it but hidden files and README*, so that a name that is misspelt is no VM less.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile

from . import Refused

NAME = re.compile(rb"^[ \t]*name[ \t]*=[ \t]*([^\s#]+)[ \t]*(?:#.*)?$", re.MULTILINE)
IMAGE_NAME = 63  # what the node takes
BYTES = 32 << 10  # of a VM file: more is no message
# An image that has come and has not its name yet; it has it when no VM has the content before under that name.
COMING = ".coming"


class Vm:
    def __init__(self, path, runs):
        self.path, self.runs = path, runs
        self.file = os.path.basename(path)
        with open(path, "rb") as f:
            self.text = f.read(BYTES + 1)
        # What a node says of a file is text: other bytes would never be what they were.
        if b"\0" in self.text or "\ufffd" in self.text.decode("utf-8", "replace"):
            raise Refused("%s: a VM file is text in UTF-8" % path)
        names = NAME.findall(self.text)
        if len(names) != 1:
            raise Refused("%s: a VM file that is sent to a node has one line name = ..." % path)
        if len(self.text) > BYTES:
            raise Refused("%s: too large for a VM file" % path)
        self.name = names[0].decode()
        # Of the modules that it names: words behind these keys' first one are the guest's.
        lines = re.findall(rb"^[ \t]*(?:kernel|initrd|module|disk)[ \t]*=[ \t]*([^\s#]+)", self.text, re.MULTILINE)
        self.images = {line.decode() for line in lines}


class Image:
    def __init__(self, path):
        self.path, self.name = path, os.path.basename(path)
        if not self.name.isprintable() or " " in self.name or len(self.name.encode()) + len(COMING) > IMAGE_NAME:
            raise Refused("%s: an image's name has up to %d characters, and no blanks" % (path, IMAGE_NAME - len(COMING)))
        if self.name.endswith(COMING) or "@" in self.name:
            raise Refused("%s: an image's name has no @, and does not end with %s" % (path, COMING))
        digest = hashlib.sha256()
        self.size = 0
        with open(path, "rb") as f:
            while data := f.read(1 << 20):
                digest.update(data)
                self.size += len(data)
        self.sha256 = digest.hexdigest()
        if not self.size:
            raise Refused("%s: it is empty" % path)


def files(folder, may_be_missing=False):
    """Names, in their order, without hidden ones."""
    try:
        return sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except FileNotFoundError:
        if may_be_missing:
            return []
        raise


class Wanted:
    """each: what is no good is left out, and `wrong` has a line of it; else nothing is wanted at all."""

    def __init__(self, folder, each=False):
        self.folder, self.each = folder, each
        self.vms, self.images, self.wrong = [], {}, []
        try:
            for name in files(folder):
                if name.endswith(".conf"):
                    self.each_alone(self.add_vm, os.path.join(folder, name), True)
                elif name not in ("off", "images") and not name.startswith("README"):
                    self.refuse("%s: expected *.conf, off, images or README" % os.path.join(folder, name))
            for name in files(os.path.join(folder, "off"), True):
                self.each_alone(self.add_vm, os.path.join(folder, "off", name), False)
            for name in files(os.path.join(folder, "images"), True):
                self.each_alone(self.add_image, os.path.join(folder, "images", name))
        except OSError as error:
            raise Refused("%s: %s" % (error.filename or folder, error.strerror), 3) from error

    def refuse(self, text, status=1):
        if not self.each:
            raise Refused(text, status)
        self.wrong.append(text)

    def each_alone(self, act, *what):
        """True: it is good."""
        try:
            act(*what)
            return True
        except Refused as error:
            self.refuse(str(error), error.status)
        except OSError as error:
            # A file that can be opened and not read has no name there.
            where = what[0] if isinstance(what[0], str) else self.folder
            self.refuse("%s: %s" % (error.filename or where, error.strerror), 3)
        return False

    def add_vm(self, path, runs):
        if not path.endswith(".conf"):
            raise Refused("%s: expected *.conf" % path)
        vm = Vm(path, runs)
        for other in self.vms:
            if other.name == vm.name:
                raise Refused("%s: %s is the name of a VM, too" % (vm.path, other.path))
        self.vms.append(vm)

    def add_image(self, path):
        self.images[os.path.basename(path)] = Image(path)

    def judge(self, there):
        """`there` are names of images and modules that the node has and the folder has not."""
        if self.each:
            self.vms = [vm for vm in self.vms if self.each_alone(check_files, [vm], self.images, there)]
        else:
            check_files(self.vms, self.images, there)


def check_files(vms, images, there):
    """By margay-check, where that is installed: what the hypervisor would refuse of the VM files."""
    check = shutil.which("margay-check")
    if not check or not vms:
        return
    modules = ["%s=%s" % (image.name, image.path) for image in images.values()]
    # A name without a file is one that is there. VM files of the boot are modules, too, which no VM has.
    names = sorted(name for name in there if not name.startswith("vm:"))
    words = [word for module in modules + names for word in ("--module", module)]
    with tempfile.TemporaryDirectory() as copies:
        paths = []
        for vm in vms:
            paths.append(os.path.join(copies, vm.file))
            with open(paths[-1], "ab") as f:
                f.write(vm.text)
        done = subprocess.run([check, "--quiet", "--each", "--no-others", *words, "--", *paths], capture_output=True, text=True,
                              errors="replace", check=False)
    if done.returncode:
        lines = [line.replace(copies + "/", "").removeprefix("margay-check: ") for line in done.stderr.splitlines()]
        more = " (and %d more)" % (len(lines) - 1) if len(lines) > 1 else ""
        raise Refused((lines[0] if lines else "margay-check: status %d" % done.returncode) + more)
