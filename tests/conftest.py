# SPDX-License-Identifier: GPL-2.0-only
"""Options and order of the test run; what the whole-machine tests share."""

import os
import random
import shutil
import signal
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(TOP, path) for path in ("tools", "tests", "tests/system")]

import written  # noqa: E402

pytest_plugins = ("report_times", "report_failures", "results", "shard")


# Tests that may be tried again in a run because the emulator is known to have failed: more are no accident.
RETRIES = 2

# Which test an emulator's log is of: a second one would write over it, and beside the first boot from a file that goes.
owners, shared = {}, []

# The workers of a parallel run inherit it from the first process.
SEED = int(os.environ.setdefault("MARGAY_SEED", str(random.randrange(10**9))))


def pytest_report_header(config):
    return "random configurations: MARGAY_SEED=%d repeats them" % SEED


@pytest.fixture(scope="session")
def configuration_seed():
    return SEED


def pytest_addoption(parser):
    parser.addoption("--full", action="store_true", help="also what is marked full: the whole matrix")


def pytest_configure(config):
    # A shell's background begins with this ignored, and so would all that tests start and interrupt.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "full: only in make test-full")
    config.addinivalue_line("markers", "slow: takes minutes; is started first")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--full"):
        dropped = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if not item.get_closest_marker("full")]
    # Long ones first, so that the two workers end together.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item):
    """What a fixture of more tests has written is the first one's that asked."""
    with written.by_a_test() as files:
        yield
    item.user_properties += [("log", log) for log in files.logs]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """Room on the disk: what a test itself has written goes when it has passed, but for its logs. Hundreds of ISOs are 20 GB."""
    with written.by_a_test() as files:
        outcome = yield
    item.user_properties += [("log", log) for log in files.logs]
    if outcome.excinfo is None:
        for path in filter(os.path.exists, {*files.exits, *files.isos}):
            os.unlink(path)
        if "tmp_path" in item.fixturenames:
            shutil.rmtree(item.funcargs["tmp_path"], ignore_errors=True)


def pytest_runtest_logreport(report):
    for log in [value for name, value in report.user_properties if name == "log" and report.when == "call"]:
        if owners.setdefault(log, report.nodeid) != report.nodeid:
            shared.append("%s is written by %s and by %s" % (log, owners[log], report.nodeid))


def retries(config):
    """Reports of first tries. In a parallel run the first process has those of all workers."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return reporter.stats.get("rerun", []) if reporter else []


def pytest_terminal_summary(terminalreporter, config):
    tried = retries(config)
    for report in tried:
        terminalreporter.write_line("the emulator failed, tried again: %s: %s" % (report.nodeid, report.longrepr.reprcrash.message))
    for line in shared:
        terminalreporter.write_line("FAILED: " + line)
    if len(tried) > RETRIES:
        terminalreporter.write_line("FAILED: %d tests were tried again, more than %d: no accident" % (len(tried), RETRIES))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session, exitstatus):
    if (shared or len(retries(session.config)) > RETRIES) and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    # pytest calls a run that collected nothing 5; say so in CI's log as well.
    if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        sys.stderr.write("no test ran\n")
