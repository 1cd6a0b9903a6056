#!/usr/bin/env python3
"""Answers that clients of every version from 0.24 to 0.62 can read.

An old client makes an object of an answer's extras, member by member, and fails on one
that its version does not know. Each version's requests are played here as that version
sends them, and the answers are read as it reads them, by the table of members.
"""
import functools
import json

import harness
from browsers import FLAGS, needs_browser
from harness import ME, DropIn, WRAP, action, eq, ok, request, skip

# The first version that knows a member; those of 0.23 and before need no number.
MEMBERS = {
    "run": {"command": 0, "metadata": 0, "hidden": 0},
    "read": {"path": 0, "impl_source": 0},
    "write": {"path": 0},
    "edit": {"path": 0, "prev_exist": 0, "old_content": 0, "new_content": 0, "impl_source": 0,
             "_diff_cache": 24, "diff": 28},
    "run_ipython": {"code": 0, "image_urls": 40},
    "browse": {"url": 0, "screenshot": 0, "error": 0, "open_pages_urls": 0,
               "active_page_index": 0, "dom_object": 0, "axtree_object": 0,
               "extra_element_properties": 0, "last_browser_action": 0,
               "last_browser_action_error": 0, "focused_element_bid": 0,
               "trigger_by_action": 0, "set_of_marks": 0, "goal_image_urls": 0,
               "screenshot_path": 38, "filter_visible_only": 47},
    "error": {"error_id": 0},
}
# Members without a default: their absence is as fatal.
REQUIRED = {
    "run": {"command"}, "read": {"path"}, "write": {"path"}, "run_ipython": {"code"},
    "edit": {"path"}, "browse": {"url", "trigger_by_action"}, "error": set(),
}
# Versions before and after each change.
VERSIONS = [24, 27, 28, 30, 31, 37, 38, 39, 40, 42, 43, 46, 47, 50, 53, 62]


def arguments(version, name, args):
    """What a client of this version adds to them."""
    if name == "run":
        args = {"thought": "", "is_input": False, "blocking": False, "hidden": False, **args}
        if version >= 34:
            args = {"is_static": False, "cwd": None, **args}
    if name == "browse" and version >= 43:
        args = {"return_axtree": False, **args}
    return args


def unknown(version, answer):
    """The members on which a client of this version fails; empty when it can read the answer."""
    kind = answer["observation"]
    if kind not in MEMBERS:
        return {"observation " + kind}
    got = set(answer["extras"])
    return ({m for m in got if MEMBERS[kind].get(m, 99) > version} |
            {m + " is missing" for m in REQUIRED[kind] - got})


def play(client, version, name, **args):
    data = request("POST", "/execute_action", action(name, 60, **arguments(version, name, args)))
    got = client.ask(data, 60 * harness.SLOW)
    eq(got.status, 200, f"0.{version}: {name} is answered with 200")
    answer = json.loads(got.body)
    eq(unknown(version, answer), set(), f"0.{version} can read the answer to {name}")
    return answer


def drop_in(test):
    """A test of the drop-in, which is skipped where it cannot have that name."""
    @functools.wraps(test)
    def run():
        if WRAP:
            skip(test.__name__, "under a wrapper argv[0] is not that of the client")
        else:
            test()
    return run


@drop_in
def test_shell_and_files():
    """A backend is of one version, and what it sends first may be an edit."""
    for versions in [v for v in VERSIONS if v < 34], [v for v in VERSIONS if v >= 34]:
        with DropIn("--no-enable-browser", user=ME) as client:
            for version in versions:
                play(client, version, "edit", path=f"{client.work}/{version}", command="create", file_text="a")
                play(client, version, "run", command='export K="v";')
                play(client, version, "write", path=f"{client.work}/f", content="a\nb\n")
                play(client, version, "read", path=f"{client.work}/f")
                play(client, version, "read", path=f"{client.work}/none")
                got = play(client, version, "edit", path=f"{client.work}/f", command="str_replace",
                           old_str="a", new_str=f"{version}")
                eq("diff" in got["extras"], version >= 34, f"0.{version}: a diff for a client that is known to know it")


@drop_in
def test_cells():
    with DropIn("--plugins", "jupyter", "--no-enable-browser", user=ME) as client:
        for version in VERSIONS:
            answer = play(client, version, "run_ipython", code="print(1)")
            ok(answer["content"].startswith("1"), "the cell was executed", answer)


@drop_in
@needs_browser
def test_pages():
    with DropIn(user=ME, env={"OD_BROWSER_FLAGS": FLAGS}) as client:
        for version in VERSIONS:
            args = {"return_axtree": False} if version >= 43 else {}
            answer = play(client, version, "browse", url="data:text/html,hello")
            ok("hello" in answer["content"], "the page was read", answer["content"])
            eq("screenshot_path" in answer["extras"], version >= 43,
               "the screenshot's path is told to a client that is known to know it")
            play(client, version, "browse_interactive", browser_actions="noop(1)", **args)
            play(client, version, "browse_interactive", browser_actions="click('none')",
                 **args)


if __name__ == "__main__":
    harness.main()
