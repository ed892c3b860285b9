# SPDX-License-Identifier: GPL-2.0-only
"""What ACPICA's interpreter (acpiexec, of Debian's acpica-tools) makes of a machine's AML, as facts and as PCI functions.

acpiexec has no hardware: a value whose evaluation reads an operation region, or that
is another one when regions are full of other bytes, is no fact. What remains is
written as read_machine.c writes it. For each entry of a _PRT there is a function
on that bus, which has the bridges above that the namespace names.
"""

import os
import re
import struct
import subprocess
import tempfile

FILLS = ("0x0", "0xff", "0x5a")
TIMEOUT = 900
PROCESSOR = r"^ *(\\\S*) +Processor +0x[0-9a-f]+ \w+ ID (\w+) "
ROOT_IDS = (0x030ad041, 0x080ad041, "PNP0A03", "PNP0A08")
LINES = (3, 5, 10, 11)  # Interrupt Line, of a link device that is set by a register
BREAKS = 8  # An AML BreakPoint stops acpiexec until "go", which does nothing elsewhere: so many of them in a value are gone over


class Evaluation:
    """One object's value: an integer, string, bytes, or a list of such and of names; None: no fact."""

    def __init__(self, text):
        self.failed = "failed with status" in text or "returned object" not in text
        self.absent = "AE_NOT_FOUND" in text and "returned object" not in text and "Operation Region request" not in text
        self.hardware = "Operation Region request" in text
        body = text.split("returned object", 1)[-1].splitlines()[1:]
        self.value = None if self.failed else self.parse([line for line in body if line.strip()], 2)[0]

    def parse(self, lines, indent):
        match = re.match(r" {%d}\[(\w[\w ]*)\] ?(.*)" % indent, lines[0]) if lines else None
        if not match:
            return None, lines
        kind, rest = match.groups()
        lines = lines[1:]
        if kind == "Integer":
            return int(rest.split("=")[1], 16), lines
        if kind == "String":
            return re.search(r'"(.*)"', rest)[1] if '"' in rest else "", lines
        if kind == "Buffer":
            data = bytes()
            dump = [rest.split("=", 1)[1]] if re.search(r"= +0000:", rest) else []
            while lines and re.match(r"\s+[0-9A-F]{4}: ", lines[0]):
                dump.append(lines.pop(0))
            for line in dump:
                data += bytes.fromhex(re.sub(r"//.*", "", line.split(":", 1)[1]))
            return data, lines
        if kind == "Package":
            items = []
            for _ in range(int(re.search(r"Contains (\d+)", rest)[1])):
                item, lines = self.parse(lines, indent + 2)
                items.append(item)
            return items, lines
        if kind == "Object Reference":
            return ("node", rest.split()[1]), lines
        return None, lines


def run(files, fill, commands):
    """acpiexec's output for each command, behind \\_PIC (1); None: it does not come to an end."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as script:
        lines = [line for command in ["evaluate \\_PIC 1"] + list(commands) for line in [command] + ["go"] * BREAKS]
        script.write("\n".join(lines[:1 + BREAKS] + ["level 2800 console"] + lines[1 + BREAKS:] + ["quit", ""]))
        script.flush()
        with open(script.name, encoding="ascii") as stdin:
            try:
                # Loops that wait for hardware end after a second.
                done = subprocess.run(["acpiexec", "-to", "1", "-fv", fill] + files, stdin=stdin, capture_output=True,
                                      timeout=TIMEOUT, check=False)
            except subprocess.TimeoutExpired:
                return None
    parts = [part for part in done.stdout.decode("latin-1").split("\n- ")[1:] if not re.match(r"go\s*$", part)]
    return parts[2:] if len(parts) > 2 + len(commands) else None


def namespace(listing):
    """(path -> node's address) out of `find ????`."""
    return {m[1]: m[2] for m in re.finditer(r"^ *(\\\S*) +\S[\w ]*? +(0x[0-9a-f]+) ", listing, re.M)}


class Machine:
    """told: path -> (segment, bus) of all roots, by a Linux on the machine; what it says comes before what AML says."""

    def __init__(self, found, told=None):
        self.names, self.known, self.nodes, self.processors = {}, {}, {}, {}
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for i, data in enumerate([d for s, d in found if s == "DSDT"][:1] + [d for s, d in found if s == "SSDT"]):
                files.append(os.path.join(folder, "%03d.aml" % i))
                with open(files[-1], "wb") as f:
                    f.write(data)
            listing = run(files, FILLS[0], ["find ????"]) if files else None
            if listing:
                self.processors = {m[1]: int(m[2], 16) for m in re.finditer(PROCESSOR, listing[0], re.M)}
                self.evaluate(files, list(namespace(listing[0])))
        if self.names and told:
            self.tell(told)

    def evaluate(self, files, paths):
        self.names = set(paths)
        routed = [p[:-5] for p in paths if p.endswith("._PRT")]
        above = {p[:i] for p in routed for i in range(len(p) + 1) if p[i:i + 1] in (".", "")}
        links = [p[:-5] for p in paths if p.endswith("._PRS")]
        wanted = [p for p in paths if p[-4:] in ("_PRT", "_HID", "_CID", "_BBN", "_SEG", "_PXM", "_CST")]
        wanted += [p for p in paths if p[-4:] in ("_ADR", "_STA") and (p[:-5] in above or p[:p.rfind(".", 0, -5)] in above)]
        wanted += [p[:-4] + "_UID" for p in paths if p.endswith("._CST") and p[:-4] + "_UID" in self.names]
        hosts = {p[:-5] for p in wanted if p[-4:] in ("_HID", "_CID")}
        wanted += [p + n for p in sorted(set(links)) for n in ("._CRS", "._PRS") if p + n in self.names]
        wanted += [p + "._CRS" for p in sorted(hosts) if (p in routed or p + "._BBN" in self.names) and p + "._CRS" in self.names]
        wanted += ["\\_S5"] if "\\_S5" in self.names else []
        wanted = list(dict.fromkeys(wanted))
        results = [run(files, fill, ["find ????"] + ["evaluate " + p for p in wanted]) for fill in FILLS]
        if None in results:
            self.names = set()
            return
        per_run = []
        for result in results:
            nodes = {v: k for k, v in namespace(result[0]).items()}
            per_run.append([self.named(Evaluation(text), nodes) for text in result[1:]])
        for path, *values in zip(wanted, *per_run):
            if not any(v.failed or v.hardware for v in values) and all(v.value == values[0].value for v in values):
                self.known[path] = values[0].value

    def tell(self, told):
        for path in [p[:-5] for p in self.names if p.endswith("._HID")]:
            values = {"_SEG": told[path][0], "_BBN": told[path][1], "_STA": 15} if path in told else {"_STA": 0}
            if path not in told and self.known.get(path + "._HID") not in ROOT_IDS:
                continue
            self.names |= {"%s.%s" % (path, name) for name in values}
            self.known.update(("%s.%s" % (path, name), value) for name, value in values.items())

    def named(self, evaluation, nodes):
        def resolve(value):
            if isinstance(value, list):
                return [resolve(v) for v in value]
            return ("name", nodes.get(value[1])) if isinstance(value, tuple) else value
        evaluation.value = resolve(evaluation.value)
        return evaluation

    def integer(self, device, name):
        """The value; 0: the device has no such name; None: no fact."""
        path = "%s.%s" % (device, name)
        value = self.known.get(path) if path in self.names else 0
        return value if isinstance(value, int) else None

    def roots(self):
        """(path, segment, bus) of the root bridges that are there; a None among them: no fact."""
        for path in sorted(self.names):
            if path[-5:] not in ("._HID", "._CID") or path[:-5] + "._HID" in self.names and path[-4:] == "_CID":
                continue
            device = path[:-5]
            ids = [self.known.get(device + n) for n in ("._HID", "._CID")]
            ids = [i for v in ids for i in (v if isinstance(v, list) else [v])]
            if any(i in ROOT_IDS for i in ids if i is not None):
                status = self.integer(device, "_STA") if device + "._STA" in self.names else 15
                if status is None or status & 1:
                    yield device, self.integer(device, "_SEG"), self.integer(device, "_BBN"), status

    def proximity(self, device):
        while "." in device or device != "\\":
            if device + "._PXM" in self.names:
                return self.integer(device, "_PXM")
            if "." not in device:
                return None
            device = device[:device.rfind(".")]
        return None

    def link(self, path):
        """(interrupts that it has, None or those that it may have) of a link device."""
        return irqs(self.known.get(path + "._CRS")), irqs(self.known.get(path + "._PRS"))


def descriptors(data):
    at = 0
    while data and at < len(data):
        large = data[at] & 0x80
        length = struct.unpack_from("<H", data, at + 1)[0] if large else data[at] & 7
        head = 3 if large else 1
        if (data[at] & 0xf8) == 0x78 and not large:
            return
        yield data[at] if large else data[at] & 0x78, data[at + head:at + head + length]
        at += head + length


def irqs(data):
    """"gsi:polarity" of each interrupt in a resource template; None: no fact."""
    if not isinstance(data, bytes):
        return None
    found = []
    for tag, body in descriptors(data):
        if tag == 0x20:
            low = len(body) > 2 and body[2] & 8
            found += ["%x:%s" % (i, "low" if low else "high") for i in range(16) if struct.unpack_from("<H", body)[0] >> i & 1]
        elif tag == 0x89:
            found += ["%x:%s" % (gsi, "low" if body[0] & 4 else "high") for gsi in struct.unpack_from("<%dI" % body[1], body, 2)]
    return found


def windows(data):
    """As read_machine.c prints them; None: no fact."""
    if not isinstance(data, bytes):
        return None
    found = []
    for tag, body in descriptors(data):
        form = {0x88: "<5H", 0x87: "<5I", 0x8a: "<5Q", 0x8b: "<5Q"}.get(tag)
        if form and body[0] <= 2:
            _, low, high, offset, length = struct.unpack_from(form, body, 5 if tag == 0x8b else 3)
            if length and low <= high:
                found.append("%s%x-%x" % ("mpb"[body[0]], (low + offset) & (2**64 - 1), (high + offset) & (2**64 - 1)))
    return " ".join(found)


def cstates(value):
    """As read_machine.c prints them; None: no fact."""
    if not isinstance(value, list) or not value or value[0] != len(value) - 1:
        return None
    found = []
    for state in value[1:]:
        registers = [d for tag, d in descriptors(state[0]) if tag == 0x82] if isinstance(state[0], bytes) else []
        if len(registers) != 1 or not all(isinstance(v, int) for v in state[1:]) or len(state) != 4:
            return None
        found.append(":".join("%x" % v for v in struct.unpack("<4BQ", registers[0]) + tuple(state[1:])))
    return " ".join(found)


class Topology:
    """Functions for read_machine, and what is known of each one's pin."""

    def __init__(self, machine):
        self.machine, self.facts, self.functions, self.bridges, self.used = machine, {}, [], {}, {}
        self.roots = list(machine.roots())
        for path, segment, bus, status in self.roots:
            # One that surely is there has its bus for itself.
            others = [r for r in self.roots if r[1:3] == (segment, bus) and r[0] != path and (r[3] or not status)]
            self.root(path, segment, bus, not others and None not in (segment, bus))
        for path, value in machine.known.items():
            if path.endswith("._CST") and cstates(value):
                self.facts["cst " + path[:-5]] = cstates(value)
            if path.endswith("._UID") and isinstance(value, int) and machine.known.get(path[:-4] + "_HID") == "ACPI0007":
                self.facts["uid " + path[:-5]] = "%x" % value
        self.facts.update(("uid " + path, "%x" % uid) for path, uid in machine.processors.items())
        value = machine.known.get("\\_S5")
        if isinstance(value, list) and len(value) > 1 and all(isinstance(v, int) for v in value[:2]):
            self.facts["s5"] = "%x:%x" % (value[0] & 7, value[1] & 7)

    def root(self, path, segment, bus, alone):
        m = self.machine
        if segment is not None and bus is not None:
            self.facts["root " + path] = "%x:%x" % (segment, bus)
        values = windows(m.known.get(path + "._CRS"))
        if values is not None:
            self.facts["windows " + path] = values
        proximity = m.proximity(path)
        if proximity is not None:
            self.facts["node " + path] = "%x" % proximity
        if alone:
            taken = self.used.setdefault(segment, {b for _, s, b, _ in self.roots if s == segment})
            self.bus(path, segment, bus, (), taken, 0)

    def bus(self, path, segment, bus, above, taken, depth):
        """A bus with its _PRT, and those behind its bridges."""
        m = self.machine
        if path + "._PRT" in m.names:
            self.entries(path, segment, bus, above)
        devices = sorted(p[:-5] for p in m.names if p.endswith("._ADR") and p[:p.rfind(".", 0, -5)] == path)
        addresses = [m.known.get(d + "._ADR") for d in devices]
        for device, address in zip(devices, addresses):
            below = any(p.startswith(device + ".") and p.endswith("._PRT") for p in m.names)
            free = [b for b in range(bus + 1, 256) if b not in taken]
            if not below or not isinstance(address, int) or addresses.count(address) > 1 or not free or depth > 4:
                continue
            if address >> 16 > 31 or address & 0xffff > 7:
                continue
            taken.add(free[0])
            bridge = "- %x %x %x 1 %x 0 0" % (segment, bus, address >> 16 << 3 | address & 7, free[0])
            self.bus(device, segment, free[0], above + (bridge,), taken, depth + 1)
        self.no_table(path, segment, bus, above, devices, addresses, taken)

    def no_table(self, path, segment, bus, above, devices, addresses, taken):
        """A bridge that has a name but no _PRT, and one without a name: pins turn by its number."""
        m = self.machine
        table = {(d, p): v for d, p, v in self.table(path)} if path + "._PRT" in m.names else {}
        plain = [(d, a) for d, a in zip(devices, addresses) if isinstance(a, int) and addresses.count(a) == 1 and a & 0xffff == 0
                 and not any(p.startswith(d + ".") and p.endswith("_PRT") for p in m.names) and None not in addresses]
        unnamed = [(None, dev << 16 | 7) for dev, _ in sorted(table) if dev << 16 | 7 not in addresses and None not in addresses]
        for device, address in plain[:2] + unnamed[:1]:
            free = [b for b in range(bus + 1, 256) if b not in taken]
            value = table.get((address >> 16, (1 + 2) % 4))
            if not free or not isinstance(value, int):
                continue
            taken.add(free[0])
            bridge = "- %x %x %x 1 %x 0 0" % (segment, bus, address >> 16 << 3 | address & 7, free[0])
            label = "turn:%s/%s/2.1" % (path, device[-4:] if device else "unnamed")
            self.function(label, segment, free[0], above + (bridge,), 2, 1, 0)
            self.facts[label] = "%x:low" % value

    def table(self, path):
        for entry in self.machine.known.get(path + "._PRT") or []:
            if isinstance(entry, list) and len(entry) >= 4 and isinstance(entry[0], int) and isinstance(entry[1], int):
                device, pin, source, index = entry[:4]
                if isinstance(source, int) and source == 0 and isinstance(index, int):
                    yield device >> 16, pin, index
                elif isinstance(source, tuple):
                    yield device >> 16, pin, source[1]

    def entries(self, path, segment, bus, above):
        seen = set()
        for device, pin, value in self.table(path):
            if (device, pin) in seen or device > 31 or pin > 3:
                continue
            seen.add((device, pin))
            label = "route:%s/%x.%x" % (path, device, pin)
            if isinstance(value, int):
                self.function(label, segment, bus, above, device, pin, 0)
                self.facts[label] = "%x:low" % value
            elif value:
                self.linked(label, segment, bus, above, device, pin, *self.machine.link(value))
        free = [d for d in range(32) if (d, 0) not in seen]
        if free and path + "._PRT" in self.machine.known:
            label = "beyond:%s/%x.0" % (path, free[-1])
            self.function(label, segment, bus, above, free[-1], 0, 11)
            self.facts[label] = "unknown"

    def linked(self, label, segment, bus, above, device, pin, has, may):
        if has is not None and len(has) == 1:
            self.function(label, segment, bus, above, device, pin, 0)
            self.facts[label] = has[0]
            return
        offered = {int(i.split(":")[0], 16): i for i in may or []}
        if has is None and may and len(offered) == len(may):
            line = max(offered)
            self.function(label, segment, bus, above, device, pin, line & 0xff)
            self.facts[label] = offered[line]

    def function(self, label, segment, bus, above, device, pin, line):
        self.functions.append((above, "%s %x %x %x 0 0 %x %x" % (label, segment, bus, device << 3 | pin + 4, pin + 1, line)))
