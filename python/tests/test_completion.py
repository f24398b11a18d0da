"""What shells complete: commands, options, files, and names."""

import shutil
import subprocess
from pathlib import Path

import pytest

import pifolab
from pifolab import packaged
from pifolab.cli.commands import complete_parser
from pifolab.cli.completion import _NAMES, _actions, completion

RANKS = [about.name for about in pifolab.info.ranks()]
SCHEDULERS = [about.name for about in pifolab.schedulers()]


@pytest.fixture(scope="module")
def script(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("completion") / "pifolab.bash"
    file.write_text(completion(complete_parser(), "bash"))
    return file


@pytest.fixture(scope="module")
def fish_script(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("completion") / "pifolab.fish"
    file.write_text(completion(complete_parser(), "fish"))
    return file


def completed(script: Path, *words: str, folder: Path | None = None) -> set[str]:
    """What bash offers for the last of the words."""
    line = 'COMP_WORDS=(pifolab "$@"); COMP_CWORD=$#; _shtab_pifolab pifolab; printf \'%s\\n\' "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", f'source "{script}"; {line}', "bash", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


CASES = pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("comp",), {"compare", "completion"}),
        (("compare", "--no-f"), {"--no-figures"}),
        (("compare", "--schedulers", "sp-pifo-"), {"sp-pifo-greedy", "sp-pifo-optimal"}),
        (("compare", "--schedulers", "pifo,pac"), {"pifo,packs"}),
        (("compare", "--rank", "ls"), {"lstf"}),
        (("show", "fq"), {"fq-codel"}),
        (("show", "la"), {"las"}),
        (("show", "leaf"), {"leaf-spine"}),
        (("attack", "pac"), {"packs"}),
        (("run", "packs/fig3"), {"packs/fig3"}),
        (("study", "report", "x", "--x-scale", "l"), {"linear", "log"}),
        (("completion", ""), {"bash", "zsh", "fish"}),
        (("stud",), {"study"}),
        (("study", ""), {"run", "plan", "show", "export", "report", "check", "prune"}),
        (("study", "run", "packs/fig10-s"), {"packs/fig10-sweep"}),
        (("dataplane", "s"), {"status", "switch"}),
        (("compare", "--ranks", "inv"), {"inverse-exponential"}),
        (("show", "metr"), {"metrics"}),
    ],
)


@CASES
def test_bash_completes(script: Path, words: tuple[str, ...], offered: set[str]):
    found = completed(script, *words)
    assert offered <= found
    assert all(word.startswith(words[-1]) for word in found)


def test_bash_offers_every_scheduler_rank_function_and_file(script: Path, tmp_path: Path):
    assert completed(script, "compare", "--schedulers", "") == set(SCHEDULERS)
    assert completed(script, "compare", "--rank", "") == {*RANKS, "column", "dscp", "dscp:phb"}
    (tmp_path / "mine.toml").write_text("")
    scenarios, studies = set(packaged.experiments()) - set(packaged.studies()), set(packaged.studies())
    assert completed(script, "run", "", folder=tmp_path) == scenarios | {"mine.toml"}
    assert completed(script, "study", "run", "", folder=tmp_path) == studies | {"mine.toml"}
    assert completed(script, "compare", "--trace", "m", folder=tmp_path) == {"mine.toml"}


def test_every_argument_that_takes_names_is_one_of_the_command_line():
    words = {
        (command, str(word))
        for command, action in _actions(complete_parser(), "*")
        for word in (*action.option_strings, action.metavar)
    }
    for command, word in _NAMES:
        assert any(word == known and command in ("*", at) for at, known in words), (command, word)


def test_zsh_takes_its_script(pifolab_command, tmp_path: Path):
    done = pifolab_command("completion", "zsh")
    assert done.stdout.startswith("#compdef pifolab")
    assert "_pifolab_schedulers_list" in done.stdout
    assert all(name in done.stdout for name in SCHEDULERS)
    if shutil.which("zsh") is None:
        pytest.skip("needs zsh")
    (tmp_path / "_pifolab").write_text(done.stdout)
    subprocess.run(["zsh", "-f", "-n", tmp_path / "_pifolab"], check=True)


@CASES
def test_fish_completes(fish_script: Path, words: tuple[str, ...], offered: set[str]):
    if shutil.which("fish") is None:
        pytest.skip("needs fish")
    line = f"source {fish_script}; complete -C '{' '.join(['pifolab', *words])}'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", line],
        capture_output=True,
        text=True,
        check=True,
    )
    found = {line.split("\t")[0] for line in done.stdout.splitlines()}
    assert offered <= found


def test_fish_gets_the_names(fish_script: Path):
    script = fish_script.read_text()
    assert "function _pifolab_schedulers_list" in script
    assert all(name in script for name in (*SCHEDULERS, *RANKS, *packaged.studies()))


def test_another_shell_is_one_line(pifolab_command):
    done = pifolab_command("completion", "ksh")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "ksh" in done.stderr
