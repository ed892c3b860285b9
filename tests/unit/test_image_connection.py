# SPDX-License-Identifier: GPL-2.0-only
"""How files come by HTTP (tools/margay_images/fetch.py, connection.py), from servers that say byte by byte what a test wants."""

import asyncio
import errno
import gc
import os
import socket
import ssl
import subprocess
import weakref

import pytest

import image_servers as servers
from margay_images import connection, fetch
from margay_images.errors import ImageError, UnavailableError

FILES = {"/%d" % number: os.urandom(70_000 + number) for number in range(4)}


class Server:
    """answer(path, writer, times): times it was asked on this connection, 0 at first; False: the connection ends."""

    def __init__(self, answer, **options):
        self.answer, self.options, self.connections, self.asked, self.url = answer, options, 0, [], ""
        self.readers = []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, **self.options)
        self.url = "http%s://127.0.0.1:%d" % ("s" if self.options else "", self.server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *error):
        self.server.close()

    async def serve(self, reader, writer):
        self.connections += 1
        self.readers.append(reader)
        times = 0
        try:
            while True:
                path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
                self.asked.append(path)
                if await self.answer(path, writer, times) is False:
                    return
                times += 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def head(size, more=""):
    return ("HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: %d\r\n%s\r\n" % (size, more)).encode()


async def honest(path, writer, times):
    writer.write(head(len(FILES[path])) + FILES[path])
    await writer.drain()


def with_web(answer, work, timeout=20, **options):
    """What work(web, server) returns."""
    async def run():
        async with Server(answer, **options) as server, fetch.Web(timeout) as web:
            return await work(web, server)
    return asyncio.run(run())


async def gets(web, server, paths):
    return [await web.get(server.url + path, 80_000) for path in paths]


def streamed(answer, paths, **options):
    """({path: bytes} that came when all of these were wanted in one go, the server, what was raised)"""
    came, raised = {}, []

    async def work(web, server):
        left = list(paths[1:])
        now = [paths[0]]

        def take(data):
            came[now[0]] = bytes(data)

        def more():
            if not left:
                return None
            now[0] = left.pop(0)
            return server.url + now[0], 80_000, take
        try:
            await web.get(server.url + paths[0], 80_000, take=take, more=more)
        except ImageError as error:
            raised.append(error)
        return server
    return came, with_web(answer, work, **options), raised


# ---- connections ----------------------------------------------------------------------------------


def test_one_connection_for_all():
    async def work(web, server):
        assert await gets(web, server, sorted(FILES)) == [FILES[path] for path in sorted(FILES)]
        assert server.connections == 1
        # Two at once need two.
        await asyncio.gather(gets(web, server, ["/0", "/1"]), gets(web, server, ["/2", "/3"]))
        assert server.connections == 2 and not web.odd
    with_web(honest, work)


def test_what_is_wanted_of_one_server():
    """Is asked for as it comes, in that order; nobody else has to run in between."""
    came, server, raised = streamed(honest, sorted(FILES))
    assert came == FILES and server.asked == sorted(FILES) and server.connections == 1 and not raised


def test_pieces_of_any_size():
    """Byte by byte until the file begins, then in bits."""
    async def answer(path, writer, times):
        for byte in head(len(FILES[path])):
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)
        for start in range(0, len(FILES[path]), 9999):
            writer.write(FILES[path][start:start + 9999])
            await writer.drain()
            await asyncio.sleep(0.001)
    came, server, raised = streamed(answer, sorted(FILES))
    assert came == FILES and server.connections == 1 and not raised


def test_few_are_woken_for_many_packets(monkeypatch):
    """Linux keeps what comes until it is enough."""
    woken = []
    updated = connection.Connection.buffer_updated
    monkeypatch.setattr(connection.Connection, "buffer_updated", lambda self, count: (woken.append(count), updated(self, count)))

    async def answer(path, writer, times):
        writer.write(head(len(FILES[path])))
        for start in range(0, len(FILES[path]), 1000):
            writer.write(FILES[path][start:start + 1000])
            await writer.drain()
            await asyncio.sleep(0.001)
    came, _, _ = streamed(answer, ["/0"])
    # The head, what has come with it, the rest: and twice that where the machine is busy.
    assert came["/0"] == FILES["/0"] and len(woken) <= 6


def test_no_more_is_waited_for_than_comes(monkeypatch):
    """Of a large file Linux says so at each STEP: it takes that number, which is below what it lets a sender send at first."""
    counts = []
    wake_at = connection.Connection.wake_at

    def wake(self, count):
        wake_at(self, count)
        counts.append(self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT))
    monkeypatch.setattr(connection.Connection, "wake_at", wake)
    monkeypatch.setitem(FILES, "/0", bytes(300_000))

    async def work(web, server):
        assert await web.get(server.url + "/0", 300_000) == FILES["/0"]
        assert max(counts) == fetch.STEP and counts[-1] == 1
    with_web(honest, work)


@pytest.mark.parametrize("says", [True, False])
def test_a_server_that_ends_connections(says):
    """After each file, whether it says so or not: another is made."""
    async def answer(path, writer, times):
        writer.write(head(len(FILES[path]), "Connection: close\r\n" if says else "") + FILES[path])
        await writer.drain()
        return False

    async def work(web, server):
        assert await gets(web, server, ["/0", "/1"]) == [FILES["/0"], FILES["/1"]]
        # And once it is known that the connection has ended.
        await asyncio.sleep(0.1)
        assert await gets(web, server, ["/2"]) == [FILES["/2"]] and server.connections == 3
        await asyncio.sleep(0.1)
        assert not any(web.idle.values())
    with_web(answer, work)
    came, _, raised = streamed(answer, sorted(FILES))
    assert not raised and came == (FILES if not says else {"/0": FILES["/0"]})


def test_an_end_before_the_first_answer():
    async def answer(path, writer, times):
        return False
    came, server, (error,) = streamed(answer, ["/0"])
    assert str(error).endswith("/0: ends before it is whole") and isinstance(error, UnavailableError) and server.connections == 1


def test_an_end_in_the_middle_of_the_second():
    """It is that one's fault, and no other is asked for it."""
    async def answer(path, writer, times):
        writer.write(head(len(FILES[path])) + FILES[path][:-1 if times else None])
        await writer.drain()
        return not times
    came, server, (error,) = streamed(answer, sorted(FILES))
    assert str(error).endswith("/1: ends before it is whole") and sorted(came) == ["/0"] and server.asked == ["/0", "/1"]


@pytest.mark.parametrize("status, words", [(404, "is not there"), (200, "stalls")])
def test_it_is_the_second_that_fails(status, words):
    async def answer(path, writer, times):
        if times:
            writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, status == 200))
        else:
            await honest(path, writer, times)
    came, server, (error,) = streamed(answer, sorted(FILES), timeout=1)
    assert str(error) == "%s/1: %s" % (server.url, words) and sorted(came) == ["/0"]


def test_the_end_leaves_no_connection():
    async def work(web, server):
        await gets(web, server, ["/0"])
        await web.__aexit__()
        await asyncio.sleep(0.2)
        assert server.readers[0].at_eof() or server.readers[0].exception()
    with_web(honest, work)


def test_unasked_bytes_end_a_connection():
    async def answer(path, writer, times):
        await honest(path, writer, times)
        await asyncio.sleep(0.05)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
        await writer.drain()

    async def work(web, server):
        await gets(web, server, ["/0"])
        await asyncio.sleep(0.3)
        assert not any(web.idle.values()) and await gets(web, server, ["/1"]) == [FILES["/1"]] and server.connections == 2
    with_web(answer, work)


def test_a_connection_that_has_ended_is_forgotten():
    """With its buffer, which is as large as the largest file: no timer has it, though that would not have come for long."""
    async def answer(path, writer, times):
        await honest(path, writer, times)
        return False

    async def work(web, server):
        await gets(web, server, ["/0"])
        (connection,), = web.idle.values()
        left = weakref.ref(connection)
        del connection
        while any(web.idle.values()):
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        gc.collect()
        assert left() is None
    with_web(answer, work)


def test_idle_connections_end(monkeypatch):
    monkeypatch.setattr(connection, "IDLE_S", 0.1)

    async def work(web, server):
        await gets(web, server, ["/0"])
        assert len(list(web.idle.values())[0]) == 1
        await asyncio.sleep(1)
        assert not any(web.idle.values())
    with_web(honest, work, timeout=0.5)


def test_who_is_cancelled_leaves_no_connection():
    async def answer(path, writer, times):
        writer.write(head(100))
        await asyncio.sleep(60)

    async def work(web, server):
        task = asyncio.ensure_future(web.get(server.url + "/0", 100))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.2)
        assert server.readers[0].at_eof() or server.readers[0].exception()
    with_web(answer, work)


# ---- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [0, 10, 5000])
def test_stalls(after):
    """At the second file, on a connection that a patient one has had before."""
    async def answer(path, writer, times):
        data = head(len(FILES[path])) + FILES[path]
        writer.write(data[:after] if times else data)
        await asyncio.sleep(60 if times else 0)

    async def work(web, server):
        await web.get(server.url + "/0", 80_000, patience=50)
        began = asyncio.get_running_loop().time()
        with pytest.raises(UnavailableError, match="/1: stalls$"):
            await web.get(server.url + "/1", 80_000)
        assert 0.4 < asyncio.get_running_loop().time() - began < 10 and server.connections == 1
    with_web(answer, work, timeout=0.5)


def test_a_slow_server_that_is_honest(monkeypatch):
    """It does not stall, though all of it takes longer than it may take without a byte: a wake comes before that."""
    monkeypatch.setattr(fetch, "SLOWEST", 2000)

    async def answer(path, writer, times):
        writer.write(head(12_000))
        for _ in range(24):
            await asyncio.sleep(0.1)
            writer.write(bytes(500))

    async def work(web, server):
        assert await web.get(server.url + "/0", 12_000) == bytes(12_000)
    with_web(answer, work, timeout=2)


def test_too_slow_in_all(monkeypatch):
    """Though it is never so long without a byte that it would be a stall."""
    monkeypatch.setattr(fetch, "SLOWEST", 1 << 40)
    monkeypatch.setattr(connection.Connection, "wake_at", lambda self, count: None)

    async def answer(path, writer, times):
        writer.write(head(70))
        for _ in range(70):
            writer.write(bytes(1))
            await asyncio.sleep(0.05)

    async def work(web, server):
        with pytest.raises(UnavailableError, match="/0: stalls$"):
            await web.get(server.url + "/0", 80_000)
    with_web(answer, work, timeout=1)


# ---- what is not understood -------------------------------------------------------------------------


async def chunked(path, writer, times):
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(FILES[path]), FILES[path]))
    await writer.drain()


async def too_much(path, writer, times):
    writer.write(head(len(FILES[path])) + FILES[path] + b"junk")
    await writer.drain()
    return False


async def long_head(path, writer, times):
    writer.write(head(len(FILES[path]), "".join("X-%d: %s\r\n" % (line, 1000 * "x") for line in range(30))) + FILES[path])
    await writer.drain()


@pytest.mark.parametrize("odd", [chunked, long_head])
@pytest.mark.parametrize("since", [0, 1])
def test_the_library_helps(odd, since):
    """Also in the middle of what is wanted in one go: with that file, and from then on with all."""
    async def answer(path, writer, times):
        return await (odd if path >= "/%d" % since else honest)(path, writer, times)
    came, _, raised = streamed(answer, sorted(FILES))
    assert not raised and came == {"/%d" % number: FILES["/%d" % number] for number in range(since + 1)}

    async def work(web, server):
        assert await gets(web, server, sorted(FILES)) == [FILES[path] for path in sorted(FILES)]
        assert len(web.odd) == 1 and len(server.asked) == 5
    with_web(answer, work)


def test_more_than_was_said():
    """Is refused, by either."""
    came, _, (error,) = streamed(too_much, ["/0"])
    assert not came and isinstance(error, UnavailableError)


@pytest.mark.parametrize("text", [
    "HTTP/1.1 200 OK", "HTTP/2.0 200 OK\r\nContent-Length: 1", "HTTP/1.1 100 Continue\r\nContent-Length: 1",
    "HTTP/1.1 204 No\r\nContent-Length: 0", "HTTP/1.1 304 No\r\nContent-Length: 0", "HTTP/1.1 2000 OK\r\nContent-Length: 1",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1", "HTTP/1.1 200 OK\r\nContent-Length: 1, 1",
    "HTTP/1.1 200 OK\r\nContent-Length: -1", "HTTP/1.1 200 OK\r\nContent-Length: +1", "HTTP/1.1 200 OK\r\nContent-Length: 0x1",
    "HTTP/1.1 200 OK\r\nContent-Length: " + 19 * "1", "HTTP/1.1 200 OK\r\nContent-Length:",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: identity",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\ntransfer-encoding: chunked", "HTTP/1.1 200 OK\r\nContent-Length : 1",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n folded", "HTTP/1.1 200 OK\r\n: 1\r\nContent-Length: 1",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\nX: y", "HTTP/1.1 200 OK\r\nX: \0\r\nContent-Length: 1",
    "HTTP/1.1 200 O\rK\r\nContent-Length: 1", "x", ""])
def test_heads_that_are_not_understood(text):
    with pytest.raises(connection.OddError):
        connection.parse_head(text.encode())


@pytest.mark.parametrize("text, found", [
    ("HTTP/1.1 200 OK\r\nContent-Length: 12", (200, 12, True)), ("HTTP/1.1 200\r\ncontent-length:12 ", (200, 12, True)),
    ("HTTP/1.0 404 Not Found\r\nContent-Length: 0", (404, 0, False)),
    ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1", (200, 1, False)),
    ("HTTP/1.1 200 OK\r\nX:\r\nConnection: Keep-Alive\r\nCONTENT-LENGTH: 0001", (200, 1, True)),
    ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\nX: Content-Length: 5", (200, 1, False))])
def test_heads_that_are(text, found):
    assert connection.parse_head(text.encode()) == found


def test_an_error_in_the_second():
    """Is of that file; the connection stays, but not where the page that says so is long."""
    async def answer(path, writer, times):
        if path == "/2":
            await honest(path, writer, times)
            return
        size = 100_000 if path == "/1" else 5
        writer.write(b"HTTP/1.1 404 No\r\nContent-Length: %d\r\n\r\n" % size + bytes(size))

    async def work(web, server):
        for path in "/3", "/1":
            with pytest.raises(fetch.MissingError, match=path + ": is not there$"):
                await web.get(server.url + path, 80_000)
        assert await gets(web, server, ["/2"]) == [FILES["/2"]] and server.connections == 2 and not web.odd
    with_web(answer, work)


def test_a_short_answer_after_a_long_one():
    """Linux is told again to wake for each byte."""
    async def answer(path, writer, times):
        writer.write(head(70_000) if not times else b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
        await asyncio.sleep(0.1)
        writer.write(bytes(0 if times else 70_000))

    async def work(web, server):
        assert await web.get(server.url + "/0", 80_000) == bytes(70_000)
        with pytest.raises(fetch.MissingError):
            await web.get(server.url + "/1", 80_000)
        assert server.connections == 1
    with_web(answer, work, timeout=5)


def test_one_that_says_that_it_ends_and_does_not():
    async def answer(path, writer, times):
        writer.write(head(5, "Connection: close\r\n") + b"12345")

    async def work(web, server):
        assert await web.get(server.url + "/0", 5) == b"12345"
        await asyncio.sleep(0.2)
        assert server.readers[0].at_eof() or server.readers[0].exception()
    with_web(answer, work)


def test_what_take_raises():
    """Reaches who has asked, and ends the connection."""
    async def work(web, server):
        def take(data):
            raise OSError(errno.ENOSPC, "full")
        with pytest.raises(OSError, match="full"):
            await web.get(server.url + "/0", 80_000, take=take)
        assert not any(web.idle.values())
    with_web(honest, work)


# ---- TLS --------------------------------------------------------------------------------------------


@pytest.fixture(name="secure")
def fixture_secure(tmp_path):
    """(ssl context of a server, its certificate)"""
    command = "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=127.0.0.1 -addext"
    subprocess.run([*command.split(), "subjectAltName=IP:127.0.0.1"], cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    return context, str(tmp_path / "cert.pem")


def test_by_tls(secure, monkeypatch):
    """From a server whose certificate is good, and from no other."""
    context, certificate = secure
    came, _, (error,) = streamed(honest, sorted(FILES), ssl=context)
    assert not came and "cannot be reached: " in str(error) and "certificate" in str(error).lower() and "\n" not in str(error)
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    came, server, raised = streamed(honest, sorted(FILES), ssl=context)
    assert came == FILES and server.connections == 1 and not raised


def test_nobody_is_there():
    """Nor can there be, where the name is none; a tracker names whom it likes."""
    async def work(web, _):
        for address in "127.0.0.1:%d" % servers.free_port(), "[::1]:1", "127.0.0.1:99999", "a..b:80", 64 * "a" + ":80", ".:80":
            for scheme in "http", "https":
                with pytest.raises(UnavailableError, match="cannot be reached: "):
                    await web.get("%s://%s/x" % (scheme, address), 10)
    with_web(honest, work)
