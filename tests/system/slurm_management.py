# SPDX-License-Identifier: GPL-2.0-only
"""The first process of a node's management VM in the cluster in namespaces: it sets that up by the lines of docs/cluster.md, says
so, and is there. With it all goes that was started there, but not the node's compute VM. Arguments: the node, and all nodes."""

import os
import signal
import sys
import time
import uuid

import slurm_guest
import slurm_machines
import slurm_typed

# What this site looks at.
HEALTH = """#!/bin/sh
[ ! -e /mnt/nodes/%s/faults/no-power ] || { echo half the power; exit 1; }
"""


def main(node, nodes):
    slurm_machines.own_folders(node + "-mgmt", nodes)
    # What is told to the compute VM shall be found there by whoever looks for it.
    slurm_machines.run("mount", "--bind", os.path.join(slurm_machines.WORLD, "nodes", node, "run"), "/run")
    # A disk of the node's.
    os.makedirs("/var/cache/margay-images", exist_ok=True)
    slurm_machines.run("mount", "--bind", os.path.join(slurm_machines.WORLD, "nodes", node, "cache"), "/var/cache/margay-images")
    # Each start is another boot.
    slurm_machines.write("/etc/boot_id", str(uuid.uuid4()) + "\n")
    slurm_machines.run("mount", "--bind", "/etc/boot_id", "/proc/sys/kernel/random/boot_id")
    slurm_guest.cgroups()
    slurm_machines.card("10.7.0.%d/24" % (101 + nodes.index(node)))
    # The programs that run there find the model's `margay`, of their node.
    os.environ.update(MODEL_NODE=node, PATH="%s/bin:%s" % (slurm_machines.WORLD, os.environ["PATH"]))
    for text in slurm_typed.blocks("management") + slurm_typed.blocks("shared"):
        slurm_typed.run(text)
    slurm_machines.write("/etc/margay/health.d/power", HEALTH % node, 0o755)
    while not os.path.exists("/run/margay/images.sock"):
        time.sleep(0.05)
    print("ready", flush=True)
    signal.pause()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
