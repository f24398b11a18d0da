"""A headless Chromium that tests drive over its own protocol: pages, keys, screenshots."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: A browser that says nothing for so long hangs.
HANGS_S = 120


def chromium() -> str | None:
    """Return the path of a Chromium, if there is one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Page:
    """One page of the browser."""

    def __init__(self, process: subprocess.Popen, write: int, read: int) -> None:
        self._process, self._write, self._read = process, write, read
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable")

    def _call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self._write, rest) :]
        while True:
            while b"\0" not in self._buffer:
                more = os.read(self._read, 1 << 16)
                assert more, "the browser has ended"
                self._buffer += more
            text, self._buffer = self._buffer.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def evaluate(self, expression: str) -> Any:
        """Return what JavaScript makes of it; promises are awaited."""
        answer = self._call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until JavaScript says that it is so."""
        end = time.monotonic() + HANGS_S
        while not self.evaluate(f"Boolean({expression})"):
            assert time.monotonic() < end, f"never: {expression}"
            time.sleep(0.02)

    def open(self, address: str) -> None:
        self._call("Page.navigate", url="about:blank")
        self._call("Page.navigate", url=address)

    def accessibility(self) -> list[dict[str, Any]]:
        """Return what a screen reader is told of."""
        return self._call("Accessibility.getFullAXTree")["nodes"]

    def key(self, key: str, code: str | None = None) -> None:
        """Press and release a key."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}
        known = {"key": key, "code": code or ("Space" if key == " " else key), "windowsVirtualKeyCode": codes[key]}
        text = {"Enter": "\r", " ": " "}.get(key)
        self._call("Input.dispatchKeyEvent", type="keyDown", **known, **({"text": text} if text else {}))
        self._call("Input.dispatchKeyEvent", type="keyUp", **known)

    def size(self, width: int, height: int, scheme: str = "light", motion: str = "reduce") -> None:
        """Set the size of the window, whether the user likes it light or dark, and whether things may move."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **metrics)
        features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion}
        self._call(
            "Emulation.setEmulatedMedia", features=[{"name": name, "value": value} for name, value in features.items()]
        )

    def screenshot(self, path: Path, whole: bool = False) -> None:
        answer = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))


@contextmanager
def page(folder: Path) -> Iterator[Page]:
    """Start a Chromium without a network that keeps its files in `folder`."""
    browser = chromium()
    assert browser, "there is no Chromium"
    to_browser, write = os.pipe()
    read, from_browser = os.pipe()

    def descriptors() -> None:
        # First out of the way: either may be the number that the other is copied to.
        numbers = [fcntl.fcntl(pipe, fcntl.F_DUPFD, 10) for pipe in (to_browser, from_browser)]
        os.dup2(numbers[0], 3)
        os.dup2(numbers[1], 4)

    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * 0.0.0.0"]
    command += ["--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen(command, preexec_fn=descriptors, close_fds=False, stderr=subprocess.DEVNULL)
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Page(process, write, read)
    finally:
        os.close(write)
        os.close(read)
        process.terminate()
        process.wait(HANGS_S)
