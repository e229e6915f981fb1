# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium, driven by its DevTools protocol over a pipe: one message of JSON, then a NUL."""
import base64
import json
import os
import subprocess
import time

PATIENCE_S = 120


class Browser:
    def __init__(self, profile, width=1000, height=2500):
        # The protocol has the numbers 3 and 4.
        arguments = ["sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >"$0" 2>&1', os.path.join(profile, "log"),
                     "chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                     "--disable-background-networking", "--user-data-dir=" + profile, f"--window-size={width},{height}"]
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.number, self.received, self.events = 0, b"", []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.ask(domain + ".enable")

    def message(self):
        while b"\0" not in self.received:
            octets = self.process.stdout.read(65536)
            assert octets, "the browser has ended"
            self.received += octets
        text, self.received = self.received.split(b"\0", 1)
        return json.loads(text)

    def send(self, method, session=None, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if session:
            request["sessionId"] = session
        self.process.stdin.write(json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def ask(self, method, **params):
        return self.send(method, self.session, **params)

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def poll(self, expression):
        until = time.monotonic() + PATIENCE_S
        while not self.value(expression):
            assert time.monotonic() < until, expression + ": " + str(self.value("document.body.innerText"))[:3000]
            time.sleep(0.3)

    def click(self, selector):
        """A click of the mouse in the middle of an element."""
        at = self.value(f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: "center"}}); const r = e.getBoundingClientRect();
            return [r.x + Math.min(r.width / 2, 20), r.y + r.height / 2]; }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def end(self):
        self.send("Browser.close")
        self.process.wait(PATIENCE_S)
