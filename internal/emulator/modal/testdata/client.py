# Copyright (c) taskowned contributors
# SPDX-License-Identifier: MPL-2.0
"""Drives Modal's Python client: reads the name of an operation from each line of
standard input, does it, and answers with one line of JSON, what the client saw.

The operations without a dot do what Airflow's Modal backend does for the call of
that name; the others are plain uses of the SDK.
"""

import concurrent.futures
import json
import sys
import warnings

import modal

warnings.simplefilter("ignore")

PROBE = ("sh", "-c", "true")
OPERATIONS = {}


def operation(name):
    def register(function):
        OPERATIONS[name] = function
        return function

    return register


class State:
    """What one operation leaves to the next."""

    client = modal.Client.from_env()
    app = None
    image = None
    box = None  # as Airflow made it
    fresh = None  # the same in another client, as a later task attaches to it
    other = None
    tags = {}


def text(data):
    return data.decode() if isinstance(data, bytes) else data


def execute(box, *argv, timeout=None, **options):
    """Returns exit code and output as Airflow collects them: all at once."""
    process = box.exec(*argv, timeout=timeout, **options)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        out, err = pool.submit(process.stdout.read), pool.submit(process.stderr.read)
        code = process.wait()
        return code, text(out.result()), text(err.result())


def run_command(box, script, timeout=20):
    """As execute; a code that may mean a dead sandbox is followed by a probe."""
    code, out, err = execute(box, "sh", "-c", script, timeout=timeout)
    alive = True
    if code == -1 or code >= 128:
        try:
            box.exec(*PROBE, timeout=10).wait()
        except (modal.exception.NotFoundError, modal.exception.ConflictError):
            alive = False
    return code, out, err, alive


def create(client=None, **options):
    State.app = modal.App.lookup(
        "airflow-sandbox", create_if_missing=True, environment_name="main", client=client or State.client
    )
    return modal.Sandbox.create(
        app=State.app, image=modal.Image.from_registry("python:3.12-slim"), client=client or State.client, **options
    )


@operation("create")
def _():
    State.tags = {
        "team": "x",
        "airflow_sandbox": "airflow-sandbox-0123456789ab",
        "airflow_expires_at": "1700003600",
        "airflow_workdir": "/workspace",
        "airflow_network": '{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}',
        "airflow_owner": "dag/run1",
    }
    State.box = create(
        name="airflow-sandbox-0123456789ab", tags=State.tags, timeout=3600, workdir="/workspace",
        cpu=0.25, memory=256, block_network=True, env={"FOO": "bar"},
    )
    return repr(State.box.object_id)


@operation("run_command")
def _():
    return run_command(State.box, "echo hi $FOO; pwd; echo err >&2; exit 3")


@operation("write_file")
def _():
    return State.box.filesystem.write_bytes(b"hello\n" * 3, "/workspace/a/b.txt")


@operation("write_file_big")
def _():
    return State.box.filesystem.write_bytes(bytes(3 << 20), "/workspace/big.bin")


@operation("list_directory")
def _():
    return [(e.name, e.is_dir()) for e in sorted(State.box.filesystem.list_files("/workspace"), key=lambda e: e.name)]


@operation("list_missing")
def _():
    return State.box.filesystem.list_files("/workspace/nope")


@operation("read_file")
def _():
    return run_command(State.box, "cat a/b.txt", 120)[1]


@operation("read_missing")
def _():
    return run_command(State.box, "cat nope", 120)[0]


@operation("export_file")
def _():
    size = run_command(State.box, "stat -c %s a/b.txt", 120)[1]
    return size, run_command(State.box, "tail -c +1 -- a/b.txt | head -c 4194304 | base64", 120)[1]


@operation("read_tags")
@operation("tags_after_release")
def _():
    return sorted(State.box.get_tags())


@operation("write_tags")
def _():
    State.tags["extra"] = "1"
    return State.box.set_tags(State.tags)


@operation("run_timeout")
def _():
    return run_command(State.box, "sleep 30", 2)


@operation("run_selfkill")
def _():
    return run_command(State.box, "kill -9 $$")


def attach():
    client = modal.Client.from_credentials(*credentials())
    return modal.Sandbox.from_id(State.box.object_id, client=client)


def credentials():
    from modal.config import config

    return config["token_id"], config["token_secret"]


@operation("attach")
def _():
    State.fresh = attach()
    tags = State.fresh.get_tags()
    State.fresh.set_tags({**tags, "airflow_holder": "dag/run1"})
    return State.fresh.get_tags()["airflow_holder"]


@operation("attached")
def _():
    return State.fresh.get_tags()["airflow_holder"]


@operation("toolset.run")
def _():
    return execute(State.fresh, "sh", "-c", "cat a/b.txt | wc -l; cat /proc/self/status | grep ^Uid", timeout=60)[1]


@operation("toolset.write")
def _():
    return State.fresh.filesystem.write_bytes(b"tt", "/workspace/t.txt")


@operation("toolset.list")
def _():
    return sorted(e.name for e in State.fresh.filesystem.list_files("/workspace"))


@operation("toolset.read")
def _():
    return run_command(State.fresh, "cat t.txt", 120)[1]


@operation("release")
def _():
    tags = State.fresh.get_tags()
    del tags["airflow_holder"]
    return State.fresh.set_tags(tags)


@operation("attach_wrong_owner")
def _():
    return attach().get_tags()["airflow_owner"]


@operation("destroy")
@operation("terminate")
def _():
    return State.box.terminate()


@operation("destroy_again")
def _():
    return modal.Sandbox.from_id(State.box.object_id, client=State.client).terminate()


@operation("run_after_destroy")
def _():
    return execute(modal.Sandbox.from_id(State.box.object_id, client=State.client), *PROBE)


@operation("attach_unknown")
def _():
    client = modal.Client.from_credentials(*credentials())
    return modal.Sandbox.from_id("sb-01JZZZZZZZZZZZZZZZZZZZZZZZ", client=client)


@operation("test_connection")
def _():
    return State.client.hello()


@operation("sdk.create")
def _():
    State.image = modal.Image.from_registry("python:3.12-slim")
    State.other = modal.Sandbox.create(
        app=State.app, image=State.image, name="n1", timeout=600, tags={"k": "v"},
        outbound_cidr_allowlist=["203.0.113.0/24"], client=State.client,
    )
    return f"modal.Sandbox.from_id({State.other.object_id!r})"


@operation("sdk.create_dupname")
def _():
    return modal.Sandbox.create(app=State.app, image=State.image, name="n1", client=State.client)


@operation("sdk.list")
def _():
    return repr([b.object_id for b in modal.Sandbox.list(app_id=State.app.app_id, tags={"k": "v"}, client=State.client)])


@operation("sdk.from_name")
def _():
    State.other = modal.Sandbox.from_name("airflow-sandbox", "n1", environment_name="main", client=State.client)
    return repr(State.other.object_id)


@operation("sdk.from_id")
def _():
    State.other = modal.Sandbox.from_id(State.other.object_id, client=State.client)
    return f"modal.Sandbox.from_id({State.other.object_id!r})"


@operation("sdk.exec_text")
def _():
    process = State.other.exec("sh", "-c", "echo x")
    return repr((process.stdout.read(), process.wait()))


@operation("sdk.exec_stdin")
def _():
    process = State.other.exec("cat", text=False)
    said = process.stdin.write(b"abc"), process.stdin.write_eof(), process.stdin.drain()
    return repr((*said, process.stdout.read(), process.wait()))


@operation("sdk.poll")
@operation("poll_lag")
def _():
    return (State.other or State.box).poll()


@operation("sdk.terminate_wait")
def _():
    return State.other.terminate(wait=True)


@operation("sdk.poll_after")
def _():
    return repr((State.other.poll(), State.other.returncode))


@operation("sdk.image_build")
def _():
    image = modal.Image.from_registry("alpine").dockerfile_commands("RUN true")
    return repr(image.build(State.app).object_id)


@operation("sdk.entrypoint")
def _():
    box = modal.Sandbox.create("sh", "-c", "echo ep; exit 4", app=State.app, image=State.image, client=State.client)
    return repr((box.stdout.read(), box.wait(), box.returncode))


@operation("create_noseed")
@operation("throttled_create")
@operation("exhausted_create")
@operation("unavailable_create")
def _():
    State.box = create()
    return repr(State.box.object_id)


@operation("exec_noseed")
def _():
    return execute(State.box, "echo", "x")[1]


@operation("kill_during_exec")
def _():
    process = State.box.exec("sh", "-c", "echo before; sleep 30", timeout=30)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        err, code = pool.submit(process.stderr.read), pool.submit(process.wait)
        lines = iter(process.stdout)
        out = next(lines)
        print(json.dumps({"wait": {"TaskExecStdioRead": 2, "TaskExecWait": 1}}), flush=True)
        sys.stdin.readline()
        modal.Sandbox.from_id(State.box.object_id, client=State.client).terminate()
        out, code = out + "".join(lines), code.result()
        err.result()
    try:
        State.box.exec(*PROBE, timeout=10).wait()
        return code, out, True
    except modal.exception.NotFoundError:
        return code, out, False


@operation("run_cached_after_term")
def _():
    return State.box.exec(*PROBE)


@operation("run_fresh_after_term")
def _():
    return attach().exec(*PROBE)


@operation("wait")
def _():
    return State.box.wait(raise_on_termination=False)


@operation("throttled_tagset")
def _():
    return State.box.set_tags({"k": "v"})


@operation("jwt_refresh")
def _():
    return execute(State.box, "echo", "y")[1]


@operation("bigout")
def _():
    return len(execute(State.box, "sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x")[1])


@operation("bg_process")
def _():
    answer = execute(State.box, "sh", "-c", "sleep 30 & echo started", timeout=20)
    State.box.poll()
    return answer


@operation("set_name")
def _():
    return State.box._experimental_set_name("named")


@operation("reopen")
def _():
    State.box = modal.Sandbox.from_id(State.box.object_id, client=State.client)


@operation("net")
def _():
    return State.box._experimental_set_outbound_network_policy(
        outbound_cidr_allowlist=["203.0.113.0/24"], outbound_domain_allowlist=[]
    )


@operation("block_ports")
def _():
    return create(block_network=True, encrypted_ports=[80])


def main():
    for line in sys.stdin:
        try:
            saw = OPERATIONS[line.strip()]()
            saw = saw if isinstance(saw, str) else repr(saw)
        except Exception as error:  # what the client raises is what is asked
            saw = f"raises {type(error).__name__}"
        print(json.dumps({"saw": saw}), flush=True)


main()
