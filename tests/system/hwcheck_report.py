# SPDX-License-Identifier: GPL-2.0-only
"""The report of the hardware check, as it comes on the console."""

import re

import margay_run
import node

LINE = re.compile(r"^check: (ok|MISSING|off|unknown) +([^:\n]+?)(?:: (.*))?$", re.MULTILINE)


class Report(node.Run):
    """A run that was a check: {feature: (state, text)}, and the functions of the PCI list."""

    def __init__(self, running):
        super().__init__(running, running.wait())
        assert self.outcome.status == margay_run.OK, self.outcome.text
        assert self.has_line("margay: node: end=poweroff vms=0 failed=0")
        found = LINE.findall(self.text)
        self.features = {name: (state, text) for state, name, text in found}
        assert len(self.features) == len(found) > 10
        # The result counts what was printed.
        states = [state for state, _, _ in found]
        result = re.findall(r"^check: result: able=(yes|no) ok=(\d+) missing=(\d+) off=(\d+) unknown=(\d+)$", self.text, re.M)
        assert len(result) == 1
        assert [int(n) for n in result[0][1:]] == [states.count(s) for s in ("ok", "MISSING", "off", "unknown")]
        self.able = result[0][0] == "yes"
        # {address: what is said of it}
        parts = re.split(r"^check: ([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])  ", self.text, flags=re.MULTILINE)
        self.pci = dict(zip(parts[1::2], parts[2::2]))
        # No VM was started.
        assert not self.lines(r"vcpu0|^(vm0|node): ")

    def state(self, name):
        return self.features[name][0]

    def device(self, ids):
        """What is said of the one function of this vendor and device."""
        found = [text for text in self.pci.values() if text.startswith(ids)]
        assert len(found) == 1, (ids, self.pci)
        return found[0]

    def proposal(self):
        """The VM file, as an operator copies it."""
        found = re.findall(r"^# VM file by Margay's hardware check\n(.*?)^# end of the VM file$", self.text, re.M | re.S)
        assert len(found) == 1
        return found[0]
