# SPDX-License-Identifier: GPL-2.0-only
"""The points at which a write to the store may end: by a cut, a full disk, a kill. Each is tried by a test.

Code calls reach() when it has done what the point says, and before it does what comes next. A test sets `hook`, and
ends the process there, or raises an error of the disk. Nothing else does.
"""

POINTS = {
    "made-folder": "a folder of the store that was missing",
    "wrote-temporary": "a small file, under its temporary name",
    "replaced": "the same, under its own name",
    "began": "a push has its folder in incoming/",
    "cut": "a file of an image is cut, in incoming/",
    "synced": "all that a push brings is on the disk, in incoming/",
    "moved-chunk": "a chunk has its place in chunks/",
    "moved-index": "an index has its place in index/",
    "published": "a version has its place in images/",
    "listed": "images/NAME/versions names it",
    "cleared": "a push's folder in incoming/ is removed",
    "published-keys": "a list of keys has its place in keys/",
    "delisted": "gc: a version that goes stands no more in versions",
    "withdrew": "gc: a version's manifest is no more in images/",
    "removed-name": "gc: the folder of an image without versions is removed",
    "removed-index": "gc: an index that no manifest names is removed",
    "removed-chunk": "gc: a chunk that no index names is removed",
    "removed-rest": "gc: what a push or gc that was cut left in incoming/ is removed",
}

hook = None


def reach(point):
    assert point in POINTS, point
    if hook is not None:
        hook(point)
