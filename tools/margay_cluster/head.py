# SPDX-License-Identifier: GPL-2.0-only
"""The cluster's head: Debian's slurmctld, slurmdbd, MariaDB, munge, an NFS server of the users' home, DHCP and TFTP by dnsmasq, and
a web server. What is Margay's is set up by the lines of docs/cluster.md, typed there; what that page presupposes is here."""

import os
import re
import shutil
import subprocess
import time

import margay_pages

from . import places
from .places import Failed, write
from .world import Root

SLURM_CONF = """\
ClusterName=demo
SlurmctldHost=head({head})
SlurmUser=slurm
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=pmi2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdSpoolDir=/var/spool/slurmd
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmctldPidFile=/run/slurmctld/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/logs/slurmctld.log
SlurmctldDebug=debug
DebugFlags=Power,Steps
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
JobAcctGatherType=jobacct_gather/linux
SlurmdTimeout=300
MessageTimeout=60
SchedulerParameters=sched_interval=2
"""
CGROUP_CONF = "CgroupPlugin=autodetect\nIgnoreSystemdOnFailure=yes\n"
SLURMDBD_CONF = """\
AuthType=auth/munge
DbdHost=localhost
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
PidFile=/run/slurmdbd/slurmdbd.pid
LogFile=/logs/slurmdbd.log
"""
SQL = "CREATE USER slurm@localhost IDENTIFIED VIA unix_socket; GRANT ALL ON slurm_acct_db.* TO slurm@localhost;"
# Of the site's file: what this one has in place of the example's values, and what is for emulators, on which all takes longer.
CHANGED = {"default_image": places.IMAGE, "cpus": "1", "memory": "500", "images": places.IMAGE}
ADDED = {"order_timeout": "600", "boot_timeout": "900", "stop_timeout": "0"}
COMPUTE_VM = """\
memory = 768M
cpus = 1
pci = 00:08.0
dma = iommu
cmdline = %s
"""
DNSMASQ = """\
interface={bridge}
bind-interfaces
no-resolv
log-dhcp
log-facility=/logs/dnsmasq.log
user=root
dhcp-authoritative
dhcp-range={network},static,255.255.255.0
"""
GANESHA = """\
NFS_CORE_PARAM { Protocols = 4; Enable_UDP = false; Enable_NLM = false; Enable_RQUOTA = false; Bind_addr = %s; }
NFSV4 { RecoveryBackend = fs_ng; RecoveryRoot = "/run/ganesha"; Graceless = true; Minor_Versions = 0, 1, 2;
	Only_Numeric_Owners = true; UseGetpwnam = true; }
DIRECTORY_SERVICES { DomainName = localdomain; }
EXPORT { Export_Id = 1; Path = "/home"; Pseudo = "/home"; Access_Type = RW; Squash = none; SecType = sys; Protocols = 4;
	Transports = TCP; FSAL { Name = VFS; } }
LOG { Default_Log_Level = EVENT; }
"""
# No systemd runs there: what the page asks of it is done by hand.
SYSTEMCTL = r"""#!/bin/sh
# systemctl enable --now TIMER or SERVICE, restart slurmctld
set -e
value() { sed -n "s/^$1=//p" "/usr/lib/systemd/system/$unit.service"; }
case $* in
'enable --now '*.timer)
	unit=${3%.timer}
	[ -e "/usr/lib/systemd/system/$3" ]
	runuser -u "$(value User)" -- $(value ExecStart)
	;;
'enable --now '*)
	unit=$3
	$(value ExecStart) >/logs/$unit.log 2>&1 </dev/null &
	;;
'restart slurmctld') runuser -u slurm -- slurmctld ;;
*) exec /usr/bin/systemctl "$@" ;;
esac
"""
SECONDS = 60


def blocks(place):
    """What the page lets its reader type there, in order."""
    found = [block.text for block in margay_pages.all_blocks()
             if (block.page, block.kind, block.name) == ("cluster", "sh", place)]
    if not found:
        raise Failed("docs/cluster.md has nothing to type on: " + place)
    return found


def site_file(text):
    """The example, with what this site changes, as the page tells its reader."""
    for key, value in CHANGED.items():
        text, count = re.subn("^%s =.*$" % key, "%s = %s" % (key, value), text, flags=re.MULTILINE)
        if count != 1:
            raise Failed("the example of cluster.conf has not one line: %s =" % key)
    section = "\n".join("%s = %s" % pair for pair in ADDED.items()) + "\n\n[nodes n[1-%d]]" % len(places.NODES)
    return re.sub(r"^\[nodes .*\]$", section, text, flags=re.MULTILINE)


def dhcp_hosts():
    """Both cards of each node: the management VM's, by which the node boots, and the one that jobs' VMs have."""
    lines = []
    for node in places.NODES:
        lines += ["dhcp-host=%s,%s,%s" % (node.mac(1), node.management_address, node.management),
                  "dhcp-host=%s,%s,%s" % (node.mac(2), node.address, node.name)]
    return "\n".join(lines) + "\n"


class Head:
    def __init__(self):
        self.root = Root("head")
        self.typed = os.path.join(places.LOGS, "head-typed.log")
        self.root.mount("--bind", places.LOGS, "/logs")
        os.makedirs(os.path.join(places.RUN, "home", places.USER))
        self.root.mount("--bind", os.path.join(places.RUN, "home"), "/home")
        self.root.run("chown", "%d:%d" % (places.UID, places.UID), "/home/" + places.USER)
        os.chmod(places.LOGS, 0o1777)
        self.root.write("/stand-ins/systemctl", SYSTEMCTL, 0o755)
        self.root.write("/etc/apt/apt.conf.d/99cluster", 'APT::Get::Assume-Yes "true";\nAPT::Install-Recommends "false";\n')
        self.root.write("/etc/hosts", places.hosts())
        bring_packages(self.root)

    def own(self, path, user):
        self.root.run("install", "-d", "-o", user, "-g", user, "-m", "755", path)

    def daemon(self, name, *words):
        """In the background; its log is its own."""
        with open(os.path.join(places.LOGS, name + ".log"), "ab") as log:
            return subprocess.Popen(self.root.words(*words), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def until(self, what, *words):
        """This command does not fail any more."""
        end = time.monotonic() + SECONDS
        while subprocess.run(self.root.words(*words), stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode:
            if time.monotonic() > end:
                raise Failed("%s does not come up: see %s" % (what, places.LOGS))
            time.sleep(0.2)

    # ---- what the page presupposes

    def start_munge(self):
        key = os.urandom(1024)
        self.root.write("/etc/munge/munge.key", key, 0o400)
        self.root.run("chown", "munge:munge", "/etc/munge/munge.key")
        self.own("/run/munge", "munge")
        self.root.as_user("munge", "/usr/sbin/munged")

    def start_accounting(self):
        self.own("/run/mysqld", "mysql")
        self.daemon("mariadb", "/usr/sbin/mariadbd", "--user=mysql", "--skip-networking", "--innodb-buffer-pool-size=32M",
                    "--innodb-flush-method=fsync", "--socket=/run/mysqld/mysqld.sock")
        self.until("MariaDB", "mariadb", "-e", "SELECT 1")
        self.root.run("mariadb", "-e", SQL)
        self.own("/run/slurmdbd", "slurm")
        self.root.write("/etc/slurm/slurmdbd.conf", SLURMDBD_CONF, 0o600)
        self.root.run("chown", "slurm:slurm", "/etc/slurm/slurmdbd.conf")
        self.root.as_user("slurm", "/usr/sbin/slurmdbd")
        self.until("slurmdbd", "sacctmgr", "-n", "show", "cluster")
        self.root.run("sacctmgr", "-i", "add", "cluster", "demo", stdout=subprocess.DEVNULL)

    def start_files(self):
        """The users' home, the store, and what nodes boot from."""
        self.own("/run/ganesha", "root")
        self.root.write("/etc/ganesha.conf", GANESHA % places.HEAD)
        # Where it looks for the file system that /home is on.
        self.root.run("ln", "-sf", "/proc/self/mounts", "/etc/mtab")
        self.daemon("ganesha", "/usr/bin/ganesha.nfsd", "-F", "-L", "/logs/ganesha.log", "-f", "/etc/ganesha.conf", "-p",
                    "/run/ganesha.pid")
        self.root.mount("--bind", os.path.join(places.RUN, "netboot", "margay"), "/srv/margay")
        self.root.write("/admin/web.py", read(os.path.join(os.path.dirname(__file__), "web.py")))
        self.daemon("web", "python3", "-B", "/admin/web.py", "/srv", "/logs/web.log")

    def start_dnsmasq(self):
        text = read(os.path.join(places.RUN, "netboot", "dnsmasq.conf"))
        text = re.sub("^tftp-root=.*$", "tftp-root=/srv", text, flags=re.MULTILINE)
        self.root.write("/etc/dnsmasq.conf", DNSMASQ.format(bridge=places.BRIDGE, network=places.NETWORK) + dhcp_hosts() + text)
        self.root.run("dnsmasq")

    def write_slurm_conf(self):
        self.root.write("/etc/slurm/slurm.conf", SLURM_CONF.format(head=places.HEAD))
        self.root.write("/etc/slurm/cgroup.conf", CGROUP_CONF)
        self.own("/var/lib/slurm/slurmctld", "slurm")
        self.own("/run/slurmctld", "slurm")

    # ---- what the page says

    def set_up(self):
        """Up to its keys; the nodes' management VMs are given the public one."""
        self.start_munge()
        self.write_slurm_conf()
        self.start_accounting()
        self.root.mount("--bind", places.STORE, "/srv/images")
        first, settings = blocks("head")[:2]
        self.root.type(first, self.typed)
        path = "/etc/margay/cluster.conf"
        self.root.write(path, site_file(read(self.root.path + path)))
        self.root.write("/etc/margay/compute.vm", COMPUTE_VM % places.WORDS)
        self.root.type(settings, self.typed)

    def begin(self, known_hosts):
        self.start_files()
        self.start_dnsmasq()
        self.root.write("/etc/margay/ssh/known_hosts", known_hosts)
        self.root.type(blocks("head")[2], self.typed)
        self.until("slurmctld", "sh", "-c", "scontrol ping | grep -q ' UP'")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def bring_packages(root):
    """Where the administrator has Margay's packages and the site's public key."""
    os.makedirs(root.path + "/admin", exist_ok=True)
    for name in os.listdir(places.PACKAGES):
        if name.endswith(".deb"):
            shutil.copy(os.path.join(places.PACKAGES, name), root.path + "/admin")
    shutil.copy(os.path.join(places.KEYS, "site.pub"), root.path + "/admin")
    write(root.path + "/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0o755)
