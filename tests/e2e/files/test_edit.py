#!/usr/bin/env python3
"""The editor: the action edit, and read with impl_source oh_aci."""
import errno
import json
import os
import shutil
import signal
import stat
import subprocess

from harness import ME, WRAP, Client, DropIn, action, eq, has, main, ok, proc, request, skip, slim, until

REVIEW = "Review the changes and make sure they are as expected. Edit the file again if necessary."
REVIEW_INSERT = ("Review the changes and make sure they are as expected (correct indentation, no duplicate "
                 "lines, etc). Edit the file again if necessary.")
CUT = ("<response clipped><NOTE>Due to the max output limit, only part of this file has been shown to you. "
       "You should retry this tool after you have searched inside the file with `grep -n` in order to find "
       "the line numbers of what you are looking for.</NOTE>")


def edit(client, command, path, **args):
    return client.act("edit", path=path, command=command, impl_source="oh_aci", **args)


def view(client, path, **args):
    return client.act("read", path=path, impl_source="oh_aci", **args)["content"]


def cat(what, *lines, first=1):
    body = "".join(f"{first + i:6}\t{line}\n" for i, line in enumerate(lines))
    return f"Here's the result of running `cat -n` on {what}:\n{body}"


def put(path, data):
    with open(path, "wb") as f:
        f.write(data)
    return path


def get(path):
    with open(path, "rb") as f:
        return f.read()


def exact(client, want, name, **args):
    answer = client.post("/execute_action", action("edit", 5.0, impl_source="oh_aci", **args))
    return eq(answer.body, json.dumps(want, separators=(",", ":"), ensure_ascii=False).encode(), name)


def observation(path, content, old=None, new=None, diff=""):
    return {"message": f"I edited the file {path}.", "observation": "edit", "content": content,
            "extras": {"path": path, "prev_exist": False, "old_content": old, "new_content": new,
                       "impl_source": "oh_aci", "diff": diff}}


def test_words():
    """A file's life, byte by byte."""
    with Client() as client:
        p = client.work + "/b.py"
        head = f"--- {p}\n+++ {p}\n"
        edited = f"The file {p} has been edited. "
        exact(client, observation(p, f"File created successfully at: {p}",
                                  diff=head + "@@ -0,0 +1,2 @@\n+def f():\n+    return 1"),
              "create", path=p, command="create", file_text="def f():\n    return 1\n")
        exact(client, observation(
            p, edited + cat(f"a snippet of {p}", "def f():", "    return 2", "") + REVIEW, "return 1",
            "return 2", head + "@@ -2 +2 @@\n-    return 1\n+    return 2"),
            "str_replace", path=p, command="str_replace", old_str="return 1", new_str="return 2")
        exact(client, observation(
            p, edited + cat("a snippet of the edited file", "# top", "def f():", "    return 2", "") +
            REVIEW_INSERT, None, "# top", head + "@@ -0,0 +1 @@\n+# top"),
            "insert", path=p, command="insert", insert_line=0, new_str="# top")
        exact(client, observation(
            p, f"Last edit to {p} undone successfully. " + cat(p, "def f():", "    return 2", ""),
            diff=head + "@@ -1 +0,0 @@\n-# top"), "undo_edit", path=p, command="undo_edit")
        exact(client, observation(
            p, f"ERROR:\nNo replacement was performed, old_str `zzz` did not appear verbatim in {p}.",
            "zzz"), "a text that is not there", path=p, command="str_replace", old_str="zzz")
        exact(client, observation(p, cat(p, "def f():", "    return 2", "")), "view", path=p,
              command="view")
        eq(get(p), b"def f():\n    return 2\n", "the file is what was told")
        eq(stat.S_IMODE(os.stat(p).st_mode), 0o666 & ~current_umask(), "its mode is by the umask")


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_view():
    with Client() as client:
        p = put(client.work + "/f", b"one\ntwo\nthree")
        here = cat(p, "one", "two", "three")
        eq(view(client, p), here, "a file")
        eq(view(client, p, view_range=[]), here, "an empty range is none")
        eq(view(client, p, view_range=[2, 3]), cat(p, "two", "three", first=2), "a range")
        eq(view(client, p, view_range=[2, -1]), cat(p, "two", "three", first=2), "to the end")
        eq(view(client, p, view_range=[1, 2]), cat(p, "one", "two"), "no empty line behind it")
        eq(view(client, p, view_range=[3, 9]),
           "NOTE: We only show up to 3 since there're only 3 lines in this file.\n" +
           cat(p, "three", first=3), "beyond the end")
        bad = "ERROR:\nInvalid `view_range` parameter: "
        for given, words in (
                ([1], "[1]. It should be a list of two integers."),
                (["a", None], "['a', None]. It should be a list of two integers."),
                ([1, 2, 3], "[1, 2, 3]. It should be a list of two integers."),
                ([0, 2], "[0, 2]. Its first element `0` should be within the range of lines of the file: [1, 3]."),
                ([4, 5], "[4, 5]. Its first element `4` should be within the range of lines of the file: [1, 3]."),
                ([3, 2], "[3, 2]. Its second element `2` should be greater than or equal to the first element `3`.")):
            eq(view(client, p, view_range=given), bad + words, f"the range {given}")
        empty = put(client.work + "/empty", b"")
        eq(view(client, empty), cat(empty, ""), "an empty file has one empty line")
        answer = client.act("read", path=p, impl_source="oh_aci")
        eq([answer["observation"], answer["extras"]], ["read", {"path": p, "impl_source": "oh_aci"}],
           "it is a read observation")
        big = put(client.work + "/big", b"".join(b"Line %d\n" % i for i in range(1, 16001)))
        text = get(big).decode()[:16000] + CUT
        eq(view(client, big), cat(big, *text.split("\n")), "a long file is cut at 16000 characters")
        wide = put(client.work + "/wide", ("é" * 16001).encode())
        eq(view(client, wide), cat(wide, "é" * 16000 + CUT), "which are no bytes")
        eq(view(client, put(client.work + "/bin", b"\x7fELF\0\0")), "ERROR_BINARY_FILE", "a binary file")
        eq(edit(client, "view", client.work + "/bin")["content"],
           f"ERROR:\nFile validation failed for {client.work}/bin: File appears to be binary and this file "
           "type cannot be read or edited by this tool.", "the same by edit")
        eq(edit(client, "view", put(client.work + "/d.pdf", b"x"))["content"],
           "ERROR:\nError in converting file to Markdown: no converter is part of this sandbox. Please use "
           f"Python code to read {client.work}/d.pdf", "a document")


def test_view_folder():
    with Client() as client:
        top = client.work + "/the dir"
        for name in ("a/b/c", "a/.x", "s-b", ".hid"):
            os.makedirs(os.path.join(top, name))
        for name in ("a/b.txt", "s.txt", "a/$(touch x)"):
            put(os.path.join(top, name), b"")
        os.symlink("a", top + "/link")
        os.symlink("loop", top + "/loop")
        want = [top + "/", *(f"{top}/{n}" for n in (
            "a/", "a/$(touch x)", "a/b/", "a/b.txt", "link/", "link/$(touch x)", "link/b/", "link/b.txt",
            "loop", "s-b/", "s.txt"))]
        head = f"Here's the files and directories up to 2 levels deep in {top}, excluding hidden items:\n"
        tail = (f"\n\n1 hidden files/directories in this directory are excluded. You can use 'ls -la {top}' "
                "to see them.")
        eq(view(client, top), head + "\n".join(want) + tail, "two levels, links followed, hidden ones counted")
        eq(view(client, top + "//./"), head + "\n".join(want) + tail, "the path is normalised")
        eq(view(client, top + "/s-b"), f"Here's the files and directories up to 2 levels deep in {top}/s-b, "
           f"excluding hidden items:\n{top}/s-b/", "an empty folder")
        eq(view(client, top, view_range=[1, 2]), "ERROR:\nInvalid `view_range` parameter: [1, 2]. The "
           "`view_range` parameter is not allowed when `path` points to a directory.", "a range of a folder")
        for i in range(400):
            put(f"{top}/s-b/{i:060}", b"")
        has(view(client, top + "/s-b"), "<response clipped><NOTE>Due to the max output limit, only part of "
            "this directory has been shown to you. You should use `ls -la` instead", "a long list is cut")


def test_checks():
    with Client() as client:
        p = put(client.work + "/f", b"text\n")
        bad = "ERROR:\nInvalid `path` parameter: "

        def refused(name, want, command, path, **args):
            answer = edit(client, command, path, **args)
            eq([answer["content"], answer["extras"]["diff"]], ["ERROR:\n" + want, ""], name)

        refused("no integer", "Invalid insert_line value: 'abc'. Expected an integer.", "insert", "nowhere",
                insert_line="abc", new_str="x")
        for sent, shown in (("f", "f"), ("./f", "f")):
            eq(edit(client, "view", sent)["content"], f"{bad}{shown}. The path should be an absolute path, "
               f"starting with `/`. Maybe you meant {p}?", f"a relative path, {sent}")
        eq(edit(client, "view", "no")["content"],
           f"{bad}no. The path should be an absolute path, starting with `/`.", "one that leads nowhere")
        eq(edit(client, "create", p, file_text="x")["content"], f"{bad}{p}. File already exists at: {p}. "
           "Cannot overwrite files using command `create`.", "create what exists")
        for command in ("view", "str_replace", "nonsense"):
            eq(edit(client, command, p + "x")["content"], f"{bad}{p}x. The path {p}x does not exist. Please "
               "provide a valid path.", f"{command} what does not exist")
        eq(edit(client, "insert", client.work)["content"], f"{bad}{client.work}. The path {client.work} is a "
           "directory and only the `view` command can be used on directories.", "edit a folder")
        eq(edit(client, "create", p + ".pdf", file_text="x")["content"], f"{bad}{p}.pdf. The path {p}.pdf "
           "points to a binary file (.pdf) and only the `view` command can be used on supported binary files.",
           "create a document")
        for command, name, args in (("create", "file_text", {}), ("str_replace", "old_str", {}),
                                    ("str_replace", "old_str", {"old_str": None}),
                                    ("insert", "insert_line", {"new_str": "x"}),
                                    ("insert", "new_str", {"insert_line": 1})):
            refused(f"{command} without {name}", f"Parameter `{name}` is required for command: {command}.",
                    command, p + "new" if command == "create" else p, **args)
        refused("equal texts", "Invalid `new_str` parameter: x. No replacement was performed. `new_str` and "
                "`old_str` must be different.", "str_replace", p, old_str="x", new_str="x")
        refused("an unknown command", "Unrecognized command jump. The allowed commands for the oh_editor tool "
                "are: view, create, str_replace, insert, undo_edit", "jump", p)
        refused("nothing to undo", f"No edit history found for {p}.", "undo_edit", p)
        put(p + "big", b"x" * (12 << 20))
        refused("a large file", f"File validation failed for {p}big: File is too large (12.0MB). Maximum "
                "allowed size is 10MB.", "str_replace", p + "big", old_str="a", new_str="b")
        refused("no folder", f"Ran into [Errno 2] No such file or directory: '{client.work}/no/f' while trying "
                f"to write to {client.work}/no/f", "create", client.work + "/no/f", file_text="x")
        os.mkfifo(client.work + "/fifo")
        has(edit(client, "view", client.work + "/fifo")["content"], "is a named pipe", "a FIFO does not hang")
        has(edit(client, "str_replace", "/dev/zero", old_str="a", new_str="b")["content"],
            "is a character device", "nor does a device")
        with open(client.work + "/sparse", "wb") as f:
            f.truncate(1 << 40)
        has(edit(client, "insert", client.work + "/sparse", insert_line=0, new_str="x")["content"],
            "File is too large (1048576.0MB)", "nor does a terabyte of nothing")
        has(edit(client, "view", "/proc/kmsg")["content"], "ERROR:", "nor does a file of /proc that waits")
        has(edit(client, "view", "/proc/self/status")["content"], "\tState:\tR", "other ones are shown")
        has(edit(client, "view", "/a\0b")["content"], "NUL", "a path with NUL")
        has(edit(client, "create", "/" + "x/" * 3000, file_text="")["content"], "too long", "a long path")


def test_order_of_checks():
    """Of several things that are wrong the contract names one first."""
    with Client() as client:
        big = put(client.work + "/big", b"x" * (11 << 20))
        binary = put(client.work + "/bin", b"\x7fELF\0\0")
        for command, path, args, words in (
                ("insert", "rel", {"insert_line": "x"}, "Invalid insert_line value: 'x'"),
                ("create", "rel", {}, "The path should be an absolute path"),
                ("create", big, {}, "File already exists at"),
                ("nonsense", client.work + "/no", {}, "does not exist"),
                ("nonsense", client.work, {}, "is a directory and only"),
                ("nonsense", put(client.work + "/x.PDF", b""), {}, "binary file (.PDF)"),
                ("undo_edit", put(client.work + "/x.wav", b""), {}, "binary file (.wav)"),
                ("str_replace", big, {}, "Parameter `old_str` is required for command: str_replace."),
                ("insert", binary, {}, "Parameter `insert_line` is required for command: insert."),
                ("insert", big, {"insert_line": 99}, "Parameter `new_str` is required"),
                ("str_replace", big, {"old_str": "a", "new_str": "a"}, "must be different"),
                ("nonsense", big, {}, "Unrecognized command nonsense."),
                ("undo_edit", big, {}, "File is too large (11.0MB)"),
                ("view", binary, {}, "appears to be binary"),
                ("insert", binary, {"insert_line": 99, "new_str": ""}, "appears to be binary"),
                ("str_replace", binary, {"old_str": "zzz"}, "appears to be binary")):
            has(edit(client, command, path, **args)["content"], words, f"{command} {path}: {words}")


def test_words_of_clients():
    """Rows of the backend's own tests that no other test here has."""
    with Client() as client:
        p = client.work + "/f"
        edit(client, "create", p, file_text="")
        eq(view(client, p), cat(p, ""), "an empty file that was created")
        put(p, b"Line 1\nLine 3")
        has(edit(client, "insert", p, insert_line=1, new_str="")["content"],
            "     1\tLine 1\n     2\t\n     3\tLine 3", "an empty line inserted")
        has(edit(client, "str_replace", p, new_str="x")["content"], "`old_str`", "no old_str")
        before = "".join(f"line {i}\n" for i in range(200))
        put(p, before.encode())
        eq(edit(client, "insert", p, insert_line="185", new_str="here")["content"].count("   186\there\n"), 1,
           "a number in a string")
        edit(client, "undo_edit", p)
        eq(get(p), before.encode(), "undone")
        has(edit(client, "view", p)["content"], "   200\tline 199\n   201\t\n", "view by edit")
        eq(edit(client, "view", p + "//.//")["content"], edit(client, "view", p)["content"],
           "a path with more slashes than it needs")


def test_many_edits():
    """A thousand edits of a file of a thousand lines."""
    def rss():
        return int(proc(client.pid, "status").split(b"VmRSS:")[1].split()[0])
    with Client() as client:
        p = put(client.work + "/f", b"".join(b"line %d %s\n" % (i, b"x" * 60) for i in range(999)) +
                b"-content_0\n")
        good = 0
        for i in range(1000):
            if i == 100:
                before = rss()
            good += f"The file {p} has been edited." in edit(
                client, "str_replace", p, old_str=f"-content_{i}\n", new_str=f"-content_{i + 1}\n")["content"]
        eq(good, 1000, "all are done")
        has(view(client, p, view_range=[1000, 1000]), "-content_1000", "the last one is seen")
        slim(rss() - before, 1024, "KiB of growth: what is kept for undoing has an end")


def test_str_replace():
    with Client() as client:
        p = client.work + "/f"

        def replaced(name, before, after, old, new, content=None):
            put(p, before)
            answer = edit(client, "str_replace", p, old_str=old, new_str=new)
            eq(get(p), after, name)
            if content is not None:
                eq(answer["content"], content, f"{name}: the words")
            return answer["content"]

        def kept(name, before, old, new, words):
            has(replaced(name, before, before, old, new), words, f"{name}: the words")

        replaced("several lines and tabs, without a last line end", b"def test():\n\tpass", b"def test():\n\tprint(\"\")",
                 "def test():\n\tpass", "def test():\n\tprint(\"\")",
                 f"The file {p} has been edited. " +
                 cat(f"a snippet of {p}", "def test():", "\tprint(\"\")") + REVIEW)
        replaced("nothing in place of it", b"a\nb\nc\n", b"a\nc\n", "b\n", "")
        replaced("no new_str at all", b"a\nb\n", b"a\n\n", "b", None)
        replaced("blanks around it are forgiven", b"x = 1\n", b"x = 2\n", "  x = 1 \n\n", " x = 2\u3000")
        replaced("an empty text in an empty file", b"", b"new", "", "new")
        kept("two lines", b"test\ntest\n", "test", "x", "Multiple occurrences of old_str `test` in lines [1, 2].")
        kept("one line is named once", b"aa\n", "a", "x", "in lines [1].")
        kept("where they begin", b"a\nb\n1\n2\n3\n4\na\nb\n", "a\nb", "x", "in lines [1, 7]")
        kept("an empty text", b"a\nb\nc\n", "", "x", "Multiple occurrences of old_str `` in lines [1, 2, 3, 4]. "
             "Please ensure it is unique.")
        kept("only blanks", b"ab\n", "   ", "x", "Multiple occurrences of old_str `` in lines [1, 2]")
        kept("what is not there, stripped", b"ab\n", " no ", "x", "old_str `no` did not appear verbatim")
        lines = "".join(f"{i}\n" for i in range(1, 21))
        got = replaced("far from the start", lines.encode(), lines.replace("10\n", "x\ny\n").encode(), "10\n",
                       "x\ny\n")
        has(got, cat(f"a snippet of {p}", "7", "8", "9", "x", "y", "11", "12", "13", "14", "15", "", first=7),
            "four lines around it")


def test_insert():
    with Client() as client:
        p = client.work + "/f"
        for before, line, new, after in (
                (b"a\nb\n", 1, "x", b"a\nx\nb\n"), (b"a\nb\n", "2", "x\ny", b"a\nb\nx\ny\n"),
                (b"a\nb", 2, "X", b"a\nb\nX\n"), (b"a\nb\n", 1, "", b"a\n\nb\n"), (b"", 0, "x", b"x\n"),
                (b"a\n", " 1 ", "x\n", b"a\nx\n\n"), (b"a\n", 1.0, "x", b"a\nx\n")):
            put(p, before)
            edit(client, "insert", p, insert_line=line, new_str=new)
            eq(get(p), after, f"{new!r} behind line {line!r} of {before!r}")
        for line in (-1, 3, 10**18):
            put(p, b"a\nb\n")
            eq(edit(client, "insert", p, insert_line=line, new_str="x")["content"],
               f"ERROR:\nInvalid `insert_line` parameter: {line}. It should be within the range of allowed "
               "values: [0, 2]", f"line {line}")
        put(p, b"".join(b"%d\n" % i for i in range(1, 21)))
        has(edit(client, "insert", p, insert_line=10, new_str="x\ny")["content"],
            cat("a snippet of the edited file", "7", "8", "9", "10", "x", "y", "11", "12", "13", "14", "",
                first=7), "four lines around it")


def test_undo():
    with Client() as client:
        p = client.work + "/f"
        edit(client, "create", p, file_text="0")
        has(edit(client, "undo_edit", p)["content"], "undone successfully", "a new file can be undone, as it is")
        eq(get(p), b"0", "to itself")
        for i in range(12):
            edit(client, "str_replace", p, old_str=str(i), new_str=str(i + 1))
        for i in range(10):
            edit(client, "undo_edit", p)
        eq(get(p), b"2", "ten edits are remembered")
        has(edit(client, "undo_edit", p)["content"], f"No edit history found for {p}.", "and no more")
        raw = b"\xef\xbb\xbfa\r\nb\rc\xff\n"
        q = put(client.work + "/q", raw)
        edit(client, "str_replace", q, old_str="b", new_str="B")
        edit(client, "undo_edit", "/" + q)
        eq(get(q), raw, "every byte comes back")
        edit(client, "insert", q, insert_line=0, new_str="x")
        os.unlink(q)
        has(edit(client, "undo_edit", q)["content"], "does not exist", "a file that is gone stays so")


def test_bytes():
    """What an edit is not about stays as it is."""
    latin, gbk = "na\u00efve caf\u00e9\n".encode("latin-1"), "汉字\nabc\n".encode("gbk")
    with Client() as client:
        p = client.work + "/f"
        for name, before, old, new, after in (
                ("CR LF", b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
                ("CR", b"a\rb\rc", "b", "x\ny", b"a\rx\ry\rc"),
                ("a mixture", b"a\nb\r\nc\n", "c", "d", b"a\nb\r\nd\n"),
                ("a CR LF asked for", b"a\nb\n", "a", "a\r", b"a\r\nb\n"),
                ("old text with CR LF", b"a\r\nb\r\n", "a\r\nb", "c", b"c\r\n"),
                ("a mark", b"\xef\xbb\xbfa\n", "a", "b", b"\xef\xbb\xbfb\n"),
                ("Latin-1", latin, "caf\u00e9", "th\u00e9", latin.replace(b"caf", b"th")),
                ("GBK", gbk, "abc", "abd", gbk.replace(b"abc", b"abd")),
                ("no last line end", b"a\nb", "b", "c", b"a\nc"),
                ("NUL-free garbage", b"\xc3(\xa0\xa1 a \xf0(\n", " a ", " b ", b"\xc3(\xa0\xa1 b \xf0(\n")):
            put(p, before)
            edit(client, "str_replace", p, old_str=old, new_str=new)
            eq(get(p), after, name)
        put(p, gbk)
        has(edit(client, "str_replace", p, old_str="abc", new_str="字")["content"], "is not UTF-8",
            "what the file's bytes cannot hold is refused")
        eq(get(p), gbk, "and changes nothing")
        wide = "a\n".encode("utf-16")
        put(p, wide)
        has(edit(client, "str_replace", p, old_str="a", new_str="b")["content"], "is UTF-16", "UTF-16 is refused")
        eq(get(p), wide, "and stays")
        put(p, latin)
        has(view(client, p), "na\u00efve caf\u00e9", "Latin-1 is readable")
        put(p, b"\xef\xbb\xbfa\r\nb\r\n")
        eq(view(client, p), cat(p, "a", "b", ""), "marks and CR are not shown")
        edit(client, "insert", p, insert_line=0, new_str="top")
        eq(get(p), b"\xef\xbb\xbftop\r\na\r\nb\r\n", "insert is behind the mark, with the file's line ends")


def test_inodes():
    """Mode, owner, links and attributes survive."""
    with Client() as client:
        p = put(client.work + "/f", b"a\n")
        os.chmod(p, 0o751)
        os.symlink("f", client.work + "/link")
        edit(client, "str_replace", client.work + "/link", old_str="a", new_str="b")
        eq([get(p), stat.S_IMODE(os.stat(p).st_mode), os.path.islink(client.work + "/link")],
           [b"b\n", 0o751, True], "a mode and a symbolic link")
        os.link(p, client.work + "/twin")
        edit(client, "insert", p, insert_line=1, new_str="c")
        eq(get(client.work + "/twin"), b"b\nc\n", "a hard link")
        os.unlink(client.work + "/twin")
        try:
            os.setxattr(p, "user.note", b"mine")
            edit(client, "insert", p, insert_line=1, new_str="d")
            eq(os.getxattr(p, "user.note"), b"mine", "an attribute")
        except OSError:
            skip("an attribute", "not on this file system")
        eq(sorted(os.listdir(client.work)), ["f", "link"], "nothing else is left in the folder")


def test_sandbox_user():
    """Root's server acts with the rights of the user."""
    if os.geteuid():
        return skip("the user's rights", "needs root")
    with Client("--username", "nobody", user=False, env={"SU_TO_USER": None,
                                                         "RUNTIME_USERNAME": "nobody"}) as client:
        os.chmod(client.top, 0o755)
        uid = int(client.run("id -u")["content"])
        ok(uid != 0, "the user is not root")
        for name, act in (("e", lambda p: edit(client, "create", p, file_text="x")),
                          ("w/w", lambda p: client.act("write", path=p, content="x"))):
            act(f"{client.work}/{name}")
            eq(os.stat(f"{client.work}/{name}").st_uid, uid, f"{name} is his")
        eq(os.stat(client.work + "/w").st_uid, uid, "so is the new folder")
        secret = put(client.top + "/secret", b"root's\n")
        os.chmod(secret, 0o600)
        os.symlink(secret, client.work + "/link")
        for name, answer in (("view", edit(client, "view", client.work + "/link")),
                             ("edit", edit(client, "str_replace", client.work + "/link", old_str="root",
                                           new_str="mine")),
                             ("read", client.act("read", path=client.work + "/link")),
                             ("write", client.act("write", path=client.work + "/link", content=""))):
            has(answer["content"], "ermission denied", f"{name} through a link to what he may not")
        eq(get(secret), b"root's\n", "which stays")
        open_one = put(client.top + "/open", b"a\n")
        os.chmod(open_one, 0o4777)
        edit(client, "str_replace", open_one, old_str="a", new_str="b")
        eq([get(open_one), oct(os.stat(open_one).st_mode), os.stat(open_one).st_uid],
           [b"b\n", "0o100777", 0], "root's file that all may write: in place, without its set-id bit")
        other = put(client.top + "/other", b"a\n")
        os.chmod(other, 0o644)
        os.chmod(secret, 0o600)
        for command, more in (("str_replace", {"old_str": "a", "new_str": "b"}),
                              ("insert", {"insert_line": 0, "new_str": "b"})):
            for path, what in ((other, "write to"), (secret, "read")):
                text = edit(client, command, path, **more)["content"]
                has(text, f"ERROR:\nRan into [Errno 13] Permission denied: '{path}' while trying to {what} {path}",
                    f"{command}: what fails is to {what} the file")
        has(edit(client, "str_replace", other, old_str="none", new_str="b")["content"],
            "did not appear verbatim", "what is not there is reported first")
        has(client.act("write", path=other, content="b")["content"], "ermission denied", "write is refused as well")
        eq(get(other), b"a\n", "which changes nothing")
        own = put(client.work + "/own", b"a\n")
        os.chown(own, uid, uid)
        os.chmod(own, 0o6755)
        edit(client, "str_replace", own, old_str="a", new_str="b")
        eq(oct(os.stat(own).st_mode), "0o100755", "his own loses them, too")


def test_diff():
    """Who gets a diff: all but a backend that may be too old, whatever the library that it uses."""
    agents = ("python-requests/2.32", "python-httpx/0.28", None)

    def check(client, there, name):
        p = put(client.work + "/f", b"a\n")
        body = action("edit", 5.0, path=p, command="view")
        for agent in agents:
            answer = client.ask(request("POST", "/execute_action", body, User_Agent=agent)).json()
            eq("diff" in answer["extras"], there, f"{name}, {agent}")
    with Client() as client:
        check(client, True, "a server that is not the drop-in")
    if WRAP:
        return skip("the drop-in", "under a wrapper argv[0] is not that of the client")
    with DropIn("--no-enable-browser", user=ME) as client:
        client.run("true", hidden=False, blocking=False)
        check(client, False, "the drop-in, and a client of an unknown age")
        client.run("true", hidden=False, blocking=False, is_static=False)
        check(client, True, "the drop-in, and a client of 0.34 or later")


def test_line():
    """Edits of one file take their turns."""
    with Client() as client:
        p = put(client.work + "/f", b"".join(b"<%d>\n" % i for i in range(40)))
        conns = [client.conn() for _ in range(40)]
        for i, conn in enumerate(conns):
            conn.send(request("POST", "/execute_action", action(
                "edit", path=p, command="str_replace", old_str=f"<{i}>", new_str=f"[{i}]")))
        got = [conn.response().json()["content"] for conn in conns]
        ok(all("has been edited" in text for text in got), "all are done")
        eq(get(p), b"".join(b"[%d]\n" % i for i in range(40)), "none is lost")
        conns[0].send(request("POST", "/execute_action", action(
            "edit", path=p, command="insert", insert_line=0, new_str="last"))).close()
        edit(client, "insert", p, insert_line=0, new_str="x")
        has(get(p).decode(), "last", "whoever leaves has his edit all the same")
        for conn in conns:
            conn.close()


# What fails, with which error, while a file is changed.
INJECTED = [("write", "ENOSPC"), ("write", "EDQUOT"), ("write", "EIO"), ("pwrite64", "ENOSPC"),
            ("pwrite64", "EIO"), ("fchmod", "EPERM"), ("renameat", "EIO"), ("renameat", "EBUSY"),
            ("ftruncate", "EIO"), ("close", "EIO"), ("openat", "EIO"), ("unlinkat", "EIO")]
MOST = 40


def burn(client, serve, n):
    """The server's own calls are counted as the job's are: it makes the n-th of them for nothing."""
    for _ in range(n):
        with client.conn() as conn:
            os.kill(serve, signal.SIGCHLD)
            conn.send(request("GET", "/alive", Connection="close")).response()


class Injection:
    """Call number n of each process fails, or "1+" for all, as long as the block runs."""

    def __init__(self, client, call, name, n):
        self.client, self.n = client, n
        self.serve = client.pid
        self.path = client.top + "/trace"
        self.argv = ["strace", "-f", "-qq", "-o", self.path, "-p", str(self.serve), "-e", f"trace={call}",
                     "-e", f"inject={call}:error={name}:when={n}"]
        self.hit = False

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, stderr=subprocess.PIPE)
        until(lambda: b"TracerPid:\t0\n" not in proc(self.serve, "status") or
              self.process.poll() is not None, step=0.002)
        if self.process.poll() is None and self.n != "1+":
            burn(self.client, self.serve, self.n)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        self.process.stderr.close()
        with open(self.path) as f:
            lines = [line for line in f if "INJECTED" in line]
        self.hit = any(int(line.split()[0]) != self.serve for line in lines)


def can_inject(client):
    with Injection(client, "write", "EIO", 1) as trial:
        return trial.process.poll() is None


def test_injected_errors():
    """Whatever fails, and whenever: the file is the old one or the new one, and the answer is true."""
    if not shutil.which("strace"):
        return skip("injected errors", "strace is not here")
    with Client() as client:
        if not can_inject(client):
            return skip("injected errors", "strace may not trace here")
        for kind in ("a file of one name", "a file of two names", "a new file"):
            for call, name in INJECTED:
                n = 1
                while n < MOST and inject_one(client, kind, call, name, n):
                    n += 1
                ok(n < MOST, f"{kind}, {call}: {name} at each of {n - 1} calls")
    return None


def inject_one(client, kind, call, name, n):
    """True if call number n of the job was made to fail; that the file is whole is checked."""
    old = b"old text\n" * 600
    new = old.replace(b"old text\n", b"new text, which is longer\n", 1)
    folder = client.work + "/d"
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    p = folder + "/f"
    if kind == "a new file":
        old = None
        change = {"command": "create", "file_text": new.decode()}
    else:
        put(p, b"first\n" + old)
        old, new = b"first\n" + old, b"second, which is longer\n" + old
        change = {"command": "str_replace", "old_str": "first", "new_str": "second, which is longer"}
    if kind == "a file of two names":
        os.link(p, client.work + "/twin")
    with Injection(client, call, name, n) as injection:
        answer = edit(client, path=p, **change)["content"]
    now = get(p) if os.path.exists(p) else None
    left = sorted(os.listdir(folder))
    if os.path.exists(client.work + "/twin"):
        os.unlink(client.work + "/twin")
    what = f"{kind}, {call} {n}: {name}: {answer[:300]!r}, left {left}"
    if "may have been changed" in answer:
        good = now in (old, new)
    elif answer.startswith("ERROR:"):
        good = now == old and os.strerror(getattr(errno, name)) in answer
    else:
        good = now == new
    # A file that could not be removed again is all that may lie about.
    if not good or (left != (["f"] if now else []) and call != "unlinkat"):
        ok(False, what)
    return injection.hit


if __name__ == "__main__":
    main()
