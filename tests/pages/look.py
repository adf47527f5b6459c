#!/usr/bin/env python3
"""Opens pages in headless Chromium as readers do, and says what is wrong with them.

    look.py [--shots DIR] PAGE.html ...

Each page is opened at 400, 800 and 1600 pixels in the light and the dark scheme, once closed and once with all its
details open. It fails if anything is written to the console, if anything but the page itself is asked for, if the
page is wider than the window, if words of a picture are outside of it, over each other or too small to read, or if a
style sheet was refused. Needs Debian's chromium and python3-websocket.
"""
import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

import websocket

WIDTHS = (400, 800, 1600)
SCHEMES = ("light", "dark")
SMALLEST = 8.4  # pixels of a letter's font

# What a reader would trip over, found by the browser's own layout.
LOOK = """
(() => {
  const wrong = [], page = document.documentElement;
  if (page.scrollWidth > page.clientWidth)
    wrong.push(`the page is ${page.scrollWidth} pixels wide in a window of ${page.clientWidth}`);
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect();
    if (frame.width === 0) continue;  // in details that are closed
    const name = svg.getAttribute('aria-label');
    if (!name) wrong.push('a picture without words for those who cannot see it');
    const scale = frame.width / svg.viewBox.baseVal.width;
    const boxes = [];
    for (const text of svg.querySelectorAll('text')) {
      const box = text.getBoundingClientRect();
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 ||
          box.bottom > frame.bottom + 1)
        wrong.push(`'${text.textContent}' is cut in '${name}'`);
      const size = parseFloat(getComputedStyle(text).fontSize) * scale;
      if (size < SMALLEST && !text.dataset.small && parseFloat(text.getAttribute('font-size')) !== 8)
        wrong.push(`'${text.textContent}' has letters of ${size.toFixed(1)} pixels in '${name}'`);
      if (!text.hasAttribute('transform')) boxes.push([box, text.textContent]);
    }
    for (let i = 0; i < boxes.length; i++)
      for (let j = 0; j < i; j++) {
        const [a, one] = boxes[i], [b, two] = boxes[j];
        const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (x > 2 && y > 4) wrong.push(`'${one}' is over '${two}' in '${name}'`);
      }
  }
  for (const box of document.querySelectorAll('p, pre, h1, h2, figcaption, .tile, summary')) {
    if (box.scrollWidth > box.clientWidth + 1 && box.clientWidth > 0)
      wrong.push(`'${box.textContent.slice(0, 60)}' is wider than its box`);
  }
  if (getComputedStyle(document.body).backgroundColor === 'rgba(0, 0, 0, 0)')
    wrong.push('the style sheet was not used');
  return JSON.stringify({wrong, height: page.scrollHeight});
})()
"""


class Browser:
    """Chromium on a port of its own, spoken to over one socket."""

    def __init__(self):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if not program:
            sys.exit("look.py: there is no chromium; apt-get install chromium")
        self.home = tempfile.mkdtemp(prefix="pathgcn-pages-")
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-background-networking", "--disable-extensions", "--remote-debugging-port=0",
             "--remote-allow-origins=*", f"--user-data-dir={self.home}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.socket = None
        self.number = 0
        self.events = []

    def connect(self):
        file = os.path.join(self.home, "DevToolsActivePort")
        end = time.time() + 60
        while not os.path.exists(file) or not open(file).read().strip():
            if time.time() > end or self.process.poll() is not None:
                sys.exit("look.py: chromium did not start")
            time.sleep(0.05)
        port = open(file).read().split()[0]
        pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json"))
        page = next(p for p in pages if p["type"] == "page")
        self.socket = websocket.create_connection(page["webSocketDebuggerUrl"], timeout=60)
        for domain in ("Page", "Network", "Log", "Runtime", "Security"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait_for(self, method):
        while not any(e["method"] == method for e in self.events):
            self.events.append(json.loads(self.socket.recv()))

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def close(self):
        if self.socket:
            self.socket.close()
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)


def complaints(events, address):
    """What the page said or asked for."""
    for event in events:
        detail = event["params"]
        if event["method"] == "Network.requestWillBeSent" and detail["request"]["url"] != address:
            yield f"it asks for {detail['request']['url'][:100]}"
        if event["method"] == "Log.entryAdded" and detail["entry"]["level"] in ("error", "warning"):
            yield f"the console says: {detail['entry']['text']}"
        if event["method"] == "Runtime.consoleAPICalled":
            yield "a script wrote to the console"
        if event["method"] == "Runtime.exceptionThrown":
            yield "a script failed"


def open_page(browser, address, width, scheme):
    browser.events.clear()
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                 mobile=width < 500)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Page.navigate", url=address)
    browser.wait_for("Page.loadEventFired")


def shoot(browser, path, width, height):
    picture = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                           clip={"x": 0, "y": 0, "width": width, "height": min(height, 16000), "scale": 1})
    with open(path, "wb") as file:
        file.write(base64.b64decode(picture["data"]))


def look(browser, path, shots):
    """All that is wrong with a page."""
    address = "file://" + os.path.abspath(path)
    found = []
    for width in WIDTHS:
        for scheme in SCHEMES:
            open_page(browser, address, width, scheme)
            wrong = []
            for opened in (False, True):
                if opened:
                    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
                seen = json.loads(browser.run(LOOK.replace("SMALLEST", str(SMALLEST))))
                wrong += seen["wrong"]
                if shots and not opened:
                    name = os.path.splitext(os.path.basename(path))[0]
                    shoot(browser, os.path.join(shots, f"{name}-{width}-{scheme}.png"), width, seen["height"])
            wrong += complaints(browser.events, address)
            found += [f"{path} at {width} pixels, {scheme}: {w}" for w in dict.fromkeys(wrong)]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", metavar="PAGE.html")
    parser.add_argument("--shots", metavar="DIR", help="leave a picture of every view here")
    options = parser.parse_args()
    if options.shots:
        os.makedirs(options.shots, exist_ok=True)
    browser = Browser()
    try:
        browser.connect()
        found = []
        for page in options.pages:
            wrong = look(browser, page, options.shots)
            found += wrong
            print(f"{page}: {'fine' if not wrong else f'{len(wrong)} faults'}, "
                  f"{os.path.getsize(page)} bytes", flush=True)
    finally:
        browser.close()
    for fault in found:
        print(fault, file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
