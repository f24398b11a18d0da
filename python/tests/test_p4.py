"""The P4 data plane, as far as it goes without a P4 compiler: tables, parameter files, what the commands say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest

from pifolab import _pifolab
from pifolab.cli import main
from pifolab_p4 import conformance, tools
from pifolab_p4.frames import DECIDE, TestFrame
from pifolab_p4.parameters import IN_TREE, stale_files
from pifolab_p4.resources import TARGETS, digest, doubled_registers, measure, page, read_stored, with_figures
from pifolab_p4.testbed import EXPERIMENTS, SCHEDULERS, _arrivals, linux_arguments, plan
from pifolab_p4.tools import BMV2, P4C, P4C_TOFINO, MissingToolError, program_file, programs
from pifolab_p4.workspace import workspace
from pifolab_testbed import results as testbed
from pifolab_testbed.claims import load_claims

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import p4_testbed

TOOLS = (P4C, BMV2, P4C_TOFINO)
P4 = str(Path(__file__).resolve().parents[2] / "dataplane" / "p4")

VECTOR = {"scheduler": "fifo", "config": {"capacity": 1}, "ops": [["enq", 0, 5]], "expect": [["adm", 0]]}


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for tool in TOOLS:
        monkeypatch.delenv(tool.variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def tools_that_do_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "nothing"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for tool in TOOLS:
        monkeypatch.setenv(tool.variable, str(program))


def test_the_parameter_files_of_the_tree_are_what_the_library_writes():
    assert stale_files() == [], "pifolab dataplane p4 parameters --all writes them anew"


def test_every_program_has_a_file_and_parameters_in_the_tree():
    for program in programs():
        # Slack-SP was not compiled for Tofino.
        for architecture, target in (("v1model", "bmv2"), ("tna", "tofino"))[: 1 if program == "slack_sp" else 2]:
            assert program_file(program, architecture).is_file()
            assert program in IN_TREE[target]


def entries(text: str, name: str) -> list[str]:
    line = next(line for line in text.splitlines() if line.startswith(f"#define PF_{name}(A)"))
    return [entry.strip() for entry in line.partition(")")[2].strip().split(";") if entry.strip()]


def test_rifos_tables_are_logarithms_and_powers_of_two():
    text = _pifolab.p4_parameters("rifo", {}, "bmv2")["text"]
    for exponent, entry in enumerate(reversed(entries(text, "LOG2"))):
        key, _, value = entry.partition(" : ")
        number, mask = (int(part.strip().removeprefix("64w")) for part in key.split("&&&"))
        assert value == f"A(8w{exponent})"
        for probe in (1 << exponent, (2 << exponent) - 1):
            assert probe & mask == number
        assert (2 << exponent) & mask != number
    # The nearest power of two to 60000 is 2^16, one bit more than an exponent of four bits says.
    nearly = _pifolab.p4_parameters("rifo", {"capacity_bytes": 60_000, "k": 0, "mode": "pow2"}, "bmv2")["text"]
    assert "#define PF_SHELTERED_EXPONENT 4w15" in nearly
    for of, products, more in ((text, "LEFT", 0), (text, "RIGHT", 0), (nearly, "LEFT", 1), (nearly, "RIGHT", 0)):
        for entry in entries(of, f"{products}_PRODUCTS"):
            key, _, value = entry.partition(" : ")
            a, b = (int(part.strip(" ()").removeprefix("4w")) for part in key.split(","))
            assert value == f"A(32w{1 << (a + b + more)})"


def test_exp_pifos_queues_are_where_the_library_puts_ranks():
    parameters = {"queues": 5, "queue_capacity_packets": 100, "r_min": 3, "window_packets": 1000}
    text = _pifolab.p4_parameters("exp-pifo", parameters, "bmv2")["text"]
    ranges = [
        tuple(int(end.strip().removeprefix("64w")) for end in entry.partition(" : ")[0].split(".."))
        for entry in entries(text, "LOGARITHM")
    ]
    queues = {}
    for entry in entries(text, "QUEUE_OF"):
        key, _, value = entry.partition(" : ")
        beta, logarithms = (part.strip(" ()") for part in key.split(","))
        ends = [int(end.strip().removeprefix("8w")) for end in logarithms.split("..")]
        for x in range(ends[0], ends[-1] + 1):
            queues[int(beta.removeprefix("8w")), x] = int(value.strip("A()").removeprefix("8w"))
    from pifolab import ExpPifo

    scheduler = ExpPifo(**parameters)
    highest = 0
    for rank in (0, 2, 3, 5, 6, 700, 40, 12, 11, 699, 383, 384, 100_000, 1):
        x = next(x for x, bounds in enumerate(ranges) if bounds[0] <= rank <= bounds[-1])
        highest = max(highest, x)
        assert scheduler.enqueue(rank).queue == queues[highest, x], rank


def test_a_test_frame_is_read_as_it_was_written():
    frame = TestFrame(DECIDE, queue=3, verdict=2, flags=1, id=7, rank=(1 << 63) - 1, size_bytes=1500, value=9)
    assert TestFrame.unpack(frame.pack(100)) == frame
    assert len(frame.pack(100)) == 100


@pytest.mark.parametrize("through", ["bmv2", "p4-decisions"])
def test_conformance_without_the_tools_ends_with_3_and_one_line(
    no_tools: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], through: str
):
    (tmp_path / "v.json").write_text(json.dumps(VECTOR))
    assert main(["conformance", "--through", through, str(tmp_path / "v.json")]) == 3
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "PIFOLAB_P4C" in said[0]


def test_a_tool_is_found_where_its_variable_says_or_on_the_path(
    no_tools: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for tool in TOOLS:
        with pytest.raises(MissingToolError, match=tool.variable):
            tool.find()
        script = tmp_path / tool.names[0]
        script.write_text("#!/bin/sh\necho 1.2.3\n")
        script.chmod(0o755)
        assert tool.find() == script
        assert tool.version() == "1.2.3"
        elsewhere = tmp_path / "elsewhere"
        monkeypatch.setenv(tool.variable, str(elsewhere))
        with pytest.raises(Exception, match=f"{tool.variable}={elsewhere}: no program is there"):
            tool.find()


def test_a_compiler_that_does_not_end_is_stopped_in_one_line(
    no_tools: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    script = tmp_path / "p4c-barefoot"
    script.write_text("#!/bin/sh\nif [ $1 = --version ]; then echo 1.2.3; exit; fi\nread never < $0.pipe\n")
    script.chmod(0o755)
    os.mkfifo(f"{script}.pipe")
    monkeypatch.setattr(tools, "_COMPILE_SECONDS", 0.2)
    assert main(["dataplane", "p4", "resources", "--only", "fifo"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"pifolab dataplane p4 resources: fifo for {target}: p4c-barefoot: not ready after 0.2 s, and stopped"
        for target in TARGETS
    ]


def test_doctor_reports_the_tools(no_tools: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys):
    program = tmp_path / "program"
    program.write_text(
        '#!/bin/sh\nif [ "$2" = --json ]; then echo \'{"switch": true, "ebpf": false, "findings": []}\'; fi\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PIFOLAB_DATAPLANE", str(program))
    monkeypatch.setenv("PIFOLAB_BMV2", str(program))
    assert main(["dataplane", "doctor", "--json"]) == 0
    findings = {finding["what"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert [findings[tool.what]["ok"] for tool in TOOLS] == [False, True, False]
    assert findings[BMV2.what]["detail"] == str(program)
    assert "PIFOLAB_P4C_TOFINO" in findings[P4C_TOFINO.what]["detail"]
    assert main(["dataplane", "doctor"]) == 0
    assert f"NO  {P4C.what}" in capsys.readouterr().out


def test_without_the_source_tree_the_p4_commands_say_so_and_doctor_leaves_them_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PIFOLAB_DATAPLANE", str(program))
    monkeypatch.setattr("pifolab.dataplane.__file__", str(tmp_path / "lib" / "pifolab" / "dataplane.py"))
    said = "are in the source tree only; install pifolab from there"
    (tmp_path / "v.json").write_text(json.dumps(VECTOR))
    for command in (
        ["dataplane", "p4", "list"],
        ["conformance", "--through", "p4", str(tmp_path / "v.json")],
        ["dataplane", "testbed", "udp-four-flows", "--data-plane", "p4", "--out", str(tmp_path / "out")],
    ):
        assert main(command) == 2
        assert capsys.readouterr().err.endswith(f"{said}\n")
    assert main(["dataplane", "doctor"]) == 0
    assert "P4" not in capsys.readouterr().out
    monkeypatch.delenv("PIFOLAB_DATAPLANE")
    monkeypatch.setenv("PATH", str(tmp_path))
    for command in ("up", "switch", "testbed"):
        assert main(["dataplane", command, "--help"]) == 0
        assert capsys.readouterr().out.startswith(f"usage: pifolab dataplane {command} ...\n")


@pytest.mark.parametrize("words", [["doctor"], ["dataplane", "doctor"]])
def test_doctor_runs_where_nothing_is_installed_and_says_what_each_thing_is_for(
    words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.delenv("PIFOLAB_DATAPLANE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("pifolab.dataplane.__file__", str(tmp_path / "lib" / "pifolab" / "dataplane.py"))
    monkeypatch.setattr("pifolab.cli.doctor.pcap_library", lambda: None)
    assert main([*words, "--json"]) == 0
    findings = {finding["what"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["Python"]["ok"]
    assert findings["memory"]["ok"]
    assert findings["Rust"]["install"] == "see https://rustup.rs"
    assert findings["Node"]["packages"] == "nodejs"
    assert findings["libpcap"]["packages"] == "libpcap0.8"
    assert not findings["libpcap"]["ok"]
    assert not findings["Node"]["ok"]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(findings)
    for line, finding in zip(lines, findings.values(), strict=True):
        assert line.startswith(f"{'yes' if finding['ok'] else 'NO '} {finding['what']} (for {finding['needed_for']}): ")
        assert line.endswith(finding["install"])
    assert sum(line.startswith("NO  pifolab-dataplane") for line in lines) == (sys.platform == "linux")
    assert main([*words, "--objects", "x"]) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sp-pifo", "queues=9"], "sp-pifo on BMv2: queues = 9: expected at most 8"),
        (["aifo", "window=1000"], "aifo on BMv2: window = 1000: expected at most 256"),
        (["aifo", "k=1"], "aifo: k = "),
        (["rifo", "colour=red"], "rifo: "),
        (["rifo", "mode=netbench"], "rifo on BMv2: mode = netbench: expected alg1, eq3 or pow2"),
        (["pieo", "capacity_packets=4"], "there is no P4 program of pieo"),
        (["fifo", "capacity_packets"], "--set capacity_packets: expected KEY=VALUE"),
    ],
)
def test_bad_parameters_are_one_line_before_anything_starts(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
):
    name, parameter = arguments
    command = ["dataplane", "p4", "parameters", "--scheduler", name, "--set", parameter]
    assert main(command) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        ["dataplane", "p4", "parameters", "--scheduler", "fifo", "--set", "X"],
        ["dataplane", "p4", "parameters", "--scheduler", "fifo", "--set", "X=1"],
        ["dataplane", "p4", "parameters", "--scheduler", "aifo", "--set", "k=X"],
        ["dataplane", "p4", "resources", "--only", "X"],
        ["dataplane", "testbed", "X", "--data-plane", "p4", "--out", "X"],
    ],
)
def test_control_characters_in_an_argument_are_written_out_in_one_line(
    capsys: pytest.CaptureFixture[str], command: list[str]
):
    assert main([part.replace("X", "a\x1b[31mb\nc") for part in command]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "\x1b" not in said


@pytest.mark.parametrize(("required", "status"), [("", 0), ("P", 1)])
def test_without_the_tools_one_line_says_what_is_skipped_or_failed(required: str, status: int):
    script = Path(__file__).resolve().parents[2] / "scripts" / "test_p4.sh"
    environment = {"PATH": "/usr/bin:/bin", "DATAPLANE_REQUIRE": required}
    # Variables that name no program count as tools that are missing, whatever is on the PATH.
    environment |= {tool.variable: "/nowhere" for tool in TOOLS}
    done = subprocess.run([script, "say"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert (done.stdout + done.stderr).count("\n") == 1
    if not required:
        assert done.stdout.startswith("P4: skipped the programs on BMv2 (")
        assert "; the programs for Tofino (" in done.stdout


def test_the_testbed_refuses_an_unknown_occupancy_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "out"
    command = ["dataplane", "testbed", "udp-four-flows", "--data-plane", "p4", "--occupancy", "late", "--out", str(out)]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert said == (
        'pifolab dataplane testbed: unknown occupancy "late"; there are counted, ghost '
        "(see pifolab dataplane testbed --help)\n"
    )
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--rate", "nan"], "pifolab: --rate nan: expected a rate above 0 with its unit, such as 10G or 100 Mb/s\n"),
        (["--rate", "2G"], "pifolab: --rate-mbps 2000.0: expected from 0.1 to 1000 Mb/s\n"),
        (["--phase", "1ms"], "pifolab: --phase-s 0.001: expected from 0.2 to 600 seconds\n"),
        (["--schedulers", "fifo,pifo"], "pifolab: --schedulers pifo: no P4 program runs it; expected one of fifo, "),
        (["--schedulers", "fifo,fofi"], 'pifolab: unknown scheduler "fofi"; '),
        (["--schedulers", "fifo,fifo"], "pifolab: --schedulers fifo,fifo: fifo is a duplicate\n"),
        (["--data-plane", "p4,linux"], "pifolab: --data-plane p4,linux: expected p4, alone or with ebpf and switch\n"),
        (["--data-plane", "p4,ebpf,ebpf"], "pifolab: --data-plane p4,ebpf,ebpf: ebpf is a duplicate\n"),
    ],
)
def test_the_testbed_refuses_bad_values_in_one_line_without_the_tools(
    no_tools: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
):
    out = tmp_path / "out"
    assert main(["dataplane", "testbed", "udp-four-flows", "--data-plane", "p4", *arguments, "--out", str(out)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(said)
    assert err.count("\n") == 1
    assert not out.exists()


def test_the_linux_data_planes_beside_p4_get_its_flows_frames_and_parameters():
    experiment = plan("udp-four-flows", 10, 1)
    given = linux_arguments(experiment, ("fifo", "sp-pifo", "packs"))
    said = " ".join(given)
    assert said.startswith("udp-four-flows --rate-mbps 10 --phase-s 1 --mtu 2186 --schedulers fifo,sp-pifo,packs ")
    for name in ("fifo", "sp-pifo", "packs"):
        for key, value in experiment.parameters(name).items():
            assert f"--{key.replace('_', '-')} {value}" in said
    # Parameters that none of the schedulers has would be refused.
    assert "--on-full" not in linux_arguments(experiment, ("fifo", "rifo"))


def test_flows_of_the_p4_testbed_offer_what_they_should_with_gaps_jittered_by_half():
    experiment = plan("udp-four-flows", 100, 0.5)
    times = [time for time, flow in _arrivals(experiment, 0) if flow == 1]
    assert times[0] == 0.5
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert 0.5 <= min(gaps) / experiment.slot_s < 0.51
    assert 1.49 < max(gaps) / experiment.slot_s <= 1.5
    assert sum(gaps) / len(gaps) == pytest.approx(experiment.slot_s, rel=0.01)


def test_the_page_says_of_each_testbed_claim_whether_bmv2_judges_it():
    rows = [
        line.strip("| ").split(" | ") for line in page().read_text(encoding="utf-8").splitlines() if "judged" in line
    ]
    said = {
        claim: (experiment.strip("`"), answer == "judged")
        for claims, experiment, answer in (row for row in rows if len(row) == 3)
        for claim in claims.split(", ")
    }
    claims = load_claims().claims
    assert said == {claim.id: (claim.experiment, claim.experiment in EXPERIMENTS) for claim in claims}


@pytest.mark.thorough
def test_the_page_shows_the_stored_shares_and_the_verdicts_that_the_registry_has_of_them():
    stored = p4_testbed.read_stored()
    text = p4_testbed.PAGE.read_text(encoding="utf-8")
    assert p4_testbed.with_block(text, p4_testbed.block(stored)) == text, "run python scripts/p4_testbed.py"
    assert {results.experiment for results in stored} == set(EXPERIMENTS)
    judged = {(found.claim, found.data_plane) for results in stored for found in testbed.verdicts(results)}
    claims = load_claims().claims
    # Every claim that BMv2 can judge, on every data plane, from runs that are enough for a verdict.
    asked = {claim.id for claim in claims if claim.experiment in EXPERIMENTS}
    assert judged == {(claim, plane) for claim in asked for plane in ("ebpf", "switch", "p4")}
    assert not any(found.provisional for results in stored for found in testbed.verdicts(results))


def test_the_stored_runs_are_of_the_experiments_as_they_are():
    for results in p4_testbed.read_stored():
        experiment = plan(results.experiment, None, None)
        assert [flow["rank"] for flow in results.summary["flows"]] == list(experiment.ranks)
        assert results.summary["rate_bps"] == experiment.rate_bps
        assert results.summary["phases_s"] == [list(phase) for phase in experiment.phases()]
        assert {name for name, _ in results.measured} == set(SCHEDULERS)
        for run in results.summary["runs"]:
            given = {key: str(value) for key, value in experiment.parameters(run["scheduler"]).items()}
            assert run["parameters"] == given, run["data_plane"]


def test_a_vector_longer_than_what_a_program_keeps_is_skipped_with_its_reason(tmp_path: Path):
    count = 65537
    file = tmp_path / "long.json"
    long = VECTOR | {"config": {"capacity_packets": 1}, "ops": [["deq"]] * count, "expect": [["deq", None]] * count}
    file.write_text(json.dumps(long), encoding="utf-8")
    read = conformance._read(str(file))
    assert not isinstance(read, str), read
    skipped = conformance._drive(read, tmp_path, "queues").skipped
    assert skipped == "65537 operations, but the program keeps only 65536 decisions"


ASSEMBLY = """
stage 4 ingress:
  ternary_match choice_0 4:
    p4: { name: PfIngress.decide.choice, size: 32 }
  stateful slot_0$salu.PfIngress.decide.slot_0:
    p4: { name: PfIngress.decide.slot_0, size: 1 }
    row: 15
stage 5 ingress:
  stateful slot_1$salu.PfIngress.decide.slot_1:
    p4: { name: PfIngress.decide.slot_1, size: 1 }
"""


def test_a_register_that_stands_twice_in_an_assembly_is_found():
    assert doubled_registers(ASSEMBLY) == []
    twice = ASSEMBLY.replace("slot_1, size", "slot_0, size")
    assert doubled_registers(twice) == ["PfIngress.decide.slot_0"]


STAGE = {
    "stage_number": 4,
    "xbar_bytes": {"bytes": [{"byte_type": "exact", "usages": ["a"]}, {"byte_type": "exact", "usages": []}]},
    "meter_alus": {"meters": [{"usages": ["slot_0"]}, {"usages": ["slot_1"]}]},
    "rams": {"srams": [{"usages": ["slot_0"]}]},
    "map_rams": {"maprams": []},
    "tcams": {"tcams": []},
    "hash_bits": {"bits": [{"usages": []}]},
    "gateways": {"gateways": []},
    "logical_tables": {"ids": [1, 2]},
}


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Stand in for the compiler for Tofino: it writes the assembly that is in the file returned, and one stage."""
    (tmp_path / "stage.json").write_text(json.dumps({"resources": {"mau": {"mau_stages": [STAGE]}}}))
    script = tmp_path / "p4c-barefoot"
    script.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo 1.2.3; exit; fi\n'
        'while [ "$1" != -o ]; do shift; done\n'
        f'cp {tmp_path}/assembly "$2/program.bfa" && cp {tmp_path}/stage.json "$2/resources.json"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv(P4C_TOFINO.variable, str(script))
    return tmp_path / "assembly"


def test_what_a_program_takes_is_counted_from_the_compilers_files(compiler: Path):
    compiler.write_text(ASSEMBLY)
    figures = measure("aifo", "tofino")
    assert (figures.stages, figures.stateful_alus, figures.sram_blocks, figures.registers) == (5, 2, 1, 2)
    assert (figures.exact_crossbar_bytes, figures.hash_bits, figures.logical_tables) == (1, 0, 2)


def test_resources_fail_where_an_assembly_has_a_register_twice(compiler: Path, capsys: pytest.CaptureFixture[str]):
    compiler.write_text(ASSEMBLY.replace("slot_1, size", "slot_0, size"))
    assert main(["dataplane", "p4", "resources", "--only", "aifo"]) == 1
    assert "the assembly has several separate copies of registers: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--write"], "--write: expected --p4c RELEASE, "), (["--p4c", "1.2"], "--p4c: expected --write, ")],
)
def test_figures_are_stored_with_the_release_of_p4c(
    compiler: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
):
    assert main(["dataplane", "p4", "resources", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"pifolab: {said}")
    stored = read_stored()
    assert f"Compiler: {stored['compiler']}, built from p4c {stored['p4c']}." in page().read_text(encoding="utf-8")
    assert stored["p4c"]


def test_stored_figures_are_of_the_programs_as_they_are():
    stored = read_stored()
    assert set(stored["programs"]) == set(TARGETS)
    for target, programs_there in stored["programs"].items():
        assert set(programs_there) == set(IN_TREE["tofino"])
        for program, figures in programs_there.items():
            assert figures["digest"] == digest(program), (
                f"{program}: pifolab dataplane p4 resources --write measures it"
            )
            assert figures["stages"] <= TARGETS[target][1]


def test_the_page_shows_the_stored_figures():
    text = page().read_text(encoding="utf-8")
    assert with_figures(text) == text


def test_a_changed_program_has_another_digest_and_a_comment_has_not(tmp_path, monkeypatch):
    for name in ("main.p4", "other.p4"):
        (tmp_path / name).write_text('#include "other.p4"\nbit<8> a; // one\n' if name == "main.p4" else "bit<8> b;\n")
    monkeypatch.setattr("pifolab_p4.resources.program_file", lambda program, architecture: tmp_path / f"{program}.p4")
    before = digest("main")
    (tmp_path / "main.p4").write_text('#include "other.p4"\nbit<8> a; // two\n')
    assert digest("main") == before
    (tmp_path / "other.p4").write_text("bit<9> b;\n")
    assert digest("main") != before


def test_down_removes_what_a_killed_command_left_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = (
        "import time; from pifolab_p4.workspace import workspace\n"
        "with workspace() as folder: print(folder, flush=True); time.sleep(600)"
    )
    # Not pifolab's: no lock, or a link to a folder elsewhere.
    foreign = tmp_path / "pifolab-p4-foreign"
    foreign.mkdir()
    environment = os.environ | {"PYTHONPATH": P4, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as killed:
        assert killed.stdout is not None
        left = Path(killed.stdout.readline().strip())
        (left / "program.json").write_text("{}")
        (tmp_path / "pifolab-p4-link").symlink_to(left)
        assert main(["dataplane", "p4", "down"]) == 0
        assert capsys.readouterr().out == "nothing is left of P4 commands that were killed\n"
        assert left.is_dir()
        killed.kill()
    with workspace() as mine:
        assert main(["dataplane", "p4", "down"]) == 0
        assert capsys.readouterr().out == f"removed {left}\n"
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["pifolab-p4-link", foreign.name, mine.name])


def test_a_control_character_in_a_vectors_name_or_out_is_written_out_in_one_line(
    tmp_path: Path, tools_that_do_nothing: None, capsys: pytest.CaptureFixture[str]
):
    broken = tmp_path / "two\nlines.json"
    broken.write_text('{"format":')
    assert main(["dataplane", "p4", "staleness", str(broken)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"pifolab: {tmp_path}/two\\nlines.json: line 1 column 9: ")
    assert said.count("\n") == 1
    foreign = tmp_path / "of\npifo.json"
    foreign.write_text(json.dumps(VECTOR | {"scheduler": "pifo"}))
    assert main(["conformance", "--through", "p4", str(foreign)]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"skipped {tmp_path}/of\\npifo.json: ")
    out = f"{broken}/a\nb"
    assert (
        main(["dataplane", "testbed", "udp-four-flows", "--data-plane", "p4", "--schedulers", "fifo", "--out", out])
        == 2
    )
    said = capsys.readouterr().err
    shown = f"{tmp_path}/two\\nlines.json/a\\nb"
    assert said == f"pifolab: --out {shown}: cannot be made: Not a directory\n"
