# SPDX-License-Identifier: GPL-2.0-only
"""Files by HTTP from servers that nobody trusts: never more bytes than were expected, never for longer than an honest one takes."""

import asyncio
import os

import aiohttp

from .errors import ImageError, UnavailableError

SLOWEST = 16 << 10  # bytes a second that an honest server has
SAID = {404: "is not there", 403: "may not be read"}


class MissingError(ImageError):
    """The server says that there is no such file."""


class BusyError(UnavailableError):
    """A node has enough to do: it says 503."""


class Web:
    """timeout: seconds without a byte after which a server has stalled."""

    def __init__(self, timeout):
        self.timeout = timeout
        self.session = None

    async def __aenter__(self):
        # Nothing of the environment (proxies), no redirect, nothing unpacked on the way: what is named is fetched.
        self.session = aiohttp.ClientSession(
            auto_decompress=False, trust_env=False, cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(limit=0, force_close=False),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.timeout, sock_read=self.timeout),
            headers={"Accept-Encoding": "identity", "User-Agent": "margay-image-pull"})
        return self

    async def __aexit__(self, *error):
        await self.session.close()

    async def get(self, url, limit, patience=0):
        """The bytes of a file, at most limit of them. patience: seconds that the server may wait before it begins."""
        return await self.guarded(url, self.read(url, limit, patience), self.timeout + patience + limit / SLOWEST)

    async def post(self, url, value, limit):
        """The bytes that answer a question in JSON."""
        return await self.guarded(url, self.read(url, limit, 0, value), 2 * self.timeout + limit / SLOWEST)

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

    async def read(self, url, limit, patience, value=None):
        options = {"allow_redirects": False}
        if patience:
            options["timeout"] = aiohttp.ClientTimeout(total=None, sock_connect=self.timeout, sock_read=self.timeout + patience)
        if value is not None:
            options["json"] = value
        async with self.session.request("GET" if value is None else "POST", url, **options) as answer:
            if answer.status != 200:
                kind = {404: MissingError, 503: BusyError}.get(answer.status, UnavailableError)
                raise kind("%s: %s" % (url, SAID.get(answer.status, "the server says %d" % answer.status)))
            if (answer.content_length or 0) > limit:
                raise ImageError("%s: %d bytes, where at most %d can be right" % (url, answer.content_length, limit))
            data = bytearray()
            async for block in answer.content.iter_any():
                data += block
                if len(data) > limit:
                    raise ImageError("%s: more than %d bytes" % (url, limit))
            return bytes(data)
