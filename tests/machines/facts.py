# SPDX-License-Identifier: GPL-2.0-only
"""Modules of facts (docs/passthrough.md): what acpiexec knows of a machine, and what a Linux on it, as lines of such a module.

Facts are a dict: (key, subject) -> value, for instance ("route", "0000:00/1c.0/0 A") -> "16"; of windows the value is part
of the subject, and "".
"""

import collections
import os
import re

LIMIT = 1024  # facts of a module
WINDOWS = 16  # of a root
BRIDGES = 7


def table_hash(bodies):
    total = 0
    for body in bodies:
        value = 0xcbf29ce484222325
        for byte in body:
            value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
        total += value
    return total & 0xffffffffffffffff


def module(found, tables, note):
    """The text; tables: (signature, bytes)."""
    if len(found) > LIMIT:
        raise ValueError("%d facts: a module takes %d" % (len(found), LIMIT))
    number = table_hash(data[36:] for signature, data in tables if signature in ("DSDT", "SSDT"))
    lines = ["# " + note, "tables = %016x" % number]
    lines += ["%s = %s %s" % (key, subject, value) if value else "%s = %s" % (key, subject)
              for (key, subject), value in sorted(found.items())]
    return "\n".join(lines + ["end = %d" % len(found), ""])


def place(root, path, device, pin):
    """A route's subject; path: devfn of the bridges, from the root on; pin: 0 for INTA."""
    return "/".join([root] + ["%x.%x" % (d >> 3, d & 7) for d in path] + ["%x" % device]) + " " + "ABCD"[pin]


def of_acpiexec(functions, known):
    """Of what acpica.Topology has. A link device that a register sets is nobody's fact; nor is a line that is active high."""
    found, at = {}, collections.defaultdict(list)
    for subject, value in known.items():
        if subject.startswith("root "):
            at["%04x:%02x" % tuple(int(part, 16) for part in value.split(":"))].append(subject[5:])
    for root, (path, *others) in at.items():
        windows = [w for w in known.get("windows " + path, "").split() if w[0] in "mp"]
        if others:
            continue
        for window in windows if len(windows) <= WINDOWS else []:
            found["window", "%s %s 0x%s-0x%s" % (root, "mem" if window[0] == "m" else "io", *window[1:].split("-"))] = ""
        if "node " + path in known:
            found["proximity", root] = "%d" % int(known["node " + path], 16)
    for above, line in functions:
        label, *numbers = line.split()
        segment, bus, devfn, _, _, pin, interrupt_line = [int(n, 16) for n in numbers]
        bridges = [[int(n, 16) for n in bridge.split()[1:4]] for bridge in above]
        gsi, polarity = (known.get(label, "") + ":").split(":")[:2]
        if label.startswith("route:") and polarity == "low" and not interrupt_line and len(bridges) <= BRIDGES:
            root = "%04x:%02x" % (segment, bridges[0][1] if bridges else bus)
            found["route", place(root, [b[2] for b in bridges], devfn >> 3, pin - 1)] = "%d" % int(gsi, 16)
    return found


class Linux:
    """What Linux said on a node, out of the directory that `margay-facts --save` made."""

    def __init__(self, directory):
        def read(name):
            with open(os.path.join(directory, name), encoding="utf-8", errors="replace") as f:
                return f.read()

        self.log = read("dmesg")
        self.roots = dict(line.split(None, 1) for line in read("roots").splitlines())
        self.functions = [f for f in map(self.function, read("functions").splitlines()) if f]
        self.windows = {"mem": self.resources(read("iomem")), "io": self.resources(read("ioports"))}
        self.tables = []
        for name in sorted(os.listdir(os.path.join(directory, "tables"))):
            with open(os.path.join(directory, "tables", name), "rb") as f:
                self.tables.append((name[:4], f.read()))

    @staticmethod
    def function(line):
        """(address, root, devfn of its bridges, devfn, pin or -1, node) of `/sys/devices/pci0000:00/.../0000:03:00.0 PIN NODE`."""
        path, pin, node = line.split()
        # A root may be below a function of another (VMD).
        parts = path.rsplit("/pci", 1)[-1].split("/")
        steps = [re.fullmatch(r"([0-9a-f]{4}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", p) for p in parts[1:]]
        if not re.fullmatch(r"[0-9a-f]{4}:[0-9a-f]{2}", parts[0]) or not steps or None in steps:
            return None
        numbers = [int(s[3], 16) << 3 | int(s[4]) for s in steps]
        return parts[-1], parts[0], numbers[:-1], numbers[-1], int(pin) - 1, int(node)

    def resources(self, text):
        """root -> [(first, last)], of lines `  c8000000-fbffffff : PCI Bus 0000:80`."""
        found = collections.defaultdict(list)
        for first, last, bus in re.findall(r"^ *([0-9a-f]+)-([0-9a-f]+) : PCI Bus (\S+)$", text, re.M):
            if bus in self.roots:
                found[bus].append((int(first, 16), int(last, 16)))
        if any(last == 0 for ranges in found.values() for _, last in ranges):
            raise ValueError("/proc/iomem shows no addresses: run this as root")
        return found

    def told(self):
        """ACPICA's path -> (segment, bus) of each root."""
        return {".".join(part.rstrip("_") or "_" for part in path.strip().split(".")): tuple(int(n, 16) for n in root.split(":"))
                for root, path in self.roots.items() if path.strip().startswith("\\")}

    def facts(self):
        found = {}
        links = set(re.findall(r"[Ii]nterrupt [Ll]ink \S+ (?:configured for|enabled at) IRQ (\d+)", self.log))
        logged = {(address, "ABCD".index(pin)): gsi for address, pin, gsi in re.findall(
            r"([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): PCI INT ([A-D]) -> GSI (\d+) \(level, low\)", self.log)}
        nodes = {int(node): domain for domain, node in re.findall(r"SRAT: PXM (\d+) -> APIC \S+ -> Node (\d+)", self.log)}
        nodes.update((int(node), domain) for node, domain in re.findall(r"SRAT: Node (\d+) PXM (\d+) \[mem", self.log))
        for address, root, path, devfn, pin, node in self.functions:
            gsi = logged.get((address, pin))
            if gsi and gsi not in links and len(path) <= BRIDGES:
                found["route", place(root, path, devfn >> 3, pin)] = gsi
            if not path and node in nodes:
                found["proximity", root] = nodes[node]
        return found

    def root_windows(self):
        """(root, "mem" or "io") -> [(first, last)]; none where Linux did not take them from firmware."""
        if re.search(r"PCI: Ignoring host bridge windows from ACPI", self.log):
            return {}
        return {(root, kind): ranges for kind, found in self.windows.items() for root, ranges in found.items()}


def window_of(subject):
    root, kind, ends = subject.split()
    return root, kind, tuple(int(end, 16) for end in ends.split("-"))


def within(window, ranges):
    """Are all addresses of the window in the ranges together?"""
    at, last = window
    for first, end in sorted(ranges):
        if first <= at <= end:
            at = end + 1
    return at > last


def join(acpi, linux):
    """(facts of both, by whom each is known, contradictions)."""
    found, by, wrong = dict(acpi), {key: "acpiexec" for key in acpi}, []
    for key, value in linux.facts().items():
        if key in acpi and acpi[key] != value:
            wrong.append("%s = %s: %s by Linux, %s by acpiexec" % (*key, value, acpi[key]))
        by[key] = "both" if key in acpi else "Linux"
        found[key] = value
    known = collections.defaultdict(list)
    for key, subject in acpi:
        if key == "window":
            root, kind, ends = window_of(subject)
            known[root].append((kind, ends))
    for (root, kind), ranges in linux.root_windows().items():
        for ends in ranges:
            subject = "%s %s 0x%x-0x%x" % (root, kind, *ends)
            if root not in known:
                found["window", subject], by["window", subject] = "", "Linux"
            elif not within(ends, [e for k, e in known[root] if k == kind]):
                wrong.append("window = %s by Linux: in none of acpiexec's" % subject)
    for (key, subject) in acpi:
        if key == "window":
            root, kind, ends = window_of(subject)
            overlaps = [r for r in linux.root_windows().get((root, kind), []) if r[0] <= ends[1] and ends[0] <= r[1]]
            by[key, subject] = "both" if overlaps else "acpiexec"
    return found, by, wrong


def unknown_lines(found, linux):
    """Addresses of the functions whose line the facts do not give: by an entry, or by those of a bus above."""
    routes = {subject for key, subject in found if key == "route"}
    buses = {subject.rsplit("/", 1)[0] for subject in routes}
    missing = []
    for address, root, path, devfn, pin, _ in linux.functions:
        device, above = devfn >> 3, list(path)
        while pin >= 0:
            subject = place(root, above, device, pin)
            if subject in routes:
                break
            if subject.rsplit("/", 1)[0] in buses or not above:
                missing.append(address)
                break
            pin, device = (pin + device) % 4, above.pop() >> 3
    return missing
