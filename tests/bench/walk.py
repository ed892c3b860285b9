# SPDX-License-Identifier: GPL-2.0-only
"""What the model of TLBs has counted (qemu_walk.c), as results of make bench."""

from emulate import BenchError

CONTROL = "control: random updates of 64 MiB"
SMALL = "4K pages"
# Of the control: 20 million updates in 16,384 small pages, of which the second-level TLB has 1,536 (tlb_model.h).
WALKS = 20000000 * (16384 - 1536) // 16384
LEAVES = (("is", "as it is"), ("4K", "of 4K"), ("2M", "of 2M"), ("1G", "of 1G"))
COUNTED = (("walks", "walks"), ("references", "references"), ("cached", "references with caches"))


def rows(test, system, counted):
    """Of one stretch, for each size that the leaves of the second level may have; natively, where there is none, the same."""
    if counted["not-mapped"]:
        raise BenchError("walk: %s: %d accesses to what the tables do not have" % (test, counted["not-mapped"]))
    # Beside the updates the kernel walks for what it does, a little.
    if test == "%s, %s" % (CONTROL, SMALL) and not 1 <= counted["is.walks"] / WALKS < 1.01:
        raise BenchError("walk: %s: %d walks, where some %d must be" % (test, counted["is.walks"], WALKS))

    def row(metric, count):
        return dict(part="walk", test=test, system=system, metric=metric + " per 1,000 accesses",
                    value=round(count * 1000 / counted["accesses"], 3))

    for leaf, title in LEAVES:
        model = "is" if system == "native" else leaf
        for name, said in COUNTED:
            yield row("second level %s: %s" % (title, said), counted["%s.%s" % (model, name)])
    for leaves in (key for key in counted if "/" in key and counted[key]):
        yield row("walks to leaves %s" % leaves, counted[leaves])
