# SPDX-License-Identifier: GPL-2.0-only
"""What a mutation run came to: the kill rate by layer, the survivors and the reasons, as a part of docs/mutants.md; the table of a
change's mutants for a note.
"""

import collections
import os
import textwrap

from mutants import draw
from mutants.results import TO_RUN, Row, kept, kept_path
from mutants.source import key

COMMITTED, FRESH, CHANGE = "committed", "fresh", "change"
TITLES = {COMMITTED: "The committed mutants", FRESH: "A fresh seed"}
GOALS = {COMMITTED: 95, FRESH: 90, CHANGE: 90}  # per cent
WIDTH = 120
MOST_GONE = 10  # per cent of the committed ones, then they have to be drawn again
INTRODUCTION = """# Mutants

Single bugs of the kinds that programmers make, and whether a test sees them ([testing.md](testing.md)). `make mutants`
draws and runs them; this is made from what it keeps in `tests/mutants/results`. A mutant that no input can tell apart
counts as killed, with its reason; one that not all tests were run on counts as survived.
"""


def shown(mutant):
    """One line: what is where, and what it would be."""
    return "`%s` %s, %s: `%s` as `%s`" % (mutant.file, mutant.scope, mutant.operator, " ".join(mutant.old), " ".join(mutant.new))


def rows(mutants, results, reasons, tree):
    """A Row for each mutant, by what is known of it in this state of the source."""
    for m in mutants:
        result, reason = results.final(key(m), tree), reasons.get(key(m), "")
        status = result.status if result else TO_RUN
        if reason and status in ("survived", TO_RUN):
            status = "alike"
        yield Row(key(m), m.layer, result.file if result else m.file, shown(m), status, result.by if result else "",
                  result.commit if result else "", reason if status == "alike" else "")


def counted(mutants):
    """{layer: Counter of drawn, killed, alike, survived, gone, to run}, and the same under "all"."""
    table = collections.defaultdict(collections.Counter)
    for m in mutants:
        for row in (m.layer, "all"):
            table[row]["drawn"] += 1
            table[row][m.status] += 1
    return table


def rate(counts):
    """Killed, per cent of those that are there; what is still to run is not killed."""
    there = counts["drawn"] - counts["gone"]
    return 100 * (counts["killed"] + counts["alike"]) / there if there else 0


def good(counts, kind):
    return rate(counts) >= GOALS[kind] and 100 * counts["gone"] <= MOST_GONE * counts["drawn"]


def wrapped(text):
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False)


def escaped(text):
    return text.replace("|", "\\|")


def killer(by):
    """Of a test of pytest's, its file: the tests of one are counted together."""
    return os.path.basename(by.split("::")[0])[:-3] if "::" in by else by


def table(mutants):
    """The lines of the kill rates by layer."""
    counts = counted(mutants)
    yield "| layer | drawn | killed | alike | survived | gone | rate |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for layer in [layer for layer, _ in draw.LAYERS if layer in counts] + ["all"]:
        numbers = tuple(counts[layer][status] for status in ("drawn", "killed", "alike", "survived", "gone"))
        yield "| %s | %d | %d | %d | %d | %d | %.0f %% |" % (layer, *numbers, rate(counts[layer]))


def killed_by(mutants):
    counts = collections.Counter(killer(m.by) for m in mutants if m.status == "killed" and m.by)
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return wrapped("Killed first by: %s." % ", ".join("%s %d" % item for item in most)) if most else []


def part(kind, seed, mutants):
    """The lines of a complete run's part of the document."""
    commits = sorted({m.commit for m in mutants if m.commit})
    yield "## " + TITLES[kind]
    yield ""
    yield from wrapped("Seed %s, commit %s: %.0f %% killed, the goal is %d %%." % (
        seed, ", ".join(commits) or "none", rate(counted(mutants)["all"]), GOALS[kind]))
    yield ""
    yield from table(mutants)
    by = killed_by(mutants)
    if by:
        yield ""
        yield from by
    for title, head, status in (("Survivors", "the bug", "survived"), ("Alike", "the bug: why no input can tell", "alike")):
        chosen = [m for m in mutants if m.status == status]
        if chosen:
            yield from ("", title + ":", "", "| mutant | %s |" % head, "|---|---|")
            yield from ("| %s | %s |" % (m.key, escaped(m.bug) + (": " + m.note if m.note else "")) for m in chosen)


def document(folder):
    """docs/mutants.md, of what is kept there."""
    parts = [INTRODUCTION]
    for kind in TITLES:
        run = kept(kept_path(folder, kind == COMMITTED))
        if run:
            parts.append("\n".join(part(kind, *run)) + "\n")
    return "\n".join(parts)


def list_of(mutants):
    """The lines of a table for a note: each mutant and what killed it."""
    yield "| mutant | the bug | killed by |"
    yield "|---|---|---|"
    for m in mutants:
        by = m.by.removeprefix("tests/") if m.status == "killed" else m.status + (": " + m.note if m.note else "")
        yield "| %s | %s | %s |" % (m.key, escaped(m.bug), escaped(by))


def summary(kind, name, mutants):
    """The lines that a run ends with, complete or not."""
    counts = counted(mutants)
    yield from list_of(mutants) if kind == CHANGE else table(mutants)
    yield ""
    yield from killed_by(mutants)
    yield "%s: %d of %d killed%s, %.0f %%; the goal is %d %%." % (
        name, counts["all"]["killed"] + counts["all"]["alike"], counts["all"]["drawn"] - counts["all"]["gone"],
        " (%d of them alike)" % counts["all"]["alike"] if counts["all"]["alike"] else "", rate(counts["all"]), GOALS[kind])
    if kind != CHANGE:
        yield from ("survived: %s %s" % (m.key, m.bug) for m in mutants if m.status == "survived")
    if counts["all"][TO_RUN]:
        yield "%d still to run: the same command goes on. They count as survived so far." % counts["all"][TO_RUN]
