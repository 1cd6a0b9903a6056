# The Python side of a kernel without Jupyter: executes cells in one namespace.
#
# Runs on Python 3.6 and newer with nothing but its standard library; in IPython where
# that can be imported. Frames on descriptor 3 (four bytes of length, little-endian, and
# JSON) bring cells and take back what is not printed; what is printed, by children and
# C code too, goes into the one pipe behind descriptors 1 and 2. Both are flushed before
# each frame, the reader empties the pipe before he looks at a frame, and nothing goes on
# before he has said so: thus everything is seen in its order.
import _thread
import ast
import base64
import builtins
import json
import linecache
import os
import signal
import sys
import traceback
import types

TEXT_MAX = 4 << 20  # characters of one result; more is cut in the middle
IMAGE_MAX = 16 << 20  # bytes of one picture, as base64
RICH_MAX = 4 << 20  # characters of one other representation
# What observations have no place for, and who makes it in a class.
RICH = {"text/html": "html", "image/svg+xml": "svg", "text/latex": "latex", "text/markdown": "markdown",
        "application/json": "json", "image/jpeg": "jpeg", "application/javascript": "javascript"}
CELLS_KEPT = 1000  # their text, for tracebacks
RESULTS = ("execute_result", "display_data", "error")  # have an answer


class Channel:
    """Descriptor 3. A frame is sent whole, whatever interrupts."""

    def __init__(self):
        self.pid = os.getpid()
        self.thread = _thread.get_ident()
        self.lock = _thread.allocate_lock()
        self.sending = False
        self.interrupted = False
        self.results = 0  # sent by any thread
        self.seen = 0  # of these, as far as the server has said so

    @staticmethod
    def read(n):
        parts = []
        while n:
            part = os.read(3, min(n, 1 << 20))
            if not part:
                os._exit(0)  # the server is gone
            parts.append(part)
            n -= len(part)
        return b"".join(parts)

    def take(self):
        frame = json.loads(self.read(int.from_bytes(self.read(4), "little")).decode())
        self.seen += frame["op"] == "seen"
        return frame

    def send(self, kind, **more):
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            try:
                stream.flush()
            except Exception:
                pass
        if os.getpid() != self.pid:
            return  # forked by a cell: its results are nobody's
        more["t"] = kind
        data = json.dumps(more).encode()
        data = memoryview(len(data).to_bytes(4, "little") + data)
        main = _thread.get_ident() == self.thread
        with self.lock:
            self.sending = main
            self.results += kind in RESULTS
            while data:
                data = data[os.write(3, data):]
            # What is printed from now on must not be taken for what was before. Other
            # threads do not wait: between cells this one waits for frames already.
            while main and kind in RESULTS and self.seen < self.results:
                self.take()
            self.sending = False
        if main and self.interrupted:
            self.interrupted = False
            raise KeyboardInterrupt


def clean(text):
    """Text that JSON can carry, and not endless."""
    text = str(text)
    if len(text) > TEXT_MAX:
        half = TEXT_MAX // 2
        text = (text[:half] + "\n[... %d characters left out ...]\n" % (len(text) - TEXT_MAX)
                + text[-half:])
    return text.encode("utf-8", "replace").decode()


def show(kind, data):
    """Sends a bundle of representations: what an observation has a place for."""
    out = {}
    if data.get("text/plain") is not None:
        out["text/plain"] = clean(data["text/plain"])
    png = data.get("image/png")
    if isinstance(png, (bytes, bytearray)):
        png = base64.b64encode(png).decode()
    if isinstance(png, str):
        if len(png) <= IMAGE_MAX:
            out["image/png"] = clean(png.replace("\n", ""))
        else:
            out["text/plain"] = (out.get("text/plain", "")
                                 + "\n[An image of %d bytes was left out.]" % len(png))
    for mime in RICH:
        value = data.get(mime)
        if isinstance(value, (bytes, bytearray)):
            value = base64.b64encode(value).decode()
        elif mime.endswith("json") and value is not None:
            try:
                value = json.dumps(value)
            except (TypeError, ValueError):
                continue
        if isinstance(value, str) and len(value) <= RICH_MAX:
            out[mime] = clean(value)
    if out:
        channel.send(kind, d=out)


def show_error(text):
    channel.send("error", text=clean(text))


# --- What both modes have --------------------------------------------------------

# The last one is brought along where an image has none.
SHELLS = ("/bin/bash", "/bin/sh", "/.od/bin/busybox")
NO_INPUT = "raw_input was called, but this frontend does not support input requests."


class StdinNotImplementedError(NotImplementedError):
    """raw_input was requested in a context where it's not supported."""


def refuse_input(prompt="", stream=None):
    raise StdinNotImplementedError(NO_INPUT)


def run_shell(command, **more):
    import subprocess
    sys.stdout.flush()
    sys.stderr.flush()
    shell = next(filter(os.path.exists, SHELLS), "/bin/sh")
    name = "sh" if shell.endswith("busybox") else shell
    return subprocess.Popen([name, "-c", command], executable=shell,
                            stdin=subprocess.DEVNULL, **more)


def figure_png(figure):
    import io
    room = io.BytesIO()
    figure.savefig(room, format="png", bbox_inches="tight", dpi=figure.dpi,
                   facecolor=figure.get_facecolor())
    return room.getvalue()


def show_figures():
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or not hasattr(pyplot, "get_fignums"):
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        try:
            png = figure_png(figure)
        finally:
            pyplot.close(figure)
        show("display_data", {"image/png": png, "text/plain": repr(figure)})


class PyplotHook:
    """plt.show() shows at once, where the canvas alone would only warn."""

    def find_spec(self, name, path=None, target=None):
        if name != "matplotlib.pyplot":
            return None
        import importlib.util
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            original = module.show

            def plt_show(*args, **kwargs):
                if module.get_backend().lower() != "agg":
                    return original(*args, **kwargs)
                return show_figures()
            module.show = plt_show
        spec.loader.exec_module = exec_module
        return spec


# --- In IPython --------------------------------------------------------------------

def make_ipython(main):
    import IPython
    if IPython.version_info[0] < 7:
        raise ImportError("IPython %s is older than 7" % IPython.__version__)
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type
    from traitlets.config import Config

    cell = [""]

    class Hook(DisplayHook):
        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            show("execute_result", format_dict)

        def finish_displayhook(self):
            pass

        def quiet(self):
            return Plain.is_muted(cell[0])

    class Publisher(DisplayPublisher):
        def publish(self, data, metadata=None, source=None, transient=None, update=False, **more):
            if not update:
                show("display_data", data)

        def clear_output(self, wait=False):
            pass

    class Shell(InteractiveShell):
        displayhook_class = Type(Hook)
        display_pub_class = Type(Publisher)

        def _showtraceback(self, etype, evalue, stb):
            show_error("\n".join(stb))

        def system(self, command):
            child = run_shell(self.var_expand(command, depth=1))
            try:
                status = child.wait()
            except KeyboardInterrupt:
                status = child.wait()
            self.user_ns["_exit_code"] = status
        system_piped = system_raw = system

        def ask_exit(self):
            pass

    def make(colors):
        config = Config()
        config.InteractiveShell.colors = colors
        config.InteractiveShell.banner1 = ""
        config.HistoryManager.enabled = False
        config.HistoryManager.hist_file = ":memory:"
        config.HistoryAccessor.enabled = False
        return Shell.instance(config=config, user_module=main)

    try:
        shell = make("nocolor")
    except Exception:
        Shell.clear_instance()
        shell = make("NoColor")
    shell.display_formatter.formatters["image/png"].for_type_by_name(
        "matplotlib.figure", "Figure", figure_png)
    builtins.input = refuse_input
    import getpass
    getpass.getpass = refuse_input

    def run(code):
        cell[0] = code
        shell.run_cell(code, store_history=False)
    return run


# --- In plain Python ---------------------------------------------------------------

class Usage(Exception):
    pass


class Lines(list):
    """What x = !cmd gives."""
    n = property(lambda self: "\n".join(self))
    s = property(lambda self: " ".join(self))


class Shown:
    def __init__(self, data=None, url=None, filename=None, **_):
        if filename is not None:
            with open(filename, "rb") as f:
                data = f.read()
        self.data = data


class Image(Shown):
    def _repr_png_(self):
        return self.data

    def __repr__(self):
        return "<IPython.core.display.Image object>"


class HTML(Shown):
    def __repr__(self):
        return "<IPython.core.display.HTML object>"


def pretty(value):
    import pprint
    if type(value) not in (dict, list, tuple, set, frozenset):
        return repr(value)
    if sys.version_info >= (3, 8):
        return pprint.pformat(value, width=79, sort_dicts=False)
    return pprint.pformat(value, width=79)


def bundle(value):
    data = {}
    if not isinstance(value, type):
        make = getattr(value, "_repr_mimebundle_", None)
        if make is not None:
            made = make(include=None, exclude=None)
            data.update(made[0] if isinstance(made, tuple) else made or {})
        png = getattr(value, "_repr_png_", None)
        if png is not None and "image/png" not in data:
            made = png()
            data["image/png"] = made[0] if isinstance(made, tuple) else made
        for mime in RICH:
            make = getattr(value, "_repr_%s_" % RICH[mime], None)
            if make is not None and mime not in data:
                made = make()
                data[mime] = made[0] if isinstance(made, tuple) else made
        figure = sys.modules.get("matplotlib.figure")
        if figure is not None and isinstance(value, figure.Figure):
            data["image/png"] = figure_png(value)
    data.setdefault("text/plain", pretty(value))
    return data


def display(*values, **more):
    for value in values:
        show("display_data", value if more.get("raw") else bundle(value))


class Plain:
    """A small IPython: cells, results, magics, tracebacks."""

    def __init__(self, main):
        self.ns = main.__dict__
        self.count = 0
        self.loop = None
        self.before = None  # the folder for %cd -
        self.ns.update(display=display, get_ipython=lambda: self, Image=Image, HTML=HTML,
                       exit=self.leave, quit=self.leave)
        builtins.input = refuse_input
        for name in list(vars(type(self))):
            if name.startswith("line_"):
                setattr(self, "magic_" + name[5:], getattr(self, name))

    user_ns = property(lambda self: self.ns)

    def leave(self, *_):
        print("The kernel stays; its variables are kept.")

    # Cells.

    def run(self, code):
        try:
            if code.lstrip().startswith("%%"):
                self.cell_magic(code.lstrip())
            else:
                self.execute(code)
        except Usage as e:
            print("UsageError: %s" % e, file=sys.stderr)
        except SystemExit as e:
            show_error("An exception has occurred, the kernel goes on.\n\n" + "".join(
                traceback.format_exception_only(type(e), e)).rstrip())
        except BaseException as e:
            self.show_traceback(e)

    def execute(self, code):
        if code[:1] in (" ", "\t"):
            import textwrap
            code = textwrap.dedent(code)
        try:
            tree, name = self.parse(code)
        except SyntaxError:
            changed = self.transform(code)
            if changed == code:
                raise
            code = changed
            tree, name = self.parse(code)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not self.is_muted(code):
            last = ast.Expression(tree.body.pop().value)
        if tree.body:
            self.evaluate(compile(tree, name, "exec", self.flags()))
        if last is not None:
            self.result(self.evaluate(compile(last, name, "eval", self.flags())))

    @staticmethod
    def flags():
        return getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0)

    def parse(self, code):
        name = "Cell[%d]" % self.count
        linecache.cache.pop("Cell[%d]" % (self.count - CELLS_KEPT), None)
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        return compile(code, name, "exec", ast.PyCF_ONLY_AST | self.flags()), name

    def evaluate(self, code):
        if not code.co_flags & 0x80:  # no coroutine
            return eval(code, self.ns)
        import asyncio
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(eval(code, self.ns))

    @staticmethod
    def is_muted(code):
        import io
        import tokenize
        last = None
        skip = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER,
                tokenize.INDENT, tokenize.DEDENT)
        try:
            for token in tokenize.generate_tokens(io.StringIO(code).readline):
                if token.type not in skip:
                    last = token.string
        except (tokenize.TokenError, SyntaxError):
            pass
        return last == ";"

    def result(self, value):
        if value is not None:
            self.ns["_"] = value
            show("execute_result", bundle(value))

    def show_traceback(self, e):
        at = e.__traceback__
        while at is not None and at.tb_frame.f_code.co_filename == "<driver>":
            at = at.tb_next
        parts = traceback.format_exception(type(e), e, at)
        show_error("".join(parts).rstrip("\n"))

    # The syntax of lines.

    def transform(self, code):
        """Lines that begin with % ! or ?, or end with ?, become calls, where a line of
        Python can stand."""
        import io
        import re
        import tokenize
        lines = code.splitlines(True)
        inside = set()  # lines that begin within a string or a bracket
        depth = 0
        try:
            masked = [re.sub(r"^(\s*)([%!?]|[\w., ]+=\s*[%!]).*|^.*\w\?{1,2}\s*$", r"\1pass", line)
                      for line in lines]
            for token in tokenize.generate_tokens(io.StringIO("".join(masked)).readline):
                if depth:
                    inside.add(token.start[0])
                inside.update(range(token.start[0] + 1, token.end[0] + 1))
                if token.type == tokenize.OP:
                    depth += (token.string in "([{") - (token.string in ")]}")
        except (tokenize.TokenError, SyntaxError):
            pass
        for i, line in enumerate(lines):
            if i + 1 in inside:
                continue
            text = line.strip()
            front = line[:len(line) - len(line.lstrip())]
            call = None
            given = re.match(r"([\w., ]+?)\s*=\s*([%!])(.*)$", text)
            if given:
                kind = "getoutput" if given.group(2) == "!" else "line_magic"
                call = "%s = get_ipython().%s(%r)" % (given.group(1), kind, given.group(3))
            elif text.startswith("!"):
                call = "get_ipython().system(%r)" % text.lstrip("!")
            elif text.startswith("%"):
                call = "get_ipython().line_magic(%r)" % text[1:]
            elif text.startswith("?") or text.endswith("?"):
                call = "get_ipython().explain(%r)" % text.strip("? ")
            if call:
                lines[i] = front + call + "\n"
        return "".join(lines)

    def expand(self, command):
        import re

        def put(match):
            try:
                return str(eval(match.group(1) or match.group(2), self.ns))
            except Exception:
                return match.group(0)
        return re.sub(r"(?<!\$)\{([^{}]+)\}|\$([A-Za-z_]\w*)\b", put, command)

    def system(self, command):
        child = run_shell(self.expand(command))
        try:
            self.ns["_exit_code"] = child.wait()
        except KeyboardInterrupt:
            self.ns["_exit_code"] = child.wait()

    def getoutput(self, command):
        import subprocess
        child = run_shell(self.expand(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return Lines(child.communicate()[0].decode("utf-8", "replace").splitlines())

    def explain(self, name):
        import inspect
        try:
            value = eval(name, self.ns)
        except Exception:
            print("Object `%s` not found." % name)
            return
        try:
            print("Signature: %s%s" % (name, inspect.signature(value)))
        except (TypeError, ValueError):
            print("String form: %s" % clean(value)[:200])
        print("Docstring:\n%s" % (inspect.getdoc(value) or "<no docstring>"))
        print("Type: %s" % type(value).__name__)

    # Magics.

    def line_magic(self, text):
        name, _, rest = text.strip().partition(" ")
        known = getattr(self, "line_" + name, None)
        if name in ("load_ext", "autoreload", "matplotlib", "config", "colors", "xmode", "pylab"):
            return None
        if known is None:
            raise Usage("Line magic function `%%%s` not found." % name)
        return known(rest.strip())
    magic = line_magic

    def run_line_magic(self, name, line=""):
        return self.line_magic(name + " " + line)

    def cell_magic(self, code):
        head, _, body = code.partition("\n")
        name, _, rest = head[2:].strip().partition(" ")
        known = getattr(self, "cell_" + name, None)
        if known is None:
            raise Usage("Cell magic `%%%%%s` not found." % name)
        known(rest.strip(), body)

    def line_pip(self, rest):
        import importlib.util
        import shlex
        if importlib.util.find_spec("pip") is None:
            print("%s has no pip; install it (python3-pip, or python3 -m ensurepip)."
                  % sys.executable)
            return
        self.system(" ".join([shlex.quote(sys.executable), "-m", "pip", rest]))
        print("Note: you may need to restart the kernel to use updated packages.")

    def line_conda(self, rest):
        print("There is no conda for this kernel; use %pip.")

    def line_cd(self, rest):
        here = os.getcwd()
        os.chdir(self.before or here if rest == "-" else os.path.expanduser(rest or "~"))
        self.before = here
        print(os.getcwd())

    def line_pwd(self, rest):
        return os.getcwd()

    def line_ls(self, rest):
        self.system("ls " + rest)

    def line_env(self, rest):
        name, equals, value = rest.replace(" ", "=", 1).partition("=")
        if not rest:
            return dict(os.environ)
        if not equals:
            return os.environ.get(name)
        os.environ[name] = self.expand(value)
        print("env: %s=%s" % (name, os.environ[name]))
    line_set_env = line_env

    def timed(self, run):
        import time
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            return run()
        finally:
            print("CPU times: total: %.3g s\nWall time: %.3g s"
                  % (time.process_time() - cpu, time.perf_counter() - wall))

    def line_time(self, rest):
        self.timed(lambda: self.execute(rest))

    def line_timeit(self, rest):
        import re
        import timeit
        rest = re.sub(r"^(-\S+\s+)+", "", rest)
        timer = timeit.Timer(rest, globals=self.ns)
        n, took = timer.autorange()
        best = min([took] + timer.repeat(2, n)) / n
        print("%.3g us per loop (best of 3, %d loops each)" % (best * 1e6, n))

    def line_run(self, rest):
        import runpy
        import shlex
        words = shlex.split(rest)
        before, sys.argv = sys.argv, words
        try:
            made = runpy.run_path(words[0], run_name="__main__")
        finally:
            sys.argv = before
        self.ns.update((k, v) for k, v in made.items() if not k.startswith("__"))

    def line_who(self, rest):
        own = ("display", "get_ipython", "Image", "HTML", "exit", "quit")
        names = [n for n in self.ns if not n.startswith("_") and n not in own]
        print("\t ".join(sorted(names)) or "Interactive namespace is empty.")

    def line_reset(self, rest):
        for name in [n for n in self.ns if not n.startswith("__")]:
            del self.ns[name]
        self.__init__(sys.modules["__main__"])

    def cell_bash(self, rest, body):
        self.pipe("bash", body)

    def cell_sh(self, rest, body):
        self.pipe("sh", body)

    def pipe(self, program, body):
        import subprocess
        subprocess.run([program, "-s"], input=body.encode())

    def cell_time(self, rest, body):
        self.timed(lambda: self.execute(body))

    def cell_capture(self, rest, body):
        import contextlib
        import io
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            self.execute(body)
        if rest:
            self.ns[rest.split()[-1]] = out.getvalue()

    def cell_writefile(self, rest, body):
        add = rest.startswith("-a ")
        path = os.path.expanduser(rest[3:].strip() if add else rest)
        there = os.path.exists(path)
        with open(path, "a" if add else "w") as f:
            f.write(body)
        print("%s %s" % ("Appending to" if add else "Overwriting" if there else "Writing", path))


# --- The loop ----------------------------------------------------------------------

class Output:
    """What descriptors 1 and 2 lead to: a cell that closes them does so for itself alone."""

    def __init__(self):
        self.spare = os.dup(1)
        self.pipe = self.what(1)

    @staticmethod
    def what(fd):
        try:
            about = os.fstat(fd)
        except OSError:
            return None
        return about.st_dev, about.st_ino

    def restore(self):
        if self.what(self.spare) != self.pipe:
            return  # that, too, and it may be somebody's file by now
        for fd in (1, 2):
            if self.what(fd) != self.pipe:
                os.dup2(self.spare, fd)


channel = Channel()
output = Output()
running = False


def interrupt(signo, frame):
    if running and channel.sending:
        channel.interrupted = True
    elif running:
        raise KeyboardInterrupt


def run_cell(run, code):
    """Nothing that a cell does may end the loop."""
    global running
    signal.signal(signal.SIGINT, interrupt)
    try:
        try:
            running = True
            run(code)
            show_figures()
        finally:
            running = False
        channel.interrupted = False
    except KeyboardInterrupt:
        show_error("KeyboardInterrupt")
    except BaseException:
        show_error(traceback.format_exc())


def prepare(code):
    """A text of the server's, of which no cell sees more than it gives away."""
    exec(compile(code, "<skills>", "exec"), {"__name__": "agentskills"})


def start(plain):
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    sys.argv = [""]
    if "" not in sys.path:
        sys.path.insert(0, "")
    sys.meta_path.insert(0, PyplotHook())
    why = "IPython made trouble before" if plain else ""
    if not plain:
        try:
            return make_ipython(main), "ipython", why
        except BaseException as e:
            why = "%s: %s" % (type(e).__name__, e)
    python = Plain(main)

    def run(code):
        python.count += 1
        python.run(code)
    return run, "plain", why


def main_loop(plain):
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    signal.signal(signal.SIGINT, interrupt)
    run, mode, why = start(plain)
    channel.send("ready", mode=mode, exe=clean(sys.executable), py=clean(sys.version.split()[0]),
                 why=clean(why))
    while True:
        asked = channel.take()
        if asked["op"] == "exec":
            output.restore()
            run_cell(run, asked["code"])
            if os.getpid() != channel.pid:
                os._exit(0)
            channel.send("done", id=asked["id"])
        elif asked["op"] == "chdir":
            try:
                os.chdir(asked["cwd"])
            except OSError:
                pass
        elif asked["op"] == "prepare":
            try:
                prepare(asked["code"])
            except Exception:
                traceback.print_exc()
