"""Downloads from a server of our own that fails in the ways servers fail."""

import io
import tarfile
import threading
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import sleep

import pytest

from neurallp import DataError
from neurallp.datasets import registry
from neurallp.datasets.download import RetryPolicy, fetch
from neurallp.datasets.registry import PublicSet, Source, Sum, verify

HASTY = RetryPolicy(tries=3, timeout=0.4, pause=0.01)

TEXTS = {
    part: "".join(f"{part}{n}\tlikes\tthing{n}\n" for n in range(3000)).encode()
    for part in ("train", "valid", "test")
}


def archive(texts):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in texts.items():
            info = tarfile.TarInfo(f"./deep/{name}.txt")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    return packed.getvalue()


class Shop(BaseHTTPRequestHandler):
    """Serves `server.goods`; `server.mood` says how; every request is noted."""

    def do_GET(self):
        server = self.server
        server.asked.append((self.path, self.headers.get("Range")))
        mood = server.moods.pop(0) if server.moods else "good"
        goods = server.goods.get(self.path)
        if goods is None or mood == "missing":
            self.send_error(404)
        elif mood == "busy":
            self.send_error(503)
        elif mood == "slow":
            sleep(1)
        else:
            self.serve(b"<html>Sign in</html>" if mood == "wrong" else goods, mood)

    def serve(self, goods, mood):
        start = int((self.headers.get("Range") or "bytes=0-")[6:-1])
        if mood == "deaf":
            start = 0
        if start >= len(goods):
            self.send_error(416)
            return
        rest = goods[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(rest)))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(goods) - 1}/{len(goods)}")
        self.end_headers()
        self.wfile.write(rest[: len(rest) // 2] if mood == "cut off" else rest)

    def log_message(self, *_):
        pass


@pytest.fixture
def shop():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    server.goods, server.moods, server.asked = {}, [], []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def public(shop, monkeypatch):
    """A set of one archive, also to be had at a second address, whose lines are known."""
    shop.goods["/a.tar.gz"] = shop.goods["/mirror.tar.gz"] = archive(TEXTS)
    sums = {f"things/{part}.tsv": Sum.of(text) for part, text in TEXTS.items()}
    monkeypatch.setattr(registry, "_sums", lambda: sums)
    where = f"http://127.0.0.1:{shop.server_port}"
    source = Source((f"{where}/a.tar.gz", f"{where}/mirror.tar.gz"), {part: f"{part}.txt" for part in TEXTS})
    return PublicSet("things", "Things", "CC0", where, (source,))


@contextmanager
def nothing_is_put_in_place(folder):
    yield
    assert not (folder / "things").exists()


def test_a_downloaded_set_is_complete_and_correct(public, tmp_path):
    told = []
    folder = fetch(public, tmp_path, lambda done, total: told.append((done, total)), HASTY)
    assert (folder / "train.tsv").read_bytes() == TEXTS["train"]
    assert set(verify(public, tmp_path).values()) == {"right"}
    assert told[-1][0] == told[-1][1] == len(archive(TEXTS))
    assert [path.name for path in tmp_path.iterdir()] == ["things"]


def test_an_installed_set_is_not_downloaded_again(public, shop, tmp_path):
    fetch(public, tmp_path, retry=HASTY)
    shop.asked.clear()
    fetch(public, tmp_path, retry=HASTY)
    assert not shop.asked


def test_an_interrupted_download_is_continued(public, shop, tmp_path):
    shop.moods += ["cut off"]
    fetch(public, tmp_path, retry=HASTY)
    half = len(archive(TEXTS)) // 2
    assert [span for _, span in shop.asked] == [None, f"bytes={half}-"]


def test_a_later_command_continues_the_download_of_an_earlier_one(public, shop, tmp_path):
    shop.moods += ["cut off", "busy", "busy", "missing"]
    with pytest.raises(DataError), nothing_is_put_in_place(tmp_path):
        fetch(public, tmp_path, retry=HASTY)
    shop.asked.clear()
    fetch(public, tmp_path, retry=HASTY)
    assert [span for _, span in shop.asked] == [f"bytes={len(archive(TEXTS)) // 2}-"]


def test_a_server_without_range_requests_sends_everything_again(public, shop, tmp_path):
    shop.moods += ["cut off", "deaf"]
    fetch(public, tmp_path, retry=HASTY)
    assert set(verify(public, tmp_path).values()) == {"right"}


def test_a_partial_file_that_is_too_long_is_deleted(public, shop, tmp_path):
    left = tmp_path / ".things.part"
    left.mkdir()
    name = sha256(public.sources[0].addresses[0].encode()).hexdigest()[:12]
    (left / f".{name}.part").write_bytes(b"x" * 10**6)
    fetch(public, tmp_path, retry=HASTY)
    assert set(verify(public, tmp_path).values()) == {"right"}


@pytest.mark.parametrize("mood", ["missing", "wrong", "slow"])
def test_the_second_address_is_used_if_the_first_fails(public, shop, tmp_path, mood):
    shop.moods += [mood] * (HASTY.tries if mood == "slow" else 1)
    fetch(public, tmp_path, retry=HASTY)
    assert shop.asked[-1][0] == "/mirror.tar.gz"


@pytest.mark.parametrize(
    ("mood", "why"), [("missing", "404"), ("wrong", "archive"), ("slow", "timed out"), ("busy", "503")]
)
def test_a_failed_download_reports_every_address_and_leaves_nothing(public, shop, tmp_path, mood, why):
    shop.moods += [mood] * 2 * HASTY.tries
    with pytest.raises(DataError, match=why) as told:
        fetch(public, tmp_path, retry=HASTY)
    assert not (tmp_path / "things").exists()
    assert all(address in str(told.value) for address in public.sources[0].addresses)


def test_changed_content_is_refused(public, shop, tmp_path):
    changed = {**TEXTS, "test": TEXTS["test"].replace(b"thing7\n", b"thing8\n")}
    shop.goods["/a.tar.gz"] = shop.goods["/mirror.tar.gz"] = archive(changed)
    with (
        pytest.raises(DataError, match="test has another checksum than expected"),
        nothing_is_put_in_place(tmp_path),
    ):
        fetch(public, tmp_path, retry=HASTY)


def test_a_download_that_is_not_an_archive_is_one_part(public, shop, tmp_path):
    where = f"http://127.0.0.1:{shop.server_port}"
    shop.goods |= {f"/{part}.txt": text for part, text in TEXTS.items()}
    sources = tuple(Source((f"{where}/{part}.txt",), {part: ""}) for part in TEXTS)
    shop.moods += ["good", "missing"]
    with pytest.raises(DataError, match="404"), nothing_is_put_in_place(tmp_path):
        fetch(PublicSet("things", "", "", "", sources), tmp_path, retry=HASTY)
    shop.asked.clear()
    fetch(PublicSet("things", "", "", "", sources), tmp_path, retry=HASTY)
    assert [path for path, _ in shop.asked] == ["/valid.txt", "/test.txt"]


def test_a_set_without_an_address_names_its_home_page(tmp_path):
    with pytest.raises(DataError, match="yuyuz/MetaQA"):
        fetch(registry.SETS["metaqa"], tmp_path)
