"""A paper from outside: its folder, its schedulers in Python and in C, and what they get from the simulator."""

import json
import random
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import pifolab
from pifolab import InputError, plugins
from pifolab.cli import main
from pifolab.cli.study import _with_papers
from pifolab.packaged import experiment
from pifolab.store import Store
from pifolab.sweep import Sweep, run_sweep
from pifolab.sweep.custom import load
from pifolab.toml import read_toml
from pifolab_papers import disagreements, load_paper, mismatches, write_vectors
from pifolab_papers.earlier import settings_digest
from pifolab_papers.outside import missing, replay_vectors, write_skeleton

HEADER = Path(pifolab.__file__).parent / "data" / "pifolab_loadable.h"
CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler (cc)")


def built(folder, name, source=None):
    """Compile a library in `folder`, with the header of the package beside its source, and return its path."""
    if source is not None:
        (folder / f"{name}.c").write_text(source)
        if not (folder / HEADER.name).exists():
            shutil.copyfile(HEADER, folder / HEADER.name)
    library = folder / f"{name}.so"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run([CC, *flags, "-o", library, folder / f"{name}.c"], check=True)
    return library


def skeleton(folder, *, in_c=False):
    write_skeleton(folder, in_c=in_c)
    if in_c:
        built(folder, folder.name.replace("-", "_"))
    return folder


def judged(folder, out):
    assert main(["reproduce", str(folder), "--quick", "--out", str(out), "--no-figures", "--workers", "1"]) == 0
    claims = json.loads((out / "claims.json").read_text())["claims"]
    return {claim["id"]: claim["verdict"] for claim in claims}


def test_the_skeleton_of_a_paper_runs_lacks_nothing_and_its_claims_fall_with_another_scheduler(tmp_path, capsys):
    folder = tmp_path / "my-paper"
    assert main(["study", "new", "--paper", str(folder)]) == 0
    assert f"judge it: pifolab reproduce {folder} --quick" in capsys.readouterr().out
    assert main(["reproduce", str(folder), "--check"]) == 0
    said = capsys.readouterr().out
    assert said == "3 claims, 2 experiments, 1 vectors with 8 operations; missing: 0, differing vectors: 0\n"
    assert judged(folder, tmp_path / "out") == dict.fromkeys(["c1", "c2", "c3"], "reproduced")
    said = "depth quick: 3 seeds, as long as the scenarios say. Depths differ in the number of seeds alone.\n"
    assert said in capsys.readouterr().err
    page = (tmp_path / "out" / "report.html").read_text()
    assert "my-paper, reproduced" in page
    assert "Kind: exact. Source: section 3 of the paper." in page
    capsys.readouterr()
    tried = ["reproduce", str(folder), "--quick", "--mutate", "--out", str(tmp_path / "out"), "--workers", "1"]
    assert main(tried) == 0
    assert "3 of 3 parts were tried against their mutants: 3 fall with each, 0 hold with one" in capsys.readouterr().out


@needs_cc
def test_the_skeleton_in_c_is_judged_like_that_in_python(tmp_path):
    folder = skeleton(tmp_path / "in-c", in_c=True)
    assert missing(load_paper(folder)) == []
    assert replay_vectors(load_paper(folder).home).differ == ()
    assert judged(folder, tmp_path / "out") == dict.fromkeys(["c1", "c2", "c3"], "reproduced")


@needs_cc
def test_loaded_python_and_built_in_schedulers_of_one_algorithm_decide_alike_on_drawn_traffic(tmp_path):
    library = plugins.load_library(built(skeleton(tmp_path / "two", in_c=True), "two"))
    assert (library.name, library.kind) == ("two", "schedulers")
    skeleton(tmp_path / "two-py")
    own = plugins.load_plugins([tmp_path / "two-py" / "two_py.py"]).schedulers["scheduler"]
    draw = random.Random(1)
    for seed in range(1, 9):
        border, room = draw.randrange(1, 100), draw.randrange(1, 20)
        text = f"""
            duration_s = 0.002
            link = {{ rate_gbps = 10 }}
            workload = {{ arrivals = "poisson", rate_gbps = 12, size_bytes = 1500, ranks = "uniform" }}
            [[scheduler]]
            name = "strict-priority"
            queues = 2
            queue_capacity_packets = {room}
            bounds = [0, {border}]
            [[scheduler]]
            name = "two"
            border = {border}
            capacity_packets = {room}
            [[scheduler]]
            name = "scheduler"
            border = {border}
            capacity_packets = {room}
        """
        run = pifolab.run_text(text, seeds=[seed], schedulers={"two": library, "scheduler": own})
        table = run["schedulers"]
        assert len(set(table["trace_hash"])) == 1
        arrived, sent, dropped = (table[f"{what}_packets"].to_list() for what in ("arrived", "sent", "dropped"))
        waiting = {a - s - d for a, s, d in zip(arrived, sent, dropped, strict=True)}
        assert len(waiting) == 1
        assert 0 <= waiting.pop() <= 2 * room + 1


LABELS = """
#include "pifolab_loadable.h"
#include <stdlib.h>

/* A FIFO of any length that counts up the label of each packet, adds a bit of its stream, and writes at dequeue. */
typedef struct { const pifolab_host *host; uint64_t ids[4096], labels[4096]; uint64_t first, last; } fifo;

static void *create(const pifolab_host *host) {
    fifo *self = calloc(1, sizeof *self);
    self->host = host;
    return self;
}
static int32_t enqueue(void *self, const pifolab_item *packet, uint64_t now_ps) {
    fifo *one = self;
    (void)now_ps;
    if (one->last - one->first == 4096)
        return PIFOLAB_REFUSED_FULL;
    one->ids[one->last % 4096] = packet->id;
    one->labels[one->last++ % 4096] = packet->label;
    return 0;
}
static int32_t dequeue(void *self, uint64_t now_ps, uint64_t *value) {
    fifo *one = self;
    const pifolab_host *host = one->host;
    (void)now_ps;
    if (one->first == one->last)
        return PIFOLAB_EMPTY;
    *value = one->ids[one->first % 4096];
    host->set_label(host->context, 2 * one->labels[one->first++ % 4096] + host->random(host->context) % 2 + 1);
    return PIFOLAB_SEND;
}
static const pifolab_loadable_table table = {
    .version = PIFOLAB_LOADABLE_VERSION, .kind = PIFOLAB_SCHEDULER, .reads_facts = 1, .name = "labels",
    .create = create, .destroy = free, .enqueue = enqueue, .dequeue = dequeue,
};
const pifolab_loadable_table *pifolab_loadable(void) { return &table; }
"""

NETWORK = """
    duration_s = 0.0005
    [topology]
    kind = "leaf-spine"
    leaves = 2
    spines = 1
    hosts_per_leaf = 2
    access_rate_gbps = 10
    fabric_rate_gbps = 20
    delay_ns = 20
    [transport]
    name = "newreno"
    [workload.flows]
    arrivals = "poisson"
    load = 0.8
    sizes = "web-search"
    pairs = "uniform"
"""


class Labels(pifolab.PythonScheduler):
    """What `LABELS` is, and what it saw."""

    wants_label = True
    wants_facts = True
    seen = None

    def __init__(self):
        self.waiting = []

    def enqueue(self, packet, now_ns):
        if len(self.waiting) == 4096:
            return packet
        carried = self.label
        if self.seen is not None:
            self.seen.append((carried, self.facts.flow_size_bytes))
        self.waiting.append((packet, carried))
        return None

    def dequeue(self, now_ns):
        if not self.waiting:
            return None
        assert self.label is None
        packet, carried = self.waiting.pop(0)
        self.label = 2 * carried + self.stream.bits() % 2 + 1
        return packet


def test_labels_travel_from_hop_to_hop_and_begin_at_0():
    class Watching(Labels):
        seen = []  # noqa: RUF012
        drawn = []  # noqa: RUF012

        def __init__(self):
            super().__init__()
            self.bits = []
            self.drawn.append(self.bits)

        def dequeue(self, now_ns):
            packet = super().dequeue(now_ns)
            if packet is not None:
                self.bits.append((self.label - 1) % 2)
            return packet

    run = pifolab.run_text(f'{NETWORK}\n[[scheduler]]\nname = "labels"', schedulers={"labels": Watching}, seeds=[3])
    assert run["ports"]["sent_packets"].sum() > 500
    labels = [label for label, _ in Watching.seen]
    # A label counts the hops: from 2^n - 1 on, below 2^(n+1) - 1. Leaf, spine, leaf: ports of hosts have no scheduler.
    hops = [(label + 1).bit_length() - 1 for label in labels]
    assert set(hops) == {0, 1, 2}
    assert hops.count(0) >= hops.count(1) >= hops.count(2) > 100
    assert {label for label in labels if label > 2} == {3, 4, 5, 6}
    # Each port has the stream of its number, and no two the same.
    streams = [pifolab.Stream(3, f"scheduler {port}") for port in range(32)]
    expected = {tuple(stream.bits() % 2 for _ in range(40)) for stream in streams}
    found = [tuple(bits[:40]) for bits in Watching.drawn if len(bits) >= 40]
    assert len(expected) == 32
    assert len(set(found)) == len(found) > 3
    assert set(found) <= expected
    assert min(size for _, size in Watching.seen) > 0


@needs_cc
def test_labels_and_random_bits_are_the_same_in_c_and_in_python(tmp_path):
    library = plugins.load_library(built(tmp_path, "labels", LABELS))
    text = f'{NETWORK}\n[[scheduler]]\nname = "labels"'
    hashes = {}
    for name, scheduler in (("c", library), ("python", Labels)):
        run = pifolab.run_text(text, schedulers={"labels": scheduler}, seeds=[3, 4])
        hashes[name] = [part["trace_hash"] for part in run.manifest["runs"]]
        again = pifolab.run_text(text, schedulers={"labels": scheduler}, seeds=[3, 4], workers=2)
        assert again["ports"].equals(run["ports"])
    assert hashes["c"] == hashes["python"]


class Slack(pifolab.PythonRank):
    """LSTF with a label: the slack that is left, less the wait and a microsecond at each hop."""

    wants_label = True
    seen: list = []  # noqa: RUF012

    def __init__(self):
        self.arrived = {}

    def rank(self, packet, now_ns):
        self.label = self.label or 1_000_000
        self.seen.append(self.label)
        self.arrived[packet.id] = now_ns, self.label
        return self.label + now_ns

    def on_dequeue(self, packet, now_ns):
        arrived, slack = self.arrived.pop(packet.id)
        assert self.label is None
        self.label = max(1, slack - (now_ns - arrived) - 1000)

    def on_drop(self, packet, now_ns):
        del self.arrived[packet.id]


def test_a_rank_function_rewrites_the_label_at_each_hop():
    Slack.seen.clear()
    text = f'{NETWORK}\n[rank]\nname = "slack"\n[[scheduler]]\nname = "pifo"\ncapacity_packets = 4'
    run = pifolab.run_text(text, ranks={"slack": Slack}, seeds=[3])
    assert run["ports"]["sent_packets"].sum() > 500
    assert sum(slack <= 998_000 for slack in Slack.seen) > 100
    assert max(Slack.seen) == 1_000_000


def test_a_label_that_is_no_number_of_64_bits_ends_the_run():
    class Wrong(Labels):
        def dequeue(self, now_ns):
            packet = super().dequeue(now_ns)
            self.label = -1
            return packet

    with pytest.raises(ValueError, match=r"label = -1: expected None or an integer from 0 to 2\^64 - 1"):
        pifolab.run_text(f'{NETWORK}\n[[scheduler]]\nname = "labels"', schedulers={"labels": Wrong}, seeds=[3])


def test_a_stream_is_named_and_repeats():
    first, again, other = (pifolab.Stream(7, name) for name in ("a", "a", "b"))
    drawn = [first.bits() for _ in range(5)]
    assert drawn == [again.bits() for _ in range(5)] != [other.bits() for _ in range(5)]
    assert all(0 <= first.uniform() < 1 and 0 <= first.below(3) < 3 for _ in range(1000))
    with pytest.raises(InputError, match="bound = 0: expected an integer from 1"):
        first.below(0)


@needs_cc
def test_a_library_that_does_not_fit_is_refused_with_the_reason(tmp_path):
    with pytest.raises(InputError, match=r"none\.so: no such file$"):
        plugins.load_library(tmp_path / "none.so")
    (tmp_path / "late.c").write_text(LABELS)
    with pytest.raises(InputError, match=r"no such file; build it: cc -O2 -shared -fPIC -o \S+late\.so \S+late\.c"):
        plugins.load_library(tmp_path / "late.so")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(InputError, match=r"text\.so: cannot be loaded: "):
        plugins.load_library(tmp_path / "text.so")
    with pytest.raises(InputError, match=r"empty\.so: does not export pifolab_loadable"):
        plugins.load_library(built(tmp_path, "empty", "int nothing(void) { return 0; }\nint nothing(void);\n"))
    older = LABELS.replace("PIFOLAB_LOADABLE_VERSION", "7")
    with pytest.raises(
        InputError, match=r"older\.so: version = 7: expected 1: compile the library with the pifolab_load"
    ):
        plugins.load_library(built(tmp_path, "older", older))
    library = built(tmp_path, "changing", LABELS.replace('"labels"', '"changing"'))
    assert plugins.load_library(library) is plugins.load_library(library)
    content = library.read_bytes()
    # In place it would change under the process that has mapped it.
    library.unlink()
    library.write_bytes(content + b" ")
    with pytest.raises(InputError, match=r"changed since this process loaded it: start a new process"):
        plugins.load_library(library)


@needs_cc
def test_parameters_and_broken_promises_of_a_library_are_named(tmp_path, capsys):
    folder = skeleton(tmp_path / "two", in_c=True)
    library = plugins.load_library(folder / "two.so")
    start = 'duration_s = 0.001\nlink = { rate_gbps = 10 }\nworkload = { arrivals = "constant", rate_gbps = 11, '
    start += 'size_bytes = 1500, ranks = "uniform" }\n[[scheduler]]\nname = "two"\n'
    for keys, problem in (
        ("border = 5", "capacity_packets is missing: expected an integer from 1 to 1000000"),
        ('border = "x"\ncapacity_packets = 5', "border = x: expected an integer from 0 to 18446744073709551615"),
        ('border = "5 "\ncapacity_packets = 5', "border = 5 : expected an integer"),
        (f"border = {2**64}\ncapacity_packets = 5", f"border = {2**64}: expected an integer"),
        ("border = -1\ncapacity_packets = 5", "border = -1: expected an integer"),
        ("border = 5\ncapacity_packets = 0", "capacity_packets = 0: expected an integer from 1"),
        ("border = 5\ncapacity_packets = 5\nroom = 6", "room = 6: unknown key: the library does not read it"),
    ):
        with pytest.raises(InputError, match=problem):
            pifolab.run_text(start + keys, schedulers={"two": library})
    greedy = LABELS.replace("*value = one->ids[one->first % 4096];", "*value = 1u << 30;")
    broken = plugins.load_library(built(tmp_path, "broken", greedy))
    with pytest.raises(RuntimeError, match="labels: it sends packet 1073741824, which it does not hold"):
        pifolab.run_text(start.replace('"two"', '"labels"'), schedulers={"labels": broken})
    scenario = tmp_path / "s.toml"
    scenario.write_text(start + "border = 5\ncapacity_packets = 5\n")
    assert main(["run", str(scenario), "--python", str(folder / "two.so"), "--out", str(tmp_path / "run")]) == 0


BAD = [
    ('title = ""', "title = ''", "title = '': expected a non-empty text"),
    ('name = "bad"', 'name = "B A"', "name = 'B A': expected small letters, digits and hyphens, a letter first"),
    ('name = "bad"', 'name = "2-a"', "name = '2-a': expected small letters, digits and hyphens, a letter first"),
    ('title = "bad"', "titel = 3", "titel: unknown key"),
    ('oracle = "oracle.py"', 'oracle = "none.py"', "oracle = 'none.py': expected a file of the folder"),
    ('oracle = "oracle.py"', 'oracle = "../out.py"', "oracle = '../out.py': expected a file of the folder"),
    ('title = "bad"', 'title = "bad"\nmaps = 3', "maps = 3: expected a table"),
    ('["traffic.toml"]', '["traffic.toml"]\naxes = 3', "experiment uniform: axes = 3: expected a table"),
    ('["traffic.toml"]', '["traffic.toml"]\nplot = 3', "experiment uniform: plot = 3: expected a table"),
    ('["traffic.toml"]', '["traffic.toml"]\noverrides = 3', "experiment uniform: overrides = 3: expected a table"),
    (
        '["traffic.toml"]',
        '["traffic.toml"]\nreading = { axes = 3 }',
        "experiment uniform: reading: axes = 3: expected a table",
    ),
    (
        '["traffic.toml"]',
        '["traffic.toml"]\nreading = { overrides = 3 }',
        "experiment uniform: reading: overrides = 3: expected a table",
    ),
    (
        '["traffic.toml"]',
        '["traffic.toml"]\naxes = { load = { key = "a", values = [1], map = 3 } }',
        "experiment uniform: axis load: map = 3: expected a table, or the name of one",
    ),
    ('bad = "bad.py:Scheduler"', 'fifo = "bad.py:Scheduler"', "schedulers: fifo: is a scheduler of the package"),
    ("[[claim.part]]", "[claim.part]", "expected tables [[claim.part]]"),
    ('"oracle.py:decisions"', '"oracle.py:"', "study = 'oracle.py:': expected \"file.py:function\""),
    ('"oracle.py:decisions"', '":decisions"', "study = ':decisions': expected \"file.py:function\""),
    ('"oracle.py:decisions"', '"oracle.py:HERE"', "study = 'oracle.py:HERE': expected \"file.py:function\""),
    ('"bad.py:Scheduler"', '"bad.py"', 'schedulers: bad = \'bad.py\': expected "file.py:Class" or "library.so"'),
    ('"bad.py:Scheduler"', '"bad.py:Lifo"', "bad.py: has no Lifo"),
    ('"bad.py:Scheduler"', '"bad.so"', "bad.so: no such file"),
    ('"oracle.py:decisions"', '"oracle.py:none"', "experiment decisions: study = 'oracle.py:none': "),
    ('["traffic.toml"]', '["n.toml"]', "experiment uniform: scenarios = 'n.toml': expected a file of the folder"),
    ('id = "uniform"', 'id = "decisions"', "experiment decisions: duplicate id"),
    ('id = "c2"', 'id = "c1"', "claim c1: duplicate id"),
    (
        'kind = "exact"',
        'kind = "true"',
        "claim c1: kind = 'true': expected one of exact, bound, direction, out of reach",
    ),
    ('kind = "bound"', 'kind = "exact"\nsurviving = 1', "claim c2: surviving: unknown key"),
    (
        "paper = 0",
        'paper = 0\ntolerance = "tenth"',
        "claim c1: part 1: tolerance = 'tenth': expected none: the claim is",
    ),
    (
        "at_least = 50",
        "paper = 50",
        "claim c2: part 1: expected at_least, at_most, above, below or true, and no tolerance",
    ),
    (
        'at_least = 1.2\nunit = "x"\ntolerance = "tenth"',
        "paper = 1.2",
        "claim c3: part 1: tolerance = 'exact': expected one",
    ),
    (
        'kind = "direction"',
        'kind = "out of reach"',
        "claim c3: kind = 'out of reach': expected a note and no part or status",
    ),
    ('tolerance = "tenth"', 'tolerance = "half"', "claim c3: part 1: tolerance = 'half': expected one of"),
    ("relative = 0.1", 'relative = "x"', "tolerance tenth: relative = 'x': expected a number"),
]


@pytest.mark.parametrize(("old", "new", "problem"), BAD)
def test_a_wrong_paper_toml_is_refused_with_file_key_value_and_what_is_right(tmp_path, old, new, problem):
    folder = skeleton(tmp_path / "bad")
    file = folder / "paper.toml"
    (tmp_path / "out.py").touch()
    text = file.read_text().replace('title = ""', 'title = "bad"')
    file.write_text(text.replace(old if old in text else 'title = "bad"', new, 1))
    with pytest.raises(InputError) as failed:
        load_paper(folder)
    assert str(failed.value).startswith(str(file)), str(failed.value)
    assert problem in str(failed.value)


def test_an_out_of_reach_claim_needs_a_note_and_counts_as_not_applicable(tmp_path, capsys):
    folder = skeleton(tmp_path / "far")
    file = folder / "paper.toml"
    claim = '\n[[claim]]\nid = "c4"\nfigure = "Table 1"\nkind = "out of reach"\nsource = "abstract"\n'
    claim += 'statement = "100 Gb/s"\n'
    whole = file.read_text()
    file.write_text(whole + claim)
    with pytest.raises(InputError, match="claim c4: note: is missing: expected why no run can show it"):
        load_paper(folder)
    file.write_text(f'{whole}{claim}note = "hardware"\n')
    assert load_paper(folder).by_id["c4"].status == "not applicable"
    assert main(["reproduce", str(folder), "--claims"]) == 0
    assert "100 Gb/s" in capsys.readouterr().out


def test_the_checker_says_what_is_missing(tmp_path, capsys):
    folder = skeleton(tmp_path / "bare")
    file = folder / "paper.toml"
    text = file.read_text().replace('kind = "exact"\nsource = "section 3 of the paper"\n', "")
    text = text.replace('oracle = "oracle.py"\n', "").replace(
        'citation = "Authors, title, venue and year of the paper"\n', ""
    )
    text = text.replace('tables = ["schedulers"]', 'tables = ["schedulers"]\nlength = "authors-10g"')
    file.write_text(text)
    shutil.rmtree(folder / "vectors")
    assert main(["reproduce", str(folder), "--check"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:-1] == [
        "missing: citation: the paper has none",
        'missing: oracle: there is none: expected oracle = "oracle.py", a slow and obvious second opinion',
        "missing: vectors: none is of bare: expected vectors/*.json, written by the oracle",
        "missing: claim c1: kind: is missing: expected one of exact, bound, direction, out of reach",
        "missing: claim c1: source: is missing: expected where the statement was read",
        "missing: experiment uniform: seeds: 1: expected 3 or more, so that there is an interval",
    ]
    assert main(["reproduce", str(folder), "--check", "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["missing"]) == 6
    text = text.split("[[claim]]")[0].replace("title", 'oracle = "traffic.toml"\ntitle', 1)
    file.write_text(text)
    found = missing(load_paper(folder))
    assert 'oracle: no experiment uses it: expected one with study = "traffic.toml:FUNCTION"' in found
    assert "claims: there is none" in found
    assert "experiment uniform: no claim uses it" in found
    (folder / "parts").mkdir()
    shutil.copyfile(folder / "oracle.py", folder / "parts" / "oracle.py")
    text = text.replace("traffic.toml", "parts/oracle.py", 1)
    file.write_text(text)
    named = 'expected one with study = "parts/oracle.py:FUNCTION"'
    assert f"oracle: no experiment uses it: {named}" in missing(load_paper(folder))
    file.write_text(text.replace('"oracle.py:decisions"', '"parts/oracle.py:decisions"'))
    assert not any(line.startswith(("oracle", "name")) for line in missing(load_paper(folder)))
    file.write_text(text.replace('name = "bare"', 'name = "other"', 1))
    expected = "name: other: is no scheduler: expected that under test, of [schedulers] or of the package"
    assert expected in missing(load_paper(folder))
    assert main(["reproduce", "--check"]) == 2
    assert "--check: expected the folder of a paper" in capsys.readouterr().err


#: Options of `reproduce`, and those beside which each has no effect.
ALONE = [
    *((option, ("--check", "--claims")) for option in ("--quick", "--full", "--mutate", "--seeds 3", "--out x")),
    *((option, ("--check", "--claims")) for option in ("--earlier x", "--revision x", "--workers 1")),
    *((option, ("--check", "--claims", "--mutate")) for option in ("--no-figures", "--readings paper")),
    ("--only c1", ("--check",)),
    ("--claims", ("--check",)),
    ("--json", ("--mutate",)),
]


@pytest.mark.parametrize(("option", "modes"), ALONE)
def test_an_option_that_would_do_nothing_is_refused(tmp_path, capsys, option, modes):
    folder = skeleton(tmp_path / "alone")
    for mode in modes:
        assert main(["reproduce", str(folder), mode, *option.split()]) == 2
        assert capsys.readouterr().err == f"pifolab: {option.split()[0]} has no effect with {mode}: remove it\n"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("rate_gbps = 11", "rate_gbps = -1", "traffic.toml:9: workload.rate_gbps = -1: expected"),
        ("border = 50", "boarder = 50", "boarder"),
        (
            'name = "fifo"',
            'name = "fifa"',
            'traffic.toml:19: scheduler.name: unknown scheduler "fifa"; did you mean fifo',
        ),
        ('ranks = "uniform"', 'ranks = "uniform', "traffic.toml:11: invalid TOML"),
        ('name = "fifo"', 'name = "fifo"\nlabel = "other"', "claim c3: "),
    ],
)
def test_the_checker_reads_scenarios_and_names_file_key_and_value(tmp_path, capsys, old, new, problem):
    folder = skeleton(tmp_path / "broken")
    file = folder / "traffic.toml"
    file.write_text(file.read_text().replace(old, new, 1))
    assert main(["reproduce", str(folder), "--check"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert problem in said.err
    assert said.err.count("\n") == 1


def test_a_vector_that_differs_fails_the_paper(tmp_path, capsys):
    folder = skeleton(tmp_path / "other")
    vector = folder / "vectors" / "first.json"
    vector.write_text(vector.read_text().replace('["deq", 1], ["deq", 0]', '["deq", 0], ["deq", 1]'))
    assert main(["reproduce", str(folder), "--check"]) == 1
    assert f"differs: {vector}: 2 of 8 operations differ" in capsys.readouterr().out
    for mode in (["--claims"], ["--mutate", "--only", "c1"], ["--no-figures", "--only", "c1"]):
        out = [] if mode == ["--claims"] else ["--quick", "--out", str(tmp_path / "out"), "--workers", "1"]
        assert main(["reproduce", str(folder), *mode, *out]) == 1
        said = capsys.readouterr().err
        assert said.startswith(f"failed: {vector}: 2 of 8 operations differ"), said
        assert said.count("operations differ") == 1
    vector.write_text("[]")
    assert main(["reproduce", str(folder), "--check"]) == 2
    assert "expected a conformance vector" in capsys.readouterr().err


def test_a_folder_takes_no_options_of_the_package_and_a_skeleton_no_folder_in_use(tmp_path, capsys):
    folder = skeleton(tmp_path / "mine")
    assert main(["reproduce", str(folder), "--experiments", str(tmp_path)]) == 2
    assert "a folder has its own claims and scenarios" in capsys.readouterr().err
    assert main(["study", "new", "--paper", str(folder)]) == 2
    assert f"{folder}: expected a folder that is new or empty" in capsys.readouterr().err
    for taken, problem in (
        ("oracle", "there is a module oracle"),
        ("json", "there is a module json"),
        ("sp-pifo", "sp-pifo is a scheduler of the package"),
    ):
        assert main(["study", "new", "--paper", str(tmp_path / taken)]) == 2
        assert f"{taken}: expected another name: {problem}" in capsys.readouterr().err
        assert not (tmp_path / taken).exists()
    assert main(["study", "new", "--paper", str(tmp_path / "My Paper")]) == 2
    assert (
        "expected a name of small letters, digits and hyphens, a letter first, such as my-paper"
        in capsys.readouterr().err
    )


def test_a_study_takes_the_schedulers_of_a_paper(tmp_path, capsys):
    folder = skeleton(tmp_path / "extra")
    scorecard = _with_papers(Sweep.from_toml(experiment(Path("scorecard"))), [folder])
    assert all(text.count('name = "extra"') == 1 for _, text in scorecard.bases.values())
    assert len(scorecard.bases) == 14
    (tmp_path / "one.toml").write_text(
        (folder / "traffic.toml").read_text().split("[[scheduler]]")[0] + '[[scheduler]]\nname = "fifo"\n'
    )
    (tmp_path / "study.toml").write_text('scenario = "one.toml"\nseeds = [1]\n')
    run = ["study", "run", str(tmp_path / "study.toml"), "--store", str(tmp_path / "store"), "--workers", "1"]
    assert main([*run, "--with", str(folder)]) == 0
    assert "extra" in capsys.readouterr().out
    (folder / "paper.toml").write_text((folder / "paper.toml").read_text().replace("[[scorecard]]", "[maps]"))
    assert main([*run, "--with", str(folder)]) == 2
    assert "scorecard: is missing: expected [[scorecard]] tables" in capsys.readouterr().err


def test_a_scheduler_that_fails_in_a_vector_is_named_with_its_place(tmp_path, capsys):
    folder = skeleton(tmp_path / "fails")
    of_user = (folder / "fails.py").read_text()
    (folder / "fails.py").write_text(of_user + "\n\nScheduler.enqueue = lambda *_: 99\n")
    assert main(["reproduce", str(folder), "--check"]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(
        rf"pifolab: {folder}/vectors/first.json: the scheduler failed: ValueError: enqueue returned queue 99: .*\n",
        said,
    )
    assert "_utf_8" not in said
    (folder / "fails.py").write_text(
        of_user + "\n\ndef _fail(*_):\n    raise KeyError('mistake')\n\n\nScheduler.enqueue = _fail\n"
    )
    line = len((folder / "fails.py").read_text().splitlines()) - 3
    assert main(["reproduce", str(folder), "--check"]) == 2
    said = capsys.readouterr().err
    assert said == (
        f"pifolab: {folder}/vectors/first.json: the scheduler failed: KeyError: 'mistake' (fails.py:{line})\n"
    )


def test_a_scorecard_that_is_no_list_of_tables_is_refused(tmp_path, capsys):
    folder = skeleton(tmp_path / "one")
    paper = folder / "paper.toml"
    paper.write_text(paper.read_text().replace("[[scorecard]]", "[scorecard]"))
    assert main(["reproduce", str(folder), "--check"]) == 2
    assert f"{paper}: scorecard" in capsys.readouterr().err


def test_papers_and_a_study_must_not_bring_two_schedulers_of_one_name(tmp_path):
    study = Sweep.from_toml(experiment(Path("scorecard")))
    first, second = skeleton(tmp_path / "a" / "same"), skeleton(tmp_path / "b" / "same")
    _with_papers(study, [first])
    with pytest.raises(InputError) as failed:
        _with_papers(study, [first, second])
    here = f"{(first / 'same.py').absolute()}:Scheduler"
    problem = f"schedulers: same: expected another name: it is {here} here"
    assert str(failed.value) == f"{second / 'paper.toml'}: {problem}"
    (tmp_path / "study.toml").write_text(
        'scenario = "a/same/traffic.toml"\nseeds = [1]\n[schedulers]\nsame = "a/same/same.py:Scheduler"\n'
    )
    own = Sweep.from_toml(tmp_path / "study.toml")
    with pytest.raises(InputError, match="schedulers: same: expected another name"):
        _with_papers(own, [second])


def test_a_change_of_a_module_that_a_study_imports_changes_the_settings(tmp_path):
    folder = skeleton(tmp_path / "split")
    (folder / "split_aid.py").write_text("A = 1\n")
    oracle = folder / "oracle.py"
    oracle.write_text(oracle.read_text().replace("import random\n", "import random\nimport split_aid\n", 1))

    def digest():
        registry = load_paper(folder)
        one = registry.experiments["decisions"]
        return settings_digest(one, one.variants[0], registry, "quick", folder)

    before = digest()
    assert digest() == before
    (folder / "split_aid.py").write_text("A = 2\n")
    assert digest() != before


AFQ = Path(__file__).parents[2] / "examples" / "papers" / "afq"


def test_the_paper_of_afq_lacks_nothing_and_agrees_with_its_vectors_and_its_oracle():
    registry = load_paper(AFQ)
    assert missing(registry) == []
    assert replay_vectors(registry.home).differ == ()
    assert {claim.kind for claim in registry.claims} == {"exact", "bound", "direction", "out of reach"}
    oracle = str(AFQ / "oracle.py")
    vector = json.loads((AFQ / "vectors" / "drawn.json").read_text())
    assert load(oracle, "answers")(vector["ops"], **vector["config"]) == vector["expect"]
    found = {row["scheduler"]: row["mismatches"] for row in load(oracle, "decisions")(1)["schedulers"]}
    assert found["afq"] == 0 < found["fifo"]
    gap = {row["scheduler"]: row["gap"] for row in load(oracle, "gaps")(1)["schedulers"]}
    assert 0 < gap["afq"] <= 1 < gap["fifo"]


#: Those that need no compiler.
EXAMPLES = [AFQ, AFQ.parent / "csfq", AFQ.parent / "pcq"]


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_an_example_lacks_nothing_and_its_scheduler_gives_the_answers_of_its_oracle(folder, capsys):
    assert main(["reproduce", str(folder), "--check"]) == 0, capsys.readouterr()
    registry = load_paper(folder)
    oracle, name = str(registry.home.oracle), folder.name
    for file in folder.glob("vectors/*.json"):
        vector = json.loads(file.read_text())
        if "horizon" not in vector["config"]:
            assert load(oracle, "answers")(vector["ops"], **vector["config"]) == vector["expect"], file
    seed = random.randrange(10**6)
    found = {row["scheduler"]: row["mismatches"] for row in load(oracle, "decisions")(seed)["schedulers"]}
    assert found[name] == 0 < found["fifo"], seed


def test_the_scorecard_runs_with_the_schedulers_of_the_examples_without_a_compiler(tmp_path):
    study = _with_papers(Sweep.from_toml(experiment(Path("scorecard"))), EXAMPLES)
    result = run_sweep(replace(study, fixed=(("duration_s", "0.0002"),), seeds=(1,)), Store(tmp_path), 1)
    assert (result.failures, result.runs.height) == ([], 14)
    for run in result.runs["run"]:
        assert {"csfq", "pcq", "afq-1500", "packs"} <= set(result.store.table("schedulers", [run])["scheduler"])


def rows(paper, study, *given):
    tables = load(str(AFQ.parent / paper / "oracle.py"), study)(*given)
    return {row["scheduler"]: row for row in tables["schedulers"]}


def test_the_labels_of_a_csfq_that_estimates_or_doubles_them_at_every_hop_are_wrong(monkeypatch):
    labels = load(str(AFQ.parent / "csfq" / "oracle.py"), "labels")
    csfq = labels.__globals__["Csfq"]

    class Forgetful(csfq):
        def enqueue(self, packet, now_ns):
            self.label = 0
            return super().enqueue(packet, now_ns)

    class Doubling(csfq):
        def enqueue(self, packet, now_ns):
            outcome = super().enqueue(packet, now_ns)
            if outcome is None:
                self.label *= 2
            return outcome

    for other in (Forgetful, Doubling):
        monkeypatch.setitem(labels.__globals__, "Csfq", other)
        assert {row["scheduler"]: row["wrong"] for row in labels(7)["schedulers"]}["csfq"] > 0


def test_csfq_labels_at_the_first_hop_alone_and_a_flow_gets_what_the_fluid_gives():
    found = rows("csfq", "labels", 7)
    assert found["csfq"]["wrong"] == 0 < found["fifo"]["wrong"]
    assert found["csfq"]["hops"] == 4
    found = rows("csfq", "fluid", 7)
    assert found["csfq"]["off"] < 0.2 < found["fifo"]["off"]


@pytest.mark.parametrize("seed", range(3))
def test_the_fixed_point_of_csfq_fills_the_link_and_no_more(seed):
    draw = random.Random(seed)
    fixed_point = load(str(AFQ.parent / "csfq" / "oracle.py"), "fixed_point")
    for _ in range(1000):
        rates = [draw.randrange(1, 10**7) for _ in range(draw.randrange(1, 40))]
        capacity = draw.randrange(1, 2 * 10**8)
        alpha = fixed_point(rates, capacity)
        assert sum(min(rate, alpha) for rate in rates) == pytest.approx(min(capacity, sum(rates)))


def test_pcq_is_afq_with_its_rounds_keeps_its_bounds_and_idles_on_time():
    assert rows("pcq", "as_afq", 7)["pcq"]["mismatches"] == 0 < rows("pcq", "as_afq", 7)["fifo"]["mismatches"]
    found = rows("pcq", "leaky", 7)
    assert found["pcq"]["early"] < 1 < found["fifo"]["early"]
    assert found["pcq"]["held"] > 0 == found["fifo"]["held"]
    found = rows("pcq", "starvation", 7)
    assert found["pcq"]["wait"] <= 1 < found["packs"]["wait"]
    assert found["pcq"]["sent"] > 0
    assert found["fifo"]["wait"] <= 1


def test_pcq_refuses_a_policy_without_its_parameters():
    pcq = load(str(AFQ.parent / "pcq" / "pcq.py"), "Pcq")
    for policy, own in (
        ("wfq", {"width_ns": 1}),
        ("edf", {"quantum_bytes": 1}),
        ("leaky-bucket", {"width_ns": 1}),
        ("x", {}),
    ):
        with pytest.raises(
            ValueError, match=f"policy = '{policy}': expected wfq with quantum_bytes, edf with width_ns"
        ):
            pcq(policy, 4, 10, **own)


@pytest.mark.parametrize("queues", [-1, 0, 1])
def test_pcq_refuses_fewer_than_two_queues(queues):
    pcq = load(str(AFQ.parent / "pcq" / "pcq.py"), "Pcq")
    with pytest.raises(ValueError, match=f"queues = {queues}: expected 2 or more, since a rotation takes one away"):
        pcq("wfq", queues, 10, quantum_bytes=1500)


def test_an_oracle_counts_the_answers_that_differ(tmp_path):
    folder = skeleton(tmp_path / "count")
    operations, answers = [["enq", 0, 5], ["deq"], ["deq"]], [["adm", 0], ["deq", 0], ["deq", None]]
    assert mismatches(folder, "count", {"border": 9, "capacity_packets": 2}, operations, answers) == 0
    assert mismatches(folder, "fifo", {"capacity_packets": 2}, operations, [*answers[:2], ["deq", 7]]) == 1


EVICTING = """
import pifolab


class Scheduler(pifolab.PythonScheduler):
    \"\"\"Sends the lowest rank, and pushes out the highest; ranks above the border are in queue 1.\"\"\"

    queues = 2

    def __init__(self, border, capacity_packets):
        self.border, self.room, self.waiting = border, capacity_packets, []

    def enqueue(self, packet, now_ns):
        self.waiting.append(packet)
        self.waiting.sort(key=lambda one: one.rank)
        if len(self.waiting) <= self.room:
            return int(packet.rank >= self.border)
        victim = self.waiting.pop()
        return packet if victim.id == packet.id else (int(packet.rank >= self.border), [victim])

    def dequeue(self, now_ns):
        return self.waiting.pop(0) if self.waiting else None
"""


def evicting(operations, border, capacity_packets):
    waiting, found = [], []
    for at, (what, *packet) in enumerate(operations):
        if what == "deq":
            first = min(waiting, default=None)
            found.append(["deq", first and first[2]])
            waiting = [one for one in waiting if one != first]
            continue
        waiting.append((packet[1], at, packet[0]))
        last = max(waiting) if len(waiting) > capacity_packets else None
        waiting = [one for one in waiting if one != last]
        queue = int(packet[1] >= border)
        if last is None:
            found.append(["adm", queue])
        else:
            found.append(["drop", "full"] if last[2] == packet[0] else ["adm", queue, "evict", last[2]])
    return found


def test_a_scheduler_in_python_that_pushes_packets_out_names_the_queue_of_the_arriving_one(tmp_path):
    folder = skeleton(tmp_path / "evicts")
    (folder / "evicts.py").write_text(EVICTING)
    draw = random.Random(random.randrange(10**9))
    for _ in range(20):
        parameters = {"border": draw.randrange(1, 100), "capacity_packets": draw.randrange(1, 6)}
        operations = [["enq", name, draw.randrange(100)] if draw.random() < 0.7 else ["deq"] for name in range(200)]
        case = {"evicts": parameters, "fifo": {"capacity_packets": 5}}, operations
        found = {row["scheduler"]: row["mismatches"] for row in disagreements(folder, evicting, [case])["schedulers"]}
        assert found["evicts"] == 0 < found["fifo"], case
    for answer, problem in (
        ("(2, [victim])", "enqueue returned queue 2: expected one from 0 to 1"),
        ("(-1, [victim])", "enqueue returned queue -1: expected one from 0 to 1"),
        ("(0, victim)", r"or \(queue, list\), not <class 'tuple'>"),
    ):
        (folder / "evicts.py").write_text(EVICTING.replace("(int(packet.rank >= self.border), [victim])", answer))
        with pytest.raises((ValueError, TypeError), match=problem):
            disagreements(folder, evicting, [case])


def test_written_vectors_are_replayed(tmp_path):
    folder = skeleton(tmp_path / "writes")
    cases = {"one": ({"border": 50, "capacity_packets": 1}, [["enq", 0, 7], ["deq"]])}
    written = write_vectors(folder, lambda operations, **_: [["adm", 0], ["deq", 0]], "writes", cases)
    assert written == [folder / "vectors" / "one.json"]
    assert replay_vectors(load_paper(folder).home).differ == ()
    write_vectors(folder, lambda operations, **_: [["adm", 1], ["deq", 0]], "writes", cases)
    assert len(replay_vectors(load_paper(folder).home).differ) == 1


@pytest.mark.parametrize("kind", ["exact", "bound", "direction"])
def test_a_bound_that_one_seed_misses_is_not_reproduced_though_the_mean_keeps_it(tmp_path, capsys, kind):
    folder = skeleton(tmp_path / "misses")
    oracle, file = folder / "oracle.py", folder / "paper.toml"
    study = 'return {"schedulers": [{"scheduler": "misses", "x": -5 if seed != 2 else 1.5}]}'
    oracle.write_text(oracle.read_text().replace("    schedulers = {", f"    {study}\n    schedulers = {{", 1))
    text = file.read_text().split('[[claim]]\nid = "c2"')[0].replace("mismatches", "x").replace('"exact"', f'"{kind}"')
    file.write_text(text.replace("paper = 0", "at_most = 1"))
    found = judged(folder, tmp_path / "out")
    assert found == {"c1": "reproduced" if kind == "direction" else "not reproduced"}
    if kind != "direction":
        assert "1 of 3 seeds miss it, the worst with 1.5" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("folder", sorted(AFQ.parent.iterdir()), ids=lambda folder: folder.name)
def test_the_page_of_an_example_has_about_400_words_and_a_figure(folder):
    text = re.sub(r"```.*?```|\$[^$]*\$|\]\([^)]*\.svg\)", "", (page := (folder / "README.md").read_text()), flags=re.S)
    words = [word for line in text.splitlines() if not line.startswith("|") for word in line.split()]
    assert 320 <= len(words) <= 430, "words outside of tables, code and formulas"
    assert re.search(r"!\[[^]]+\]\(\w+\.svg\)", page)
    assert [one["id"] for one in read_toml(folder / "paper.toml")["claim"] if one["id"] not in page] == []
