#!/usr/bin/env python3
"""The folder that tools/plugin-browser makes: a browser in an image of nothing, and in one with libraries of its own;
and in containers, as whom and with what these may run.

It has 290 MB, so it is not made in every run: OD_PLUGIN_BROWSER=1 has it made (build/plugin-browser), and it is tried
wherever it is there. The client runs in a root of its own in a mount namespace, which needs root."""
import base64
import glob
import os
import shutil
import subprocess

from harness import BOXED, TOP, WRAP, Client, descendants, eq, has, main, ok, proc, skip, until
import engine as engines

TOOL = os.path.join(TOP, "tools/plugin-browser")
FOLDER = os.path.join(TOP, "build/plugin-browser")
BUSYBOX = "/bin/busybox"
PAGE = ("data:text/html,<title>T</title><h1>Hello</h1><p style='font-family:serif'>Text</p>"
        "<button onclick='this.innerText = [document.fonts.size, this.offsetWidth > 20].join()'>Go</button>")
ROOT = """
mkdir "$TOP/root"; mount -t tmpfs root "$TOP/root"; cd "$TOP/root"
mkdir -p .od/plugins/browser tmp dev proc "./$TOP/work" "./$TOP/home"
mount --bind "$FOLDER" .od/plugins/browser; mount -o remount,bind,ro .od/plugins/browser
for dir in dev proc "$TOP/work" "$TOP/home"; do mount --rbind "/$dir" "./$dir"; done
mkdir .od/bin; cp %s .od/bin/; cp "$BOXED" .od/od-runtime-client; cp "${BOXED%%/*}/od-plugins" .od/; shift
""" % BUSYBOX
# What is there under the names of our libraries is none of ours.
OTHERS = """
mkdir -p bin etc lib/x86_64-linux-gnu lib64 usr/lib
ln -s /.od/bin/busybox bin/sh
for dir in lib lib/x86_64-linux-gnu lib64 usr/lib; do
	for name in .od/plugins/browser/lib/*.so*; do echo none > $dir/${name##*/}; done
done
echo none > etc/ld.so.cache
"""


def missing():
    """Why it cannot be tried here, or None."""
    if os.geteuid() or WRAP or not os.path.exists(BUSYBOX):
        return "it needs root, no wrapper and a busybox"
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        return "no mount namespace can be made here"
    made = os.path.exists(FOLDER + "/share/packages")
    wanted = os.environ.get("OD_PLUGIN_BROWSER") == "1"
    if made and wanted and os.stat(FOLDER + "/share/packages").st_mtime < max(
            os.stat(t).st_mtime for t in glob.glob(TOP + "/tools/plugin-*")):
        shutil.rmtree(FOLDER)
        made = False
    if not made and not wanted:
        return "OD_PLUGIN_BROWSER=1 makes build/plugin-browser, of 290 MB"
    if not made:
        done = subprocess.run([TOOL, FOLDER], capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip().splitlines()[-2]
    return None


def boxed(setup="", **env):
    def prefix(client):
        script = f"TOP={client.top} FOLDER={FOLDER} BOXED={BOXED}\n{ROOT}{setup}exec chroot . /.od/od-runtime-client \"$@\"\n"
        return ["unshare", "-m", "/bin/sh", "-ec", script, "sh"]
    return Client(prefix=prefix, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "OD_BROWSER_FLAGS": "--host-resolver-rules=MAP * ~NOTFOUND", **env})


def story(client, name):
    got = client.act("browse", timeout=60, url=PAGE)
    has(got["content"], "# Hello", f"{name}: a page")
    ok(len(base64.b64decode(got["extras"]["screenshot"].split(",")[1])) > 5000, f"{name}: its picture has text in it")
    got = client.act("browse_interactive", timeout=60, browser_actions="noop(1)")
    button = next(line for line in got["content"].splitlines() if "button 'Go'" in line)
    bid = button[button.index("[") + 1:button.index("]")]
    got = client.act("browse_interactive", timeout=60, browser_actions=f"click('{bid}')")
    has(got["content"], "0,true", f"{name}: a click, and letters that have a width")
    pid = client.get("/server_info").json()["plugins"]["browser"]["pid"]
    lines = [proc(p, "cmdline").replace(b"\0", b" ").decode() for p in descendants(pid)]
    lines = [line for line in lines if not line.startswith(("/proc/self/exe ", "/.od/od-plugins "))]
    ok(lines and all("/.od/plugins/browser/" in line for line in lines), f"{name}: the browser is that of the folder", lines)
    maps = "".join(proc(p, "maps").decode() for p in descendants(pid))
    eq([line for line in maps.splitlines() if ".so" in line and "/.od/plugins/browser/lib/" not in line], [],
       f"{name}: ...and so are all its libraries")


def test_images():
    why = missing()
    if why:
        skip("a browser in an image of nothing", why)
        return
    with boxed() as client:
        story(client, "nothing")
    with boxed(OTHERS, LD_LIBRARY_PATH="/lib", FONTCONFIG_FILE="/none") as client:
        story(client, "other libraries")
        for pid in descendants(client.get("/server_info").json()["plugins"]["browser"]["pid"]):
            if b"--type=renderer" in proc(pid, "cmdline"):
                os.kill(pid, 9)
        until(lambda: not client.act("browse_interactive", timeout=60, browser_actions="noop(1)")["extras"]["error"])
        story(client, "after a crash")


WAYS = {
    "root": (),
    "an unknown uid": ("--user", "12345:12345"),
    "64 MB of /dev/shm": ("--shm-size", "64m"),
    "a read-only root": ("--read-only",),
    "a read-only root, an unknown uid": ("--read-only", "--user", "12345:12345"),
}


def visit(box, name, options, image):
    sandbox = box.run(image, "--plugin", "browser=" + FOLDER, *options)
    got = box.act(sandbox, "browse", 60.0, url=PAGE)
    has(got["content"], "# Hello", f"{name}: a page")
    got = box.act(sandbox, "browse_interactive", 60.0, browser_actions="noop(1)")
    button = next(line for line in got["content"].splitlines() if "button 'Go'" in line)
    bid = button[button.index("[") + 1:button.index("]")]
    got = box.act(sandbox, "browse_interactive", 60.0, browser_actions=f"click('{bid}')")
    has(got["content"], "0,true", f"{name}: a click")
    box.od("rm", "--force", sandbox)


def test_containers():
    why, engine = missing(), engines.find()
    if why or not engine:
        skip("a browser in containers", why or "there is no container engine")
        return
    with open(BUSYBOX, "rb") as f:
        shell = {"bin/busybox": f.read(), "bin/sh": "busybox"}
    with engines.Box(engine) as box:
        for image, files in (("nothing", {}), ("a shell", shell)):
            ref = f"{engines.PREFIX}/{image.replace(' ', '-')}:1"
            engine.load(engines.archive(files), ref)
            for name, options in WAYS.items():
                visit(box, f"{image}, {name}", options, ref)
            box.sweep()
            engine.remove_image(ref)


if __name__ == "__main__":
    main()
