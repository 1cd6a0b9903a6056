# The skills as functions of a kernel: each calls the program of its name, which prints
# what the function shall print. Runs on Python 3.6 and newer with nothing but its
# standard library, in whatever kernel: install() is called behind this text.
import json
import os
import sys

__all__ = ["open_file", "goto_line", "scroll_down", "scroll_up", "search_dir", "search_file",
           "find_file", "parse_pdf", "parse_docx", "parse_latex", "parse_pptx", "file_editor"]

STATE = "OD_SKILLS"  # where the programs remember the open file, for each kernel
EXIT_USAGE = 100


def find_folder():
    """Ours is the last one on the PATH; a program of the image may have such a name."""
    for path in reversed(os.environ.get("PATH", "").split(os.pathsep)):
        if os.access(os.path.join(path, "scroll_down"), os.X_OK):
            return path
    return "/.od/bin"


folder = find_folder()
state = os.environ.get(STATE)
maybe_int = int | None if sys.version_info >= (3, 10) else "int | None"
maybe_str = str | None if sys.version_info >= (3, 10) else "str | None"


def call(name, **args):
    """What the program of that name prints."""
    import subprocess
    env = dict(os.environ)
    if state:
        env[STATE] = state  # a cell may have changed its environment
    try:
        child = subprocess.Popen([os.path.join(folder, name), "--json"], env=env, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except FileNotFoundError as e:
        raise RuntimeError("there is no %s: od-plugins is missing beside od-runtime-client"
                           % e.filename) from None
    try:
        out, err = child.communicate(json.dumps(args, default=str).encode())
    except BaseException:
        child.kill()
        child.wait()
        raise
    if child.returncode not in (0, 1):
        if child.returncode == EXIT_USAGE:
            raise ValueError("%s does not take these arguments: %r" % (name, args))
        raise RuntimeError("%s ended with status %d %s" % (
            name, child.returncode, err.decode("utf-8", "replace")))
    return out.decode("utf-8", "surrogateescape")


def show(name, **args):
    sys.stdout.write(call(name, **args).encode("utf-8", "replace").decode())


def number(value):
    """Only whole numbers are numbers of lines; the program will say so of others."""
    return int(value) if isinstance(value, int) else repr(value)


def open_file(path: str, line_number: maybe_int = 1, context_lines: maybe_int = 100) -> None:
    """Opens a file and shows the lines around one of them.

    Args:
        path: The file, which stays open for the functions that follow.
        line_number: The line to be shown, from 1 on.
        context_lines: How many lines to show, 100 at most.
    """
    show("open_file", path=path, line_number=number(line_number),
         context_lines=number(context_lines))


def goto_line(line_number: int) -> None:
    """Shows the lines around one of the open file.

    Args:
        line_number: The line to be shown, from 1 on.
    """
    show("goto_line", line_number=number(line_number))


def scroll_down() -> None:
    """Shows the next 100 lines of the open file."""
    show("scroll_down")


def scroll_up() -> None:
    """Shows the 100 lines before those that are shown of the open file."""
    show("scroll_up")


def search_dir(search_term: str, dir_path: str = "./") -> None:
    """Looks for a text in all files of a folder and of those below it.

    Args:
        search_term: The text.
        dir_path: The folder.
    """
    show("search_dir", search_term=search_term, dir_path=dir_path)


def search_file(search_term: str, file_path: maybe_str = None) -> None:
    """Looks for a text in a file.

    Args:
        search_term: The text.
        file_path: The file; the open one if there is none given.
    """
    show("search_file", search_term=search_term, file_path=file_path)


def find_file(file_name: str, dir_path: str = "./") -> None:
    """Looks for files by a part of their names, in a folder and those below it.

    Args:
        file_name: The part of the name.
        dir_path: The folder.
    """
    show("find_file", file_name=file_name, dir_path=dir_path)


def find_pdf_reader():
    for name in ("pypdf", "PyPDF2"):
        try:
            return __import__(name).PdfReader
        except (ImportError, AttributeError):
            pass
    return None


def parse_pdf(file_path: str) -> None:
    """Prints the text of a PDF document, page by page.

    Args:
        file_path: The document.
    """
    reader = find_pdf_reader()
    if reader is None:
        show("parse_pdf", file_path=file_path)
        return
    print("[Reading PDF file from %s]" % file_path)
    pages = enumerate(reader(file_path).pages, 1)
    print("".join("@@ Page %d @@\n%s\n\n" % (i, page.extract_text()) for i, page in pages).strip())


def parse_docx(file_path: str) -> None:
    """Prints the text of a Word document, paragraph by paragraph.

    Args:
        file_path: The document.
    """
    show("parse_docx", file_path=file_path)


def parse_latex(file_path: str) -> None:
    """Prints the text of a LaTeX document.

    Args:
        file_path: The document.
    """
    show("parse_latex", file_path=file_path)


def parse_pptx(file_path: str) -> None:
    """Prints the text of a presentation, slide by slide.

    Args:
        file_path: The presentation.
    """
    show("parse_pptx", file_path=file_path)


def file_editor(command, path, file_text=None, view_range=None, old_str=None, new_str=None,
                insert_line=None, enable_linting=False) -> str:
    """Views, creates and edits files.

    Args:
        command: view, create, str_replace, insert or undo_edit.
        path: The file or folder, absolute.
        file_text: Of create: what the file shall hold.
        view_range: Of view: the first and the last line; -1 is the end.
        old_str: Of str_replace: the text to be replaced, which must stand there once.
        new_str: Of str_replace and insert: the new text.
        insert_line: Of insert: the line behind which it goes; 0 is the beginning.
        enable_linting: Not used.

    Returns:
        The result, as JSON between two lines that mark it.
    """
    text = call("file_editor", command=command, path=path, file_text=file_text,
                view_range=view_range, old_str=old_str, new_str=new_str, insert_line=insert_line)
    return text[:-1] if text.endswith("\n") else text


# The names under which they are imported; a module that is really there goes first.
PACKAGES = ("openhands.runtime.plugins.agent_skills", "opendevin.runtime.plugins.agent_skills")
PARTS = ("agentskills", "file_ops", "file_reader", "file_editor")


class Finder:
    """Makes the modules when they are asked for."""

    def __init__(self):
        self.full = {"agentskills"} | {"%s.%s" % (p, n) for p in PACKAGES for n in PARTS}
        self.empty = {p.rsplit(".", i)[0] for p in PACKAGES for i in range(4)}

    def find_spec(self, name, path=None, target=None):
        if name not in self.full and name not in self.empty:
            return None
        from importlib.machinery import ModuleSpec
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        if module.__name__ in self.full:
            module.__all__ = list(__all__)
            vars(module).update(names())


def names():
    return {name: globals()[name] for name in __all__}


def install(namespace=None):
    """Makes the functions importable; puts them into a namespace, too."""
    sys.meta_path.append(Finder())
    if namespace is not None:
        namespace.update(names())
