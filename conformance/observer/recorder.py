"""Stands between a client and the broker, and keeps the methods that pass."""


class Recorder:
    def __init__(self, url):
        self.url = url

    def perform(self, verb, parameters):
        return {"unsupported": verb}

    def close(self):
        pass
