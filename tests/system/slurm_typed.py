# SPDX-License-Identifier: GPL-2.0-only
"""docs/cluster.md, typed on a machine of the cluster in namespaces, in the folder where its administrator has Margay's packages and
public keys. The machine's /etc, /usr, /var and /root are layers of its own, so what is typed stays there.

What is not as on a real machine: apt unpacks Margay's packages and looks whether Debian's are here, since this machine must not
change; systemctl starts what a unit of those packages names, or slurmctld, since no systemd runs in a namespace.
"""

import os
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))

import margay_pages  # noqa: E402

# In the world of slurm_cluster.py.
FOLDER, STAND_INS = "/mnt/admin", "/mnt/stand-ins"
APT = r"""#!/bin/sh
# apt install PACKAGE...: Margay's packages are files; of them only what lies in /usr, since / is no layer.
set -e
[ "$1" = install ]
shift
for package; do
	case $package in
	./*) dpkg-deb --fsys-tarfile "$package" | tar -x -C / ./usr ;;
	*) dpkg-query -W -f '${Status}\n' "$package" | grep -qx 'install ok installed' ;;
	esac
done
"""
SYSTEMCTL = r"""#!/bin/sh
# systemctl enable --now TIMER or SERVICE, restart slurmctld
set -e
units=/usr/lib/systemd/system
value() { sed -n "s/^$1=//p" "$units/$unit.service"; }
case $* in
'enable --now '*.timer)
	unit=${3%.timer}
	[ -e "$units/$3" ]
	runuser -u "$(value User)" -- $(value ExecStart)
	;;
'enable --now '*)
	unit=$3
	$(value ExecStart) >/run/$unit.log 2>&1 &
	;;
'restart slurmctld')
	! [ -e /run/slurmctld.pid ] || kill "$(cat /run/slurmctld.pid)"
	runuser -u slurm -- slurmctld
	;;
*)
	echo "systemctl $*: not understood here" >&2
	exit 1
	;;
esac
"""


def prepare(write):
    """The stand-ins; write(path, text, mode)."""
    write(STAND_INS + "/apt", APT, 0o755)
    write(STAND_INS + "/systemctl", SYSTEMCTL, 0o755)


def blocks(place):
    """What the page lets its reader type there, in order."""
    return [block.text for block in margay_pages.all_blocks() if (block.page, block.kind, block.name) == ("cluster", "sh", place)]


def run(text):
    """As root; a command that fails is named."""
    script = "set -eE -o pipefail\nexec </dev/null\ntrap 'echo \"typed, and failed: $BASH_COMMAND\" >&2' ERR\n" + text
    subprocess.run(["bash", "-c", script], cwd=FOLDER, check=True, stdout=2,
                   env={**os.environ, "PATH": "%s:%s" % (STAND_INS, os.environ["PATH"])})
