#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Nodes that pull an image at the same time, each in a network namespace with a link of its own: how long, and who sent what.

    image_namespaces.py --nodes 1,8,32 --rate 1000 --megabytes 268     needs root; prints a line of JSON for each number of nodes

A bridge joins the links; each is held to --rate Mbit/s in both directions by tc's tbf. Bytes are the kernel's count of the store's
interface. A node is the daemon's own code in a process of its own (pull.Node and pull.Pull), so that the interpreter starts once.
"""

import argparse
import asyncio
import ctypes
import functools
import http.server
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tools"), os.path.join(TOP, "tests", "unit")]

import image_stores as stores  # noqa: E402
from margay_images import node_config, pull, request, tracker_server  # noqa: E402

STORE, NET = 1, "10.77"
TIMEOUT_S = 120  # on a link that is far slower than a machine's, and a build host that is busy


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def address(number):
    return "%s.%d.%d" % (NET, number // 250, number % 250 + 1)


class Network:
    """Namespaces, a link for each, and a bridge in one of its own."""

    def __init__(self, count, rate):
        self.prefix = "mg%d-" % os.getpid()
        self.names = [self.prefix + str(number) for number in range(count + 1)]
        self.switch = self.prefix + "sw"
        self.rate = rate

    def __enter__(self):
        run("ip", "netns", "add", self.switch)
        commands = ["link add br0 type bridge", "link set br0 up"]
        for number, name in enumerate(self.names):
            run("ip", "netns", "add", name)
            commands += ["link add p%d type veth peer name eth0 netns %s" % (number, name), "link set p%d master br0" % number,
                         "link set p%d up" % number]
        self.batch(self.switch, "ip", commands)
        # Frames as they are on a wire: no segments of 64 KiB, which tbf would count as one.
        for number, name in enumerate(self.names):
            self.batch(name, "ip", ["addr add %s/16 dev eth0" % address(number), "link set eth0 gso_max_segs 1 up",
                                    "link set lo up"])
            self.batch(name, "tc", [self.shape("eth0")])
        self.batch(self.switch, "tc", [self.shape("p%d" % number) for number in range(len(self.names))])
        return self

    def shape(self, device):
        return "qdisc add dev %s root tbf rate %dkbit burst %d latency 50ms" % (
            device, self.rate * 1000, max(3200, int(self.rate * 1e6 / 8 / 250)))

    def batch(self, name, program, commands):
        subprocess.run(["ip", "netns", "exec", name, program, "-batch", "-"], input="\n".join(commands) + "\n", text=True,
                       check=True)

    def __exit__(self, *error):
        for name in [*self.names, self.switch]:
            subprocess.run(["ip", "netns", "del", name], check=False)

    def sent(self, number):
        """Bytes that went through its link to the switch, each frame's header, too."""
        said = subprocess.run(["ip", "-n", self.names[number], "-s", "-j", "link", "show", "eth0"], capture_output=True, text=True,
                              check=True).stdout
        return json.loads(said)[0]["stats64"]["tx"]["bytes"]


def enter(name):
    """This process is in that network namespace from now on."""
    fd = os.open("/run/netns/" + name, os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(fd, 0x40000000):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(fd)


class Child:
    """A process of a node: function(ready) runs in its namespace; `ready` waits for the start. Its result comes as JSON."""

    def __init__(self, name, function):
        (self.result, result), (go, self.go), (self.is_ready, ready) = os.pipe(), os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                for fd in self.result, self.go, self.is_ready:
                    os.close(fd)
                enter(name)
                answer = function(lambda: (os.write(ready, b"x"), os.read(go, 1)))
                with os.fdopen(result, "w") as f:
                    json.dump(answer, f)
                # It goes on serving as a daemon does, until all have ended.
                status = 0
            except BaseException:  # pylint: disable=W0718
                traceback.print_exc()
            finally:
                os._exit(status)
        for fd in result, go, ready:
            os.close(fd)

    def wait_ready(self):
        assert os.read(self.is_ready, 1) == b"x"

    def start(self):
        os.write(self.go, b"x")

    def end(self):
        os.close(self.go)
        with os.fdopen(self.result) as f:
            text = f.read()
        os.waitpid(self.pid, 0)
        return json.loads(text) if text else None


def store_process(folder, ready):
    """Any web server, and the tracker."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    http.server.SimpleHTTPRequestHandler.protocol_version = "HTTP/1.1"
    http.server.SimpleHTTPRequestHandler.log_message = lambda *arguments: None
    server = http.server.ThreadingHTTPServer(("", 80), handler)
    server.daemon_threads = True

    async def serve():
        tracker = await tracker_server.Server().start(7381)
        web = asyncio.get_running_loop().run_in_executor(None, server.serve_forever)
        await asyncio.to_thread(ready)
        server.shutdown()
        await web
        await tracker.stop()
    asyncio.run(serve())
    return {}


def node_process(folder, keys, tracked, finished, ready):
    path = folder + ".conf"
    with open(path, "w", encoding="ascii") as f:
        f.write("store = http://%s/\n%s" % (address(0), "tracker = http://%s:7381/\n" % address(0) if tracked else ""))
        f.write("cache = %s/cache\nstate = %s/state\nkeys = %s\ntimeout = %d\n" % (folder, folder, keys, TIMEOUT_S))

    async def work():
        async with pull.Node(node_config.Config(path)) as node:
            await asyncio.to_thread(ready)
            began, used = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
            done = await pull.Pull(node, request.Request("big:1", cache_only=True)).run()
            seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF)
            os.write(finished, b"x")
            await asyncio.to_thread(ready)
            return {"seconds": seconds, "from_store": done["from_store"], "sent": node.server.sent, "kib": after.ru_maxrss,
                    "cpu": after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime}
    return asyncio.run(work())


def measure(top, key, count, rate, tracked, image_bytes):
    with Network(count, rate) as network:
        finished, finish = os.pipe()
        store = Child(network.names[0], functools.partial(store_process, os.path.join(top, "store")))
        store.wait_ready()
        nodes = []
        for number in range(1, count + 1):
            work = functools.partial(node_process, "%s/%d-%d" % (top, count, number), key.folder, tracked, finish)
            nodes.append(Child(network.names[number], work))
        for node in nodes:
            node.wait_ready()
        before = network.sent(0)
        for node in nodes:
            node.start()
        for _ in nodes:
            os.read(finished, 1)
        sent = network.sent(0) - before
        for node in nodes:
            node.wait_ready()
            node.start()
        results = [node.end() for node in nodes]
        store.start()
        store.end()
    return {"nodes": count, "seconds": round(max(result["seconds"] for result in results), 2),
            "first": round(min(result["seconds"] for result in results), 2), "store_images": round(sent / image_bytes, 3),
            "most_sent": round(max(result["sent"] for result in results) / image_bytes, 3),
            "cpu": round(sum(result["cpu"] for result in results) / count, 2),
            "mib": max(result["kib"] for result in results) >> 10}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="1,8,32", help="(%(default)s)")
    parser.add_argument("--rate", type=float, default=1000, help="Mbit/s (%(default)s)")
    parser.add_argument("--megabytes", type=float, default=268, help="of the image (%(default)s)")
    parser.add_argument("--untracked", action="store_true", help="everybody from the store")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as top:
        key = stores.Key(os.path.join(top, "keys"), "one")
        image = stores.make_image(os.path.join(top, "big"), name="big", root=random.Random(5).randbytes(int(args.megabytes * 1e6)))
        stores.pushed(os.path.join(top, "store"), image, key.secret)
        folder = os.path.join(top, "store", "chunks")
        size = sum(os.stat(os.path.join(where, file)).st_size for where, _, files in os.walk(folder) for file in files)
        one = None
        for count in (int(word) for word in args.nodes.split(",")):
            found = measure(top, key, count, args.rate, not args.untracked, size)
            one = one or found["seconds"]
            print(json.dumps({**found, "image_bytes": size, "times": round(found["seconds"] / one, 3)}), flush=True)


if __name__ == "__main__":
    main()
