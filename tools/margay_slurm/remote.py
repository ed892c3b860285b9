# SPDX-License-Identifier: GPL-2.0-only
"""Orders to many nodes at once: so many processes and no more, and each ends, whatever hangs on the way.

ssh will do, so there is no daemon of ours: it is on every node, it authenticates both ends, and what limits the head's key to
orders is one line of authorized_keys. What it costs is a process and some 0.1 s a node, `parallel` of them at a time.
"""

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from . import order
from .errors import ClusterError

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


def send_all(config, orders):
    """{node: answer} of {node: order}."""
    if not orders:
        return {}
    with ThreadPoolExecutor(min(config.parallel, len(orders))) as pool:
        return dict(zip(orders, pool.map(lambda node: send(config, node, orders[node]), orders)))
