# SPDX-License-Identifier: GPL-2.0-only
"""Firmware tables that contradict themselves, or each other: one line each, and what is sound is used."""

import os

import margay_run
import node
import numa
import tiny

GIB = 1 << 30
NO_NUMA = r"margay: NUMA: .*taken as 1 node\(s\)"


def boot(name, tables, cpus=2):
    """A node with these tables added to the firmware's; its VM has all CPUs, looks at its memory, and ends well."""
    directory = os.path.join(node.BUILD, "iso")
    vm = "kernel = ram\ncpus = all\nmemory = 256M\ndebug_exit = yes\non_end = poweroff_node\n"
    iso = node.margay_iso(name, {"vm0.conf": vm}, {"ram": tiny.elf("ram")})
    extra = []
    for number, table in enumerate(tables):
        path = os.path.join(directory, "%s-table%d" % (name, number))
        with open(path, "wb") as f:
            f.write(table)
        extra += ["-acpitable", "file=" + path]
    with node.start(name, "qemu", iso, cpus=cpus, extra=extra, memory="1G") as running:
        done = node.Run(running, running.wait())
    assert done.outcome.status == margay_run.OK, done.outcome.text
    assert done.has_line(r"tiny: ram: ok checks=\d+") and len(done.lines(r"^vm0: vcpu\d: CPU")) == cpus
    return done


HALVES = [(0, GIB // 2, 0), (GIB // 2, GIB // 2, 1)]


def test_a_cpu_in_two_nodes_and_a_distance_of_0():
    done = boot("tables-two", [numa.srat([(0, 0), (1, 1), (1, 0)], HALVES), numa.slit([(10, 0), (20, 10)])])
    assert done.has_line(r"margay: acpi: table SLIT: a distance is impossible: ignored")
    assert done.has_line(r"margay: NUMA: SRAT: a processor is in two proximity domains: taken as 1 node\(s\)")
    assert done.has_line(r"margay: node 0: \d+ MiB free") and not done.lines(r"^margay: node 1:")
    assert done.lines(r"^vm0: memory: 256M on node 0: ")


def test_cut_table_and_a_matrix_too_small():
    whole = numa.srat([(0, 0), (1, 1)], HALVES)
    done = boot("tables-cut", [numa.acpi_table(b"SRAT", 3, whole[36:-7]), numa.slit([(10,)])])
    assert done.has_line(r"margay: acpi: table SRAT: an entry's length is wrong: ignored")
    assert not done.lines(r"^margay: node 1:")


def test_cpus_of_one_table_only():
    """SRAT names a CPU that is not there and not one that is; the memory that it names is used. SLIT does not fit it."""
    done = boot("tables-cpus", [numa.srat([(0, 0), (1, 1), (9, 1)], HALVES), numa.slit([(10,)])], cpus=3)
    assert done.has_line("margay: NUMA: SRAT names 1 processors that the MADT does not: ignored")
    assert done.has_line("margay: NUMA: SRAT does not name the CPU with APIC ID 2: taken as on node 0")
    assert done.has_line(r"margay: NUMA: SLIT: it does not cover .*")
    assert done.has_line(r"margay: node 1: \d+ MiB free")
    # Two CPUs of three on node 0: two thirds.
    assert done.lines(r"^vm0: memory: 172M on node 0: ") and done.lines(r"^vm0: memory: 84M on node 1: ")
