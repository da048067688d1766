"""The service as others reach it: by TLS, behind a proxy, and with Triton's client."""

import http.client
import json
import shutil
import signal
import ssl
import subprocess
from contextlib import closing

import numpy as np
import pytest
from tests.serve.program import Programs, asked

import bayespa
from bayespa.serve.security import new_token

TEXTS = {"texts": ["Groups of automorphisms of a free group"]}


@pytest.fixture
def programs(tmp_path):
    with Programs(tmp_path) as found:
        yield found


def certificate(folder):
    """Make a certificate of this machine, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl on this machine, to make a certificate")
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-out", folder / "cert.pem", "-keyout", folder / "key.pem"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *name, *files]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"


def test_certificate_files_are_enough_for_tls(programs, path, tmp_path):
    cert, key = certificate(tmp_path)
    program = programs.start(path, "--tls-cert", str(cert), "--tls-key", str(key))
    assert "at https://" in program.messages
    trusting = ssl.create_default_context(cafile=cert)
    with closing(http.client.HTTPSConnection("localhost", program.port, context=trusting)) as connection:
        assert asked(connection, "POST", "/api/v1/predict", TEXTS)[0] == 200
        assert connection.sock.version() in ("TLSv1.2", "TLSv1.3")
    stranger = ssl.create_default_context()
    with (
        closing(http.client.HTTPSConnection("localhost", program.port, context=stranger)) as connection,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        connection.connect()
    with pytest.raises((OSError, http.client.HTTPException)):
        program.ask("GET", "/health")  # without TLS
    assert program.kill(signal.SIGTERM) == 128 + signal.SIGTERM


@pytest.mark.parametrize("believed", [True, False])
def test_a_proxy_that_is_named_is_believed_and_nobody_else(programs, path, tmp_path, believed):
    token, line = new_token("page", "read")
    (tmp_path / "tokens.txt").write_text(f"{line}\n")
    proxy = "127.0.0.1" if believed else "192.0.2.7"
    program = programs.start(path, "--tokens", str(tmp_path / "tokens.txt"), "--proxies", proxy)
    forwarded = {"Host": "papers.example", "X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
    assert program.ask("POST", "/api/v1/predict", TEXTS, Authorization="Bearer no", **forwarded)[0] == 401
    wrong = next(line for line in program.messages.splitlines() if "wrong token" in line)
    assert json.loads(wrong)["address"] == ("203.0.113.9" if believed else "127.0.0.1")
    with closing(http.client.HTTPConnection("127.0.0.1", program.port)) as connection:
        headers = {**forwarded, "Content-Type": "application/json", "Origin": "https://papers.example"}
        connection.request("POST", "/api/v1/session", json.dumps({"token": token}), headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        assert ("Secure" in answer.headers["Set-Cookie"]) == believed
    assert program.kill(signal.SIGTERM) == 128 + signal.SIGTERM


@pytest.mark.parametrize("binary", [True, False])
def test_tritons_client_works_as_it_is(programs, path, papers, binary):
    triton = pytest.importorskip("tritonclient.http", reason="pip install tritonclient[http] to test it")
    program = programs.start(path)
    texts = papers[0][:5]
    with closing(triton.InferenceServerClient(f"127.0.0.1:{program.port}")) as client:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("model")
        assert client.get_model_metadata("model")["inputs"][0]["name"] == "text"
        given = triton.InferInput("text", [len(texts)], "BYTES")
        given.set_data_from_numpy(np.array(texts, object), binary_data=binary)
        names = ("label", "probabilities")
        wanted = [triton.InferRequestedOutput(name, binary_data=binary) for name in names]
        said = client.infer("model", [given], outputs=wanted)
    model = bayespa.load(path)
    labels = [one.decode() if isinstance(one, bytes) else one for one in said.as_numpy("label").tolist()]
    assert labels == model.predict(texts)
    assert (said.as_numpy("probabilities") == model.predict_proba(texts)).all()
    assert program.kill(signal.SIGTERM) == 128 + signal.SIGTERM
