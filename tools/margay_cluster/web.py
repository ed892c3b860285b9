# SPDX-License-Identifier: GPL-2.0-only
"""The head's web server: python3 web.py DIRECTORY LOG. A line of the log: seconds since 1970, who, what, status."""

import functools
import http.server
import sys
import time


class Handler(http.server.SimpleHTTPRequestHandler):
    # A node takes thousands of chunks: by one connection each.
    protocol_version = "HTTP/1.1"

    def log_request(self, code="-", size="-"):
        with open(sys.argv[2], "a", encoding="utf-8") as f:
            f.write("%.3f %s %s %d\n" % (time.time(), self.client_address[0], self.path, code))

    def log_message(self, *args):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("", 80), functools.partial(Handler, directory=sys.argv[1])).serve_forever()
