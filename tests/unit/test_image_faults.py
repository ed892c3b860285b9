# SPDX-License-Identifier: GPL-2.0-only
"""A store stays whole: each writer killed, and met by a full disk, at each point of margay_images/faults.py; two at once; gc
beside them.

Whole: what a manifest names is there, by reading it all; what was there before is there still; and the next try succeeds and
leaves nothing behind.
"""

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

import image_stores as stores
from margay_images import chunks, durable, faults, push, sign, store
from margay_images.errors import ImageError

KILLED = 77
BROKEN = 78


@pytest.fixture(name="made", scope="module")
def fixture_made(tmp_path_factory):
    """Three images, two that share most of a root; a store with the first and the third."""
    top = tmp_path_factory.mktemp("images")
    with stores.folder_in_memory(top) as memory:
        made = {"key": stores.Key(top / "keys", "one"), "store": os.path.join(memory, "store"), "memory": memory,
                "new": stores.Key(top / "new", "two"), "1": stores.make_image(top / "1"),
                "2": stores.make_image(top / "2", version="2", changed=100_000),
                "small": stores.make_image(top / "small", root=b"hsqs"),
                "other": stores.make_image(top / "other", name="other", changed=500_000)}
        for image in "1", "other":
            stores.pushed(made["store"], made[image], made["key"].secret)
        yield made


@pytest.fixture(name="copied")
def fixture_copied(made, tmp_path):
    copy = os.path.join(made["memory"], tmp_path.name)
    shutil.copytree(made["store"], copy)
    yield copy
    shutil.rmtree(copy)


def do_push(top, made):
    stores.pushed(top, made["2"], made["key"].secret)


def do_first_push(top, made):
    shutil.rmtree(top)
    stores.pushed(top, made["small"], made["key"].secret)


def do_gc(top, made):
    stores.collected(top, remove=[("other", "1")])


def do_sign(top, made):
    sign.sign_image(store.Store(top), "mpi", "1", made["key"].secret, made["key"].folder)


def do_keys(top, made):
    public = stores.store.minisign.read_public(made["new"].public)
    sign.sign_keys(store.Store(top), made["key"].secret, made["key"].folder, {made["new"].id: public}, [], {})


# What each of them promises to have done when it has come to its end.
WRITERS = {
    "push": (do_push, {("mpi", "1"), ("mpi", "2"), ("other", "1")}),
    "first push": (do_first_push, {("mpi", "1")}),
    "gc": (do_gc, {("mpi", "1")}),
    "sign": (do_sign, {("mpi", "1"), ("other", "1")}),
    "keys": (do_keys, {("mpi", "1"), ("other", "1")}),
}


def points_of(writer, made, top):
    """[point] in the order in which a writer comes by; it leaves the store changed."""
    passed = []
    with hooked(passed.append):
        writer(top, made)
    return passed


@contextmanager
def hooked(function):
    faults.hook = function
    try:
        yield
    finally:
        faults.hook = None


def in_child(writer, top, made, at, how):
    """The status of a process that writes, and is killed or finds the disk full when it has come by `at` points."""
    pid = os.fork()
    if pid == 0:
        status = BROKEN
        try:
            count = 0

            def hook(_):
                nonlocal count
                count += 1
                if count == at and how == "killed":
                    os._exit(KILLED)
                if count >= at and how == "full":
                    raise OSError(errno.ENOSPC, "No space left on device")

            with hooked(hook):
                writer(top, made)
            status = 0
        except OSError as error:
            status = 1 if error.errno == errno.ENOSPC else BROKEN
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def check_whole(top, made, before):
    """Nothing lacks, and what no writer was to take away is there."""
    if os.path.exists(os.path.join(top, "store.json")):
        assert stores.problems(top, made["key"].folder) == []
        assert before <= set(store.Store(top).images())


@pytest.mark.parametrize("how", ("killed", "full"))
@pytest.mark.parametrize("name", WRITERS)
def test_cut_everywhere(made, copied, name, how):
    """At each single point that the writer comes by. Then it is tried again, and gc leaves no rest."""
    writer, after = WRITERS[name]
    fresh = copied + ".fresh"
    shutil.copytree(copied, fresh)
    number = len(points_of(writer, made, fresh))
    before = {("mpi", "1")} if name != "first push" else set()
    shutil.rmtree(fresh)
    for at in range(1, number + 1):
        shutil.copytree(copied, fresh)
        assert in_child(writer, fresh, made, at, how) == (KILLED if how == "killed" else 1), at
        check_whole(fresh, made, before)
        again(name, writer, fresh, made)
        assert set(store.Store(fresh).images()) == after, at
        stores.collected(fresh)
        check_whole(fresh, made, after)
        assert stores.rests(fresh) == set(), at
        for image, _ in after:
            assert store.Store(fresh).read("images/%s/versions" % image, 99).decode().split() == store.Store(fresh).versions(image)
        shutil.rmtree(fresh)


def again(name, writer, top, made):
    """What a user does who saw it fail. What was done already is not done twice."""
    if name == "first push":
        stores.pushed(top, made["small"], made["key"].secret)
    elif name == "gc":
        gone = [("other", "1")] if ("other", "1") in store.Store(top).images() else []
        stores.collected(top, remove=gone)
    elif name != "keys" or not os.path.isdir(os.path.join(top, "keys", "1")):
        writer(top, made)


def test_each_point_is_tried(made, copied):
    """The list in faults.py has no point that no writer comes by."""
    passed = set()
    rehearsal = copied + ".rehearsal"
    shutil.copytree(copied, rehearsal)
    at = points_of(do_push, made, rehearsal).index("moved-index") + 1
    shutil.rmtree(rehearsal)
    for number, (writer, _) in enumerate(WRITERS.values()):
        top = "%s.%d" % (copied, number)
        shutil.copytree(copied, top)
        if writer is do_gc:
            # Rests of a push that was killed, and a chunk and an index that nothing names.
            assert in_child(do_push, top, made, at, "killed") == KILLED
        passed |= set(points_of(writer, made, top))
        shutil.rmtree(top)
    assert passed == set(faults.POINTS)


NAMES_CHANGE = {"moved-chunk", "moved-index", "published", "listed", "published-keys", "delisted", "withdrew", "removed-name",
                "removed-index", "removed-chunk", "removed-rest"}


@pytest.mark.parametrize("name", WRITERS)
def test_names_change_under_the_lock(made, copied, name):
    """Whoever has it sees a store that nobody changes."""
    free = []

    def hook(point):
        if point in NAMES_CHANGE:
            with durable.locked(os.path.join(copied, "lock"), wait=False) as mine:
                free.append((point, mine))

    with hooked(hook):
        WRITERS[name][0](copied, made)
    assert not any(mine for _, mine in free) and (free or name == "sign")


def test_gc_mends_the_list(made, copied):
    """A push that was cut between its version's name and the list of versions, which nobody does again."""
    rehearsal = copied + ".rehearsal"
    shutil.copytree(copied, rehearsal)
    at = points_of(do_push, made, rehearsal).index("published") + 1
    shutil.rmtree(rehearsal)
    assert in_child(do_push, copied, made, at, "killed") == KILLED
    assert store.Store(copied).read("images/mpi/versions", 99) == b"1\n" and store.Store(copied).versions("mpi") == ["1", "2"]
    stores.collected(copied)
    assert store.Store(copied).read("images/mpi/versions", 99) == b"1\n2\n"


def test_disk_is_full(made):
    """A real one: a file system in memory that is too small, by steps; when there is room the same push succeeds."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "image_full_disk.py")
    command = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    done = subprocess.run([*command, sys.executable, script, made["1"], made["2"], made["key"].secret, made["key"].folder],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    failed, passed = map(int, done.stdout.split())
    assert failed >= 5 and passed >= 1, done.stdout


def waiting_push(top, made, point):
    """A process that pushes the second version and stops at a point; its pid."""
    pid = os.fork()
    if pid == 0:
        status = BROKEN
        try:
            def hook(reached):
                if reached == point:
                    faults.hook = None
                    os.kill(os.getpid(), signal.SIGSTOP)

            faults.hook = hook
            do_push(top, made)
            status = 0
        finally:
            os._exit(status)
    assert os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1])
    return pid


def ends(pid):
    os.kill(pid, signal.SIGCONT)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("point", ("began", "cut", "synced"))
def test_gc_beside_a_push(made, copied, point):
    """gc takes away the version with whose chunks the push would have saved its own, and its folder in incoming/ stays."""
    pid = waiting_push(copied, made, point)
    stores.collected(copied, remove=[("mpi", "1")])
    assert len(os.listdir(os.path.join(copied, "incoming"))) == 1
    assert ends(pid) == 0
    assert set(store.Store(copied).images()) == {("mpi", "2"), ("other", "1")}
    assert (stores.problems(copied, made["key"].folder), stores.rests(copied)) == ([], set())


@pytest.mark.parametrize("point", ("moved-chunk", "moved-index", "published"))
def test_gc_waits_for_a_push(made, copied, point):
    """While chunks are moved that no manifest names yet, gc waits."""
    pid = waiting_push(copied, made, point)
    collecting = threading.Thread(target=stores.collected, args=(copied,), kwargs={"remove": [("mpi", "1")]})
    collecting.start()
    collecting.join(0.2)
    assert collecting.is_alive()
    assert ends(pid) == 0
    collecting.join()
    assert set(store.Store(copied).images()) == {("mpi", "2"), ("other", "1")}
    assert (stores.problems(copied, made["key"].folder), stores.rests(copied)) == ([], set())


def test_many_at_once(made, copied, tmp_path):
    """Pushes of the same and of other versions, gc and signing, all started together: each succeeds, the store is whole."""
    tool = (sys.executable, stores.TOOL)
    images = [stores.make_image(tmp_path / str(n), version=str(n), name="many", changed=100_000 * n) for n in range(1, 4)]
    commands = [[*tool, "push", copied, image, "--key", made["key"].secret] for image in images * 2]
    signing = [*tool, "sign", copied, "mpi:1", "--keys", made["key"].folder, "--key", made["key"].secret]
    commands += [[*tool, "gc", copied], signing] * 2
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for command in commands]
    results = [(process.communicate()[0], process.returncode) for process in running]
    assert all(status == 0 for _, status in results), results
    assert set(store.Store(copied).images()) == {("many", "1"), ("many", "2"), ("many", "3"), ("mpi", "1"), ("other", "1")}
    stores.collected(copied)
    assert (stores.problems(copied, made["key"].folder), stores.rests(copied)) == ([], set())


def test_two_lists_at_once(made, copied):
    """The second one finds that there is a next list already, and does not take its place."""
    signed = stores.store.minisign.sign

    def sign_late(*arguments):
        stores.store.minisign.sign = signed
        do_keys(copied, made)
        return signed(*arguments)

    stores.store.minisign.sign = sign_late
    try:
        with pytest.raises(ImageError, match="somebody else has made list of keys 1"):
            do_keys(copied, made)
    finally:
        stores.store.minisign.sign = signed
    assert os.listdir(os.path.join(copied, "keys")) == ["1"] and stores.rests(copied) == set()


def test_flushed_before_named(made, copied, monkeypatch):
    """A cut of the power takes what is not flushed. Chunks and indexes are, with their names, before the manifest has its name."""
    events = []
    monkeypatch.setattr(durable, "sync_all", lambda path: events.append("all"))
    flushed = durable.sync_folder
    monkeypatch.setattr(durable, "sync_folder", lambda path: (events.append(os.path.relpath(path, copied)), flushed(path)))
    rename = os.rename

    def renamed(source, target):
        events.append((os.path.basename(source), os.path.relpath(target, copied)))
        rename(source, target)

    monkeypatch.setattr(push.os, "rename", renamed)
    do_push(copied, made)
    published = events.index(("image", "images/mpi/2"))
    moved = [event for event in events if isinstance(event, tuple) and event[1].startswith(("chunks/", "index/"))]
    assert len(moved) >= 3
    for event in moved:
        at = events.index(event)
        assert events.index("all") < at < published and os.path.dirname(event[1]) in events[at:published]
    # It is there when the push says so, not when the list of versions happens to be flushed.
    assert events[published + 1] == "images/mpi"


def test_file_changes_while_it_is_cut(made, copied, tmp_path, monkeypatch):
    """The manifest's hashes and the chunks are of two readings: that they differ is seen before anything is in the store."""
    image = stores.make_image(tmp_path / "image", version="3")
    cut = chunks.cut

    def cut_late(file, top, index_path):
        with open(file, "r+b") as f:
            f.write(b"another beginning")
        cut(file, top, index_path)

    monkeypatch.setattr(chunks, "cut", cut_late)
    with pytest.raises(ImageError, match="kernel changed while it was cut"):
        stores.pushed(copied, image)
    assert (stores.problems(copied, made["key"].folder), stores.rests(copied)) == ([], set())
