"""Runs a program on a terminal of its own, and shows what the terminal would show.

A script says what to do, one step a line of its own, read from the arguments:
  see TEXT        waits until the screen holds TEXT
  gone TEXT       waits until it does not
  key TEXT        types it
  size ROWS COLS  makes the terminal so large
  signal NAME     sends it to the program
  coloured, plain  the screen has colours by now, or has had none
  run COMMAND     runs it by the shell meanwhile
  end STATUS      waits for the end, and for that status (a signal's is 128 and its number)
  restored        the terminal is as it was before: no full screen, cursor shown, echo on
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PATIENCE_S = 30


class Screen:
    """As much of a terminal as ncurses asks of one named xterm."""

    def __init__(self, rows, columns):
        self.resize(rows, columns)
        self.full = False
        self.cursor_shown = True
        self.colours = 0
        self.rest = ""

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.cells)

    def feed(self, data):
        data = self.rest + data
        self.rest = ""
        at = 0
        while at < len(data):
            if data[at] == "\x1b":
                match = re.compile(r"\x1b(\[([?>]?)([\d;]*)([A-Za-z@`])|[()].|[=>78M])").match(data, at)
                if match is None:
                    if len(data) - at < 32:
                        self.rest = data[at:]
                        return
                    at += 1
                    continue
                if match.group(4):
                    self.control(match.group(2), match.group(3), match.group(4))
                at = match.end()
            else:
                self.put(data[at])
                at += 1

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row = min(self.row + 1, self.rows - 1)
        elif character == "\b":
            self.column = max(self.column - 1, 0)
        elif character >= " ":
            if self.column >= self.columns:
                self.column, self.row = 0, min(self.row + 1, self.rows - 1)
            self.cells[self.row][self.column] = character
            self.last = character
            self.column += 1

    def control(self, private, parameters, name):
        numbers = [int(number or 0) for number in parameters.split(";")]
        first = max(numbers[0], 1)
        if private == "?":
            if 1049 in numbers:
                self.full = name == "h"
            if 25 in numbers:
                self.cursor_shown = name == "h"
        elif name in "Hf":
            self.row = min(first, self.rows) - 1
            self.column = min(max(numbers[1] if len(numbers) > 1 else 1, 1), self.columns) - 1
        elif name == "A":
            self.row = max(self.row - first, 0)
        elif name == "B":
            self.row = min(self.row + first, self.rows - 1)
        elif name == "C":
            self.column = min(self.column + first, self.columns - 1)
        elif name == "D":
            self.column = max(self.column - first, 0)
        elif name in "G`":
            self.column = min(first, self.columns) - 1
        elif name == "d":
            self.row = min(first, self.rows) - 1
        elif name == "J":
            self.erase_from(0 if numbers[0] == 2 else self.row, 0 if numbers[0] == 2 else self.column)
        elif name == "K":
            begin, end = (0, self.column + 1) if numbers[0] == 1 else (self.column, self.columns)
            self.cells[self.row][begin:end] = [" "] * (end - begin)
        elif name == "X":
            end = min(self.column + first, self.columns)
            self.cells[self.row][self.column : end] = [" "] * (end - self.column)
        elif name == "b":
            for _ in range(first):
                self.put(self.last)
        elif name == "P":
            line = self.cells[self.row]
            del line[self.column : self.column + first]
            line.extend([" "] * (self.columns - len(line)))
        elif name == "@":
            line = self.cells[self.row]
            line[self.column : self.column] = [" "] * first
            del line[self.columns :]
        elif name == "m":
            self.colours += any(30 <= number <= 37 for number in numbers)

    def erase_from(self, row, column):
        self.cells[row][column:] = [" "] * (self.columns - column)
        for below in range(row + 1, self.rows):
            self.cells[below] = [" "] * self.columns


class Run:
    def __init__(self, command):
        self.screen = Screen(24, 120)
        # Of another new terminal: the program may be faster than this line on its own.
        untouched = os.openpty()
        self.before = termios.tcgetattr(untouched[1])
        for descriptor in untouched:
            os.close(descriptor)
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.environ["TERM"] = "xterm-256color"
            os.execv(command[0], command)
        self.size(24, 120)
        self.over = False

    def size(self, rows, columns):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def take(self, seconds):
        readable, _, _ = select.select([self.terminal], [], [], seconds)
        if not readable:
            return
        try:
            data = os.read(self.terminal, 65536)
        except OSError:
            data = b""
        self.over = not data
        self.screen.feed(data.decode("utf-8", "replace"))

    def wait(self, what, holds):
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > deadline or self.over:
                sys.exit(f"# never came: {what}; the screen:\n" + re.sub("^", "# ", self.screen.text(), flags=re.M))
            self.take(0.1)

    def end(self, status):
        deadline = time.monotonic() + PATIENCE_S
        process = 0
        while process == 0 and time.monotonic() < deadline:
            self.take(0.05)
            process, ended = os.waitpid(self.process, os.WNOHANG)
        if process == 0:
            os.kill(self.process, signal.SIGKILL)
            sys.exit("# it did not end")
        code = os.waitstatus_to_exitcode(ended)
        code = 128 - code if code < 0 else code
        while not self.over and select.select([self.terminal], [], [], 0.2)[0]:
            self.take(0)
        if code != status:
            sys.exit(f"# it ended with {code} and not with {status}; the screen:\n" + self.screen.text())

    def restored(self):
        after = termios.tcgetattr(self.terminal)
        wrong = [
            self.screen.full and "still in full screen",
            not self.screen.cursor_shown and "the cursor is hidden",
            after[3] != self.before[3] and "the line discipline is another one",
        ]
        if any(wrong):
            sys.exit("# " + ", ".join(filter(None, wrong)))


def main():
    divide = sys.argv.index("--")
    run = Run(sys.argv[divide + 1 :])
    for step in sys.argv[1:divide]:
        name, _, rest = step.partition(" ")
        if name == "see":
            run.wait(rest, lambda: rest in run.screen.text())
        elif name == "gone":
            run.wait("without " + rest, lambda: rest not in run.screen.text())
        elif name == "key":
            os.write(run.terminal, rest.encode())
        elif name == "size":
            run.size(*map(int, rest.split()))
        elif name == "signal":
            os.kill(run.process, getattr(signal, rest))
        elif name == "end":
            run.end(int(rest))
        elif name == "run":
            subprocess.run(rest, shell=True, check=True, stdout=subprocess.DEVNULL)
        elif name == "restored":
            run.restored()
        elif name == "coloured":
            run.wait("a colour", lambda: run.screen.colours > 0)
        elif name == "plain":
            if run.screen.colours > 0:
                sys.exit("# it is coloured")
        else:
            sys.exit(f"# no such step: {step}")


main()
