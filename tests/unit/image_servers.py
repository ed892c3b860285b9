# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of pulling share: web servers of stores, honest and hostile ones, and nodes that pull from them."""

import asyncio
import functools
import http.server
import os
import socket
import struct
import threading
import time
from contextlib import contextmanager

import client_node
from margay_images import node_config, pull, request


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, but where the server's `lies` has something for the path: it is called with the handler."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append(self.path)
        for part, lie in self.server.lies.items():
            if part in self.path:
                if lie(self) is not True:
                    return
        super().do_GET()

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
        self.folder, self.asked, self.lies, self.ended = str(folder), [], {}, threading.Event()
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    @property
    def url(self):
        return "http://127.0.0.1:%d/" % self.server_port

    def got(self, part):
        return [path for path in self.asked if part in path]

    def end(self):
        self.ended.set()
        self.shutdown()
        self.server_close()


def send(handler, data, length=None):
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(data) if length is None else length))
    handler.end_headers()
    handler.wfile.write(data)


def content(handler):
    with open(handler.translate_path(handler.path), "rb") as f:
        return f.read()


# What a hostile server does to a path.


def flipped(where):
    """A byte of it is another one."""
    def lie(handler):
        data = bytearray(content(handler))
        data[where if where >= 0 else len(data) + where] ^= 1
        send(handler, bytes(data))
    return lie


def stalls(after):
    """So many bytes of it come, then nothing."""
    def lie(handler):
        data = content(handler)
        send(handler, data[:after], len(data))
        handler.wfile.flush()
        handler.server.ended.wait()
    return lie


def drips(handler):
    """A byte now and then: never long enough without one to be called a stall."""
    data = content(handler)
    send(handler, b"", len(data))
    for byte in data:
        if handler.server.ended.wait(0.1):
            return
        try:
            handler.wfile.write(bytes([byte]))
        except OSError:
            return


def says_more(handler):
    """It says that there is more than it has."""
    data = content(handler)
    send(handler, data, len(data) + 1)
    handler.close_connection = True


def says_terabytes(handler):
    send(handler, content(handler), 1 << 40)
    handler.close_connection = True


def has_no_end(handler):
    """Nor does it say how much it will be."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.server.endless = 0
    try:
        while handler.server.endless < 64 << 20:
            handler.wfile.write(b"10000\r\n" + bytes(0x10000) + b"\r\n")
            handler.server.endless += 0x10000
    except OSError:
        pass


def is_busy(handler):
    handler.send_response(503)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def redirects(handler):
    handler.send_response(302)
    handler.send_header("Location", handler.server.elsewhere)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def fails(times):
    """The connection breaks, so many times."""
    left = [times]

    def lie(handler):
        left[0] -= 1
        if left[0] < 0:
            return True
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)
        return None
    return lie


def claims_all(server, pieces):
    """As a node that has all of everything."""
    def lie(handler):
        count = 3 if "/have/i" in handler.path else pieces
        send(handler, struct.pack("<%dI" % (1 + count), 7, *range(count)) if "from=0" in handler.path else struct.pack("<I", 7))
    server.lies["/have/"] = lie


# Nodes


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(good):
    end = time.monotonic() + 60
    while not good():
        assert time.monotonic() < end
        time.sleep(0.02)


def configure(folder, store, keys, **values):
    """The path of an images.conf."""
    folder = str(folder)
    os.makedirs(folder, exist_ok=True)
    values = {"store": store, "keys": keys, "cache": folder + "/cache", "state": folder + "/state", "socket": folder + "/socket",
              "margay": client_node.CLIENT, "timeout": 20, **values}
    with open(folder + "/images.conf", "w", encoding="ascii") as f:
        f.write("".join("%s = %s\n" % pair for pair in values.items()))
    return folder + "/images.conf"


def config_of(*arguments, **values):
    """The same, read; any port."""
    config = node_config.Config(configure(*arguments, **values))
    config.port = 0
    return config


async def pulled_by(node, image, tell=lambda progress: None, **words):
    return await pull.Pull(node, request.Request(image, **words), tell).run()


def pulled(config, image, **words):
    """What a pull by a new process of a node has done."""
    async def run():
        async with pull.Node(config) as node:
            return await pulled_by(node, image, **words)
    return asyncio.run(run())


class Loop:
    """A loop of its own, for nodes that go on serving."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(120)

    def end(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(30)
        self.loop.close()


@contextmanager
def serving(config):
    """A node that hands on what it has; (node, run(coroutine))."""
    loop = Loop()
    node = pull.Node(config)
    loop.run(node.__aenter__())
    try:
        yield node, loop.run
    finally:
        loop.run(node.__aexit__())
        loop.end()
