# SPDX-License-Identifier: GPL-2.0-only
"""Brings a file of an image into the node's image memory, by `margay image put`, as its chunks are unpacked: no copy lies anywhere.

The chunks have been judged by whoever calls this. The node hashes the whole, and takes nothing that is not what the manifest says.
"""

import json
import subprocess

from . import chunks
from .errors import ImageError, UnavailableError


def put(program, name, file, parts, top, replace):
    """file: of a manifest; parts: [(chunk, bytes)] below top. True: it was sent; False: the node had it."""
    command = [program, "--json", "image", "put", *(["--replace"] if replace else []), "--sha256", file["sha256"],
               "--size", str(file["size"]), "-", name]
    try:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError as error:
        raise UnavailableError("%s cannot be run: %s: it is in the package margay-tools" % (program, error.strerror)) from error
    with child:
        try:
            for chunk, size in parts:
                packed, where = chunks.read_packed(top, chunk)
                child.stdin.write(chunks.unpack(packed, size, where))
            child.stdin.close()
        except BrokenPipeError:
            # It has the file, or refuses it.
            pass
        except BaseException:
            child.kill()
            raise
        said = child.stdout.read()
    try:
        return judged(name, child.returncode, said)
    except UnavailableError:
        if is_another(file, parts, top):
            raise ImageError("%s: its chunks make another file than its manifest says" % name) from None
        raise


def is_another(file, parts, top):
    """Looked for only when the node has refused it: hashing costs as much as sending."""
    try:
        return chunks.digest(top, parts) != file["sha256"]
    except (ImageError, OSError):
        # The cache's disk has changed since; a next pull finds that.
        return False


def judged(name, status, said):
    try:
        answer = json.loads(said)
        if status == 0:
            return answer["sent"]
        text = answer["error"]["message"]
    except (ValueError, KeyError, TypeError) as error:
        raise UnavailableError("%s: margay image put ended with status %d" % (name, status)) from error
    raise UnavailableError("%s: the node does not take it: %s" % (name, text))
