"""The commands that hand over to the data plane's own program, with a program made up for the purpose."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pifolab.cli import main

VECTOR = {
    "scheduler": "fifo",
    "config": {"capacity": 1},
    "ops": [["enq", 0, 5], ["deq"]],
    "expect": [["adm", 0], ["deq", 0]],
}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where a program notes its arguments; `status.kernel` beside it is what it ends with for the kernel."""
    notes = tmp_path / "arguments"
    script = tmp_path / "program"
    script.write_text(
        f'#!/bin/sh\necho "$@" >> {notes}\ncase "$*" in *kernel*) exit $(cat {tmp_path}/status.kernel);; esac\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PIFOLAB_DATAPLANE", str(script))
    return notes


@pytest.mark.parametrize("kernel", [0, 1, 3])
def test_conformance_replays_through_all_that_is_named_and_ends_with_the_worst_status(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kernel: int
) -> None:
    (tmp_path / "status.kernel").write_text(str(kernel))
    file = tmp_path / "fifo.json"
    file.write_text(json.dumps(VECTOR))
    assert main(["conformance", "--through", "library,kernel,switch", str(file)]) == kernel
    assert capsys.readouterr().out == "library: 1 vectors, 2 operations, 0 mismatches\n"
    assert program.read_text().splitlines() == [
        f"conformance --through kernel {file}",
        f"conformance --through switch {file}",
    ]


def test_an_unknown_place_to_replay_through_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "--through", "swich", "x.json"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "swich" in error
    assert "switch" in error


def test_a_program_that_is_nowhere_is_said_with_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIFOLAB_DATAPLANE", str(tmp_path / "nothing"))
    (tmp_path / "x.json").write_text("{}")
    assert main(["conformance", "--through", "switch", str(tmp_path / "x.json")]) == 2
    assert "no program is there" in capsys.readouterr().err


def test_values_with_units_go_to_the_program_in_its_own_units(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--rate", "12.5M", "--delay=1ms", "--duration", "0", "--flow-timeout=1.5s"]
    assert main(["dataplane", "switch", *words]) == 0
    assert main(["dataplane", "status", "--watch", "500ms"]) == 0
    assert capsys.readouterr().err == ""
    assert program.read_text().splitlines() == [
        "switch --rate-mbps 12.5 --delay-us=1000 --duration-s 0 --flow-timeout-s=1.5",
        "status --watch-s 0.5",
    ]
    assert main(["dataplane", "up", "--rate-mbps", "10"]) == 0
    assert capsys.readouterr().err == "pifolab: --rate-mbps is called --rate; the old name works for one more release\n"
    assert main(["dataplane", "up", "--rate", "10"]) == 2
    assert capsys.readouterr().err.startswith("pifolab: --rate 10: expected a rate above 0 with its unit, such as 10G")
    assert program.read_text().splitlines()[2:] == ["up --rate-mbps 10"]


def test_help_of_the_program_has_the_names_with_which_the_command_reads(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(os.environ["PIFOLAB_DATAPLANE"]).write_text(
        "#!/bin/sh\necho '      --rate-mbps <MBPS>   --watch-s <SECONDS>'\n"
    )
    assert main(["dataplane", "up", "--help"]) == 0
    assert capsys.readouterr().out == "      --rate <RATE>   --watch <TIME>\n"


GUEST_TOOLS = ("qemu-system-x86_64", "busybox", "cpio", "xz", "apt-get", "dpkg-deb", "ip", "tc")


def guest_test(folder: Path, tools: Mapping[str, str], require: str) -> subprocess.CompletedProcess[str]:
    """Run the tests in a virtual machine where only `tools` are installed, each of which is a line of shell."""
    commands = folder / "commands"
    commands.mkdir()
    for name in ("bash", "dirname", "grep", "find", "sort", "tail", "cut", "mkdir", "realpath"):
        found = shutil.which(name)
        assert found
        (commands / name).symlink_to(found)
    # It runs on this kind of machine only.
    for name, line in {"uname": "echo x86_64", "program": "exit 2", **tools}.items():
        (commands / name).write_text(f"#!{shutil.which('sh')}\n{line}\n")
        (commands / name).chmod(0o755)
    environment = {
        "PATH": str(commands),
        "GUEST_FOLDER": str(folder / "guest"),
        "PIFOLAB_DATAPLANE": str(commands / "program"),
        "PIFOLAB_KERNEL_TESTS": str(commands / "program"),
        "DATAPLANE_REQUIRE": require,
    }
    script = Path(__file__).parents[2] / "scripts" / "test_in_guest.sh"
    return subprocess.run([commands / "bash", script], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("tools", "reason"),
    [
        ({}, "qemu-system-x86_64 is not installed"),
        (dict.fromkeys(GUEST_TOOLS[:3], "exit 0"), "xz is not installed"),
        (dict.fromkeys(GUEST_TOOLS, "exit 0") | {"program": "echo built without the BPF qdiscs"}, "built without the"),
        (dict.fromkeys(GUEST_TOOLS, "exit 0") | {"apt-get": "exit 100"}, "no kernel could be had"),
    ],
)
@pytest.mark.parametrize(("require", "status"), [("", 0), ("UK", 0), ("Q", 1)])
def test_what_a_virtual_machine_lacks_is_said_and_fails_only_where_it_is_required(
    tmp_path: Path, tools: Mapping[str, str], reason: str, require: str, status: int
) -> None:
    done = guest_test(tmp_path, tools, require)
    assert done.returncode == status, done.stderr
    assert reason in (done.stderr if status else done.stdout)
    assert ("skipped" in done.stdout) == (status == 0)


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({}, 0, "agree within 2 points"),
        ({"starved": True}, 1, "the senders were starved"),
        ({"lost_outside": True}, 1, "nothing was tested"),
        ({"phases": [{"share": [0.75, 0.25]}]}, 1, "apart"),
    ],
)
def test_the_guest_s_clock_counts_instructions_and_a_starved_sender_is_a_failure(
    tmp_path: Path, change: Mapping[str, object], status: int, words: str
) -> None:
    runs = [
        {"scheduler": scheduler, "data_plane": plane, "starved": False, "lost_outside": False, "losses": {}}
        | {"phases": [{"share": [0.7, 0.3]}]}
        for scheduler in ("drr", "fq-codel")
        for plane in ("switch", "linux")
    ]
    runs[2] |= change
    said = f"guest: comparison ended with 0\nguest: shares {json.dumps({'runs': runs, 'skipped': []})}\n"
    (tmp_path / "console").write_text(said)
    commands = tmp_path / "commands"
    commands.mkdir()
    stubs = dict.fromkeys(GUEST_TOOLS, "exit 0") | {"cpio": "cat > /dev/null", "uname": "echo x86_64"}
    stubs |= {"program": "exit 2", "qemu-system-x86_64": f'echo "$@" > {tmp_path}/arguments; cat {tmp_path}/console'}
    for name, line in stubs.items():
        (commands / name).write_text(f"#!{shutil.which('sh')}\n{line}\n")
        (commands / name).chmod(0o755)
    kernel = tmp_path / "guest" / "kernel"
    kernel.mkdir(parents=True)
    for name in ("vmlinuz", "veth.ko", "sch_htb.ko", "cls_bpf.ko"):
        (kernel / name).touch()
    environment = os.environ | {
        "PATH": f"{commands}:{os.environ['PATH']}",
        "GUEST_FOLDER": str(tmp_path / "guest"),
        "PIFOLAB_DATAPLANE": str(commands / "program"),
        "PIFOLAB_KERNEL_TESTS": str(commands / "program"),
    }
    script = Path(__file__).parents[2] / "scripts" / "test_in_guest.sh"
    done = subprocess.run([script, "linux"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert words in (done.stderr if status else done.stdout)
    assert "-icount shift=0,sleep=off" in (tmp_path / "arguments").read_text()


APT = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
*install*) exit 0;;
esac
tries=$(grep -c update {log})
if [ "$tries" -gt {locked} ]; then exit 0; fi
echo "E: {message}" >&2
exit 100
"""
LOCKED = "Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"


@pytest.mark.parametrize(
    ("locked", "message", "patience_s", "installs"),
    [(0, LOCKED, 60, True), (2, LOCKED, 60, True), (9, LOCKED, 1, False), (1, "Unable to fetch", 60, False)],
)
def test_the_dependencies_are_installed_once_another_apt_has_ended(
    tmp_path: Path, locked: int, message: str, patience_s: int, installs: bool
) -> None:
    tools, log = tmp_path / "tools", tmp_path / "log"
    tools.mkdir()
    log.touch()
    # There is no clang, and whoever runs it is root.
    for name, text in (("apt-get", APT.format(log=log, locked=locked, message=message)), ("id", "#!/bin/sh\necho 0\n")):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    for name in ("sh", "grep", "sleep"):
        (tools / name).symlink_to(str(shutil.which(name)))
    bash = str(shutil.which("bash"))
    script = Path(__file__).parents[2] / "scripts" / "install_dataplane_deps.sh"
    environment = {"PATH": str(tools), "APT_PATIENCE_S": str(patience_s)}
    done = subprocess.run([bash, script], env=environment, capture_output=True, text=True, check=False)
    calls = log.read_text().splitlines()
    assert (done.returncode == 0) == installs, done.stderr
    if installs:
        assert [line.split()[0] for line in calls] == ["update"] * (locked + 1) + ["install"]
        assert f"DPkg::Lock::Timeout={patience_s}" in calls[-1]
        assert "clang" in calls[-1]
        assert done.stdout.startswith("installed: clang")
    else:
        assert message in done.stderr
        assert not any(line.startswith("install") for line in calls)


def test_the_command_hands_its_words_to_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "program"
    script.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\nexit 3\n')
    script.chmod(0o755)
    monkeypatch.setenv("PIFOLAB_DPDK", str(script))
    assert main(["dataplane", "dpdk", "--in", "a", "--out", "b"]) == 3
    assert (tmp_path / "words").read_text() == "--in a --out b\n"
    monkeypatch.setenv("PIFOLAB_DPDK", str(tmp_path / "nothing"))
    assert main(["dataplane", "dpdk", "--in", "a"]) == 2
    assert "no program is there" in capsys.readouterr().err
    monkeypatch.delenv("PIFOLAB_DPDK")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path))
    assert main(["dataplane", "dpdk", "--in", "a"]) == 2
    said = capsys.readouterr().err
    assert "pifolab-dpdk is not built; in the source tree: apt-get install libdpdk-dev dpdk, then" in said
    assert said.count("\n") == 1


def test_a_program_that_ctrl_c_ends_is_never_taken_for_one_that_succeeded(tmp_path: Path) -> None:
    """The signal that ends the program interrupts the command while it waits for that."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nsleep 0.02\nkill -INT 0\nsleep 60\n")
    program.chmod(0o755)
    # In a session of its own, whose processes get the signal.
    repeat = "from pifolab.dataplane import run_program; print({run_program([]) for _ in range(100)})"
    done = subprocess.run(
        [sys.executable, "-c", repeat],
        env={**os.environ, "PIFOLAB_DATAPLANE": str(program)},
        start_new_session=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "{130}\n", done.stderr
