# SPDX-License-Identifier: GPL-2.0-only
"""The node as its management VM sees it: the program margay, whose answers are JSON (docs/management-vm.md)."""

import json
import subprocess

from .errors import ClusterError

# Longer than anything but a transfer takes.
SECONDS = 60
TRANSFER_SECONDS = 600


class Refused(ClusterError):
    """The node's own words."""


def feed(child, data):
    """Writes the parts of data. Where one cannot be had the program ends before it has seen an end: nothing comes of the rest."""
    try:
        for part in data:
            child.stdin.write(part)
        child.stdin.close()
    except BrokenPipeError:
        # It says why.
        pass
    except Exception:
        child.terminate()
        child.wait()
        raise


def margay(*words, data=(), seconds=SECONDS, good=(0,)):
    """Its answer. data is written to its standard input: parts of bytes."""
    with subprocess.Popen(["timeout", str(seconds), "margay", "--json", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as child:
        feed(child, data)
        out = child.stdout.read()
        child.wait()
    if child.returncode == 124:
        raise ClusterError("margay %s: no answer within %d s" % (words[0], seconds))
    try:
        value = json.loads(out)
    except ValueError as error:
        raise ClusterError("margay %s: ended with status %d and no answer" % (words[0], child.returncode)) from error
    if isinstance(value, dict) and "error" in value:
        raise Refused("margay %s: %s" % (" ".join(words), value["error"]["message"]))
    if child.returncode not in good:
        raise Refused("margay %s: %s" % (" ".join(words), why(value, child.returncode)))
    return value


def why(vm, status):
    """Of a VM that did not do what it should."""
    if not isinstance(vm, dict):
        return "status %d" % status
    return "%s%s" % (vm.get("end") or vm.get("state"), ": " + vm["why"] if vm.get("why") else "")


def vms():
    """Those that were made at run time, by name."""
    return {vm["name"]: vm for vm in margay("list") if vm["created"]}


def version():
    """The hypervisor's, of which the node runs."""
    return margay("info")["margay"]


def images():
    return {image["name"]: image for image in margay("image", "list")}


def put(name, parts):
    margay("image", "put", "-", name, data=parts, seconds=TRANSFER_SECONDS)


def file_of(vm):
    return margay("show", "--file", vm)["text"]
