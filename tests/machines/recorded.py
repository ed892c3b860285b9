# SPDX-License-Identifier: GPL-2.0-only
"""The ACPI tables of a recorded machine, read from the text that acpidump writes, and what the flat ones say.

The facts are written as tests/unit/read_machine.c writes them, and made by code
that has nothing in common with the image's: struct's formats, out of the
specifications.
"""

import re
import struct


def tables(text):
    """(signature, bytes) of each table in acpidump's text."""
    found = []
    for line in text.splitlines():
        start = re.match(r"(\S{1,4}) @ 0x[0-9A-Fa-f]+", line)
        data = re.match(r"\s+[0-9A-Fa-f]+:((?: [0-9A-Fa-f]{2}){1,16})", line)
        if start:
            found.append((start[1], bytearray()))
        elif data and found:
            found[-1][1].extend(bytes.fromhex(data[1]))
    return [(signature, bytes(data)) for signature, data in found if whole(data)]


def whole(data):
    """A table with header and checksum; FACS has neither."""
    return len(data) >= 36 and struct.unpack_from("<I", data, 4)[0] == len(data) and not sum(data) & 0xff


def entries(data, at, form):
    """(type, bytes) of a list whose entries begin with type and length, as `form` unpacks them."""
    while at + struct.calcsize(form) <= len(data):
        kind, length = struct.unpack_from(form, data, at)[0], struct.unpack_from(form, data, at)[-1]
        if length < struct.calcsize(form):
            return
        yield kind, data[at:at + length]
        at += length


def words(items):
    return " ".join(items)


def madt(data):
    lapic, flags = struct.unpack_from("<II", data, 36)
    cpus, ioapics, isa, nmis = {}, [], ["%x:0" % i for i in range(16)], []
    for kind, e in entries(data, 44, "<BB"):
        if kind == 0 and e[3] != 0xff and e[4] & 1:
            cpus.setdefault(e[3], "%x:%x" % (e[3], e[2]))
        elif kind == 9:
            ident, enabled, uid = struct.unpack_from("<III", e, 4)
            if ident != 0xffffffff and enabled & 1:
                cpus.setdefault(ident, "%x:%x" % (ident, uid))
        elif kind == 1:
            ident, address, base = struct.unpack_from("<BxII", e, 2)
            ioapics.append("%x:%x:%x" % (ident, base, address))
        elif kind == 2:
            bus, source, gsi, inti = struct.unpack_from("<BBIH", e, 2)
            if bus == 0 and source < 16:
                isa[source] = "%x:%x" % (gsi, inti)
        elif kind == 4:
            uid, inti, lint = struct.unpack_from("<BHB", e, 2)
            nmis += [(uid, lint, inti, uid == 0xff)]
        elif kind == 10:
            inti, uid, lint = struct.unpack_from("<HIB", e, 2)
            nmis += [(uid, lint, inti, uid == 0xffffffff)]
        elif kind == 5:
            lapic = struct.unpack_from("<Q", e, 4)[0]
    nmis = [("all:%d:%x" % (n[1], n[2]) if n[3] else "%x:%d:%x" % n[:3]) for n in nmis if n[1] <= 1]
    return {"madt lapic": "%x" % lapic, "madt pcat": "%d" % (flags & 1), "madt cpus": words(cpus.values()),
            "madt ioapics": words(ioapics), "madt isa": words(isa), "madt nmis": words(nmis)}


def srat(data):
    cpus, memory = [], []
    for kind, e in entries(data, 48, "<BB"):
        if kind == 0:
            low, ident, enabled = struct.unpack_from("<BBI", e, 2)
            domain = low | (int.from_bytes(e[9:12], "little") << 8 if data[8] >= 2 else 0)
            cpus += ["%x:%x" % (ident, domain)] if enabled & 1 else []
        elif kind == 1:
            domain, base, size, enabled = struct.unpack_from("<IxxQQxxxxI", e, 2)
            domain &= 0xffffffff if data[8] >= 2 else 0xff
            memory += ["%x:%x:%x" % (base, size, domain)] if enabled & 1 and size else []
        elif kind == 2:
            domain, ident, enabled = struct.unpack_from("<III", e, 4)
            cpus += ["%x:%x" % (ident, domain)] if enabled & 1 else []
    return {"srat cpus": words(cpus), "srat memory": words(memory)}


def slit(data):
    count = struct.unpack_from("<Q", data, 36)[0]
    return {"slit": words("%d" % d for d in data[44:44 + count * count])}


def mcfg(data):
    found = [struct.unpack_from("<QHBB", data, at) for at in range(44, len(data) - 15, 16)]
    return {"mcfg": words("%x:%x:%x-%x" % e for e in found)}


def fadt(data):
    data = data.ljust(276, b"\0")

    def gas(extended, port):
        space, address = struct.unpack_from("<BxxxQ", data, extended)
        old = struct.unpack_from("<I", data, port)[0] if port else 0
        return "%d:%x" % ((space, address) if address or not port else (1 if old else 0, old))

    flags = struct.unpack_from("<I", data, 112)[0]
    reduced, reset = flags >> 20 & 1, flags >> 10 & 1
    dsdt = struct.unpack_from("<Q", data, 140)[0] or struct.unpack_from("<I", data, 40)[0]
    smi, enable = struct.unpack_from("<IB", data, 48)
    return {"fadt flags": "%x" % flags, "fadt boot": "%x" % struct.unpack_from("<H", data, 109)[0],
            "fadt century": "%x" % data[108], "fadt dsdt": "%x" % dsdt,
            "fadt smi": "0:0" if reduced else "%x:%x" % (smi, enable),
            "fadt reset_value": "%x" % (data[128] if reset else 0), "fadt reset": gas(116, 0) if reset else "0:0",
            "fadt pm1a": "0:0" if reduced else gas(172, 64), "fadt pm1b": "0:0" if reduced else gas(184, 68),
            "fadt timer": "0:0" if reduced else gas(208, 76),
            "fadt sleep_control": gas(244, 0), "fadt sleep_status": gas(256, 0)}


def hpet(data):
    return {"hpet": "%x:%x" % (data[52], struct.unpack_from("<Q", data, 44)[0])}


def scopes(data):
    text = ""
    while data:
        kind, length, number, bus = struct.unpack_from("<BBxxBB", data)
        text += "/%x:%x:%x" % (kind, number, bus)
        text += "".join(">%x.%x" % (data[i], data[i + 1]) for i in range(6, length, 2))
        data = data[length:]
    return text


def dmar(data):
    units = []
    nodes = dict(struct.unpack_from("<QI", e, 8) for kind, e in entries(data, 48, "<HH") if kind == 3)
    for kind, e in entries(data, 48, "<HH"):
        if kind == 0:
            flags, segment, base = struct.unpack_from("<BxHQ", e, 4)
            units.append("%x:%x:%x:%x:0:%x" % (kind, flags, segment, base, nodes.get(base, 0xffffffff)) + scopes(e[16:]))
        elif kind == 1:
            units.append("%x:0:%x:%x:%x:ffffffff" % ((kind,) + struct.unpack_from("<HQQ", e, 6)) + scopes(e[24:]))
        elif kind == 5 and e[4] & 1:
            units.append("%x:%x:%x:0:0:ffffffff" % ((kind,) + struct.unpack_from("<BxH", e, 4)) + scopes(e[8:]))
    return {"dmar width": "%d" % (data[36] + 1), "dmar flags": "%x" % data[37], "dmar units": words(units)}


def settings(device, data):
    """Of the device entries of a block: those that have any, of the range that they begin, and of what they stand for."""
    while data:
        kind, first, flags = struct.unpack_from("<BHB", data)
        length = 22 + data[21] if kind == 240 else 4 << (kind >> 6)
        last = first
        if kind in (3, 67, 71):
            last = struct.unpack_from("<H", data, length + 1)[0]
        if flags and kind == 72:
            first = last = struct.unpack_from("<H", data, 5)[0]
        if flags and kind not in (1, 4):
            yield "%x:%x-%x:%x" % (device, first, last, flags)
        if flags and kind in (66, 67):
            yield "%x:%x-%x:%x" % ((device,) + struct.unpack_from("<H", data, 5) * 2 + (flags,))
        data = data[length:]


def ivrs(data):
    iommus, memory, blocks = {}, [], {}
    for kind, e in entries(data, 48, "<BxH"):
        flags = e[1]
        if kind in (0x10, 0x11, 0x40):
            device, capability, base, segment = struct.unpack_from("<HHQH", e, 4)
            features = struct.unpack_from("<Q", e, 24)[0] if kind != 0x10 else 0
            if iommus.get((segment, device), (0,))[0] < kind:
                iommus[segment, device] = (kind, flags, segment, device, capability, base, features)
                blocks[segment, device] = list(settings(device, e[24 if kind == 0x10 else 40:]))
        elif kind in (0x20, 0x21, 0x22):
            device, last, segment, base, size = struct.unpack_from("<HHH6xQQ", e, 4)
            first, last = {0x20: (0, 0xffff), 0x21: (device, device), 0x22: (device, last)}[kind]
            memory.append("%x:%x:%x:%x-%x:%x:%x" % (kind, flags, segment, first, last, base, size))
    return {"ivrs info": "%x" % struct.unpack_from("<I", data, 36)[0],
            "ivrs iommus": words("%x:%x:%x:%x:%x:%x:%x" % v for v in iommus.values()), "ivrs memory": words(memory),
            "ivrs settings": words(sum(blocks.values(), []))}


READERS = {"APIC": madt, "SRAT": srat, "SLIT": slit, "MCFG": mcfg, "FACP": fadt, "HPET": hpet, "DMAR": dmar, "IVRS": ivrs}


def flat_facts(found):
    """What the first table of each kind says, by subject."""
    facts = {}
    for signature, reader in READERS.items():
        for data in [data for name, data in found if name == signature][:1]:
            facts.update(reader(data))
    return facts
