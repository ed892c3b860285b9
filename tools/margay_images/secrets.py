# SPDX-License-Identifier: GPL-2.0-only
"""What an image must not have, as many get it: what says who a machine is, or lets in whoever has it."""

import fnmatch

from .errors import ImageError
from .root import of_bytes

# Taken out. A pattern's * stands for a part of one name.
TAKEN = (
    ("etc/ssh/ssh_host_*_key", "host key of ssh"),
    ("etc/ssh/ssh_host_*_key.pub", "host key of ssh"),
    ("etc/dropbear/dropbear_*_host_key", "host key of dropbear"),
    ("etc/munge/munge.key", "key of the cluster's munge"),
    ("etc/slurm/jwt_hs256.key", "key of Slurm's tokens"),
    ("etc/slurm/slurm.key", "key of Slurm's sack"),
    ("var/spool/slurm*/jwt_hs256.key", "key of Slurm's tokens"),
    ("etc/krb5.keytab", "keys of Kerberos"),
    ("etc/ssl/private/*", "private key of TLS"),
    ("etc/pki/tls/private/*", "private key of TLS"),
    ("etc/pki/consumer/key.pem", "the machine's key at RHEL's subscription"),
    ("etc/pki/entitlement/*-key.pem", "key of RHEL's subscription"),
    ("var/lib/ubuntu-advantage/private/*", "token of Ubuntu Pro"),
    ("var/lib/snapd/device/private-keys-v1/*", "the machine's key at snapd's store"),
    ("etc/cockpit/ws-certs.d/*.key", "private key of TLS"),
    ("var/lib/sss/secrets/*", "secrets of sssd"),
    ("root/*-ks.cfg", "the installer's answers, with passwords"),
    ("etc/apt/auth.conf", "passwords of apt's sources"),
    ("etc/apt/auth.conf.d/*", "passwords of apt's sources"),
    ("etc/NetworkManager/system-connections/*", "network with its password"),
    ("etc/wireguard/*.conf", "private key of WireGuard"),
    ("etc/sysconfig/network-scripts/keys-*", "network's password"),
    ("var/lib/NetworkManager/secret_key", "what addresses are made of"),
    ("etc/iscsi/initiatorname.iscsi", "the machine's name in iSCSI"),
    ("etc/nvme/hostid", "the machine's id in NVMe"),
    ("etc/nvme/hostnqn", "the machine's name in NVMe"),
    ("etc/insights-client/machine-id", "the machine's id"),
    ("var/lib/dbus/machine-id", "the machine's id"),
    ("var/lib/systemd/random-seed", "seed of random numbers"),
    ("var/lib/systemd/credential.secret", "key of systemd's credentials"),
    ("boot/efi/loader/random-seed", "seed of random numbers"),
    ("boot/loader/random-seed", "seed of random numbers"),
    ("root/.ssh/id_*", "private key of ssh"),
    ("home/*/.ssh/id_*", "private key of ssh"),
    ("root/.netrc", "passwords of servers"),
    ("home/*/.netrc", "passwords of servers"),
    ("root/.git-credentials", "passwords of servers"),
    ("home/*/.git-credentials", "passwords of servers"),
    ("root/.docker/config.json", "passwords of registries"),
    ("home/*/.docker/config.json", "passwords of registries"),
    ("root/.*_history", "what somebody typed"),
    ("home/*/.*_history", "what somebody typed"),
)
MACHINE_ID = "etc/machine-id"


def matches(path, pattern):
    """Part by part, for fnmatch's * knows no slash."""
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(fnmatch.fnmatchcase(*pair) for pair in zip(parts, wanted))


def why(path):
    """What a path is that must not be there, or None."""
    return next((text for pattern, text in TAKEN if matches(path, pattern)), None)


def take_out(root, keep=()):
    """Changes the root; the lines of what was done. keep: paths that stay, as its owner wants them there."""
    for path in keep:
        if path not in root.entries:
            raise ImageError("%s: --keep %s: there is no such file in it" % (root.what, path))
    lines = []
    for path in sorted(root.entries):
        entry = root.entries[path]
        text = why(path)
        # A symbolic link to another of these is nothing by itself, as var/lib/dbus/machine-id often is.
        if text is None or entry.kind == "folder" or entry.kind == "symlink":
            continue
        if path in keep:
            lines.append("kept as told: %s, %s" % (path, text))
            continue
        del root.entries[path]
        lines.append("taken out: %s, %s" % (path, text))
    machine = root.entries.get(MACHINE_ID)
    if machine is not None and machine.kind == "file" and machine.size and MACHINE_ID not in keep:
        if machine.read(MACHINE_ID).strip() != b"uninitialized":
            lines.append("taken out: %s, the machine's id: empty, so that each start makes one" % MACHINE_ID)
        root.entries[MACHINE_ID] = of_bytes(b"", 0o444, machine.mtime)
    return lines + passwords(root)


def passwords(root):
    """They stay, for somebody may want to log in; but their owner should know."""
    shadow = root.file("etc/shadow")
    names = []
    for line in shadow.read("etc/shadow").decode("utf-8", "replace").split("\n") if shadow else ():
        fields = line.split(":")
        if len(fields) > 2 and fields[1] and fields[1][0] not in "!*":
            names.append(fields[0])
    return ["stays: etc/shadow, with a password of %s" % ", ".join(names)] if names else []
