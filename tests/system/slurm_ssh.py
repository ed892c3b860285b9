# SPDX-License-Identifier: GPL-2.0-only
"""ssh of the cluster in namespaces: ... HOST margay-node, by the socket of slurm_cluster.py."""

import json
import socket
import sys

host, program = sys.argv[-2:]
assert program == "margay-node"
with socket.socket(socket.AF_UNIX) as s:
    s.connect("/mnt/socket")
    with s.makefile("rwb") as f:
        f.write(json.dumps({"host": host, "data": sys.stdin.read()}).encode() + b"\n")
        f.flush()
        done = json.loads(f.readline())
sys.stdout.write(done["out"])
sys.stderr.write(done["err"])
sys.exit(done["status"])
