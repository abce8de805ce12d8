"""A typed query on this machine and at an address: what each set answers, and to the letter what leaves."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dpicl_core.errors import ConfigError, DPICLError, ModelError
from dpicl_core.evaluation import DemonstrationSet, PrivateTable
from dpicl_core.evaluation.playground import PlaygroundTask
from dpicl_core.evaluation.remote import LARGEST_ANSWER_BYTES, RemoteModel, ask_remote
from dpicl_core.ledger import events_of, open_ledger
from dpicl_core.planning import plan_for
from tests.evaluation.known_model import SURE, KnownModel, query_in, shots_in
from tests.support.ledgers import table
from tests.support.tables import ANIMALS

RELEASED = DemonstrationSet("adadpsyn epsilon 1 (tight)", (('a "warm"  day\n', "cat"), ("é bark", "dog")), False)
NOTHING = DemonstrationSet("0-shot", (), False)
REAL = DemonstrationSet("real-rows", (("the cat number 4 was late for food", "cat"),), True)
KEY = "sk-very-secret-key"


def ran(task, model):
    return task.run(model, lambda stage, share: None)


def test_each_set_answers_with_a_share_for_every_label_likeliest_first():
    model = KnownModel(lambda prompt: "dog" if shots_in(prompt) and "dog" in query_in(prompt) else "cat")
    released, nothing = ran(PlaygroundTask(ANIMALS, (RELEASED, NOTHING), "a dog barked"), model)
    assert [(answer.kind, answer.text, answer.internal) for answer in (released, nothing)] == [
        ("adadpsyn epsilon 1 (tight)", "dog", False),
        ("0-shot", "cat", False),
    ]
    # " dog" has four ids and " cat" too: the first is shared, the other three follow the model or not
    other = (1 - SURE) / (model.tokenizer.vocabulary_size - 1)
    right = SURE**3 / (SURE**3 + other / model.tokenizer.vocabulary_size**2)
    assert [share.label for share in released.shares] == ["dog", "cat"]
    assert released.shares[0].raw == pytest.approx(right, rel=1e-3)
    assert sum(share.raw for share in released.shares) == pytest.approx(1)
    assert sum(share.calibrated for share in released.shares) == pytest.approx(1)


def test_open_labels_get_the_greedy_text():
    model = KnownModel(lambda prompt: "heron")
    (answer,) = ran(PlaygroundTask(replace(ANIMALS, open_labels=True), (NOTHING,), "it stood in the pond"), model)
    assert (answer.text, answer.shares) == ("heron", ())


def test_real_rows_are_internal_and_recorded_and_released_texts_alone_are_not():
    ledger, model = open_ledger(), KnownModel(lambda prompt: "cat")
    ran(PlaygroundTask(ANIMALS, (RELEASED,), "a dog barked"), model)
    assert opened(ledger) == []
    plan = plan_for(ANIMALS, "public-only", shots=2)
    task = PlaygroundTask(ANIMALS, (RELEASED,), "a dog barked", plan, PrivateTable(table(), (), ledger))
    assert [(answer.kind, answer.internal) for answer in ran(task, model)][-1] == ("real-rows", True)
    assert opened(ledger) == ["answers with real rows in the prompt, not DP"]


def opened(ledger):
    with ledger.read() as connection:
        return [event.details["view"] for event in events_of(connection) if event.kind == "internal-view"]


@pytest.mark.parametrize(("query", "words"), [(" \n", "blank"), ("x" * 4001, "4000 characters long, but has 4001")])
def test_a_query_that_cannot_be_asked_is_one_sentence(query, words):
    with pytest.raises(ConfigError, match=words):
        ran(PlaygroundTask(ANIMALS, (NOTHING,), query), KnownModel(lambda prompt: "cat"))


def reply(text):
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()


CAT = reply(" Cat.\nMore")


@contextlib.contextmanager
def listening(answer=CAT, status=200, headers=(), pause=0.0):
    """A real server on this machine; everything that reaches it: (path, headers, body)."""
    reached = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            reached.append((self.path, dict(self.headers), body))
            time.sleep(pause)
            with contextlib.suppress(ConnectionError):
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        do_GET = do_POST

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", reached
    finally:
        server.shutdown()
        server.server_close()


def test_what_is_sent_is_the_instruction_the_released_texts_and_the_query_to_the_byte():
    with listening() as (address, reached):
        answer = ask_remote(RemoteModel(f"{address}/", "small", KEY), ANIMALS, RELEASED, "Does it \n bark?")
    ((path, headers, body),) = reached
    assert path == "/v1/chat/completions"
    assert (
        body
        == (
            '{"model": "small", "messages": ['
            '{"role": "system", "content": "Say which kind."}, '
            '{"role": "user", "content": "a \\"warm\\" day"}, {"role": "assistant", "content": "cat"}, '
            '{"role": "user", "content": "é bark"}, {"role": "assistant", "content": "dog"}, '
            '{"role": "user", "content": "Does it bark?"}], "max_tokens": 20, "temperature": 0}'
        ).encode()
    )
    assert {
        name: value for name, value in headers.items() if name not in ("Host", "User-Agent", "Accept-Encoding")
    } == {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "Connection": "keep-alive",
        "Authorization": f"Bearer {KEY}",
        "Content-Length": str(len(body)),
    }
    assert not any(row.text.encode() in body for row in table().examples)
    assert (answer.text, answer.shares, answer.internal) == ("Cat.", (), False)


def test_a_set_that_holds_private_text_is_refused_before_anything_is_sent():
    with listening() as (address, reached), pytest.raises(ConfigError, match="never sent anywhere"):
        ask_remote(RemoteModel(address, "small"), ANIMALS, REAL, "Does it bark?")
    assert reached == []


def test_without_a_key_none_is_sent_and_the_address_may_name_the_whole_path():
    with listening() as (address, reached):
        ask_remote(RemoteModel(f"{address}/chat/completions", "small"), ANIMALS, NOTHING, "Does it bark?")
    ((path, headers, _),) = reached
    assert path == "/v1/chat/completions"
    assert "Authorization" not in headers


@pytest.mark.parametrize(
    ("served", "words"),
    [
        ({"status": 401}, "status 401: the key is missing or not accepted"),
        ({"status": 404}, "ends in /v1"),
        ({"status": 500, "answer": b"the cat number 4"}, "status 500"),
        ({"status": 302, "headers": [("Location", "http://127.0.0.1:1/elsewhere")]}, "status 302"),
        ({"answer": b"<html>hello</html>"}, "not that of an OpenAI-compatible server"),
        ({"answer": b'{"choices": []}'}, "not that of an OpenAI-compatible server"),
        ({"answer": b"x" * (LARGEST_ANSWER_BYTES + 10)}, "longer than 1 MiB"),
        ({"pause": 4.0}, "no answer within 1 seconds"),
    ],
)
def test_whatever_goes_wrong_is_one_sentence_without_key_query_or_answer(served, words):
    limit = 1.0 if "pause" in served else 60.0
    with listening(**served) as (address, reached), pytest.raises(ModelError, match=words) as error:
        ask_remote(RemoteModel(address, "small", KEY), ANIMALS, RELEASED, "Does it bark?", timeout_seconds=limit)
    assert len(reached) == 1
    said = str(error.value)
    assert said.endswith(".")
    assert not any(secret in said for secret in (KEY, "bark", "number 4", "hello", "elsewhere"))


def test_an_address_where_nobody_listens_is_one_sentence():
    with listening() as (address, _):
        pass
    with pytest.raises(ModelError, match="could not be reached"):
        ask_remote(RemoteModel(address, "small", KEY), ANIMALS, NOTHING, "Does it bark?")


@pytest.mark.parametrize(
    ("address", "name", "key", "words"),
    [
        ("localhost:8000/v1", "small", "", "begin with http"),
        ("file:///etc/passwd", "small", "", "begin with http"),
        ("http://", "small", "", "begin with http"),
        ("https://user:word@example.org/v1", "small", "", "no user"),
        ("https://example.org/v1?key=1", "small", "", "no user"),
        ("https://example.org/v1", " ", "", "no name"),
        ("https://example.org/v1", "small", "a\r\nHost: elsewhere", "characters that no key has"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused_in_words(address, name, key, words):
    with pytest.raises(DPICLError, match=words):
        RemoteModel(address, name, key)


def test_only_a_network_that_is_not_encrypted_is_warned_of_and_the_key_stands_in_no_repr():
    assert RemoteModel("http://models.example.org/v1", "small").leaves_unencrypted
    assert not RemoteModel("https://models.example.org/v1", "small").leaves_unencrypted
    assert not RemoteModel("http://127.0.0.1:8000/v1", "small").leaves_unencrypted
    assert KEY not in repr(RemoteModel("http://127.0.0.1:8000/v1", "small", KEY))
