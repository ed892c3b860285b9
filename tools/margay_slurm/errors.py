# SPDX-License-Identifier: GPL-2.0-only
"""How anything here fails: one line, and whose fault it is, since a job's fault must not cost a node, nor a node's a job."""

import sys
import syslog
import traceback


class ClusterError(Exception):
    """The text is one line."""


class ImageFault(ClusterError):
    """The image cannot be had, or is not to be believed: no node would run it, so the job ends."""


class Late(ClusterError):
    """A newer order has been carried out: this one is void, and nothing is wrong."""


def say(program, text):
    """slurmctld throws away what its programs print: an administrator looks into the journal."""
    print("%s: %s" % (program, text), file=sys.stderr)
    syslog.openlog(program, syslog.LOG_PID, syslog.LOG_DAEMON)
    syslog.syslog(syslog.LOG_ERR, text)


def run(program, main):
    """The status of a program: 1 and one line for what went wrong."""
    try:
        return main() or 0
    except ClusterError as error:
        say(program, str(error))
    except OSError as error:
        say(program, "%s: %s" % (error.filename, error.strerror) if error.filename else str(error))
    except KeyboardInterrupt:
        return 130
    # What nobody has thought of must be seen, too: slurmctld would throw it away.
    except Exception:  # pylint: disable=broad-except
        say(program, "failed: " + " | ".join(traceback.format_exc().strip().split("\n")[-3:]))
    return 1
