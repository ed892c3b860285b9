# SPDX-License-Identifier: GPL-2.0-only
"""ssh of the cluster in namespaces, by the socket of slurm_cluster.py: HOST margay-node by the head's key;
--admin HOST COMMAND by the administrator's."""

import json
import socket
import sys

host, program = sys.argv[-2:]
admin = sys.argv[1] == "--admin"
assert admin or program == "margay-node"
value = {"host": host, "typed": program} if admin else {"host": host, "data": sys.stdin.read()}
with socket.socket(socket.AF_UNIX) as s:
    s.connect("/mnt/socket")
    with s.makefile("rwb") as f:
        f.write(json.dumps(value).encode() + b"\n")
        f.flush()
        done = json.loads(f.readline())
sys.stdout.write(done["out"])
sys.stderr.write(done["err"])
sys.exit(done["status"])
