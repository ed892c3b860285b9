# SPDX-License-Identifier: GPL-2.0-only
"""A connection to an HTTP server, one file at a time, for as few instructions a byte as Python can: a chunk comes in few reads,
into a buffer that stays. It understands the answers that servers of files give: how long they are comes first. What else there is
in HTTP is an OddError, and for fetch.py's library.
"""

import asyncio
import re
import socket

from .alarm import Alarm
from .errors import ImageError

HEAD = 16 << 10  # bytes that the lines in front of a file may have
REQUEST = "GET /%s HTTP/1.1\r\nHost: %s\r\nAccept-Encoding: identity\r\nUser-Agent: margay-image-pull\r\n\r\n"
STATUS = re.compile(rb"HTTP/1\.([01]) ([2-5][0-9][0-9])(?: [^\r\n\0]*)?")
LINES = re.compile(rb"(?:\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*)*")
COUNT = re.compile(rb"\r\n(content-length|transfer-encoding|connection):[ \t]*([^\r]*)", re.IGNORECASE)
WITHOUT_FILE = (204, 304)
DIGITS = 18
IDLE_S = 10  # a connection that nobody wants ends after that time


class OddError(Exception):
    """Perhaps HTTP, but not what is understood here."""


class GoneError(Exception):
    """The server has ended the connection; begun: in the middle of an answer."""

    def __init__(self, begun):
        super().__init__()
        self.begun = begun


def parse_head(head):
    """(status, bytes of the file, whether another request may follow); head: up to the empty line, without it."""
    status = STATUS.match(head)
    if not status or not LINES.fullmatch(head, status.end()):
        raise OddError
    length, kept = None, status[1] == b"1"
    for name, value in COUNT.findall(head):
        name, value = name.lower(), value.rstrip(b" \t")
        if name == b"content-length" and length is None and value.isdigit() and len(value) <= DIGITS:
            length = int(value)
        elif name == b"connection":
            kept = kept and value.lower() == b"keep-alive"
        else:
            raise OddError
    if length is None or int(status[2]) in WITHOUT_FILE:
        raise OddError
    return int(status[2]), length, kept


class Wanted:
    """A file. limit: of its bytes; quiet: seconds without one; seconds: in all; take: called with its bytes, which are there as
    long as it runs; more: called then, for the next one that is wanted from this server, or None."""

    __slots__ = ("url", "limit", "quiet", "seconds", "take", "more")

    def __init__(self, url, limit, quiet, seconds, take, more):
        self.url, self.limit, self.quiet, self.seconds, self.take, self.more = url, limit, quiet, seconds, take, more

    def request(self):
        _, _, host, path = self.url.split("/", 3)
        return (REQUEST % (path, host)).encode("ascii")


class Connection(asyncio.BufferedProtocol):
    """step: wakes when so many bytes are there; forget: called with this one when it has ended."""

    def __init__(self, loop, step, forget):
        self.loop, self.step, self.forget = loop, step, forget
        self.transport = self.socket = None
        self.alarm = Alarm(loop, self.look)
        self.answer = self.wanted = None  # for whoever waits, and what just now
        self.buffer = bytearray(1)
        self.view = memoryview(self.buffer)
        self.have, self.head, self.whole = 0, None, 0  # bytes in the buffer: there are, of the head, there will be
        self.status, self.kept, self.low = 0, True, 1
        self.heard, self.end = 0, 0

    async def ask(self, wanted):
        """(status of the answer, what its take has returned); where more was wanted, of the last one. `wanted` is that one then."""
        self.wanted = wanted
        if self.transport.is_closing():
            raise GoneError(False)
        self.answer = self.loop.create_future()
        self.begin(wanted)
        try:
            return await self.answer
        except BaseException:
            self.transport.abort()
            raise
        finally:
            self.answer = None
            self.end = self.heard + IDLE_S

    def begin(self, wanted):
        if len(self.buffer) <= HEAD + wanted.limit:
            # One byte more: it shows who sends more than they say.
            self.buffer = bytearray(HEAD + wanted.limit + 1)
            self.view = memoryview(self.buffer)
        self.wanted, self.have, self.head = wanted, 0, None
        self.heard = self.loop.time()
        self.end = self.heard + wanted.seconds
        self.alarm.by(self.late())
        self.transport.write(wanted.request())

    # Time

    def late(self):
        return self.end if self.answer is None else min(self.heard + self.wanted.quiet, self.end)

    def look(self):
        if self.loop.time() < self.late():
            self.alarm.by(self.late())
        else:
            self.fail(asyncio.TimeoutError())

    # What asyncio calls

    def connection_made(self, transport):
        self.transport = transport
        if not transport.get_extra_info("sslcontext"):
            self.socket = transport.get_extra_info("socket")

    def connection_lost(self, exc):
        self.forget(self)
        self.fail(GoneError(self.have > 0))
        # It would keep the buffer.
        self.alarm.cancel()

    def get_buffer(self, sizehint):
        return self.view[self.have:]

    def buffer_updated(self, nbytes):
        if self.answer is None or self.answer.done():
            # Nobody has asked.
            self.transport.abort()
            return
        self.have += nbytes
        self.heard = self.loop.time()
        try:
            if self.head is None and not self.take_head():
                return
            self.take()
        except Exception as error:  # pylint: disable=broad-exception-caught
            # It is for who has asked.
            self.fail(error)

    # An answer

    def fail(self, error):
        self.transport.abort()
        if self.answer and not self.answer.done():
            self.answer.set_exception(error)

    def take_head(self):
        """Is it there?"""
        end = self.buffer.find(b"\r\n\r\n", 0, min(self.have, HEAD))
        if end < 0:
            if self.have >= HEAD:
                raise OddError
            return False
        self.head = end + 4
        self.status, length, self.kept = parse_head(self.buffer[:end])
        if length > self.wanted.limit:
            if self.status == 200:
                raise ImageError("%s: %d bytes, where at most %d can be right" % (self.wanted.url, length, self.wanted.limit))
            # Why not is of no interest.
            length, self.kept = 0, False
            self.have = self.head
        self.whole = self.head + length
        return True

    def take(self):
        if self.have > self.whole:
            raise OddError
        if self.have < self.whole:
            self.wake_at(min(self.whole - self.have, self.step))
            return
        self.wake_at(1)
        took = following = None
        if self.status == 200:
            took = self.wanted.take(self.view[self.head:self.whole])
            following = self.kept and self.wanted.more and self.wanted.more()
        if following:
            self.begin(following)
            return
        self.answer.set_result((self.status, took))
        if not self.kept:
            self.transport.abort()

    def wake_at(self, count):
        """Linux wakes this process when so many bytes are there, or the end, and not for each packet."""
        if count != self.low and self.socket:
            self.low = count
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
