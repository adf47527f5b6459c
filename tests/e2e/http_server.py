#!/usr/bin/env python3
"""A web server that misbehaves on purpose, for tests/e2e/fetch.sh. Standard library only.

    http_server.py FOLDER LOG        prints its port, serves FOLDER until it is killed

The first part of a path says how the rest is served; LOG gets a line per request: path, Range.

    /good/...       as it should be: lengths, ETag, Range and If-Range
    /norange/...    ignores Range
    /cut/...        promises the whole file and closes after half of it, every time
    /dies/...       the same at the first request for a file; from then on like /good
    /busy/...       503 at the first two requests for a file, then like /good
    /wrong/...      the right length, one byte changed
    /stops/...      sends half of the file and then nothing for a minute, at the first request
    /moved/...      redirects to /good/...
    /local/...      redirects to file:///...
    anything else   404
"""
import collections
import hashlib
import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

folder, log_path = os.path.abspath(sys.argv[1]), sys.argv[2]
requests = collections.Counter()
lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are sent apart: 40 ms per file otherwise

    def log_message(self, *arguments):
        pass

    def note(self, path):
        with lock:
            requests[path] += 1
            with open(log_path, "a", encoding="utf-8") as log:
                log.write(f"{path} {self.headers.get('Range', '-')}\n")
            return requests[path]

    def refuse(self, status, location=None):
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def send_file(self, data, ranges=True, half=False):
        """All of it, or what Range asks for; half of that if so wished, and the line is cut."""
        tag = '"' + hashlib.sha256(data).hexdigest()[:16] + '"'
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(match.group(1)) if ranges and match else 0
        if self.headers.get("If-Range", tag) != tag:
            start = 0
        if start > len(data):
            return self.refuse(416)
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(data) - start))
        self.send_header("ETag", tag)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        end = start + (len(data) - start) // 2 if half else len(data)
        self.wfile.write(data[start:end])
        self.wfile.flush()
        self.close_connection = self.close_connection or half

    def do_GET(self):
        path = unquote(self.path)
        count = self.note(path)
        _, mode, rest = (path.split("/", 2) + ["", ""])[:3]
        name = os.path.join(folder, rest)
        if mode == "moved":
            return self.refuse(302, "/good/" + rest)
        if mode == "local":
            return self.refuse(302, "file://" + name)
        modes = ("good", "norange", "cut", "dies", "busy", "wrong", "stops")
        if mode not in modes or ".." in rest or not os.path.isfile(name):
            return self.refuse(404)
        with open(name, "rb") as file:
            data = file.read()
        if mode == "busy" and count <= 2:
            return self.refuse(503)
        if mode == "wrong":
            data = bytes([data[0] ^ 1]) + data[1:]
        first = count == 1 and mode in ("dies", "stops")
        self.send_file(data, ranges=mode != "norange", half=mode == "cut" or first)
        if first and mode == "stops":
            time.sleep(60)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
