"""Limits: what is too much is refused with a status that says so, and the rest goes on."""

import asyncio
import threading

import pytest

from neurallp.web.limits import BusyError, Limits, Workers


def run(limits, ask):
    """Run a coroutine function with workers under some limits, and let them end."""
    workers = Workers(limits)
    try:
        return asyncio.run(ask(workers))
    finally:
        workers.close()


def test_work_is_done_in_a_thread():
    async def ask(workers):
        return await workers.run("me", lambda: threading.current_thread().name)

    assert run(Limits(), ask).startswith("explorer")


def test_what_takes_too_long_is_given_up():
    done = threading.Event()

    async def ask(workers):
        with pytest.raises(BusyError, match=r"longer than 0\.05 seconds") as refused:
            await workers.run("me", lambda: done.wait(10))
        done.set()
        return refused.value

    assert run(Limits(seconds=0.05), ask).status == 503


@pytest.mark.parametrize(
    ("limits", "clients", "status"),
    [(Limits(workers=1, waiting=2), "abc", 503), (Limits(workers=1, per_client=2), "aaa", 429)],
)
def test_too_many_requests_are_refused_and_the_others_answered(limits, clients, status):
    done = threading.Event()

    async def ask(workers):
        first = [asyncio.ensure_future(workers.run(each, lambda: done.wait(10))) for each in clients[:2]]
        await asyncio.sleep(0)
        with pytest.raises(BusyError) as refused:
            await workers.run(clients[2], lambda: True)
        done.set()
        assert await asyncio.gather(*first) == [True, True]
        assert await workers.run(clients[2], lambda: "now") == "now"
        return refused.value

    refused = run(limits, ask)
    assert refused.status == status
    assert refused.retry_after >= 1


def test_an_error_of_the_work_reaches_the_asker_and_frees_its_place():
    async def ask(workers):
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await workers.run("me", lambda: 1 / 0)

    run(Limits(waiting=1), ask)


def test_a_busy_server_says_when_to_try_again(explorer):
    from fastapi.testclient import TestClient

    from neurallp.web.app import ServerSettings, make_app

    app = make_app(explorer, ServerSettings(limits=Limits(waiting=0)))
    answer = TestClient(app, base_url="http://127.0.0.1").get("/")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "3"
    assert "Try again" in answer.json()["error"]
