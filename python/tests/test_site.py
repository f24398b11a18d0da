"""The documentation site: every page is in it, no link leads nowhere, and search works from a folder."""

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import pifolab
from pifolab import catalogue

ROOT = Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "scripts" / "site"))
import pictures  # noqa: E402
import stage  # noqa: E402


def test_every_page_of_docs_is_on_the_site():
    pages = stage.staged()
    docs = {path.relative_to(stage.DOCS).as_posix() for path in stage.DOCS.rglob("*.md")}
    assert docs - {"README.md"} <= pages.keys()
    assert {"ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "conformance.md", "gallery.md"} <= pages.keys()


def test_no_page_stands_twice_in_the_navigation(site: Path):
    text = (site / "index.html").read_text(encoding="utf-8")
    tree = text.split('class="sidebar-tree"')[1].split("</aside>")[0]
    targets = re.findall(r'<a class="reference internal" href="([^"#]+)"', tree)
    assert len(targets) > 60
    assert sorted(targets) == sorted(set(targets))


def test_references_have_every_command_key_and_parameter():
    from pifolab.cli.commands import complete_parser

    pages = stage.staged()
    for name, command in complete_parser().commands.items():
        assert f"## pifolab {name}" in pages["commands.md"]
        for option in command.options():
            assert option == "--help" or f"`{option}" in pages["commands.md"], (name, option)
    for key in ("on-off", "minmax", "histogram", "trace_rank", "ecn_threshold_bytes", "hosts_per_leaf"):
        assert f"`{key}`" in pages["keys.md"], key
    for table, held in catalogue.study_keys().items():
        for key, about in held.items():
            assert f"| `{key}` | {about['is']} |" in pages["study-keys.md"], (table, key)
    for about in (*pifolab.schedulers(), *pifolab.ranks()):
        page = pages[f"{'schedulers' if about in pifolab.schedulers() else 'ranks'}/{about.name}.md"]
        for param in about.params:
            assert all(f"`{key}`" in page for key in param.keys), (about.name, param.name)


@pytest.mark.parametrize("example", [stage.ONE_LINK, stage.NETWORK])
def test_the_examples_of_the_page_of_keys_run(example: str):
    assert pifolab.run_text(example)["schedulers"]["trace_hash"].len() > 0


def test_every_claim_is_in_the_gallery():
    text = stage.gallery()
    assert text.count("\n### ") > 60
    assert "### pk1: Fig. 3a" in text


def test_the_gallery_shows_each_regenerated_figure_once_and_each_claim_beside_its_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stage, "REPRODUCED", tmp_path)
    assert "has only the figures of the claims" in stage.gallery()
    (tmp_path / "figures").mkdir()
    names = {"sp-fig5-paper": 9, "sp-fig5-artefact": 9, "sp-fig8-paper": stage.LARGE_DRAWING + 1}
    for name, size in names.items():
        (tmp_path / "figures" / f"{name}.svg").write_bytes(b" " * size)
    fig5 = {"sp-fig5, paper": {"figure": "sp-fig5-paper"}, "sp-fig5, artefact": {"figure": "sp-fig5-artefact"}}
    claims = [
        {"id": "sp1", "experiments": fig5},
        {"id": "sp4", "experiments": fig5 | {"sp-fig8, paper": {"figure": "sp-fig8-paper"}}},
    ]
    (tmp_path / "claims.json").write_text(json.dumps({"depth": "quick", "claims": claims}))
    text = stage.gallery()
    sp1, sp4 = (text.split(f"### {number}: ")[1].split("### ")[0] for number in ("sp1", "sp4"))
    assert re.findall(r"\]\((.*?)\)", sp1) == ["figures/sp-fig5-paper.svg", "figures/claim-sp1.svg"]
    assert re.findall(r"\]\((.*?)\)", sp4) == ["figures/sp-fig8-paper.png", "figures/claim-sp4.svg"]
    verdicts = json.loads((stage.DOCS / "reproduction.json").read_text(encoding="utf-8"))["claims"]
    assert f"\n{next(claim['verdict'] for claim in verdicts if claim['id'] == 'sp1')}\n:::" in sp1


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The whole site; warnings are errors, and an unknown link or a page that no list names is a warning."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run([sys.executable, ROOT / "scripts/site/stage.py", folder / "source"], check=True)
    build = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-b", "html"]
    done = subprocess.run(
        [*build, "-c", ROOT / "scripts/site", folder / "source", folder / "site"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.mark.thorough
def test_the_site_is_made_without_a_warning_and_fetches_nothing(site: Path):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for loaded in ('src="http', 'rel="stylesheet" href="http', "fonts.googleapis"):
            assert loaded not in text, page


@pytest.mark.thorough
def test_no_link_of_the_site_leads_nowhere_and_every_link_is_relative(site: Path):
    texts = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    anchors = {page: set(re.findall(r'\b(?:id|name)="([^"]+)"', text)) for page, text in texts.items()}
    # What make copies beside the pages: the playground, and the Rust API where it was made.
    beside = {"playground": ROOT / "crates/wasm/page", "rust": ROOT / "target/doc"}
    wrong, checked = [], 0
    for page, text in texts.items():
        for target in set(re.findall(r'\b(?:href|src)="([^"]+)"', text)):
            address = urlsplit(html.unescape(target))
            if address.scheme:
                continue
            # A path from the root of a server is not there in a folder, nor under a base path.
            path = (page.parent / unquote(address.path)).resolve() if address.path else page
            inside = path.relative_to(site).parts if path.is_relative_to(site) else ("..",)
            if inside[0] in beside:
                path = beside[inside[0]].joinpath(*inside[1:])
            checked += 1
            fragment = unquote(address.fragment)
            if not path.is_file() or (fragment and path in anchors and fragment not in anchors[path]):
                wrong.append(f"{page.relative_to(site)}: {target}")
    assert wrong == []
    assert checked > 2000


@pytest.mark.thorough
def test_search_has_the_words_of_the_pages(site: Path):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert index.startswith("Search.setIndex(")
    for word in ("invers", "strict", "pfabric"):
        assert word in index


@pytest.mark.thorough
def test_the_python_api_has_the_parameters_of_schedulers(site: Path):
    text = (site / "python-api.html").read_text(encoding="utf-8")
    for name in ("Pifo", "Packs", "ExpPifo"):
        assert f'id="pifolab.{name}"' in text
    assert "queue_capacity_packets" in text


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_picture_is_what_the_library_draws(name: str):
    drawn = pictures.picture(name)
    assert (pictures.FOLDER / f"{name}.svg").read_text(encoding="utf-8") == drawn, "python scripts/site/pictures.py"
    assert len(drawn) < 20_000


def test_every_scheduler_and_tutorial_has_a_picture():
    for page in sorted([*(stage.DOCS / "schedulers").glob("*.md"), *(stage.DOCS / "tutorials").glob("*.md")]):
        if page.name != "README.md":
            picture = f"(../figures/{page.parent.name}/{page.stem}.svg)"
            assert picture in page.read_text(encoding="utf-8"), page


def test_formulas_are_typeset_without_a_script(site: Path):
    text = (site / "schedulers" / "packs.html").read_text(encoding="utf-8")
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML"' in text
    assert "<mfrac>" in text
    assert "mathjax.js" not in text
    assert "tex-mml" not in text


def test_every_metric_is_on_its_page_with_its_tables():
    text = stage.staged()["metrics.md"]
    for about in catalogue.metrics():
        assert f"| `{about['name']}` | " in text
    row = next(line for line in text.splitlines() if line.startswith("| `inversions` |"))
    assert row.endswith("| one link: `schedulers`, `ranks`; network: `schedulers`, `ports`, `port_ranks` |")


def test_a_claim_has_its_numbers_below_its_verdict():
    text = stage.gallery().split("### sp2: ")[1].split("### ")[0]
    assert "| SP-PIFO over the optimal bounds | 22% (accepted: 20 to 24) | 24.14: in part | 19.42 [15.5" in text
    assert "`pifolab reproduce --only sp2 --out out/sp2` judges it again." in text
