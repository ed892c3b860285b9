# SPDX-License-Identifier: GPL-2.0-only
#
# How long the runs of tests take on two cores, as measured: `make help` says it from here, README.md and docs/testing.md
# say the same (tests/unit/test_times.py).

TIME_TEST  := 30 minutes
TIME_QUICK := 5 minutes at most
TIME_UNIT  := ten minutes, then two
# An Nth of test-full takes at most an hour, by the seconds in tests/results (test_shard.py).
SHARDS     := 8
