# SPDX-License-Identifier: GPL-2.0-only
"""Orders to many nodes at once: so many processes and no more, and each ends, whatever hangs on the way.

ssh will do, so there is no daemon of ours: it is on every node, it authenticates both ends, and what limits the head's key to
orders is one line of authorized_keys. What it costs is a process a node, and up to 0.1 s of CPU to connect. `parallel` connect at
once: more of them would take longer than ssh's ConnectTimeout. `at_work` nodes may be at work at once, each with its process, which
waits then: a node may need a minute, and those that wait for others' end would begin a minute later.
"""

import resource
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from . import order
from .errors import ClusterError

# Of ours, for an order that is under way: to its process and from it, and what Python takes to start one.
FILES, OWN_FILES = 5, 64
# timeout(1) outlives whoever calls it: a hung ssh ends even if slurmctld has killed our program.
GRACE = 2


def talk(child, data, taken):
    """What it says, without the line that the node has the order: taken() is called behind that, or behind any other."""
    try:
        child.stdin.write(data)
        child.stdin.close()
    except BrokenPipeError:
        # It did not listen; what it says stands for it.
        pass
    first = child.stdout.readline()
    taken()
    return (b"" if first == order.TAKEN else first) + child.stdout.read()


def run(command, data, seconds, connecting=None):
    """(status, standard output, last line of standard error). connecting: as many as may do that at once."""
    connecting = connecting or threading.Semaphore()
    connecting.acquire()
    with tempfile.TemporaryFile() as said:
        words = ["timeout", "--kill-after=%d" % GRACE, str(seconds), *command]
        try:
            child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said)
        except OSError:
            connecting.release()
            raise
        with child:
            out = talk(child, data, connecting.release)
        said.seek(0)
        return child.returncode, out, order.first_line(said.read().strip().split(b"\n")[-1])


def send(config, node, value, connecting=None):
    """A node's answer: {"done": true, ...}, or {"error": text, "fault": whose}."""
    host = config.group(node).management_of(node)
    data = order.write({**value, "tell": True})
    status, out, err = run([*config.ssh, host, "margay-node"], data, config.order_timeout, connecting)
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
    connecting = threading.Semaphore(config.parallel)
    with ThreadPoolExecutor(allow_files(min(max(config.at_work, config.parallel), len(orders)))) as pool:
        return dict(zip(orders, pool.map(lambda node: send(config, node, orders[node], connecting), orders)))
