"""Every command that README.md, CONTRIBUTING.md and docs show is run as it stands (`page_commands` says how)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from page_commands import ROOT, Command, File, hidden, pages, steps

import pifolab

#: What is never run, and why. Whoever adds to the pages a command that cannot be run adds it here as well.
_OTHER_TESTS = "the tests of dataplane/linux do the same between interfaces of their own"
_SWITCH = (
    "pifolab-dataplane switch --in eth1 --out eth2 --rate-mbps 100 --scheduler pifo --capacity-packets 80 --rank dscp"
)
_DPDK = (
    "cargo build --release --manifest-path dataplane/dpdk/Cargo.toml",
    "a=net_memif0,role=server,socket=/run/a.sock,socket-abstract=no",
    "b=net_memif1,role=server,id=1,socket=/run/b.sock,socket-abstract=no",
    "pifolab dataplane dpdk --no-huge --vdev $a --vdev $b --in net_memif0 --out net_memif1 --scheduler packs "
    "--rate 10G --rank dscp:phb",
    "a=net_pcap0,rx_pcap=in.pcap b=net_pcap1,tx_pcap=out.pcap",
    "pifolab dataplane dpdk --no-huge --vdev net_memif1,role=client,id=1,socket=/run/b.sock,socket-abstract=no "
    "--vdev net_null0 --in net_memif1 --out net_null0",
    "pifolab dataplane dpdk --no-huge --vdev net_null0,size=60 "
    "--vdev net_memif0,role=client,socket=/run/a.sock,socket-abstract=no --in net_null0 --out net_memif0",
    "pifolab dataplane dpdk --no-huge --vdev $a --vdev $b --in net_pcap0 --out net_pcap1 --clock capture --rate 1G "
    "--scheduler pifo",
)
NEVER = {
    "make build": "make test begins with it",
    "make test": "it is what runs this test",
    "make test-all": "it is what runs this test",
    "make check": "it compiles the whole workspace again, and is run beside make test",
    "make wheel": "make wheel-test begins with it",
    "make wheel-test": "make test-all does",
    "make sdist-test": "it compiles the whole library again",
    "make dist": "it compiles everything again",
    "make dist-test": "it compiles everything twice",
    "pifolab dataplane p4 run PROGRAM.json --entries FILE --in FILE --out FILE --rate 10M": (
        "the files are the reader's own, tests of the interpreter run the command"
    ),
    "python scripts/licences.py": "it would write the page that the tests read",
    "python3 -m pip install out/dist/pifolab-*.whl": "it installs what make wheel left",
    "mkdir -p ~/.local/share/bash-completion/completions": "it would write into the home folder",
    "pifolab completion bash > ~/.local/share/bash-completion/completions/pifolab": (
        "it would write into the home folder"
    ),
    "scripts/install_dataplane_deps.sh": "it installs packages of the system",
    **{
        f"pifolab dataplane {command}": f"it takes over the interface eth1, {reason}"
        for command, reason in {
            "up --dev eth1 --rate 100M --scheduler packs --queues 8 --window 20 --k 0.1": _OTHER_TESTS,
            "status --watch 1s": _OTHER_TESTS,
            "down": _OTHER_TESTS,
            "status --metrics": _OTHER_TESTS,
            "up --dev eth1 --rate 100M --scheduler pifo --qdisc bpf --capacity-packets 80": (
                "make guest-test does the same in a virtual machine"
            ),
        }.items()
    },
    "scripts/install_dataplane_deps.sh --dpdk": "it installs packages of the system",
    "make bench-dpdk": "it needs DPDK and two idle processors",
    **dict.fromkeys(_DPDK, "it needs DPDK, python/tests/test_dpdk.py does the same"),
    _SWITCH: f"it takes over the interfaces eth1 and eth2, {_OTHER_TESTS}",
}

#: A page's commands end within this, or the test fails: nothing may wait for ever.
LIMIT_S = 3600

PAGES = {page.relative_to(ROOT).as_posix(): steps(page) for page in pages()}


def commands() -> list[Command]:
    """Return all commands of all pages."""
    return [step for page in PAGES.values() for step in page if isinstance(step, Command)]


def sandbox(folder: Path) -> None:
    """Make `folder` look like the source tree; what is written there stays there."""
    for entry in ROOT.iterdir():
        if entry.name not in (".git", "out"):
            (folder / entry.name).symlink_to(entry)


def run_page(name: str, folder: Path, report, *, slow: bool) -> None:
    """Run the commands of a page in order; with `slow` all of them, otherwise those that are quick."""
    sandbox(folder)
    scripts = Path(sys.executable).parent
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PIFOLAB", "PYTEST"))}
    environment |= {"PATH": f"{scripts}{os.pathsep}{environment['PATH']}", "COLUMNS": "100"}
    for step in PAGES[name]:
        if isinstance(step, File):
            (folder / step.name).write_text(step.text, encoding="utf-8")
            continue
        shell = step.shell(slow=slow)
        where = f"{name}:{step.line}: {shell}"
        if step.never or (step.slow and not slow):
            continue
        if step.needs and shutil.which(step.needs) is None:
            report(f"not run: {where}: {step.needs} is not installed")
            continue
        ended = subprocess.run(
            ["bash", "-c", shell],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
        )
        assert ended.returncode == 0, f"{where}: exit status {ended.returncode}\n{ended.stdout[-4000:]}"


def with_commands(*, slow: bool) -> list[str]:
    """Return the pages that have a command to run, quick or slow; one that is shortened in the quick run is both."""
    found = [command for command in commands() if not command.never]
    return list(dict.fromkeys(c.page for c in found if (c.slow or bool(c.quick) if slow else not c.slow)))


@pytest.mark.thorough
@pytest.mark.parametrize("name", with_commands(slow=False))
def test_the_quick_commands_of_a_page_run(name, tmp_path, report):
    run_page(name, tmp_path, report, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", with_commands(slow=True))
def test_all_commands_of_a_page_run(name, tmp_path, report):
    run_page(name, tmp_path, report, slow=True)


#: Pages whose blocks of Python another test runs.
PYTHON_ELSEWHERE = {
    "README.md": "test_readme.py",
    "docs/python.md": "test_own_components.py",
    "docs/results.md": "test_results.py",
    "docs/watching.md": "test_figures.py",
}


def python_blocks() -> dict[str, list[str]]:
    """Return the blocks of Python of each page that are not files, which commands use."""
    found = {}
    for page in pages():
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        files = [step.text for step in steps(page) if isinstance(step, File)]
        programs = [block for block in blocks if block not in files]
        if programs:
            found[page.relative_to(ROOT).as_posix()] = programs
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in python_blocks() if name not in PYTHON_ELSEWHERE])
def test_the_python_of_a_page_runs(name, tmp_path):
    """One after the other, in a folder that looks like the source tree; the sweep of 650 runs is made short."""
    sandbox(tmp_path)
    sweep = "experiments/packs/fig10-sweep.toml"
    text = (ROOT / sweep).read_text(encoding="utf-8").replace("fig10.toml", "experiments/packs/fig10.toml")
    short = text.replace("count = 10", "count = 1") + "\n[set]\nduration_s = 0.002\n"
    (tmp_path / "short.toml").write_text(short, encoding="utf-8")
    for shown in python_blocks()[name]:
        program = shown.replace(sweep, "short.toml")
        ended = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S
        )
        assert ended.returncode == 0, f"{name}:\n{program}\n{ended.stderr[-2000:]}"


def test_what_another_test_runs_of_python_it_reads():
    for page, test in PYTHON_ELSEWHERE.items():
        assert Path(page).name in (ROOT / "python/tests" / test).read_text(encoding="utf-8")


#: What the schedulers that a page shows stand in.
_AROUND = f"""
link = {{ rate_mbps = 100 }}
workload = {{ trace = "{ROOT / "python/pifolab/data/tcp-mix.pcap.gz"}", trace_rank = "dscp" }}
"""


@pytest.mark.parametrize("name", ["docs/trees.md", "docs/schedulers/tree.md", "docs/schedulers/managed.md"])
def test_the_schedulers_that_a_page_shows_run(name):
    page = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```toml\n(\[\[scheduler\]\].*?)^```", page, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        assert pifolab.run_text(_AROUND + block)["schedulers"]["sent_packets"].sum() > 0, block


def test_what_is_not_run_is_pinned_with_its_reason(report):
    found = {command.text: command.never for command in commands() if command.never}
    for text, reason in found.items():
        report(f"never run: {text}: {reason}")
    assert found == NEVER


def test_no_command_stands_where_no_test_finds_it():
    for page in pages():
        assert hidden(page) == [], f"{page}: put commands into a block that begins with ```sh"
        text = page.read_text(encoding="utf-8")
        files = [step.text for step in steps(page) if isinstance(step, File)]
        blocks = re.findall(r"^( *)```(\w+)\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
        for indented, language, block in blocks:
            assert not (indented and language == "sh"), f"{page}: a block of commands begins where a line does"
            assert language not in ("bash", "console", "shell", "zsh") or block in files, f"{page}: {block}"


def test_every_page_with_commands_is_found():
    # README, CONTRIBUTING and these pages have commands; a page that loses all of them was read wrongly.
    assert {"README.md", "CONTRIBUTING.md", "docs/sweeps.md", "docs/network.md", "docs/testbed.md"} <= {
        command.page for command in commands()
    }
    assert len(commands()) > 40


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("<!-- run: 2 slow -->\n```sh\nmake\n```\n", "the block has 1 commands"),
        ("<!-- run: sometimes -->\n```sh\nmake\n```\n", "expected [NUMBER] with, quick with, slow, needs or never"),
        ("<!-- run: never -->\n```sh\nmake\n```\n", "expected arguments, a program or a reason"),
        ("<!-- run: slow -->\n", "a comment without a block below it"),
    ],
)
def test_a_comment_that_is_not_of_the_form_is_an_error(page, problem, tmp_path, monkeypatch):
    import page_commands

    monkeypatch.setattr(page_commands, "ROOT", tmp_path)
    file = tmp_path / "page.md"
    file.write_text(page)
    with pytest.raises(ValueError) as raised:
        page_commands.steps(file)
    assert problem in str(raised.value)


def test_a_command_is_read_with_what_its_comment_says(tmp_path, monkeypatch):
    import page_commands

    monkeypatch.setattr(page_commands, "ROOT", tmp_path)
    file = tmp_path / "page.md"
    runs = "1 with --quick; 1 quick with -x; 2 slow; 3 never it is odd"
    text = f"<!-- file: a.toml: toml -->\n```toml\nx = 1\n```\n<!-- run: {runs} -->\n"
    file.write_text(text + "```sh\na b   # comment\n\nc '#d'\ne\n```\n")
    assert page_commands.steps(file) == [
        File("page.md", "a.toml", "x = 1\n"),
        Command("page.md", 7, "a b", "--quick", quick="-x"),
        Command("page.md", 9, "c '#d'", slow=True),
        Command("page.md", 10, "e", never="it is odd"),
    ]
    first = page_commands.steps(file)[1]
    assert (first.shell(slow=False), first.shell(slow=True)) == ("a b --quick -x", "a b --quick")


def test_every_file_that_contributing_names_exists():
    """What a newcomer is to add (`lifo`, `my_rank`, a page of theirs) does not; all that they start from does."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:crates|docs|fuzz|python|scripts|conformance)/[\w./-]+)`", text))
    named |= {f"crates/sched/src/schedulers/{name}" for name in re.findall(r"start from `(\w+\.rs)`", text)}
    added = [name for name in named if re.search(r"lcfs|my_|my-|PAPER", name)]
    assert added
    assert sorted(name for name in named if name not in added and not (ROOT / name).exists()) == []


def test_the_name_that_contributing_gives_a_new_scheduler_is_free():
    """Whoever follows it word by word must not take a name that pages or tests use for a scheduler of their own."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (name,) = re.findall(r"The example is `(\w+)`", text)
    tests = [file for file in (ROOT / "python/tests").glob("*.py") if file != Path(__file__)]
    others = [page for page in pages() if page.name != "CONTRIBUTING.md"] + tests
    used = re.compile(rf"\b{name}\b", re.IGNORECASE)
    assert [str(file) for file in others if used.search(file.read_text(encoding="utf-8"))] == []
