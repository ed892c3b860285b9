# SPDX-License-Identifier: GPL-2.0-only
"""Orders to many nodes at once: so many processes and no more, and each ends, whatever hangs on the way.

ssh will do, so there is no daemon of ours: it is on every node, it authenticates both ends, and what limits the head's key to
orders is one line of authorized_keys. What it costs is a process a node, `parallel` of them at a time. Not few: a node
may be at work for a minute, and those that wait for others' end would begin a minute later.
"""

import resource
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from . import order
from .errors import ClusterError

# Of ours, for an order that is under way: three pipes to its process, and what Python takes to start one.
FILES, OWN_FILES = 5, 64
# timeout(1) outlives whoever calls it: a hung ssh ends even if slurmctld has killed our program.
GRACE = 2


def run(command, data, seconds):
    """(status, standard output, last line of standard error)"""
    try:
        done = subprocess.run(["timeout", "--kill-after=%d" % GRACE, str(seconds), *command], input=data, capture_output=True,
                              check=False)
    except BrokenPipeError:
        return 1, b"", "it did not listen"
    return done.returncode, done.stdout, order.first_line(done.stderr.strip().split(b"\n")[-1])


def send(config, node, value):
    """A node's answer: {"done": true, ...}, or {"error": text, "fault": whose}."""
    host = config.group(node).management_of(node)
    status, out, err = run([*config.ssh, host, "margay-node"], order.write(value), config.order_timeout)
    # -9: it did not heed the first signal, and timeout ended by the second as well.
    if status in (124, 137, -9):
        return {"error": "%s: no answer within %d s" % (host, config.order_timeout), "fault": "node"}
    try:
        answer = order.parse_line(out)
    except ClusterError as error:
        return {"error": "%s: %s" % (host, err if status else error), "fault": "node"}
    if answer.get("done") is True:
        if isinstance(answer.get("time"), (int, float)):
            answer["ahead"] = answer["time"] - time.time()
        return answer
    fault = answer.get("fault")
    return {"error": "%s: %.500s" % (host, answer.get("error")), "fault": fault if fault in order.FAULTS else "node"}


def allow_files(count):
    """How many orders may be under way: `count`, or as many as there may be files for. A login has 1,024 of these at first."""
    wanted = count * FILES + OWN_FILES
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if now == resource.RLIM_INFINITY or now >= wanted:
        return count
    now = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (now, most))
    return max(1, (now - OWN_FILES) // FILES)


def send_all(config, orders):
    """{node: answer} of {node: order}."""
    if not orders:
        return {}
    with ThreadPoolExecutor(allow_files(min(config.parallel, len(orders)))) as pool:
        return dict(zip(orders, pool.map(lambda node: send(config, node, orders[node]), orders)))
