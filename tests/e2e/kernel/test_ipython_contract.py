#!/usr/bin/env python3
"""The tests of run_ipython in the wire contract's own suite, by their names, to the letter.

Each is executed by our driver with IPython, by our driver alone, and by ipykernel, in a
box where everything has the name it has there. That is the machine's own system below
an overlay in a mount namespace, which needs root; nothing is written outside of it."""
import os
import subprocess
import tempfile

from harness import SLOW, WRAP, Client, eq, has, main, ok, skip
import pypi

WORK = "/workspace"
TOP = "/openhands/poetry/openhands-ai-5O4_aCHf-py3.12"
PYTHON = TOP + "/bin/python"
LINES = f"\n[Jupyter current working directory: {WORK}]\n[Jupyter Python interpreter: {PYTHON}]"
UID = "54321"
NOTHING = "[Code executed successfully with no output]"
LIMIT = 60 * SLOW
SPEC = f'{{"argv":["{PYTHON}","-m","ipykernel_launcher","-f","{{connection_file}}"],"language":"python"}}'

OVERLAY = """
cd "$TOP"; mkdir box; mount -t tmpfs box box; mkdir box/up box/wk box/root
mount -t overlay box -o "lowerdir=/,upperdir=$TOP/box/up,workdir=$TOP/box/wk" box/root; cd box/root
"""
BOX = OVERLAY + f"""
for dir in dev proc sys tmp; do mount --rbind "/$dir" "./$dir"; done
mkdir -p .{WORK} .{TOP}/share/jupyter/kernels/contract openhands/code
chroot . /usr/bin/python3 -m venv --without-pip --system-site-packages {TOP}
echo '{SPEC}' >.{TOP}/share/jupyter/kernels/contract/kernel.json
chmod 1777 .{WORK}; chown -R {UID} .{TOP}
echo 'OH_INTERPRETER_PATH={PYTHON}' >>etc/environment
sed -i /^openhands:/d etc/passwd etc/group etc/shadow; rm -rf home/openhands
"""
ENTER = 'exec chroot . "$@"'
WITHOUT_IPYTHON = f"for at in .{TOP}/lib/python3*; do echo 'raise ImportError' >$at/site-packages/IPython.py; done"


def why_not():
    """Why there can be no box."""
    if os.geteuid() != 0 or WRAP:
        return "it needs root"
    if subprocess.run(["/usr/bin/python3", "-c", "import venv"], capture_output=True).returncode:
        return "/usr/bin/python3 has no venv (python3-venv)"
    with tempfile.TemporaryDirectory() as top:
        if subprocess.run(["unshare", "-m", "sh", "-ec", f"TOP={top}\n{OVERLAY}"], capture_output=True).returncode:
            return "no overlay can be made here"
    return None


def box(more="", user="openhands", **env):
    def prefix(client):
        os.chmod(client.top, 0o755)
        return ["unshare", "-m", "sh", "-ec", f"TOP={client.top}\n{BOX}{more}\n{ENTER}", "sh"]
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": None, "SU_TO_USER": None, "VIRTUAL_ENV": None,
           "PYTHONPATH": None, **env}
    return Client("--plugins", "agent_skills", "jupyter", "--username", user, "--user-id", UID, "--manage-users",
                  "--working-dir", WORK, prefix=prefix, user=False, env=env)


def ways():
    """What executes cells, and a box with it."""
    there = {"ipython": "IPython", "plain": "sys", "ipykernel": "ipykernel"}
    for name, module in there.items():
        if subprocess.run(["/usr/bin/python3", "-c", f"import {module}"], capture_output=True).returncode:
            skip(f"the contract's tests in {name}", f"/usr/bin/python3 has no {module}")
            continue
        more = WITHOUT_IPYTHON if name == "plain" else ""
        env = {"JUPYTER_KERNEL": "contract"} if name == "ipykernel" else {}
        yield name, lambda user="openhands", more=more, env=env, **own: box(more, user, **env, **own)


def cell(client, code):
    return client.act("run_ipython", LIMIT, code=code)


def test_all():
    why = why_not()
    if why:
        return skip("the contract's tests", why)
    for name, start in ways():
        with pypi.Index("pymsgbox", "1.0.9") as index, start(**index.env) as client:
            info = client.get("/server_info").json()["plugins"]["jupyter"]
            eq((info["state"], info.get("mode", "ipykernel"), info["python"]), ("ready", name, PYTHON), f"{name}: is ready")
            for test in (simple_cmd_ipython_and_fileop, ipython_multi_user, ipython_simple, ipython_chdir,
                         ipython_package_install, ipython_file_editor_permissions_as_openhands):
                test(client, f"{name}: test_{test.__name__}:")
        with start(user="root") as client:
            ipython_multi_user(client, f"{name}: test_ipython_multi_user as root:", "root")


def simple_cmd_ipython_and_fileop(client, name):
    eq(client.run("ls -l")["extras"]["metadata"]["exit_code"], 0, f"{name} a command")
    got = cell(client, "print('Hello, `World`!\\n')")
    eq((got["observation"], got["content"].strip()), ("run_ipython", "Hello, `World`!" + LINES), f"{name} a cell")
    got = client.act("read", path="hello.sh")
    eq(got["observation"], "error", f"{name} read of a missing file")
    has(got["content"], "File not found", f"{name} ...in its words")
    got = client.act("write", content='echo "Hello, World!"', path="hello.sh")
    eq((got["observation"], got["content"], got["extras"]["path"]), ("write", "", WORK + "/hello.sh"), f"{name} write")
    got = client.act("read", path="hello.sh")
    eq((got["content"], got["extras"]["path"]), ('echo "Hello, World!"\n', WORK + "/hello.sh"), f"{name} read")
    client.run("rm -rf hello.sh")


def ipython_multi_user(client, name, user="openhands"):
    has(cell(client, "import os; print(os.environ['USER'])")["content"], user, f"{name} USER")
    eq(cell(client, "import os; print(os.getcwd())")["content"], WORK + LINES, f"{name} the folder")
    eq(cell(client, "with open('test.txt', 'w') as f: f.write('Hello, world!')")["content"], NOTHING + LINES,
       f"{name} a file")
    got = client.run("ls -alh test.txt")
    ok(f" {user} " in got["content"], f"{name} its owner", got["content"])
    client.run("rm -rf test.txt")


def ipython_simple(client, name):
    got = cell(client, "print(1)")
    eq((got["observation"], got["content"]), ("run_ipython", "1" + LINES), f"{name} print(1)")


def ipython_chdir(client, name):
    def first(code):
        return cell(client, code)["content"].split("\n")[0].strip().strip("'")
    client.run(f"mkdir -p {WORK}/test_dir && cd {WORK}/test_dir")
    eq(first("\nimport os\nos.getcwd()\n"), WORK + "/test_dir", f"{name} cd in the shell")
    eq(first("\nimport os\nos.chdir('..')\nprint(os.getcwd())\n"), WORK, f"{name} os.chdir")
    eq(first("\nimport os\nprint(os.getcwd())\n"), WORK, f"{name} ...stays")
    client.run(f"cd {WORK} && rm -rf test_dir")
    eq(first("\nimport os\nprint(os.getcwd())\n"), WORK, f"{name} cd back")


def ipython_package_install(client, name):
    has(cell(client, "import pymsgbox")["content"], "ModuleNotFoundError: No module named 'pymsgbox'",
        f"{name} a missing package")
    has(cell(client, "%pip install pymsgbox==1.0.9")["content"], "Successfully installed pymsgbox-1.0.9",
        f"{name} %pip")
    eq(cell(client, "import pymsgbox")["content"], NOTHING + LINES, f"{name} its import")


def ipython_file_editor_permissions_as_openhands(client, name):
    def edit(**words):
        args = ", ".join(f"{k}={v!r}" for k, v in words.items())
        return cell(client, f"print(file_editor({args}))")["content"]
    at = WORK + "/test.txt"
    for command in ({"command": "view"}, {"command": "create", "file_text": "x"},
                    {"command": "str_replace", "old_str": "a", "new_str": "b"}):
        has(edit(path="/root/hidden.txt", **command), "Permission denied", f"{name} {command['command']} of root's")
    has(edit(command="create", path=at, file_text="Line 1\nLine 2\nLine 3"), "File created successfully",
        f"{name} create")
    got = edit(command="view", path=at)
    ok(all(f"Line {i}" in got for i in (1, 2, 3)), f"{name} view", got)
    has(edit(command="str_replace", path=at, old_str="Line 2", new_str="New Line 2"), "New Line 2",
        f"{name} str_replace")
    has(edit(command="view", path=at), "New Line 2", f"{name} ...is there")
    got = edit(command="undo_edit", path=at)
    ok("Last edit to" in got and "undone successfully" in got, f"{name} undo_edit", got)
    got = edit(command="view", path=at)
    ok("New Line 2" not in got and "Line 2" in got, f"{name} ...is gone", got)
    client.run("rm -f test.txt")


if __name__ == "__main__":
    main()
