# SPDX-License-Identifier: GPL-2.0-only
"""What a node does with an order: it has one compute VM at most, and none is younger than the last order says."""

import fcntl
import os
import sys
import time

from . import bare, generation, health, local_node, metadata, node_images, order, vm_file
from .config import NODE, VM
from .errors import ClusterError, ImageFault, Late

RUN = "/run/margay-node"
METADATA = "compute-metadata"
ALIVE = ("running", "paused", "crashed", "changing", "waiting")
LOCK_SECONDS = 100


class Lock:
    """One order after the other. Who waited longer than the head does need not wait any more."""

    def __init__(self, folder):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.file = open(os.path.join(folder, "lock"), "a", encoding="ascii")

    def __enter__(self):
        end = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return self
            except BlockingIOError as error:
                if time.monotonic() > end:
                    raise ClusterError("another order is under way for %d s" % LOCK_SECONDS) from error
                time.sleep(0.05)

    def __exit__(self, *_):
        self.file.close()


def last_order(folder, record):
    """The generation of the last order: of this management VM, or, if it restarted since, of the VM that the node runs."""
    try:
        with open(os.path.join(folder, "last"), encoding="ascii") as f:
            return f.read()
    except FileNotFoundError:
        return record["generation"] if record else None


def remember(folder, text):
    path = os.path.join(folder, "last")
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write(text)
    os.rename(path + ".new", path)


def present():
    """(VM or None, its record or None)"""
    vm = local_node.vms().get(vm_file.NAME)
    return vm, vm_file.record(local_node.file_of(vm_file.NAME)) if vm else None


def end(vm, grace=0):
    """The VM is over and forgotten, and so is what it was told. With grace its guest may write back what it has, so long."""
    if vm and vm["state"] in ALIVE:
        if grace and vm["state"] == "running":
            local_node.margay("stop", "--timeout", str(grace), vm_file.NAME, seconds=grace + local_node.SECONDS)
        else:
            local_node.margay("kill", vm_file.NAME)
            local_node.margay("wait", vm_file.NAME, good=range(256))
    if vm:
        local_node.margay("destroy", vm_file.NAME)
    if METADATA in local_node.images():
        local_node.margay("image", "rm", METADATA)


def require_ours():
    if bare.has_node():
        raise ClusterError(bare.HAS)


def start(value, vm):
    vm_file.check_grants(value["vm"], "the site's VM file")
    require_ours()
    health.require()
    cmdline, files = node_images.bring(value["image"], value["downgrade"])
    end(vm)
    files["metadata"] = METADATA
    try:
        local_node.put(METADATA, [metadata.archive(value)])
        path = os.path.join(RUN, "compute.conf")
        with open(path, "w", encoding="utf-8") as f:
            f.write(vm_file.write(value, cmdline, files))
        local_node.margay("create", path)
        local_node.margay("start", "--wait", vm_file.NAME)
    except ClusterError:
        end(local_node.vms().get(vm_file.NAME))
        raise


def own(value, vm):
    if value["owner"] == VM:
        bare.end()
        return
    if vm and vm["state"] in ALIVE:
        raise ClusterError("its compute VM has the node")
    end(vm)
    bare.begin(value)


def told():
    """What runs here."""
    vm, record = present()
    return {"done": True, "state": vm["state"] if vm else None, "record": record, "health": health.problem(),
            "owner": NODE if bare.has_node() else VM, "version": local_node.version(), "boot": generation.boot_id(),
            "time": time.time()}


def carry_out(value):
    """The answer to an order."""
    if value["order"] == "list":
        return told()
    with Lock(RUN):
        vm, record = present()
        if generation.is_late(value["generation"], last_order(RUN, record)):
            raise Late("a newer order has come before this one")
        remember(RUN, value["generation"])
        if value["order"] == "own":
            own(value, vm)
        elif value["order"] == "end":
            end(vm, value["grace"])
            if value["check"]:
                health.require()
                require_ours()
        else:
            start(value, vm)
    return {"done": True}


def main():
    """margay-node: one order on standard input, its answer on standard output."""
    try:
        value = order.parse(sys.stdin.buffer.read(order.LIMIT + 1))
        if value["tell"]:
            sys.stdout.buffer.write(order.TAKEN)
            sys.stdout.buffer.flush()
        answer = carry_out(value)
    except Late as error:
        answer = {"error": str(error), "fault": "late"}
    except ImageFault as error:
        answer = {"error": str(error), "fault": "image"}
    except (ClusterError, OSError) as error:
        answer = {"error": str(error), "fault": "node"}
    sys.stdout.buffer.write(order.write(answer))
    return 0 if "error" not in answer else 1
