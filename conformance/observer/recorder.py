"""Stands between a client and the broker, and keeps the methods that pass, in the order in which they passed."""

import socket
import struct
import threading
import urllib.parse

from . import methods

FRAME_METHOD = 1


class Recorder:
    def __init__(self, url):
        where = urllib.parse.urlsplit(url)
        self.broker = (where.hostname, where.port or 5672)
        self.listener = socket.create_server(("127.0.0.1", 0))
        account = where.netloc.rpartition("@")[0]
        port = self.listener.getsockname()[1]
        self.url = where._replace(netloc=f"{account}@127.0.0.1:{port}" if account else f"127.0.0.1:{port}").geturl()
        self.passed, self.lock, self.sockets, self.lines = [], threading.Lock(), [self.listener], 0
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        with self.lock:
            ended, self.sockets = self.sockets, []
        for one in ended:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    # --- passing on ---

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                broker = socket.create_connection(self.broker)
            except OSError:
                return
            with self.lock:
                self.sockets += [client, broker]
                self.lines += 1
                line = self.lines
            # The client's first eight bytes are no frame.
            threading.Thread(target=self.carry, args=(client, broker, "client", line, 8), daemon=True).start()
            threading.Thread(target=self.carry, args=(broker, client, "broker", line, 0), daemon=True).start()

    def carry(self, source, target, name, line, skipped):
        pending = b""
        try:
            while data := source.recv(65536):
                pending += data
                with self.lock:
                    pending, skipped = self.read(pending, name, line, skipped)
                target.sendall(data)
        except OSError:
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def read(self, data, name, line, skipped):
        """What is left of the bytes once their whole frames were kept."""
        if skipped:
            if len(data) < skipped:
                return data, skipped
            data = data[skipped:]
        while len(data) >= 7:
            kind, channel, size = struct.unpack(">BHI", data[:7])
            if len(data) < size + 8:
                break
            decoded = methods.decode(data[7:7 + size]) if kind == FRAME_METHOD else None
            if decoded:
                self.passed.append({"from": name, "method": decoded[0], "line": line, "channel": channel, **decoded[1]})
            data = data[size + 8:]
        return data, 0

    # --- as scenarios see it ---

    def perform(self, verb, parameters):
        if verb == "forget":
            with self.lock:
                self.passed.clear()
            return {"ok": {}}
        if verb != "methods":
            return {"unsupported": f"the recorder cannot {verb}"}
        names, wanted = parameters.get("of"), parameters.get("with", {})
        with self.lock:
            passed = [one for one in self.passed if (names is None or one["method"] in names)
                      and all(one.get(name) == value for name, value in wanted.items())]
        return {"ok": {"methods": passed}}
