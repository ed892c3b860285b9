# SPDX-License-Identifier: GPL-2.0-only
"""What docs/images.md lets its reader type, typed as it stands, but for a registry's images: on a build host, beside the web server
of the store, and on a node.
"""

import json
import os
import re
import shlex
import subprocess

import pytest

import image_roots
import margay_pages
import throwaway
from client_node import CLIENT, ImageMemory, starter  # noqa: F401  (starter is a fixture)

TOP = margay_pages.TOP
PATIENCE = 600
# Where a node keeps what it has; nothing of it comes to this machine.
NODE_FOLDERS = ("/run", "/var/cache", "/var/lib")
# systemd's part, by the unit's own file; who types goes on when the process says that it is ready.
SYSTEMCTL = r"""#!/bin/bash
set -e
start() {
	program=$(sed -n 's|^ExecStart=/usr/bin/||p' %(top)s/packaging/*/"$1.service")
	[ "$program" ]
	# Else what the one before has said is taken for this one's, and a pull takes the port that this one is to have.
	: >"%(log)s/$1"
	$program >"%(log)s/$1" &
	echo $! >"%(log)s/$1.pid"
	until grep -q 'at port' "%(log)s/$1"; do kill -0 $!; sleep 0.05; done
}
stop() { kill "$(cat "%(log)s/$1.pid")"; while kill -0 "$(cat "%(log)s/$1.pid")" 2>/dev/null; do sleep 0.05; done; }
case "$*" in
"enable --now "*) start "$3" ;;
"restart "*) stop "$2"; start "$2" ;;
*) exit 1 ;;
esac
"""
# It installs into what --installroot names; test_image_rpm.py has the real one.
DNF = r"""#!/bin/sh
set -e
for word; do
	case $word in
	--installroot=*) root=${word#*=} ;;
	--setopt=reposdir=*) grep -q baseurl= "${word##*=}"/*.repo ;;
	esac
done
[ "$root" ]
case $* in *" clean all") ;; *) mkdir "$root"; tar -C "$root" -xf %s ;; esac
"""
# What the page says that its reader has: a web server that serves /srv/images as http://store.example/images.
WEB = r"""
trap 'kill $(cat %(log)s/*.pid)' EXIT
echo 127.0.0.1 store.example >>/etc/hosts
/usr/bin/python3 -m http.server --directory %(www)s 80 2>%(log)s/web &
echo $! >%(log)s/web.pid
until curl -sfo /dev/null http://store.example/images/store.json; do kill -0 $!; sleep 0.05; done
"""
# Another node, that knows nobody but the store and the tracker; the first has to fetch again what it has.
ANOTHER = r"""
mkdir other
cp /etc/margay/images.conf other/
printf '%%s\n' 'port = 7390' 'cache = %(work)s/other/cache' 'state = %(work)s/other/state' \
	'socket = %(work)s/other/socket' >>other/images.conf
find /var/cache/margay-images/chunks /var/cache/margay-images/index -type f -delete
margay image pull debian
margay-image-pull --config other/images.conf --json --cache-only debian
"""


def programs(folder, *names):
    """A folder of programs of this tree for PATH."""
    folder.mkdir()
    for name in names:
        (folder / os.path.basename(name)).symlink_to(os.path.join(TOP, "tools", name))
    return folder


def write_program(path, text):
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture(name="typed", scope="module")
def fixture_typed(tmp_path_factory):
    """The build host with the package margay-images, where mmdebstrap's archive, and what dnf installs, is a small
    root that was made here (test_pages_emulated.py has a real one): (what was said there, the store, the first public key)."""
    top = tmp_path_factory.mktemp("typed")
    here, root = programs(top / "bin", "margay-build", "margay-image-store"), top / "root"
    root.mkdir()
    image_roots.make(root)
    subprocess.run(["tar", "-C", root, "-cf", top / "root.tar", "."], check=True)
    archive = shlex.quote(str(top / "root.tar"))
    write_program(here / "mmdebstrap", '#!/bin/sh\nfor archive; do :; done\ncp %s "$archive"\n' % archive)
    write_program(here / "dnf", DNF % archive)
    (top / "work").mkdir()
    # The store is the one thing that stays.
    text = "\n".join(["PATH=%s:$PATH" % here, *margay_pages.script("images", "images"), "margay-image-store list /srv/images",
                      "mkdir %s/www" % top, "cp -r /srv/images %s/www/" % top])
    said, status = throwaway.run(text, str(top), str(top / "work"), dict(os.environ), PATIENCE)
    assert status == 0, said[-4000:]
    return said, top / "www", top / "work" / "site.pub"


@throwaway.ALLOWED
def test_images(typed):
    """On the build host; at the end one key counts, whose signature the image has."""
    said = typed[0]
    assert re.fullmatch(r"debian:2026\.11\.29-1 .* good \(\w+\)", said.splitlines()[-1]), said[-2000:]


@throwaway.ALLOWED
def test_node(typed, tmp_path, start):
    """On the node and beside the web server: the node's memory gets the files, the process that stays pulls without fetching them
    again, and by the tracker another node has all from this one."""
    _, www, key = typed
    memory = ImageMemory()
    here = programs(tmp_path / "bin", "margay-image-pull", "margay-image-tracker", CLIENT)
    log, work = tmp_path / "log", tmp_path / "work"
    log.mkdir()
    work.mkdir()
    (work / "site.pub").write_bytes(key.read_bytes())
    places = {"top": TOP, "log": log, "www": www, "work": work}
    write_program(here / "systemctl", SYSTEMCTL % places)
    text = "\n".join(["PATH=%s:$PATH" % here, WEB % places, *margay_pages.script("images", "node", "store"), ANOTHER % places])
    environment = {**os.environ, "MARGAY_PORT": start(memory).path}
    said, status = throwaway.run(text, str(tmp_path), str(work), environment, PATIENCE, layered=NODE_FOLDERS, alone=True)
    assert status == 0, said[-4000:]
    files = ("initrd", "kernel", "root.squashfs")
    assert set(memory.names) == {"%s/%s" % (front, file) for front in ("debian/2026.11.29-1", "job") for file in files}
    pulls = re.findall(r"^debian:2026\.11\.29-1: .*fetched: (\S+) MB from the store, .*into the node: (\d) files$", said,
                       re.MULTILINE)
    assert [(fetched != "0.0", sent) for fetched, sent in pulls] == [(True, "3"), (False, "0"), (True, "0")]
    last = said.splitlines()[-1]
    assert last.startswith("{"), said[-4000:]
    done = json.loads(last)
    assert done["from_peers"] > 0 and done["from_store"] == 0
