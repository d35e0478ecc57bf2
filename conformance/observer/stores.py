"""A store on disk that fails while drivers hold it open."""

import pathlib

# LMDB's two pages that say where everything lies; what comes after them is the store's.
KEPT_BYTES = 2 * 4096


class Broken:
    """Its pages are blank until it is mended: whoever looks into it is told that it is corrupt."""

    def __init__(self, store):
        self.file = pathlib.Path(store.removeprefix("lmdb:")) / "data.mdb"
        self.held = self.file.read_bytes()
        self.write(bytes(len(self.held) - KEPT_BYTES))

    def mend(self):
        self.write(self.held[KEPT_BYTES:])

    def write(self, pages):
        # In place: drivers have the file in their memory.
        with self.file.open("r+b") as file:
            file.seek(KEPT_BYTES)
            file.write(pages)
