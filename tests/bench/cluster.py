#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""A Slurm cluster's times, in namespaces, with a model of the node: `make bench-cluster`, as root. Debian's Slurm and munge are
real, and so are the programs of margay-slurm. Times are slurmctld's, by its log; what the node's model takes is taken off.

    cluster.py --parts two      two nodes: from submission to the first step, and from job to job on the same nodes
    cluster.py --parts many     --nodes nodes, of which one job has --job
"""

import argparse
import json
import os
import statistics
import sys

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tests", "system"), os.path.join(TOP, "tests", "unit"), os.path.join(TOP, "tools")]

import cluster_log  # noqa: E402
import cluster_many  # noqa: E402
import slurm_cluster  # noqa: E402
import slurm_images  # noqa: E402

# Seconds beyond the model's: issue 43's.
FIRST_STEP, CYCLE, LARGE = 2, 5, 30
IMAGES = ("mpi", "debian13-mpi")


def two(args):
    cluster = slurm_cluster.Cluster(2, slurm_images.make)
    try:
        for node in cluster.nodes:
            slurm_cluster.write(cluster.path("nodes", node, "boot-seconds"), str(args.boot))
        cluster.run("sed", "-i", "s/^DebugFlags=.*/DebugFlags=Power,Steps/", "/etc/slurm/slurm.conf")
        cluster.run("scontrol", "reconfigure")
        # The first has the image brought.
        for image in IMAGES:
            cluster.wait_over(cluster.submit("srun true", "-C", image, nodes=2))
        found = [run_two(cluster, args.jobs) for _ in range(args.runs)]
    finally:
        cluster.close()
    first = [pair[0] for pairs in found for pair in pairs if pair[0] is not None]
    cycle = [pair[1] for pairs in found for pair in pairs if pair[1] is not None]
    return {"boot": args.boot, "first step beyond the boot": summary(first, FIRST_STEP),
            "cycle beyond the boot": summary(cycle, CYCLE)}


def run_two(cluster, count):
    cluster.wait_free()
    jobs = [cluster.submit("srun true", "-C", IMAGES[number % 2], nodes=2) for number in range(count)]
    cluster.wait_over(*jobs)
    log = cluster.log("slurmctld.log")
    times = [cluster_log.boots(cluster.log("nodes/%s/boots" % node)) for node in cluster.nodes]
    return cluster_log.beyond([cluster_log.marks(log, job) for job in jobs], times)


def summary(seconds, goal):
    return {"least": round(min(seconds), 2), "median": round(statistics.median(seconds), 2), "most": round(max(seconds), 2),
            "runs": len(seconds), "goal": goal}


def many(args):
    more = "parallel = %d\n" % args.parallel if args.parallel else ""
    found = cluster_many.measure(args.nodes, args.job, seed=args.seed, more=more, limit=args.limit)
    if "configured" in found["log"]:
        found["beyond the model"] = round(found["log"]["configured"] - found["slowest"], 2)
    return {**found, "goal": LARGE}


def busy():
    """What others wanted of this machine: the times are no better than that."""
    with open("/proc/pressure/cpu", encoding="ascii") as f:
        return f.readline().strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="two,many", help="(%(default)s)")
    parser.add_argument("--boot", type=float, default=5, help="seconds that a VM boots, with two nodes (%(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="(%(default)s)")
    parser.add_argument("--jobs", type=int, default=3, help="of a run, one after the other (%(default)s)")
    parser.add_argument("--nodes", type=int, default=10000, help="(%(default)s)")
    parser.add_argument("--job", type=int, default=1000, help="nodes of the job (%(default)s)")
    parser.add_argument("--parallel", type=int, help="that key of cluster.conf")
    parser.add_argument("--seed", type=int, default=1, help="of the model's delays (%(default)s)")
    parser.add_argument("--limit", type=int, default=900, help="seconds until the large job is given up (%(default)s)")
    args = parser.parse_args()
    for part in args.parts.split(","):
        print(json.dumps({"part": part, **{"two": two, "many": many}[part](args), "pressure": busy()}, indent=1), flush=True)


if __name__ == "__main__":
    main()
