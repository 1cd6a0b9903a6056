"""od-runtime on a terminal."""
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

import harness
from harness import has


class Terminal:
    """od-runtime on a terminal of its own."""

    def __init__(self, *argv, env):
        self.fd, slave = pty.openpty()
        self.resize(33, 101)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.p = subprocess.Popen([harness.RUNTIME, *argv], stdin=slave, stdout=slave,
                                  stderr=slave, env=env,
                                  start_new_session=True, preexec_fn=self.take)

    @staticmethod
    def take():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, mark):
        out, end = b"", time.monotonic() + harness.DEADLINE
        while mark not in out and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                out += os.read(self.fd, 4096)
        has(out, mark, f"the terminal shows {mark!r}")
        return out

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        """Its exit code, and whether the terminal is as it was."""
        code = self.p.wait(timeout=harness.DEADLINE)
        same = termios.tcgetattr(self.slave) == self.before
        os.close(self.fd)
        os.close(self.slave)
        return code, same
