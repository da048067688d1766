"""The service as a process of its own, and a client that teaches it."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress

_FORKS = """
import json, os, sys
from bayespa.cli import main
import bayespa.serve.app, bayespa.serve.server  # once, for all that are started
for line in sys.stdin:
    arguments, messages = json.loads(line)
    pid = os.fork()
    if not pid:
        os.dup2(os.open(messages, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
        main(arguments)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Programs:
    """Starts ``bayespa serve`` again and again, in processes of their own; imports are made once."""

    def __init__(self, folder):
        self._messages = folder / "messages"
        self._parent = subprocess.Popen(
            [sys.executable, "-c", _FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._parent.communicate()

    def start(self, path, *options):
        self._messages.unlink(missing_ok=True)
        arguments = ["serve", str(path), "--port", "0", *options]
        self._parent.stdin.write(json.dumps([arguments, str(self._messages)]) + "\n")
        self._parent.stdin.flush()
        return Program(int(self._parent.stdout.readline()), self._parent.stdout, self._messages)


class Program:
    """``bayespa serve`` at a free port."""

    def __init__(self, pid, codes, messages):
        self._pid, self._codes, self._messages = pid, codes, messages
        while (found := re.search(r"at https?://\S+:(\d+)\n", self.messages)) is None:
            os.kill(pid, 0)
            time.sleep(0.01)
        self.port = int(found[1])

    @property
    def messages(self):
        return self._messages.read_text() if self._messages.exists() else ""

    def kill(self, number=signal.SIGKILL):
        """Send it a signal, and return its exit code."""
        os.kill(self._pid, number)
        return int(self._codes.readline())

    def ask(self, method, path, body=None, **headers):
        """Return status and answer."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            return asked(connection, method, path, body, **headers)


def asked(connection, method, path, body=None, **headers):
    data = None if body is None else json.dumps(body)
    connection.request(method, path, data, {"Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or b"null")


class Teacher(threading.Thread):
    """Sends documents until it is acknowledged or the service is gone; then it sends the same again."""

    def __init__(self, port, documents, acknowledged):
        super().__init__()
        self._port, self._documents, self._acknowledged = port, documents, acknowledged
        self.ended = False

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        with (
            closing(connection),
            suppress(OSError, http.client.HTTPException),
        ):  # of a service that was killed
            while self._documents and not self.ended:
                some = self._documents[:3]
                status, answer = asked(connection, "POST", "/api/v1/learn", {"documents": some})
                if status == 429:
                    time.sleep(0.05)
                    continue
                assert status == 200, answer
                for entry in answer["documents"]:
                    self._acknowledged[entry["id"]] = entry["seq"]
                del self._documents[:3]
