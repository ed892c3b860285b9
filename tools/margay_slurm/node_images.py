# SPDX-License-Identifier: GPL-2.0-only
"""An image of the site's store becomes images of the node, by margay-image-pull: keys, signatures, which version may follow which,
and what the node has already are its affair."""

import json
import subprocess

from .errors import ClusterError, ImageFault

PROGRAM = "margay-image-pull"
SECONDS = 600
# Its status for what is refused, on whatever node it is asked for; any other failure is this node's.
REFUSED = 1


def bring(image, downgrade):
    """(the kernel's command line, {file: its name on the node}) of NAME:VERSION."""
    words = [PROGRAM, "--json", *(["--allow-downgrade"] if downgrade else []), image]
    try:
        done = subprocess.run(["timeout", str(SECONDS), *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        answer = json.loads(done.stdout)
        if done.returncode == 0:
            return answer["cmdline"], {name.rpartition("/")[2]: name for name in answer["names"]}
        message = answer["error"]["message"]
    except (ValueError, KeyError, TypeError) as error:
        raise ClusterError("%s: ended with status %d and no answer" % (PROGRAM, done.returncode)) from error
    text = message if message.startswith(image + ":") else "%s: %s" % (image, message)
    raise (ImageFault if done.returncode == REFUSED else ClusterError)(text)
