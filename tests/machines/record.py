# SPDX-License-Identifier: GPL-2.0-only
"""Makes a recording (judge.py) of a machine out of the text that acpidump wrote on it."""

import acpica
import recorded

KEPT = ("DSDT", "SSDT") + tuple(recorded.READERS)  # others may hold licence keys, and nobody reads them


def record(path, source):
    with open(path, encoding="utf-8", errors="replace") as f:
        tables = [(signature, data) for signature, data in recorded.tables(f.read()) if signature in KEPT]
    topology = acpica.Topology(acpica.Machine(tables))
    return {"source": source, "tables": [(signature, data.hex()) for signature, data in tables],
            "functions": topology.functions, "facts": dict(recorded.flat_facts(tables), **topology.facts)}
