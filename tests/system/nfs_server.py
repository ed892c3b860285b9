# SPDX-License-Identifier: GPL-2.0-only
"""An NFSv4 server in user space, Debian's nfs-ganesha: its packages are downloaded and unpacked under build/, nothing is
installed and no service of this machine is touched. It needs root, whose file handles it opens.
"""

import glob
import os
import re
import socket
import subprocess
import tempfile
import time

import node

DIRECTORY = os.path.join(node.BUILD, "ganesha")
LIBRARIES = re.compile(r"Depends: ((?:libntirpc|liburcu|libnfsidmap|libwbclient)\S*)")

CONFIGURATION = """
NFS_CORE_PARAM {{ Protocols = 4; NFS_Port = {port}; Enable_UDP = false; Enable_NLM = false; Enable_RQUOTA = false;
	Bind_addr = 127.0.0.1; Plugins_Dir = "{plugins}"; }}
NFSV4 {{ RecoveryBackend = fs_ng; RecoveryRoot = "{state}"; Graceless = true; Minor_Versions = 0; Only_Numeric_Owners = true;
	UseGetpwnam = true; }}
DIRECTORY_SERVICES {{ DomainName = localdomain; }}
EXPORT {{ Export_Id = 1; Path = "{root}"; Pseudo = "/root"; Access_Type = RW; Squash = none; SecType = sys; Protocols = 4;
	Transports = TCP; FSAL {{ Name = VFS; }} }}
LOG {{ Default_Log_Level = EVENT; }}
"""


def unpack():
    """Where the programs are, as under /."""
    root = os.path.join(DIRECTORY, "root")
    if os.path.isdir(root):
        return root
    os.makedirs(DIRECTORY, exist_ok=True)
    packages = ["nfs-ganesha", "nfs-ganesha-vfs"]
    out = subprocess.run(["apt-cache", "depends", *packages], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory(dir=DIRECTORY) as tmp:
        download = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download"]
        subprocess.run(download + packages + sorted(set(LIBRARIES.findall(out))), cwd=tmp, stdin=subprocess.DEVNULL, check=True)
        for deb in glob.glob(os.path.join(tmp, "*.deb")):
            subprocess.run(["dpkg-deb", "-x", deb, os.path.join(tmp, "root")], check=True)
        os.rename(os.path.join(tmp, "root"), root)
    return root


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Server:
    """Exports a directory as /root, to be used in a with statement: at `port` of this machine's 127.0.0.1."""

    def __init__(self, exported):
        programs = unpack()
        libraries = os.path.join(programs, "usr/lib/x86_64-linux-gnu")
        self._state = tempfile.TemporaryDirectory(prefix="margay-nfs.")
        self.port = free_port()
        self.log = os.path.join(node.LOGS, "nfs-ganesha.log")
        configuration = os.path.join(self._state.name, "ganesha.conf")
        with open(configuration, "w", encoding="ascii") as f:
            f.write(CONFIGURATION.format(port=self.port, plugins=os.path.join(libraries, "ganesha"), state=self._state.name,
                                         root=exported))
        # It dies with us, however we die.
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", os.path.join(programs, "usr/bin/ganesha.nfsd"), "-F", "-L", self.log,
             "-f", configuration, "-p", os.path.join(self._state.name, "pid")],
            env=dict(os.environ, LD_LIBRARY_PATH="%s:%s/usr/lib/ganesha" % (libraries, programs)),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        for _ in range(600):
            assert self._process.poll() is None, "nfs-ganesha ended: see " + self.log
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except ConnectionRefusedError:
                time.sleep(0.1)
        raise AssertionError("nfs-ganesha does not listen: see " + self.log)

    def __exit__(self, *exc):
        self._process.kill()
        self._process.wait()
        self._state.cleanup()
