"""What must not work: wrong tokens, other sites, bodies without end, tricks with paths, floods."""

import json
import socket

import pytest
from tests.serve.program import Programs

from bayespa.serve.app import ROUTERS
from bayespa.serve.guard import OPEN, OPEN_FOLDER, Limits
from bayespa.serve.security import HEADERS, ROLES, Tokens, new_token
from bayespa.serve.service import Settings

TOKENS = {role: new_token(f"of-{role}", role) for role in ROLES}
ROUTES = [
    (method, route.path.format(name="model", id="1"))
    for router in ROUTERS
    for route in router.routes
    for method in route.methods
]
INFER = "/v2/models/model/infer"
LEARN = {"documents": [{"text": "some words", "label": "cs.LG"}]}


def known():
    return Tokens(line for _, line in TOKENS.values())


def bearer(role):
    return {"Authorization": f"Bearer {TOKENS[role][0]}"}


def test_every_route_wants_a_token(served):
    with served(tokens=known()) as (service, client):
        for method, path in ROUTES:
            for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Basic eDp4"}):
                wrong = "Bearer x" in headers.values()
                answer = client(method, path, headers=headers, json={} if method != "GET" else None)
                if (path in OPEN or path.startswith(OPEN_FOLDER)) and not wrong:
                    assert answer.status_code not in (401, 403) or path == "/api/v1/session", path
                else:
                    assert answer.status_code in (401, 429), path
                assert all(answer.headers[name] == value for name, value in HEADERS.items())
        assert service.progress.documents == 0


def test_a_role_may_no_more_than_it_may(served):
    with served(tokens=known()) as (_, client):
        for role, status in (("read", 403), ("learn", 200), ("admin", 200)):
            assert client.post("/api/v1/learn", LEARN, headers=bearer(role)).status_code == status
            asked = client.post("/api/v1/predict", {"texts": ["a"]}, headers=bearer(role))
            assert asked.status_code == 200


def test_guessing_tokens_becomes_slow_and_locks_nobody_out(served):
    with served(tokens=known()) as (_, client):
        wrong = {"Authorization": "Bearer guess"}
        statuses = [client.get("/metrics", headers=wrong).status_code for _ in range(10)]
        assert statuses[0] == 401
        assert statuses[-1] == 429
        assert client.get("/metrics", headers=bearer("read")).status_code == 200
        asked = [client.post("/api/v1/session", {"token": "guess"}).status_code for _ in range(10)]
        assert asked[-1] == 429


def test_a_session_needs_its_cookie_and_its_csrf_token(served):
    with served(tokens=known()) as (_, client):
        began = client.post("/api/v1/session", {"token": TOKENS["learn"][0]})
        cookie = began.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        session = {"Cookie": cookie.partition(";")[0]}
        csrf = {"X-CSRF-Token": began.json()["csrf"]}
        assert client.get("/api/v1/session", headers=session).json() == began.json()
        assert client.post("/api/v1/learn", LEARN, headers=session).status_code == 403
        wrong = {**session, "X-CSRF-Token": "x"}
        assert client.post("/api/v1/learn", LEARN, headers=wrong).status_code == 403
        assert client.post("/api/v1/learn", LEARN, headers={**session, **csrf}).status_code == 200
        forged = {"Cookie": session["Cookie"].replace("learn", "admin")}
        assert client.get("/api/v1/topics", headers=forged).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Origin": "http://localhost"}, 200),
    ],
)
def test_pages_of_other_sites_change_nothing(served, headers, status):
    with served() as (service, client):
        headers = {"Content-Type": "application/json", **headers}
        answer = client("POST", "/api/v1/learn", content=json.dumps(LEARN), headers=headers)
        assert answer.status_code == status
        assert service.backlog + service.progress.documents == (status == 200)


BODIES = {
    "no JSON": b"{",
    "deep lists": b"[" * 100_000,
    "deep texts": b'{"texts": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "lone surrogate": b'{"texts": ["\\ud800"]}',
    "no UTF-8": b'{"texts": ["\xff"]}',
    "NaN": b'{"texts": NaN}',
    "a huge number": b'{"texts": ["a"], "top": 1' + b"0" * 5000 + b"}",
    "an unknown field": b'{"texts": ["a"], "path": "/etc/passwd"}',
    "nothing": b"",
}


@pytest.mark.parametrize("route", ["/api/v1/predict", "/api/v1/explain", "/api/v1/learn", INFER])
def test_malformed_bodies_are_the_clients_fault(served, route):
    with served() as (_, client):
        for name, body in BODIES.items():
            answer = client("POST", route, content=body, headers={"Content-Type": "application/json"})
            assert 400 <= answer.status_code < 500, (name, answer.text)
            assert "Traceback" not in answer.text
            assert len(answer.text) < 5000


@pytest.mark.parametrize(
    "label",
    [None, True, "", {}, [[]], ["a", 1], 10**400, "x" * 2000, "\x00" * 2000],
)
def test_labels_that_are_none(served, label):
    with served() as (service, client):
        body = {"documents": [{"text": "a", "label": label}]}
        assert client.post("/api/v1/learn", body).status_code == 422
        assert service.backlog == 0


def test_limits_of_size_and_number(served):
    limits = Limits(body=10_000, texts=4, text=100)
    with served(Settings(max_classes=22), limits=limits) as (_, client):
        assert client.post("/api/v1/predict", {"texts": ["a" * 20_000]}).status_code == 413
        assert client.post("/api/v1/predict", {"texts": ["a"] * 5}).status_code == 413
        assert client.post("/api/v1/predict", {"texts": ["a" * 101]}).status_code == 413
        for n in range(5):
            body = {"documents": [{"text": "a", "label": f"new {n}"}]}
            assert client.post("/api/v1/learn", body).status_code == (200 if n < 2 else 422)

        async def endless():
            for _ in range(100):
                yield b"a" * 1000

        headers = {"Content-Type": "application/json"}
        assert client("POST", "/api/v1/predict", content=endless(), headers=headers).status_code == 413


def test_a_flood_is_told_to_wait(served):
    with served(limits=Limits(rate=5.0)) as (_, client):
        answers = [client.get("/health") for _ in range(20)]
        late = [answer for answer in answers if answer.status_code == 429]
        assert late
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in late)


def test_a_full_queue_is_told_to_wait_and_loses_nothing(served, papers):
    documents = [{"text": text, "label": label} for text, label in zip(*papers, strict=True)][:300]
    with served(Settings(capacity=100, delay=10.0)) as (service, client):
        statuses = [
            client.post("/api/v1/learn", {"documents": documents[i : i + 60]}).status_code
            for i in range(0, 300, 60)
        ]
        assert statuses[:2] == [200, 429]
    assert service.progress.documents == 60 * statuses.count(200)


def test_paths_are_names_and_nothing_else(served):
    with served() as (_, client):
        out = (
            "/static/../model.bayespa",
            "/static/%2e%2e/%2e%2e/etc/passwd",
            "/v2/models/..%2fmodel",
            "/etc/passwd",
        )
        for path in out:
            assert client.get(path).status_code in (404, 405), path
        body = {
            "inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": ["file:///etc/passwd"]}]
        }
        assert "root:" not in client.post(INFER, body).text


def test_errors_have_no_trace(served, monkeypatch):
    with served() as (service, client):
        monkeypatch.setattr(type(service.published.model), "explain", None)
        answer = client.post("/api/v1/explain", {"text": "a"})
        assert answer.status_code == 500
        assert "explain" not in answer.text


def test_slow_clients_are_let_go(path, tmp_path):
    with Programs(tmp_path) as programs:
        program = programs.start(path, "--max-seconds", "0.5")
        with socket.create_connection(("127.0.0.1", program.port), timeout=60) as slow:
            slow.sendall(b"POST /api/v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            assert b" 408 " in slow.recv(1000)
        with socket.create_connection(("127.0.0.1", program.port), timeout=60) as long:
            long.sendall(b"GET / HTTP/1.1\r\nX: ")
            try:
                for _ in range(100):
                    long.sendall(b"x" * 10_000)
                assert long.recv(1000) == b""
            except ConnectionError:
                pass  # closed while there was more to come
        assert program.ask("GET", "/health")[0] == 200
        program.kill()
