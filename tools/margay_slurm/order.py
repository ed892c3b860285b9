# SPDX-License-Identifier: GPL-2.0-only
"""What the head and a node say to each other: an order, one line of JSON, is answered by one line of JSON.

It goes over ssh, from the head's key to the program margay-node as the key's forced command, so whoever has that key can do this
and no more. `start`: that VM runs, fresh, whatever ran before; `end`: none runs, and with `check` the node is well, too; `list`:
which runs, which version, and whose slurmd has the node; `own`: the management VM's has it from now on, or not any more, as `owner`
says. The munge key of the cluster goes with `start`, through the node's management VM into the memory of the VM, and stays
nowhere else; with `own` into the memory of the management VM, as long as that has the node.
"""

import json
import re

from . import generation, hosts
from .config import NODE, OWNERS
from .errors import ClusterError

FORMAT = 1
LIMIT = 1 << 20
# A line in front of the answer, if the order asks for it by `tell`: it has come, and the node is at work.
TAKEN = b'{"taken": true}\n'
GRACE = 600
ORDERS = ("start", "end", "list", "own")
# Whose fault it is that an order was not carried out; late: nobody's.
FAULTS = ("image", "node", "late")
TEXTS = {"generation": 40, "node": 63, "job": 40, "image": 127, "vm": 65536, "controller": 255, "address": 64, "gateway": 64,
         "munge_key": 8192, "owner": 4}
IMAGE = re.compile(r"[a-z0-9][a-z0-9+.-]{0,62}:[0-9][0-9A-Za-z.+~-]{0,62}")


def write(value):
    return json.dumps(value, sort_keys=True).encode() + b"\n"


def parse(data):
    """An order as a node takes it; nothing of it is believed before."""
    value = parse_line(data)
    if value.get("format") != FORMAT or value.get("order") not in ORDERS:
        raise ClusterError("an order of another version of Margay: %.60s" % value.get("format"))
    for key, longest in TEXTS.items():
        text = value.setdefault(key, "")
        if not isinstance(text, str) or len(text) > longest or "\0" in text:
            raise ClusterError("an order whose %s is not to be understood" % key)
    grace = value.setdefault("grace", 0)
    if type(grace) is not int or not 0 <= grace <= GRACE:
        raise ClusterError("an order whose grace is not to be understood")
    for key in "downgrade", "check", "tell":
        if type(value.setdefault(key, False)) is not bool:
            raise ClusterError("an order whose %s is not to be understood" % key)
    if value["order"] != "list":
        try:
            generation.parse(value["generation"])
        except ValueError as error:
            raise ClusterError("an order without a generation") from error
    if value["order"] == "start" and not IMAGE.fullmatch(value["image"]):
        raise ClusterError("an order whose image is not to be understood")
    if value["order"] == "own":
        check_own(value)
    return value


def check_own(value):
    """Name and controller become arguments of slurmd."""
    if value["owner"] not in OWNERS:
        raise ClusterError("an order whose owner is not to be understood")
    if value["owner"] == NODE and not (hosts.NAME.fullmatch(value["node"]) and hosts.NAME.fullmatch(value["controller"])):
        raise ClusterError("an order whose node or controller is not to be understood")


def parse_line(data):
    if len(data) > LIMIT:
        raise ClusterError("longer than %d bytes" % LIMIT)
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ClusterError("no JSON: %s" % first_line(data)) from error
    if not isinstance(value, dict):
        raise ClusterError("no object: %s" % first_line(data))
    return value


def first_line(data):
    text = data.decode("utf-8", "replace").strip().split("\n")[0] or "nothing"
    return "".join(c if c.isprintable() else "?" for c in text)[:200]
