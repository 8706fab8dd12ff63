"""Serving: where it binds, what it prints, and that it answers soon."""

import socket

import pytest

from neurallp import ConfigError
from neurallp.web.launch import bind, prepare


@pytest.fixture
def prepared(explorer):
    made = []

    def prepare_(*arguments, **settings):
        made.append(prepare(explorer, *arguments, **settings))
        return made[-1]

    yield prepare_
    for server in made:
        server.socket.close()


def test_it_binds_to_this_machine_without_a_token(prepared):
    server = prepared("127.0.0.1", 0, with_token=False)
    host, port = server.socket.getsockname()
    assert host == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{port}/"


@pytest.mark.parametrize(("host", "with_token"), [("127.0.0.1", True), ("0.0.0.0", False)])
def test_others_need_a_token(prepared, host, with_token):
    server = prepared(host, 0, with_token=with_token)
    assert server.address.startswith("http://127.0.0.1:")
    assert len(server.address.partition("?token=")[2]) > 20


def test_a_port_that_is_taken_is_reported():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ConfigError, match="Give another --port"):
            bind("127.0.0.1", taken.getsockname()[1])


def test_connections_know_their_protocol_so_that_small_packets_are_sent_at_once():
    with bind("127.0.0.1", 0) as bound, socket.create_connection(bound.getsockname()):
        accepted, _ = bound.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP  # asyncio sets TCP_NODELAY only then
