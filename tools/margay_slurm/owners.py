# SPDX-License-Identifier: GPL-2.0-only
"""Whose slurmd has a node: that of the compute VM of a job's image, or that of the node's management VM. The site's file says which
may (config.shared); this is which does, and how it changes. Slurm knows a node that may be either's by two names, and not that they
are one; so one of them is drained, whatever happens, and the node itself lets nobody begin while the other is there.

The record says who has it, and while it changes, `to`, who will: then both names are kept from jobs."""

import base64

from . import errors, generation, hold, hosts, order, records, remote, slurm
from .config import NODE, VM
from .errors import ClusterError

REASON = hold.OWNER + "the %s has the node"
WORDS = {VM: "compute VM", NODE: "management VM"}


def other(owner):
    return NODE if owner == VM else VM


class Owners:
    def __init__(self, config):
        self.config = config
        self.records = records.Records(config.state, "owners")

    def of(self, node):
        return self.records.read(node).get("owner", VM)

    def to(self, node):
        return self.records.read(node).get("to")

    def slurm_name(self, node, owner=None):
        """What Slurm calls it."""
        return node if (owner or self.of(node)) == VM else self.config.management_of(node)

    def require_shared(self, node):
        if node not in self.config.shared:
            raise ClusterError("%s: no [partition] with owner = node has it: it is always its compute VM's" % node)

    def send(self, node, owner):
        """The node's slurmd begins in its management VM, or ends."""
        value = {"format": order.FORMAT, "order": "own", "generation": generation.now(), "owner": owner,
                 "node": self.config.management_of(node), "controller": self.config.controller}
        if owner == NODE:
            with open(self.config.munge_key, "rb") as f:
                value["munge_key"] = base64.b64encode(f.read()).decode()
        self.require_done(remote.send(self.config, node, value))

    def require_done(self, answer):
        if not answer.get("done"):
            raise ClusterError(answer["error"])

    def end_vm(self, node):
        """Slurm takes a node for empty when its suspend has begun."""
        self.require_done(remote.send(self.config, node, {"format": order.FORMAT, "order": "end", "node": node,
                                                          "generation": generation.now()}))

    def begin(self, node, stopped=lambda: False):
        """The management VM has it: until its slurmd is there."""
        self.send(node, NODE)
        name = self.slurm_name(node, NODE)
        if not hold.wait(lambda: slurm.is_there(hold.state(name)), self.config.boot_timeout, stopped):
            raise ClusterError("%s: no slurmd after %d s" % (name, self.config.boot_timeout))

    def give(self, node, owner, tell, stopped=lambda: False):
        """One node to its other owner. Whatever ends this, a second call goes on, and one the other way turns back."""
        self.require_shared(node)
        old, new = self.slurm_name(node, other(owner)), self.slurm_name(node, owner)
        if records.Records(self.config.state, "upgrades").read(node).get("phase", "done") != "done":
            raise ClusterError("an upgrade of it is not over")
        record = self.records.read(node)
        if record.get("owner", VM) == owner and not record.get("to"):
            tell("%s: is its %s's" % (node, WORDS[owner]))
            return
        for name in old, new:
            who, why = hold.whose(name)
            if who == "others" and slurm.DRAIN in hold.state(name):
                raise ClusterError("%s: is drained: %s" % (name, why))
        self.records.write(node, {"owner": record.get("owner", VM), "to": owner})
        tell("%s: no new jobs for %s" % (node, old))
        hold.empty(old, REASON % WORDS[owner], stopped)
        if owner == NODE:
            self.end_vm(node)
            self.begin(node, stopped)
        else:
            self.send(node, VM)
        self.records.write(node, {"owner": owner})
        hold.have(new)
        # The drain stays as long as the other has it.
        for name in old, new:
            hold.release(name)
        tell("%s: is its %s's" % (node, WORDS[owner]))

    def told(self, node, answer):
        """A line of the table."""
        owner, to = self.of(node), self.to(node)
        partitions = [partition.name for partition in self.config.partitions
                      if partition.owner == owner and node in partition.nodes]
        words = [node, owner, self.slurm_name(node), ",".join(partitions)]
        if to:
            words.append("(goes to %s)" % to)
        elif "error" in answer:
            words.append("(%s)" % answer["error"])
        elif answer.get("owner", VM) != owner:
            words.append("(but its management VM's slurmd %s)" % ("does not run" if owner == NODE else "runs"))
        return "  ".join(words)


def require_drained(known, node, states):
    """Of its two names the one that has it not; a site that is new has none drained yet."""
    name = known.slurm_name(node, other(known.of(node)))
    if slurm.DRAIN not in states.get(name, {slurm.DRAIN}):
        slurm.update_node(name, "state=drain", "reason=" + REASON % WORDS[known.of(node)])


def tend(config, program):
    """What Slurm says of nodes that may be either's is so. A management VM that has restarted knows of nothing: its slurmd begins
    again."""
    if not config.shared:
        return
    known = Owners(config)
    states = slurm.states(hosts.compress([*config.shared, *map(config.management_of, config.shared)]))
    for node in config.shared:
        if known.to(node):
            continue
        try:
            require_drained(known, node, states)
            words = states.get(known.slurm_name(node), set())
            if known.of(node) == NODE and slurm.DRAIN not in words and not slurm.is_there(words):
                known.send(node, NODE)
        except ClusterError as error:
            errors.say(program, "%s: %s" % (node, error))
