# SPDX-License-Identifier: GPL-2.0-only
"""ResumeProgram: the nodes of a job get a VM of the job's image, all at once."""

import base64
import json
import os
import socket
import sys

from . import config as site
from . import broken, errors, generation, hosts, order, records, remote, slurm, wanted
from .errors import ClusterError, ImageFault

PROGRAM = "margay-slurm-resume"


def read_jobs(path):
    """{node: number of its job}, by the file that slurmctld writes for this call. It is gone when the call ends."""
    if not path:
        return {}
    try:
        with open(path, encoding="utf-8") as f:
            value = json.load(f)
        # 22.05 calls them "nodes", later ones distinguish those that are up already.
        return {node: int(job["job_id"]) for job in value["jobs"]
                for node in hosts.expand(job["nodes_resume"] if "nodes_resume" in job else job["nodes"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ClusterError("SLURM_RESUME_FILE: not as Slurm writes it: %s" % error) from error


def address_of(group, node):
    """ADDRESS/PREFIX for a VM that shall not ask DHCP: the node's name is its address, as everybody resolves it."""
    if group.network is None:
        return "dhcp"
    try:
        return "%s/%d" % (socket.gethostbyname(node), group.network.prefixlen)
    except OSError as error:
        raise ClusterError("%s: its address is not known here: %s" % (node, error)) from error


class Resume:
    """One call: what is ordered, and what became of it."""

    def __init__(self, config, own):
        self.config, self.own = config, own
        self.versions, self.grants = wanted.Versions(config), {}
        self.records = records.Records(config.state)
        # Jobs that no node can run; nodes that failed; nodes that are well, but of whose job nothing comes.
        self.ended, self.failed, self.idle = {}, {}, {}
        with open(config.munge_key, "rb") as f:
            self.key = base64.b64encode(f.read()).decode()

    def granted(self, group):
        if group.vm not in self.grants:
            with open(group.vm, encoding="utf-8") as f:
                self.grants[group.vm] = f.read()
        return self.grants[group.vm]

    def order(self, node, job):
        group = self.config.group(node)
        name = wanted.image_of(job.features if job else "", group.images, self.config.default_image)
        image = self.versions.newest(name)
        return {"format": order.FORMAT, "order": "start", "generation": self.own, "node": node, "job": job.run if job else "",
                "image": image, "downgrade": image in self.config.allow_downgrade.split(), "vm": self.granted(group),
                "controller": self.config.controller, "address": address_of(group, node), "gateway": group.gateway,
                "munge_key": self.key}

    def orders(self, nodes, of_node, jobs):
        """{node: order}. A job that cannot be has none."""
        found = {}
        for node in nodes:
            number = of_node.get(node)
            if number is not None and number not in jobs:
                # It ended before its nodes were up: nobody wants them.
                self.idle[node] = "its job %d is gone" % number
                continue
            try:
                found[node] = self.order(node, jobs.get(number))
            except ImageFault as error:
                self.blame(node, number, str(error))
            except ClusterError as error:
                self.failed[node] = str(error)
        for node, value in found.items():
            self.records.write(node, {**self.records.read(node), "generation": self.own, "job": value["job"],
                                      "image": value["image"]})
        return found

    def blame(self, node, number, sentence):
        self.idle[node] = sentence
        if number is not None:
            self.ended.setdefault(number, sentence)

    def note(self, answers, of_node):
        for node, answer in answers.items():
            if answer.get("fault") == "image":
                self.blame(node, of_node.get(node), answer["error"])
            elif answer.get("fault") == "node":
                self.failed[node] = answer["error"]


def power_down(nodes, why):
    """They are well, and nobody's: they go through suspend, which leaves nothing on them."""
    for node, reason in nodes.items():
        errors.say(PROGRAM, "%s: %s" % (node, reason))
        slurm.update_node(node, "state=power_down_force", "reason=margay: " + why)


def main():
    config = site.read()
    nodes = hosts.expand(sys.argv[1])
    of_node = read_jobs(os.environ.get("SLURM_RESUME_FILE"))
    jobs = slurm.jobs(sorted(set(of_node.values())))
    call = Resume(config, generation.own())
    orders = call.orders(nodes, of_node, jobs)
    call.note(remote.send_all(config, orders), of_node)
    for number, sentence in call.ended.items():
        slurm.end_job(number, sentence)
    power_down(call.idle, "no job for it")
    broken.set_down(config, PROGRAM, call.failed)
    broken.free_if_due(config, call.failed)
    return 1 if call.failed or call.idle else 0
