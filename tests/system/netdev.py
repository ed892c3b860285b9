# SPDX-License-Identifier: GPL-2.0-only
"""What is at the other end of a passed-through network card: a file to fetch, and a place for one that is sent."""

import os
import socketserver
import threading

import node
import passthrough

SENT = 2 << 20


def network(name):
    """QEMU's arguments for a network with a file to fetch and one to be sent; the two files."""
    down, up = passthrough.make_disk(name + "-down"), os.path.join(node.BUILD, "disks", name + "-up")
    script = up + ".sh"
    with open(script, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\nexec head -c %d > %s\n" % (SENT, up))
    os.chmod(script, 0o755)
    forward = "user,id=net0,restrict=on,guestfwd=tcp:10.0.2.100:80-cmd:cat %s,guestfwd=tcp:10.0.2.101:80-cmd:%s" % (down, script)
    return ["-netdev", forward], down, up


class Server(socketserver.ThreadingTCPServer):
    """The other end of a network that reaches this machine: sends a file, or keeps what it gets."""

    def __init__(self, data=None):
        self.data, self.got = data, b""
        super().__init__(("127.0.0.1", 0), None)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *exc):
        self.shutdown()
        super().__exit__(*exc)

    @property
    def port(self):
        return self.server_address[1]

    def finish_request(self, request, client_address):
        if self.data is not None:
            request.sendall(self.data)
            return
        part = request.recv(1 << 16)
        while part and len(self.got) < SENT:
            self.got += part
            part = len(self.got) < SENT and request.recv(1 << 16)
