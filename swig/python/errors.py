class Error(Exception):
    """A call failed: code, name, message, field, limit, reply_code; retriable and fatal say whether repeating helps.
    `result` is what the call answered all the same, such as the plan of a topology that differs; else None."""

    def __init__(self, code, name, message, field="", limit=0, reply_code=0, retriable=False, fatal=False):
        super().__init__(f"{name}: {message}")
        self.code, self.name, self.message = code, name, message
        self.field, self.limit, self.reply_code = field, limit, reply_code
        self.retriable, self.fatal = retriable, fatal
        self.result = None


_classes = {}


def _make_classes():
    for code in range(1, 128):
        name = status_name(code)
        if name != "unknown":
            class_name = "".join(part.capitalize() for part in name.split("_")) + "Error"
            _classes[code] = type(class_name, (Error,), {"__doc__": f"The error {name}.", "__module__": __name__})
            globals()[class_name] = _classes[code]


def _exception_of(code, name, message, field, limit, reply_code, retriable, fatal):
    made = _classes.get(code, Error)
    return made(code, name, message, field, limit, reply_code, bool(retriable), bool(fatal))
