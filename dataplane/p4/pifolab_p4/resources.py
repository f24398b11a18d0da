"""What each program takes of a Tofino: compiled, counted, compared with the stored figures and with the papers'."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pifolab.errors import InputError
from pifolab.export import table_lines, write_text
from pifolab_p4.parameters import IN_TREE
from pifolab_p4.tools import P4C_TOFINO, program_file, run_compiler, sources
from pifolab_p4.workspace import workspace

__all__ = [
    "PAPERS",
    "TARGETS",
    "Resources",
    "digest",
    "doubled_registers",
    "fits",
    "measure",
    "page",
    "page_table",
    "read_stored",
    "stored_file",
    "write_page",
    "write_stored",
]

TARGETS = {"tofino": ("tna", 12), "tofino2": ("t2na", 20)}
"""For each target its architecture and its stages."""

# In a stage.
_SRAMS, _STATEFUL = 80, 4


@dataclass(frozen=True)
class Resources:
    """What a program takes, both directions together.

    Attributes
    ----------
    stages : int
        The last stage that it uses, counted from 1.
    stateful_alus, sram_blocks, map_rams, tcam_blocks, hash_bits : int
        In all stages together.
    exact_crossbar_bytes, ternary_crossbar_bytes, gateways, logical_tables : int
        Likewise.
    registers : int
        Registers in the assembly; each occurs once.
    """

    stages: int
    stateful_alus: int
    sram_blocks: int
    map_rams: int
    tcam_blocks: int
    hash_bits: int
    exact_crossbar_bytes: int
    ternary_crossbar_bytes: int
    gateways: int
    logical_tables: int
    registers: int


@dataclass(frozen=True)
class Paper:
    """A paper's figures: percent of what its switch has, and over how many stages that was counted."""

    source: str
    stages: int
    sram_percent: float
    stateful_percent: float


PAPERS: dict[str, list[Paper]] = {
    "sp_pifo": [Paper("AIFO Table 1", 12, 15.31, 16.67), Paper("RIFO Table II", 10, 18.75, 20.0)],
    "aifo": [Paper("AIFO Table 1", 12, 6.98, 39.6), Paper("RIFO Table II", 12, 7.29, 47.92)],
    "packs": [Paper("PACKS Table 1 (Tofino 2)", 20, 2.4, 23.8)],
    "rifo": [Paper("RIFO Table II", 7, 2.86, 14.29)],
    "exp_pifo": [Paper("Exp-PIFO section 3.2, 8 queues", 6, 2.92, 8.33)],
}
"""What the papers' tables say. Where they do not say of how many stages a percentage is, it is the number for which the
percentage of stateful ALUs, four in a stage, is a whole number of them."""

_REGISTER = re.compile(r"^ *stateful \S+:\s*\n\s*p4: \{ name: (\S+?),? ", re.MULTILINE)


def registers_of(assembly: str) -> list[str]:
    """Return the register of each stateful table of an assembly."""
    return _REGISTER.findall(assembly)


def doubled_registers(assembly: str) -> list[str]:
    """Return the registers that occur more than once in an assembly.

    Two accesses to one register in turn compile, but to a copy for each: what one writes the other never reads.
    """
    return sorted(name for name, times in Counter(registers_of(assembly)).items() if times > 1)


def digest(program: str, architecture: str = "tna") -> str:
    """Return a digest of what a compiler makes of `program`: its source, what it includes, its parameters."""
    hashed = hashlib.sha256()
    seen: set[Path] = set()

    def add(path: Path) -> None:
        path = path.resolve()
        if path in seen:
            return
        seen.add(path)
        text = path.read_text(encoding="utf-8")
        # Comments change nothing.
        hashed.update(re.sub(r"//.*", "", text).encode())
        for name in re.findall(r'^\s*#(?:include|define PF_PARAMETERS) "(.*)"', text, re.MULTILINE):
            add(path.parent / name)

    add(program_file(program, architecture))
    return hashed.hexdigest()[:16]


def _used(block: dict[str, Any], key: str) -> int:
    return sum(1 for unit in block.get(key, []) if unit.get("usages", True))


def _count(stages: list[dict[str, Any]], assembly: str) -> Resources:
    total: Counter[str] = Counter()
    last = 0
    for stage in stages:
        bytes_used = [byte for byte in stage["xbar_bytes"]["bytes"] if byte["usages"]]
        counted = {
            "stateful_alus": _used(stage["meter_alus"], "meters"),
            "sram_blocks": _used(stage["rams"], "srams"),
            "map_rams": _used(stage["map_rams"], "maprams"),
            "tcam_blocks": _used(stage["tcams"], "tcams"),
            "hash_bits": _used(stage["hash_bits"], "bits"),
            "exact_crossbar_bytes": sum(byte["byte_type"] == "exact" for byte in bytes_used),
            "ternary_crossbar_bytes": sum(byte["byte_type"] != "exact" for byte in bytes_used),
            "gateways": _used(stage["gateways"], "gateways"),
            "logical_tables": len(stage["logical_tables"]["ids"]),
        }
        total.update(counted)
        if any(counted.values()):
            last = stage["stage_number"] + 1
    return Resources(
        last,
        **{name: total[name] for name in list(Resources.__annotations__)[1:-1]},
        registers=len(registers_of(assembly)),
    )


def measure(program: str, target: str) -> Resources:
    """Compile `program`, as it lies in the tree, for `target` and count what it takes.

    Raises
    ------
    InputError
        There is no compiler, it refuses the program, or the assembly has a register twice.
    """
    architecture, _ = TARGETS[target]
    compiler = P4C_TOFINO.find()
    with workspace() as folder:
        command: list[str | Path] = [
            compiler,
            "--target",
            target,
            "--arch",
            architecture,
            "--std",
            "p4-16",
            "-g",
            "-o",
            folder,
        ]
        run_compiler([*command, program_file(program, "tna")], f"{program} for {target}")
        found = sorted(folder.rglob("resources.json"))
        assemblies = sorted(folder.rglob("*.bfa"))
        if not found or not assemblies:
            raise InputError(f"{program} for {target}: {compiler.name} wrote no assembly and no figures")
        assembly = assemblies[0].read_text(encoding="utf-8")
        whole = json.loads(found[0].read_text(encoding="utf-8"))
    if doubled := doubled_registers(assembly):
        raise InputError(
            f"{program} for {target}: the assembly has several separate copies of registers: {', '.join(doubled)}"
        )
    return _count(whole["resources"]["mau"]["mau_stages"], assembly)


def stored_file() -> Path:
    """Return where the stored figures are."""
    return sources() / "resources.json"


def read_stored() -> dict[str, Any]:
    """Return the stored figures: the compiler's versions; for each target and program its digest and figures."""
    try:
        stored: dict[str, Any] = json.loads(stored_file().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {"compiler": "", "p4c": "", "programs": {}}
    return stored


def write_stored(measured: dict[str, dict[str, Resources]], p4c: str) -> None:
    """Store figures, the compiler's version, the release `p4c` that it was built from, and what figures depend on."""
    programs = {
        target: {program: {"digest": digest(program), **asdict(figures)} for program, figures in of.items()}
        for target, of in measured.items()
    }
    stored = {"compiler": P4C_TOFINO.version(), "p4c": p4c, "programs": programs}
    write_text(json.dumps(stored, indent=1) + "\n", stored_file())


def fits(figures: Resources, target: str) -> bool:
    """Say whether a program fits into the stages that `target` has."""
    return figures.stages <= TARGETS[target][1]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"


def page_table(stored: dict[str, Any]) -> str:
    """Return the tables of docs/p4.md: what was stored, and what the papers say."""
    built_from = f", built from p4c {stored['p4c']}" if stored["p4c"] else ""
    rows, beside = [], []
    for target, programs in stored["programs"].items():
        for program, figures in programs.items():
            crossbar = f"{figures['exact_crossbar_bytes']} + {figures['ternary_crossbar_bytes']}"
            cells = [program, target, f"{figures['stages']} of {TARGETS[target][1]}"]
            names = ("stateful_alus", "registers", "sram_blocks", "map_rams", "tcam_blocks", "hash_bits")
            cells += [str(figures[name]) for name in names]
            rows.append([*cells, crossbar, str(figures["gateways"])])
    for program, papers in PAPERS.items():
        for paper in papers:
            target = "tofino2" if "Tofino 2" in paper.source else "tofino"
            figures = stored["programs"].get(target, {}).get(program)
            here = ["not measured", ""]
            if figures is not None:
                here = [
                    f"{figures['stateful_alus']} ({_percent(figures['stateful_alus'], paper.stages * _STATEFUL)})",
                    f"{figures['sram_blocks']} ({_percent(figures['sram_blocks'], paper.stages * _SRAMS)})",
                ]
            stateful = paper.stateful_percent * paper.stages * _STATEFUL / 100
            srams = paper.sram_percent * paper.stages * _SRAMS / 100
            there = [
                f"{stateful:.0f} ({paper.stateful_percent} % of {paper.stages} stages)",
                f"{srams:.0f} ({paper.sram_percent} %)",
            ]
            beside.append([program, paper.source, *there, *here])
    head = ["program", "target", "stages", "stateful ALUs", "registers", "SRAM", "map RAM", "TCAM", "hash bits"]
    head += ["crossbar bytes", "gateways"]
    papers_head = ["program", "table", "stateful ALUs there", "SRAM there", "stateful ALUs here", "SRAM here"]
    lines = [f"Compiler: {stored['compiler'] or 'nothing is measured yet'}{built_from}.", "", *table_lines(head, rows)]
    return "\n".join([*lines, "", *table_lines(papers_head, beside)]) + "\n"


def programs_in_tree() -> list[str]:
    """Return the programs that have parameters for Tofino."""
    return list(IN_TREE["tofino"])


_BEGIN, _END = "<!-- figures: written by pifolab dataplane p4 resources --write -->\n", "<!-- end of figures -->\n"


def page() -> Path:
    """Return the page that shows the stored figures."""
    return sources().parents[1] / "docs" / "p4.md"


def with_figures(text: str) -> str:
    """Return the page's text with the stored figures in their place."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}{page_table(read_stored())}{_END}{after}"


def write_page() -> None:
    """Put the stored figures into the page."""
    write_text(with_figures(page().read_text(encoding="utf-8")), page())
