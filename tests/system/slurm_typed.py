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
# systemctl enable --now TIMER or SERVICE, restart slurmctld; stop and is-active of what systemd-run has begun; reboot, which
# the head (slurm_head.py) carries out.
set -e
units=/usr/lib/systemd/system
value() { sed -n "s/^$1=//p" "$units/$unit.service"; }
runs() { [ -e "/run/units/$1" ] && kill -0 "$(cat "/run/units/$1")" 2>/dev/null; }
case $* in
'is-active '*)
	runs "$2" || { echo inactive; exit 3; }
	echo active
	;;
'stop '*)
	shift
	for unit; do
		! runs "$unit" || kill "$(cat "/run/units/$unit")"
		while runs "$unit"; do sleep 0.05; done
		rm -f "/run/units/$unit"
	done
	;;
'mask slurmd' | 'disable --now munge') ;;
reboot) : >"/mnt/nodes/$MODEL_NODE/reboots" ;;
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


SYSTEMD_RUN = r"""#!/bin/sh
# systemd-run --unit=NAME --property=User=... --property=RuntimeDirectory=... COMMAND; who has died stays dead
set -e
mkdir -p /run/units
user=root
while :; do
	case $1 in
	--unit=*) unit=${1#*=} ;;
	--property=User=*) user=${1##*=} ;;
	--property=RuntimeDirectory=*) install -d -o "$user" -m 755 "/run/${1##*=}" ;;
	--*) ;;
	*) break ;;
	esac
	shift
done
setsid setpriv --reuid="$user" --regid="$user" --clear-groups -- "$@" </dev/null >"/run/units/$unit.log" 2>&1 &
echo $! >"/run/units/$unit"
"""
# The site's command for an upgrade: what the next boot runs.
UPGRADE = r"""#!/bin/sh
[ ! -e "/mnt/nodes/$MODEL_NODE/faults/no-package" ] || { echo 'E: Unable to locate package' >&2; exit 100; }
echo "$1" >"/mnt/nodes/$MODEL_NODE/installed"
"""


def prepare(write):
    """The stand-ins; write(path, text, mode)."""
    write(STAND_INS + "/apt", APT, 0o755)
    write(STAND_INS + "/systemctl", SYSTEMCTL, 0o755)
    write(STAND_INS + "/systemd-run", SYSTEMD_RUN, 0o755)
    write(STAND_INS + "/install-margay", UPGRADE, 0o755)


def blocks(place):
    """What the page lets its reader type there, in order."""
    return [block.text for block in margay_pages.all_blocks() if (block.page, block.kind, block.name) == ("cluster", "sh", place)]


def run(text):
    """As root; a command that fails is named."""
    script = "set -eE -o pipefail\nexec </dev/null\ntrap 'echo \"typed, and failed: $BASH_COMMAND\" >&2' ERR\n" + text
    subprocess.run(["bash", "-c", script], cwd=FOLDER, check=True, stdout=2,
                   env={**os.environ, "PATH": "%s:%s" % (STAND_INS, os.environ["PATH"])})
