"""Drives Debian's chromium through its debugging pipe: no driver, no websocket, no other package."""

import base64
import json
import os
import shutil
import subprocess
import time

CHROMIUM = shutil.which("chromium")
KEYS = {
    "Enter": ("Enter", 13, "\r"),
    "Escape": ("Escape", 27, ""),
    "Tab": ("Tab", 9, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
}


class Browser:
    """A chromium without a window; `page` opens a page with storage of its own."""

    def __init__(self, folder):
        there, self._write = os.pipe()
        self._read, back = os.pipe()

        def pipes():  # chromium reads from 3 and writes to 4
            os.dup2(there, 100)
            os.dup2(back, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)

        self._process = subprocess.Popen(
            [
                CHROMIUM,
                "--headless",
                "--no-sandbox",  # a container has no user namespaces, and the page is our own
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--hide-scrollbars",
                "--no-first-run",
                "--remote-debugging-pipe",
                f"--user-data-dir={folder}",
            ],
            preexec_fn=pipes,
            close_fds=False,
            stderr=subprocess.DEVNULL,
        )
        os.close(there)
        os.close(back)
        self._number, self._rest, self.events = 0, b"", []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def call(self, method, session=None, **parameters):
        """Return what a method of the protocol answers; events that come meanwhile are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    def _next(self):
        while b"\0" not in self._rest:
            self._rest += os.read(self._read, 2**20)
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def page(self, url, width=1200, height=900, dark=False):
        """Open a page in a window of its own."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, session, url, width, height, dark)


class Page:
    """A page of a browser, with keys to press and things to see."""

    def __init__(self, browser, session, url, width, height, dark):
        self._browser, self._session = browser, session
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height, dark)
        self.go(url)

    def call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def resize(self, width, height, dark=False):
        """Change the size of the window, and whether the reader likes it dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        likes = {"prefers-color-scheme": "dark" if dark else "light", "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in likes.items()]
        self.call("Emulation.setEmulatedMedia", features=features)

    def go(self, url):
        self.call("Page.navigate", url=url)

    def run(self, script):
        """Return the value of an expression of JavaScript, awaited."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition, seconds=20.0):
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(f"Boolean({condition})"):
                return
            time.sleep(0.01)
        raise AssertionError(f"{condition} did not come true; the page says: {self.text()}")

    def text(self, selector="body"):
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def press(self, key):
        """Press a key, as a person does."""
        code, number, text = KEYS.get(key) or (f"Key{key.upper()}", ord(key.upper()), key)
        common = {"key": key, "code": code, "windowsVirtualKeyCode": number}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def messages(self):
        """Return errors and warnings of the console, and exceptions."""
        self.run("0")
        found = []
        for event in self._browser.events:
            if event.get("sessionId") != self._session:
                continue
            if event["method"] == "Runtime.exceptionThrown":
                found.append(event["params"]["exceptionDetails"])
            if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] in (
                "error",
                "warning",
            ):
                found.append(event["params"]["entry"]["text"])
            if event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in (
                "error",
                "warning",
            ):
                found.append(event["params"]["args"])
        return found

    def screenshot(self, path, whole=False):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
