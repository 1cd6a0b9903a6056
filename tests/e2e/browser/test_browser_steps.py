#!/usr/bin/env python3
"""The steps that the reference was recorded with: the same errors, tabs, places and focus."""
import ast
import functools
import http.server
import os
import re

from harness import TOP, eq, main, ok, skip
from browsers import Quiet, Site, do, needs_browser, start

DATA = os.path.join(TOP, "../shared/data/browser")
PAGES = os.path.join(DATA, "pages")
STEPS = os.path.join(DATA, "upstream-steps.txt")
PORT, FOLDER = "38583", "/srv/site"  # when it was recorded


class Files(Quiet, http.server.SimpleHTTPRequestHandler):
    pass


def recorded(port):
    """Each step: its text, and what is known behind it."""
    here = {PORT: str(port), FOLDER: os.path.realpath(PAGES)}
    with open(STEPS, encoding="utf-8") as f:
        text = f.read()
    for old, new in here.items():
        text = text.replace(old, new)
    pattern = re.compile(r"^##### (.*)  took .*\n  url (\S+) \| open (.*) \| idx (\d+) \| focus (.*)\n"
                         r"  err (.*)\n(dl )?", re.M)
    for step, url, pages, index, focus, error, file in pattern.findall(text):
        yield (ast.literal_eval(step), url, list(ast.literal_eval(pages)), int(index),
               ast.literal_eval(focus), ast.literal_eval(error), bool(file))


def told(error):
    """A machine that is busy tries less often: what was tried counts, not how often."""
    if not error.startswith("TimeoutError"):
        return error
    return sorted({re.sub(r"^[ -]*(\d+ \u00d7 )?", "", line) for line in error.splitlines()
                   if "waiting 1" not in line and "waiting 5" not in line and "waiting 2" not in line})


@needs_browser
def test_steps():
    if not os.path.exists(STEPS):
        skip("the steps of the reference", "its data are not here")
        return
    site = Site(functools.partial(Files, directory=PAGES))
    steps = 0
    with start() as client:
        for step, url, pages, index, focus, error, file in recorded(site.port):
            got = do(client, step)
            steps += 1
            if file:
                # The reference tells of it later; a link's may begin behind its click.
                ok(got["observation"] == "download" or not error, step, got["content"])
                continue
            extras = got["extras"]
            eq((told(extras["last_browser_action_error"]), extras["url"], extras["open_pages_urls"],
                extras["active_page_index"], extras["focused_element_bid"]),
               (told(error), url, pages, index, focus), step or "no step")
    ok(steps >= 45, f"{steps} steps")


@needs_browser
def test_places():
    page = "data:text/html,<body onmousedown='document.title=event.clientX'>"
    with start(env={"OD_BROWSER_COORD": "1"}) as client:
        got = do(client, f'goto("{page}")', "mouse_click(33, 44)")
        eq(got["extras"]["last_browser_action_error"], "", "places are known where they are asked for")
        ok("RootWebArea '33'" in got["content"], "the page was clicked there", got["content"])


if __name__ == "__main__":
    main()
