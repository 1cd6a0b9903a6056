#!/usr/bin/env python3
"""Many steps over pages of many kinds in one session: each shows its own page, and nothing is left of them.

OD_BROWSER_STEPS says how many; by hand 1000, which take some minutes."""
import os
import re
import urllib.parse

from harness import eq, main, note, ok, own_kib, under
import browsers
from browsers import Site, bid_of, do, error, needs_browser, plugin, start

STEPS = int(os.environ.get("OD_BROWSER_STEPS", "0"))
MEMORY = 4096  # KiB: what musl keeps of a page that was the largest so far
ROWS = "".join(f"<tr><td>{i}<td><a href=/{i}>row {i}</a>" for i in range(400))

# By name; M stands for the mark of the step, which its answer must have.
SERVED = {
    "plain": "<title>M</title><h1>M</h1><p>words",
    "target": "<h1>M</h1>",
    "form": "<title>form</title><form><input value=M><textarea>text</textarea><select><option>a<option>b"
            "</select><input type=checkbox checked><input type=date><button>Go</button></form>",
    "frames": "<title>frames</title><iframe src='target?M'></iframe><iframe src='target?M'></iframe>",
    "nested": "<title>nested</title><iframe srcdoc=\"<iframe srcdoc='<h1>M</h1>'></iframe>\"></iframe>",
    "sandbox": "<title>sandbox</title><iframe sandbox src='target?M'></iframe>"
               "<iframe sandbox=allow-scripts srcdoc='<p>M'></iframe>",
    "shadow": "<title>shadow</title><div id=d></div><script>d.attachShadow({mode: 'open'}).innerHTML = '<p>M'</script>",
    "blob": "<title>blob</title><script>location = URL.createObjectURL(new Blob(['<h1>M'], {type: 'text/html'}))"
            "</script>",
    "script": "<title>script</title><script>location.replace('target?M')</script>",
    "refresh": "<title>refresh</title><meta http-equiv=refresh content='0;url=target?M'>",
    "rows": f"<title>rows</title><h1>M</h1><table>{ROWS}</table>",
    "canvas": "<title>canvas</title><h1>M</h1><canvas id=c></canvas><script>"
              "(function f(n) { c.getContext('2d').fillRect(n % 300, 9, 9, 9); requestAnimationFrame(f) })()</script>",
    "alert": "<title>alert</title><script>alert(1); document.title = [confirm(2), 'M']</script>",
    "history": "<title>history</title><h1>M</h1><script>for (let i = 0; i < 9; i++) history.pushState(i, '', '#' + i)"
               "</script>",
    "picture": "<title>picture</title><h1>M</h1><style>div {background: linear-gradient(red, blue); height: 3000px;"
               "animation: a 1s infinite} @keyframes a {to {opacity: .5}}</style><div></div>",
    "button": "<title>button</title><button onclick=\"this.innerText = 'M'\">Go</button>",
    "popup": "<title>popup</title><button onclick=\"window.open('target?M')\">Go</button>",
    "stuck": "<title>stuck</title><h1>M</h1><img src=never>",
    "leave": "<title>leave</title><button onclick=\"location = 'stuck?M'\">Go</button>",
    "signs": "<title>signs</title><p>M &#128512; \u00e9\u4e2d\u200b&lt;b&gt; ' \" \\ </p>",
}


CLICKED = ("target", "button", "popup", "leave", "stuck", "signs")  # or read, or in others


class Pages(browsers.Pages):
    def do_GET(self):
        name, _, mark = self.path.lstrip("/").partition("?")
        if name == "away":
            self.give(b"", status=302, Location="target?" + mark)
        elif name == "never":
            self.hang()
        elif name == "file":
            self.give(b"%PDF-1.4\n%%EOF\n", "application/pdf")
        elif name in SERVED:
            self.give("<!doctype html><body>" + SERVED[name].replace("M", mark), "text/html; charset=utf-8")
        else:
            self.give(f"<h1>none: {mark}</h1>", status=404)


def click(client, url):
    """The button of a page, by a second action."""
    button = bid_of(do(client, f'goto("{url}")'), "button 'Go'")
    return do(client, f"click('{button}')")


class Steps:
    """The kinds of page: each a way to get there, and what its answer must be like."""

    def __init__(self, client, url):
        self.client, self.url = client, url
        self.kinds = [self.served(name) for name in SERVED if name not in CLICKED]
        self.kinds += [self.read(name) for name in ("rows", "signs", "away", "absent")]
        self.kinds += [self.button, self.popup, self.file, self.data, self.download, self.stuck, self.refused]

    def go(self, url):
        return do(self.client, f'goto("{url}")')

    def served(self, name):
        return lambda mark: self.go(f"{self.url}/{name}?{mark}")

    def read(self, name):
        return lambda mark: self.client.act("browse", timeout=60, url=f"{self.url}/{name}?{mark}")

    def button(self, mark):
        return click(self.client, f"{self.url}/button?{mark}")

    def popup(self, mark):
        """The tab that comes is closed by the next step."""
        got = click(self.client, f"{self.url}/popup?{mark}")
        do(self.client, "tab_close()")
        return got

    def file(self, mark):
        path = os.path.join(self.client.work, "page.html")
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"<h1>{mark}</h1>")
        return self.go("file://" + path)

    def data(self, mark):
        return self.go("data:text/html," + urllib.parse.quote(f"<h1>{mark}</h1>"))

    def download(self, mark):
        return self.go(f"{self.url}/file?{mark}")

    def stuck(self, mark):
        """It never ends to load, for which a goto would wait."""
        return click(self.client, f"{self.url}/leave?{mark}")

    def refused(self, mark):
        got = self.go(f"http://127.0.0.1:1/?{mark}")
        return got if "ERR_" in error(got) else {"content": "no error"}


def fds(pids):
    return [len(os.listdir(f"/proc/{pid}/fd")) for pid in pids]


@needs_browser
def test_steps():
    with start(role="init") as client:
        steps = Steps(client, Site(Pages).url)
        kinds, wrong, pids, before = len(steps.kinds), [], [], None
        total = STEPS or kinds
        warm = 2 * kinds if STEPS else 1
        for n in range(total):
            mark = f"mark{n}x"
            got = steps.kinds[n % kinds](mark)
            if set(re.findall(r"mark\d+x", got["content"])) != {mark}:
                wrong.append((n, got["content"][:400]))
            if n + 1 == warm:
                pids = [client.serve_pid(), plugin(client)["pid"]]
                before = fds(pids), [own_kib(pid) for pid in pids]
            if STEPS and n > warm and n % 100 == 0:
                note(f"{n} steps: {[own_kib(pid) for pid in pids]} KiB, {fds(pids)} descriptors")
        ok(not wrong, f"{total} steps over {kinds} kinds of page, each with its own", *wrong[:5])
        steps.go("about:blank")
        eq(plugin(client)["pid"], pids[1], "one process has done them all")
        eq(fds(pids), before[0], "no descriptor is left of them")
        if STEPS:
            for name, pid, was in zip(("serve", "what drives the browser"), pids, before[1]):
                under(own_kib(pid) - was, MEMORY, f"{name}: more memory than after {warm} steps, in KiB")


if __name__ == "__main__":
    main()
