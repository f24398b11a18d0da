"""Put the pages of the documentation site into one folder, for Sphinx: docs/, some of the tree's root, generated ones.

    python scripts/site/stage.py FOLDER

Links between pages lead to each other there as they do in the source tree; of what is only in the source tree the path
stands in the text.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reference import NETWORK, ONE_LINK, commands, keys, metrics, parameters, study_keys

import pifolab
from pifolab.export import markdown
from pifolab.figures.style import figure_style, save
from pifolab_papers.claim_figure import draw_claim, numbers_of
from pifolab_papers.registry import load_registry
from pifolab_papers.report import CLAIM_CAPTION, numbers

__all__ = ["NETWORK", "ONE_LINK", "gallery", "staged"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

#: Pages of the site that lie outside of docs/: source, and name on the site.
OUTSIDE = {
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "SECURITY.md": "SECURITY.md",
    "conformance/README.md": "conformance.md",
}
#: What `pifolab reproduce` has written, if it has run here: figures and verdicts.
REPRODUCED = ROOT / "out" / "reproduce"
#: A drawing of more bytes is shown in pixels.
LARGE_DRAWING = 300_000
#: What `make docs` has written.
RUST_API = ROOT / "target" / "doc"

_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def staged() -> dict[str, str]:
    """Return the text of every page by its name on the site."""
    sources = {DOCS / path.relative_to(DOCS): path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    # The list of pages that the source tree shows is what the site's navigation is.
    sources.pop(DOCS / "README.md")
    sources |= {ROOT / source: name for source, name in OUTSIDE.items()}
    made = {
        "gallery.md": gallery,
        "rust-api.md": rust_api,
        "commands.md": commands,
        "keys.md": keys,
        "metrics.md": metrics,
        "study-keys.md": study_keys,
    }
    known = sources | {DOCS / name: name for name in made}
    pages = {name: _relinked(path, name, known) for path, name in sorted(sources.items())}
    pages["python-api.md"] = pages["python-api.md"].replace("SCHEDULERS", scheduler_classes())
    # A line of the table of claims leads to its figures and numbers.
    pages["reproduction.md"] = re.sub(
        r"^\| ([a-z]+\d+) \|", r"| [\1](#\1) |", pages["reproduction.md"], flags=re.MULTILINE
    )
    for folder, infos in (("schedulers", pifolab.schedulers()), ("ranks", pifolab.ranks())):
        for about in infos:
            page = f"{folder}/{about.name}.md"
            pages[page] = f"{pages[page].rstrip()}\n\n{parameters(about)}"
    return pages | {name: make() for name, make in made.items()}


def scheduler_classes() -> str:
    """Return a directive for the class of every scheduler."""
    classes = [c for c in vars(pifolab).values() if isinstance(c, type) and issubclass(c, pifolab.Scheduler)]
    return "\n".join(f".. autoclass:: pifolab.{c.__name__}" for c in classes if c is not pifolab.Scheduler)


def _relinked(path: Path, name: str, sources: dict[Path, str]) -> str:
    """Return the text of a page with links as they are on the site."""
    text = path.read_text(encoding="utf-8")

    def replaced(link: re.Match[str]) -> str:
        target = link["target"]
        if not target or "://" in target or target.startswith("mailto:") or link["image"]:
            return link[0]
        found = (path.parent / target).resolve()
        if found == ROOT / "README.md" or found == DOCS / "README.md":
            found = DOCS / "index.md"
        if found in sources:
            return f"[{link['text']}]({'../' * name.count('/')}{sources[found]}{link['anchor'] or ''})"
        if not found.exists():
            raise SystemExit(f"{path.relative_to(ROOT)}: the link {target} leads nowhere")
        inside = found.relative_to(ROOT).as_posix()
        return link["text"] if link["text"].strip("`").endswith(inside) else f"{link['text']} (`{inside}`)"

    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(replaced, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(replaced, text[end:])])


def gallery() -> str:
    """Return the page of all claims with their checked-in verdicts, and the figures of the last reproduction here."""
    record = REPRODUCED / "claims.json"
    claims = json.loads((DOCS / "reproduction.json").read_text(encoding="utf-8"))
    stored = {claim["id"]: claim for claim in claims["claims"]}
    lines = [
        "# Gallery",
        "",
        "The figures of the five papers; below each the verdict on every claim about it, and the numbers behind it.",
        "[Five papers reproduced](reproduction.md) has one line for each claim.",
        "",
    ]
    figures: dict[str, list[tuple[str, str]]] = {}
    if record.exists():
        now = json.loads(record.read_text(encoding="utf-8"))
        figures = _figures(now["claims"])
        lines += [
            f"The verdicts are those of depth *{claims['depth']}*; the figures were made at depth *{now['depth']}*"
            + (", with shorter runs." if now["depth"] == "quick" else "."),
            "Brackets mark what the paper states.",
            "",
        ]
    else:
        lines += [
            "This copy of the site has only the figures of the claims: `make site` draws those of the papers, too.",
            "",
        ]
    registry = load_registry()
    for paper, title in registry.papers.items():
        own = [claim for claim in registry.claims if claim.paper == paper and claim.id in stored]
        if own:
            lines += [f"## {title}", ""]
        for claim in own:
            verdict = stored[claim.id]["verdict"]
            lines += [f"({claim.id})=", f"### {claim.id}: {claim.figure}", "", " ".join(claim.statement.split()), ""]
            lines += [f":::{{container}} verdict {verdict.replace(' ', '-')}", verdict, ":::", ""]
            images = [f"![{alt}](figures/{name})" for name, alt in figures.get(claim.id, ())]
            if numbers_of(stored[claim.id]):
                images.append(f"![{CLAIM_CAPTION}, {claim.id}](figures/claim-{claim.id}.svg)")
            if images:
                lines += [":::{container} figures", *(line for image in images for line in (image, "")), ":::", ""]
            lines += _numbers(stored[claim.id])
    return "\n".join(lines)


def _numbers(claim: Mapping[str, Any]) -> list[str]:
    """Return what is behind a verdict, folded: each statement's number, the cause of a difference, the command."""
    headings, rows = numbers(claim)
    lines = ["<details><summary>Numbers</summary>", "", *markdown(headings, rows).splitlines()]
    said = [claim["note"], claim["explanation"], f"`{claim['command']}` judges it again."]
    return [*lines, "", *(line for text in said if text for line in (text, "")), "</details>", ""]


def _figures(claims: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[str, str]]]:
    """Return file and description of the figures of each claim; a figure of several claims stands with the first."""
    shown: set[str] = set()
    figures: dict[str, list[tuple[str, str]]] = {}
    for claim in claims:
        number = claim["id"]
        own = figures.setdefault(number, [])
        for run in claim["experiments"].values():
            name = run["figure"]
            if name and name.endswith("-paper") and name not in shown:
                shown.add(name)
                own.append((_file_of(name), f"The figure regenerated for claim {number}"))
    return figures


def _file_of(name: str) -> str:
    """Return the vector drawing of a figure, or its image in pixels where the drawing is much larger."""
    drawing = REPRODUCED / "figures" / f"{name}.svg"
    return drawing.name if drawing.stat().st_size <= LARGE_DRAWING else f"{name}.png"


def rust_api() -> str:
    """Return the page that leads to what `cargo doc` has made."""
    crates = sorted(path.parent.name for path in RUST_API.glob("pifolab_*/index.html"))
    text = "# Rust API\n\n"
    if not crates:
        return text + "It is not part of this copy of the site: `make docs`, then `make site`, puts it here.\n"
    text += "What `cargo doc` makes of the crates; `pifolab_sched` is the one to embed.\n\n"
    return text + "\n".join(f'- <a href="rust/{crate}/index.html"><code>{crate}</code></a>' for crate in crates) + "\n"


def main() -> None:
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in staged().items():
        page = folder / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    for image in [path for path in DOCS.rglob("*") if path.suffix in (".svg", ".png")]:
        copy = folder / image.relative_to(DOCS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(image, copy)
    (folder / "figures").mkdir(exist_ok=True)
    for claim in json.loads((DOCS / "reproduction.json").read_text(encoding="utf-8"))["claims"]:
        with figure_style():
            drawn = draw_claim(claim)
        if drawn is not None:
            save(drawn, folder / "figures" / f"claim-{claim['id']}", ("svg",))
    if (REPRODUCED / "claims.json").exists():
        record = json.loads((REPRODUCED / "claims.json").read_text(encoding="utf-8"))
        for files in _figures(record["claims"]).values():
            for name, _ in files:
                shutil.copy(REPRODUCED / "figures" / name, folder / "figures" / name)


if __name__ == "__main__":
    main()
