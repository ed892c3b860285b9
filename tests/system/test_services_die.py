# SPDX-License-Identifier: GPL-2.0-only
"""What docs/services.md says of the packages' services that run on a node: killed in a management VM of a stock Debian on QEMU,
beside a VM that computes, each starts again as its row says, and the VM runs on.

So it does when all is killed that the management VM runs but its init and its console; that one's end is in `test_wanted.py`. Who
waits for a VM's end is told of it, whether the service for that dies meanwhile or is not there when he begins.
"""

import os
import shutil

import client_json
import deb_package
import debian_management
import node
import pytest
import tiny

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.xdist_group("debian")]
# It counts, and says nothing: its lines would come in between those of the management VM.
VM = "name = ticks\nkernel = ticks\nmemory = 32M\ncpus = 1-1\ncmdline = machine=qemu mode=tick every=1000000000 period=100000\n"
PACKAGES = ("margay-tools", "margay-image-node")
# Those of them that run as long as the node does; what starts them, where it is not the unit itself.
SERVICES = {"margay-journal.service": None, "margay-watch.service": "margay-watch.socket", "margay-images.service": None}
AGAIN = 300  # seconds of the guest's time, on a busy machine
STOPPED = 10  # of `margay wait`, for a VM that somebody has killed
# Whom the kernel or init has begun without a terminal.
KILL_ALL = """ps -e -o pid= -o ppid= -o tty= | while read -r pid parent terminal; do
	[ $pid -gt 2 ] && [ $parent -ne 2 ] && [ "$terminal" = "?" ] && kill -KILL $pid
done
true
"""


def brought(directory):
    """A folder with the packages, and the VM that computes."""
    folder = os.path.join(directory, "brought")
    os.mkdir(folder)
    packages = deb_package.make_deb()
    for name in PACKAGES:
        shutil.copy(packages[name], folder)
    shutil.copy(tiny.elf("behave"), os.path.join(folder, "ticks"))
    for name, text in ("ticks.conf", VM), ("images.conf", "store = http://127.0.0.1/\n"), ("kill-all", KILL_ALL):
        with open(os.path.join(folder, name), "w", encoding="ascii") as f:
            f.write(text)
    return folder


class Killed(debian_management.Management):
    """Whose services die."""

    def begin(self):
        """The services, the VM, and somebody who waits for its end."""
        self.good("mount -o ro /dev/vda /mnt && dpkg -i /mnt/*.deb && mkdir -p /etc/margay && cp /mnt/images.conf /etc/margay")
        for service, by in SERVICES.items():
            self.good("systemctl enable --now " + (by or service))
        self.good("margay image put /mnt/ticks ticks && margay create /mnt/ticks.conf && margay start ticks")
        self.wait("first")
        self.until("systemctl -q is-active margay-watch.service")

    def until(self, command):
        self.good("timeout %d sh -c 'until %s; do sleep 1; done'" % (AGAIN, command))

    def wait(self, name):
        """Somebody waits for the VM's end, and writes down what he is told."""
        self.good("(setsid sh -c 'margay wait ticks; echo $? >/tmp/%s' >/dev/null 2>&1 </dev/null &)" % name)

    def process(self, service):
        """The service's process; 0: none."""
        return int(self.good("systemctl show -P MainPID " + service))

    def exits(self):
        """Of the VM that computes, up to now."""
        vcpu, = client_json.judge(self.good("margay --json stats ticks"), "stats")
        return sum(vcpu["exits"].values())

    def runs_on(self, starts=1):
        """It has started so often and no more, and is not at rest."""
        assert self.vms() == {"ticks": ("running", starts)}
        before = self.exits()
        assert any(self.exits() > before for _ in range(100))

    def kill(self, service):
        """As the kernel does that is short of memory; systemd starts it again, or whoever asks next at its socket."""
        process = self.process(service)
        assert process, service
        self.good("kill -KILL %d" % process)
        self.runs_on()
        if SERVICES[service]:
            self.wait("second")
        self.until("p=$(systemctl show -P MainPID %s); test $p != 0 -a $p != %d" % (service, process))
        self.runs_on()

    def kill_all(self, starts):
        self.good("sh /mnt/kill-all")
        self.runs_on(starts)
        for service, by in SERVICES.items():
            if by is None:
                self.until("test $(systemctl show -P MainPID %s) != 0" % service)
        self.runs_on(starts)


def all_services():
    """Of the packages above, that stay: what docs/services.md has a row for, and systemd starts at boot or for a socket."""
    found = set()
    for package in PACKAGES:
        folder = os.path.join(node.TOP, "packaging", package)
        found |= {name for name in os.listdir(folder) if name.endswith(".service")
                  and "Type=oneshot" not in open(os.path.join(folder, name), encoding="ascii").read()}
    return found


def test_services_die(tmp_path):
    assert all_services() == set(SERVICES)
    with debian_management.Machine(str(tmp_path), "services-die", brought(str(tmp_path))).on() as running:
        management = Killed(running)
        management.begin()
        for service in SERVICES:
            management.kill(service)
        management.good("margay kill ticks")
        for waiter in "first", "second":
            management.until("test -s /tmp/" + waiter)
            assert int(management.good("cat /tmp/" + waiter)) == STOPPED
        management.good("margay start ticks")
        management.kill_all(starts=2)
