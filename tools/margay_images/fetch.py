# SPDX-License-Identifier: GPL-2.0-only
"""Files by HTTP from servers that nobody trusts: never more bytes than were expected, never for longer than an honest one takes."""

import asyncio
import os
import re
import ssl

import aiohttp

from .connection import Connection, GoneError, OddError, Wanted
from .errors import ImageError, UnavailableError

SLOWEST = 16 << 10  # bytes a second that an honest server has
# What needs nothing of a URL's rarer parts. Both forms of a host, a port, a path.
PLAIN = re.compile(r"(https?)://([0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?/[-0-9A-Za-z._~+:/?&=]*")
STEP = 32 << 10  # bytes: a half of Linux' first window. Who waits for more than it lets come waits for the sender's timers
PORTS = {"http": 80, "https": 443}
SAID = {404: "is not there", 403: "may not be read"}


class MissingError(ImageError):
    """The server says that there is no such file."""


class BusyError(UnavailableError):
    """A node has enough to do: it says 503."""


def judge(url, status):
    if status != 200:
        kind = {404: MissingError, 503: BusyError}.get(status, UnavailableError)
        raise kind("%s: %s" % (url, SAID.get(status, "the server says %d" % status)))


class Web:
    """timeout: seconds without a byte after which a server has stalled."""

    def __init__(self, timeout):
        self.timeout = timeout
        self.session = None
        self.idle = {}  # connections that nobody uses: {(scheme, host, port): [Connection]}
        self.odd = set()  # to whom there are none
        self.secure = None  # whom to believe by TLS

    async def __aenter__(self):
        # Nothing of the environment (proxies), no redirect, nothing unpacked on the way: what is named is fetched.
        self.session = aiohttp.ClientSession(
            auto_decompress=False, trust_env=False, cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(limit=0, force_close=False),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.timeout, sock_read=self.timeout),
            headers={"Accept-Encoding": "identity", "User-Agent": "margay-image-pull"})
        return self

    async def __aexit__(self, *error):
        for connections in self.idle.values():
            for connection in connections:
                connection.transport.abort()
        await self.session.close()

    async def get(self, url, limit, patience=0, take=bytes, more=None):
        """What take makes of a file, of at most limit bytes. patience: seconds that the server may wait before it begins. more: may
        be called after that, for the next one of the same server, (url, limit, take), or None."""
        wanted = self.wanted(url, limit, take, patience, more)
        parts = PLAIN.fullmatch(url)
        where = parts and parts.group(1, 2, 3)
        if where and where not in self.odd:
            return await self.plain(where, wanted)
        return await self.by_library(wanted)

    def wanted(self, url, limit, take, patience, more):
        def following():
            following = more()
            return following and self.wanted(*following, patience, more)
        quiet = self.timeout + patience
        return Wanted(url, limit, quiet, quiet + limit / SLOWEST, take, more and following)

    # By connections of one's own

    async def plain(self, where, wanted):
        idle = self.idle.setdefault(where, [])
        while True:
            first, used = wanted, bool(idle)
            connection = idle.pop() if used else await self.connect(wanted.url, where, idle)
            try:
                status, took = await connection.ask(wanted)
                break
            except GoneError as error:
                wanted = connection.wanted
                # It may have ended while nobody used it.
                if error.begun or not (used or wanted is not first):
                    raise UnavailableError("%s: ends before it is whole" % wanted.url) from error
            except asyncio.TimeoutError as error:
                raise UnavailableError("%s: stalls" % connection.wanted.url) from error
            except OddError:
                self.odd.add(where)
                return await self.by_library(connection.wanted)
        if connection.kept:
            idle.append(connection)
        judge(connection.wanted.url, status)
        return took

    async def connect(self, url, where, idle):
        scheme, host, port = where
        if scheme == "https" and not self.secure:
            self.secure = ssl.create_default_context()
        loop = asyncio.get_running_loop()
        # An honest server sends so many twice in the time after which it would have stalled, and Linux has room for them.
        step = min(max(int(SLOWEST * self.timeout / 2), 1), STEP)

        def forget(connection):
            if connection in idle:
                idle.remove(connection)
        try:
            async with asyncio.timeout(self.timeout):
                _, connection = await loop.create_connection(
                    lambda: Connection(loop, step, forget), host.strip("[]"), int(port or PORTS[scheme]),
                    ssl=self.secure if scheme == "https" else None)
                return connection
        except asyncio.TimeoutError as error:
            raise UnavailableError("%s: stalls" % url) from error
        except (OSError, OverflowError, ValueError) as error:
            known = not isinstance(error, ssl.SSLError) and (getattr(error, "errno", None) or 0) > 0
            raise UnavailableError("%s: cannot be reached: %s" % (url, os.strerror(error.errno) if known else error)) from error

    # By a library

    async def by_library(self, wanted):
        return wanted.take(await self.guarded(wanted.url, self.read(wanted.url, wanted.limit, wanted.quiet), wanted.seconds))

    async def post(self, url, value, limit):
        """The bytes that answer a question in JSON."""
        return await self.guarded(url, self.read(url, limit, self.timeout, value), 2 * self.timeout + limit / SLOWEST)

    async def guarded(self, url, reading, seconds):
        try:
            # wait_for() of Python 3.11 forgets that it is cancelled when the answer comes at that moment.
            async with asyncio.timeout(seconds):
                return await reading
        except asyncio.TimeoutError as error:
            raise UnavailableError("%s: stalls" % url) from error
        except aiohttp.ClientConnectorError as error:
            why = os.strerror(error.os_error.errno) if (error.os_error.errno or 0) > 0 else error.os_error
            raise UnavailableError("%s: cannot be reached: %s" % (url, why)) from error
        except aiohttp.ClientPayloadError as error:
            raise UnavailableError("%s: ends before it is whole" % url) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise UnavailableError("%s: %s" % (url, str(error).split("\n", maxsplit=1)[0] or type(error).__name__)) from error

    async def read(self, url, limit, quiet, value=None):
        options = {"allow_redirects": False}
        if quiet != self.timeout:
            options["timeout"] = aiohttp.ClientTimeout(total=None, sock_connect=self.timeout, sock_read=quiet)
        if value is not None:
            options["json"] = value
        async with self.session.request("GET" if value is None else "POST", url, **options) as answer:
            judge(url, answer.status)
            if (answer.content_length or 0) > limit:
                raise ImageError("%s: %d bytes, where at most %d can be right" % (url, answer.content_length, limit))
            data = bytearray()
            async for block in answer.content.iter_any():
                data += block
                if len(data) > limit:
                    raise ImageError("%s: more than %d bytes" % (url, limit))
            return bytes(data)
