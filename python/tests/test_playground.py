"""The playground in a headless Chromium, from a folder and without a network, as its users see it."""

import json
import os
import shutil
from pathlib import Path

import browser
import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFORMANCE = ROOT / "conformance"
PAGE = ROOT / "python/pifolab/data/playground"

pytestmark = pytest.mark.thorough


def vectors() -> dict[str, Path]:
    """One vector for each scheduler."""
    found: dict[str, Path] = {}
    for path in sorted(CONFORMANCE.glob("*.json")):
        found.setdefault(json.loads(path.read_text())["scheduler"], path)
    return found


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    """The page that `make playground` has made, in a folder whose name needs quoting."""
    missing = [] if browser.chromium() else ["Chromium"]
    missing += [] if (PAGE / "index.html").is_file() else ["make playground"]
    if missing:
        assert "PLAYGROUND_REQUIRE" not in os.environ, missing
        pytest.skip(f"needs {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("site") / "any base" / "playground"
    shutil.copytree(PAGE, folder)
    return (folder / "index.html").as_uri()


@pytest.fixture(scope="module")
def chromium(address, tmp_path_factory):
    with browser.page(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def page(chromium, address):
    chromium.size(1400, 1000)
    opened(chromium, address)
    return chromium


def opened(page, address) -> None:
    page.open(address)
    page.wait("document.documentElement?.dataset.ready")


def text(page, name: str) -> str:
    return page.evaluate(f"document.getElementById('{name}').innerText")


def with_ids(answer: str, ids: list[int]) -> list:
    """The answer with the vector's ids in the place of the page's numbers of packets."""
    read = json.loads(answer)
    match read:
        case ["adm", queue, "evict", *packets]:
            return ["adm", queue, "evict", *(ids[packet] for packet in packets)]
        case ["deq", int(packet)]:
            return ["deq", ids[packet]]
    return read


@pytest.mark.parametrize("scheduler", sorted(vectors()))
def test_every_scheduler_replays_a_vector_in_the_page(page, scheduler):
    path = vectors()[scheduler]
    vector = json.loads(path.read_text())
    page.evaluate(f"playground.setup = {{kind: 'vector', fields: {{name: 'vectors/{path.name}'}}, lanes: []}}")
    page.evaluate("playground.open(0)")
    answers = page.evaluate("""(async () => {
        const answers = [];
        while (playground.state.next.step !== "end") {
            document.getElementById("forward").click();
            await new Promise((resolve) => setTimeout(resolve));
            answers.push(playground.state.lanes[0].answer);
        }
        return answers;
    })()""")
    assert text(page, "alert") == ""
    ids = [op[1] for op in vector["ops"] if op[0] == "enq"]
    assert [with_ids(answer, ids) for answer in answers] == vector["expect"]
    total = f"{len(answers):,}"
    assert text(page, "expected") == f"Vector: {total} of {total} answers given, 0 differ from what it expects."


def test_every_scheduler_has_a_vector(page):
    # A tree's policy must be given, and its vectors are of another form.
    given = "table.params.some((param) => param.name === 'policy')"
    names = page.evaluate(f"playground.tables.filter((table) => !({given})).map((table) => table.name)")
    assert set(vectors()) == set(names)


def test_every_example_and_every_worst_case_opens(page):
    failed = page.evaluate("""(async () => {
        await loadVectors();
        const failed = [];
        const open = async (kind, fields) => {
            playground.setup = kind === "example" ? playground.example(fields.example) : {kind, fields, lanes: []};
            if (!(await playground.open(3))) failed.push([fields, document.getElementById("alert").textContent]);
        };
        for (const example of Object.keys(EXAMPLES)) await open("example", {example});
        for (const [name] of vectorNames("worst-cases/")) await open("witness", {name});
        return failed;
    })()""")
    assert failed == []


def test_the_first_example_ends_as_the_paper_says(page):
    page.evaluate("playground.run()")
    sent = page.evaluate("playground.state.lanes.map((lane) => [lane.chosen.label, lane.sent.map((p) => p.rank)])")
    assert dict(sent)["PIFO"] == [1, 1, 2, 2]
    assert dict(sent)["FIFO"] == [1, 4, 5, 2]
    table = text(page, "counters")
    assert "Delta to PIFO" in table


def test_a_step_back_is_where_one_was_before(page):
    seen = page.evaluate("""(async () => {
        const seen = [];
        await playground.go(0);
        for (let step = 0; step < 10; step++) {
            seen.push(JSON.stringify(playground.state));
            await playground.go(step + 1);
        }
        for (let step = 9; step >= 0; step--) {
            await playground.go(playground.state.position - 1);
            if (JSON.stringify(playground.state) !== seen[step]) return step;
        }
        return "all";
    })()""")
    assert seen == "all"


def test_a_link_restores_the_exact_state(page, address):
    link = (
        "#from=distribution&shape=exponential&mean=25&bound=100&packets=500&load=1.2&flows=4&seed=9"
        "&s=afq%3A+queues+%3D+4&s=sp-pifo-optimal&s=pifo%3A+capacity_packets+%3D+20&step=321"
    )
    opened(page, address + link)
    assert text(page, "alert") == ""
    state = page.evaluate("JSON.stringify(playground.state)")
    assert json.loads(state)["position"] == 321
    written = page.evaluate("location.hash")
    opened(page, address + written)
    assert page.evaluate("JSON.stringify(playground.state)") == state
    assert page.evaluate("location.hash") == written


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("#from=moon", "from = moon: expected one of example, ranks"),
        ("#from=ranks&ranks=1+2&load=&s=pack&step=0", '"pack"; did you mean packs? The first example is shown.'),
        ("#from=ranks&ranks=1+x&load=&s=fifo&step=0", 'word 2 is "x": expected a rank'),
        ("#from=ranks&ranks=1&load=&s=fifo&step=-3", "step = -3: expected a whole number from 0"),
        ("#from=vector&name=vectors/none.json&step=1", "there is no such vector"),
        ("#from=distribution&shape=uniform&low=9&high=1&s=fifo", "low = 9: expected an integer not above high"),
        ("#from=distribution&shape=uniform&packets=99999999&s=fifo", "packets = 99999999: expected from 1 to 2000000"),
        ("#%%%", "from = (nothing)"),
        ("#from=file&load=1&s=fifo", "choose the file here"),
    ],
)
def test_a_broken_link_says_why_and_something_is_shown(page, address, link, why):
    opened(page, address + link)
    page.evaluate("document.getElementById('settings').open = true")
    assert why in text(page, "alert")
    assert page.evaluate("document.getElementById('chosen').innerText.length") > 0
    page.evaluate("document.getElementById('kind').value = 'example'")
    page.evaluate("playground.choose('example')")
    assert text(page, "alert") == ""
    assert page.evaluate("document.querySelectorAll('.lane').length") == 5


def test_a_wrong_parameter_is_named_and_what_was_right_goes_on(page):
    page.evaluate("""(() => {
        document.getElementById("settings").open = true;
        const field = [...document.querySelectorAll(".choice")].at(-1);
        field.querySelector("details").open = true;
        const labels = [...field.querySelectorAll("label")];
        const input = labels.find((label) => label.innerText.startsWith("queues")).querySelector("input");
        input.value = "none";
        input.dispatchEvent(new Event("change"));
    })()""")
    faults = page.evaluate("[...document.querySelectorAll('.fault')].map((fault) => fault.innerText).filter(Boolean)")
    assert faults == ['packs: queues = "none": expected an integer from 1 to 1024 (queues)']
    assert page.evaluate("playground.state.position") == 6
    page.evaluate("playground.go(7)")
    assert page.evaluate("playground.state.position") == 7


def dropped(page, script: str) -> None:
    page.evaluate(f"""(() => {{
        const data = new DataTransfer();
        data.items.add({script});
        document.dispatchEvent(new DragEvent("drop", {{dataTransfer: data, bubbles: true, cancelable: true}}));
    }})()""")


def test_a_dropped_csv_trace_runs(page):
    dropped(page, r'new File(["time_us,size_bytes,rank,flow\n0,1500,7,a\n1,1500,3,b\n"], "mine.csv")')
    page.wait("playground.setup.kind === 'file' && playground.state.packets === 2")
    assert text(page, "summary").startswith("2 packets, ranks from its column rank")
    assert text(page, "alert") == ""
    # The buffers of the example, of four packets, suit no file.
    assert page.evaluate("playground.setup.lanes.every((lane) => lane.params === '')")
    assert page.evaluate("Number(playground.setup.fields.load)") == pytest.approx(1.1)


def test_a_capture_of_300_mb_and_noise_are_refused_and_the_page_goes_on(page):
    dropped(page, 'new File([new Uint8Array(300 * 1024 * 1024)], "big.pcap")')
    page.wait("!document.getElementById('alert').hidden")
    assert text(page, "alert").startswith("big.pcap has 300 MiB: expected at most 64 MiB.")
    dropped(page, 'new File(["neither this nor that"], "noise.pcap")')
    page.wait("document.getElementById('alert').innerText.startsWith('noise.pcap')")
    page.evaluate("playground.go(8)")
    assert page.evaluate("playground.state.position") == 8


def test_the_keyboard_alone_steps_plays_and_asks_why(page):
    page.key("Home")
    page.wait("playground.state.position === 0")
    page.key("ArrowRight")
    page.key("ArrowRight")
    page.wait("playground.state.position === 2")
    page.key("ArrowLeft")
    page.wait("playground.state.position === 1")
    for _ in range(200):
        page.key("Tab")
        if page.evaluate("document.activeElement.dataset.packet !== undefined"):
            break
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("packet 0, rank 1, waits in")
    page.key("Enter")
    page.wait("!document.getElementById('why').hidden")
    assert page.evaluate("document.activeElement.id") == "why"
    assert "Packet 0, rank 1, flow 0, 1,500 B, in PIFO: it waits in queue 0." in text(page, "why-text")
    page.key("Escape")
    assert page.evaluate("document.getElementById('why').hidden")
    assert page.evaluate("document.activeElement.dataset.packet") == "0"
    page.key("End")
    page.wait("playground.state.next.step === 'end'")
    page.evaluate("document.activeElement.blur()")
    page.key("Home")
    page.wait("playground.state.position === 0")
    page.key(" ")
    page.wait("playground.state.next.step === 'end' && !playground.playing")


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (390, 844)])
def test_the_first_screen_shows_packets_that_move(page, address, width, height):
    page.size(width, height, motion="no-preference")
    opened(page, address)
    packets = """(() => {
        const inside = (box) => box.top >= 0 && box.bottom <= innerHeight && box.left >= 0 && box.right <= innerWidth;
        const found = [...document.querySelectorAll(".lane .queue .packet")];
        return found.filter((packet) => inside(packet.getBoundingClientRect())).map((packet) => packet.title);
    })()"""
    page.wait("playground.playing && playground.state.position >= 2")
    first = page.evaluate(packets)
    assert first
    page.wait("playground.state.position >= 4")
    assert page.evaluate(packets) != first
    assert not page.evaluate("document.getElementById('settings').open")
    page.wait("playground.state.next.step === 'end' && !playground.playing")
    # At the end it plays again from the beginning.
    page.evaluate("playground.play(true)")
    page.wait("playground.state.position < 10 && playground.playing")


def test_nothing_moves_by_itself_where_that_is_not_wanted_or_a_link_was_followed(page, address):
    assert page.evaluate("playground.playing") is None
    page.size(1400, 1000, motion="no-preference")
    opened(page, address + "#from=ranks&ranks=1+2&load=&s=fifo&step=1")
    assert page.evaluate("playground.playing") is None


def test_every_control_has_a_name_for_a_screen_reader(page):
    page.evaluate("document.getElementById('settings').open = true")
    nodes = page.accessibility()
    roles = {"button", "combobox", "textbox", "slider", "spinbutton", "link"}
    controls = [node for node in nodes if node.get("role", {}).get("value") in roles and not node.get("ignored")]
    assert len(controls) > 30
    assert [node for node in controls if not node.get("name", {}).get("value")] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
def test_nothing_is_wider_than_the_window_in_either_theme(page, address, width, scheme):
    page.size(width, 900, scheme)
    opened(page, address)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    colours = page.evaluate(
        "(() => { const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]; })()"
    )
    assert (
        colours
        == [["rgb(255, 255, 255)", "rgb(27, 31, 36)"], ["rgb(22, 24, 28)", "rgb(230, 233, 238)"]][scheme == "dark"]
    )


def test_a_million_packets_run_without_drawing(page, address):
    fields = "from=distribution&shape=uniform&low=0&high=99&packets=1000000&load=1.1&flows=1&seed=1"
    opened(page, f"{address}#{fields}&s=pifo&s=packs&step=0")
    page.evaluate("playground.run()")
    assert text(page, "status").startswith("1,000,000 packets through 2 schedulers, computed in ")
    for lane in page.evaluate("playground.state.lanes.map((lane) => lane.counts)"):
        assert lane["arrived"] == 1_000_000
        assert lane["sent"] + lane["lost"] == 1_000_000
        assert lane["lost"] > 80_000
