"use strict";
/* What can be seen: counters, queues, windows, and why a packet fared as it did. */

const count = (number) => number.toLocaleString("en");

/** The colour of a rank: light enough for black letters in either theme. */
function tint(rank, highest) {
  const share = highest > 0 ? Math.min(1, Number(rank) / highest) : 0;
  return `oklch(${0.9 - 0.2 * share} 0.1 ${255 - 185 * share})`;
}

/** The colour of a scheduler; black is the theme's own, which can be seen in either. */
const ink = (colour) => (colour === "#000000" ? "var(--text)" : colour);

/** A strip of packets under a heading; nothing where there are none. */
function strip(title, packets) {
  if (!packets.length) return "";
  return make("div", { className: "strip" }, make("h4", {}, title), make("ol", { className: "packets", "aria-label": title }, ...packets));
}

const Draw = {
  highest: 0,

  packet(packet, lane, about, classes = "") {
    const label = `packet ${packet.packet}, rank ${packet.rank}, ${about}`;
    const button = make("button", { type: "button", className: `packet ${classes}`, title: label, "aria-label": label }, String(packet.rank));
    button.style.background = tint(packet.rank, Draw.highest);
    if (lane === null) button.disabled = true;
    else [button.dataset.lane, button.dataset.packet] = [lane, packet.packet];
    return make("li", {}, button);
  },

  bounds(queue) {
    if (queue.lowest !== null && queue.highest !== null) return `ranks ${queue.lowest} to ${queue.highest}`;
    if (queue.lowest !== null) return `ranks from ${queue.lowest}`;
    if (queue.highest !== null) return queue.highest < 0 ? "no rank" : `ranks up to ${queue.highest}`;
    return "";
  },

  counters(table, lanes) {
    const ideal = lanes.some((lane) => lane.counts.delta !== null);
    const columns = [
      ["Sent", (l) => count(l.counts.sent)],
      ["Waiting", (l) => count(l.waiting)],
      ["Lost", (l) => count(l.counts.lost)],
      ["at admission", (l) => count(l.counts.lost_for[0][1])],
      ["full", (l) => count(l.counts.lost_for[1][1])],
      ["pushed out", (l) => count(l.counts.lost_for[2][1])],
      ["by queue management", (l) => count(l.counts.lost_for[4][1])],
      ["Lowest rank lost", (l) => l.counts.lowest_lost ?? "-"],
      ["Inversions", (l) => count(l.counts.inversions)],
      ["Pairs", (l) => count(l.counts.pairwise)],
      ["Delta to PIFO", (l) => (ideal ? l.counts.delta.toFixed(4) : "add a PIFO")],
    ];
    const head = make("tr", {}, make("th", { scope: "col" }, "Scheduler"), ...columns.map(([name]) => make("th", { scope: "col" }, name)));
    const rows = lanes.map((lane) =>
      make("tr", {}, make("th", { scope: "row" }, lane.chosen.label), ...columns.map(([, value]) => make("td", {}, String(value(lane))))));
    table.replaceChildren(make("caption", { className: "quiet" }, "An inversion: a packet that left while one of lower rank waited. Pairs: such pairs of packets."),
      make("thead", {}, head), make("tbody", {}, ...rows));
  },

  window(window, next) {
    const ranks = window.ascending.map(Number);
    const [low, high] = [ranks[0], ranks[ranks.length - 1]];
    const span = Math.max(1, high - low);
    const x = (rank) => (100 * Math.max(0, Math.min(1, (rank - low) / span))).toFixed(2);
    let path = "M0,100";
    ranks.forEach((rank, at) => (path += ` H${x(rank)} V${(100 - (100 * (at + 1)) / ranks.length).toFixed(2)}`));
    const line = next === null ? "" : `<line class="next" x1="${x(next)}" x2="${x(next)}" y1="0" y2="100" vector-effect="non-scaling-stroke"/>`;
    const lower = next === null ? 0 : ranks.filter((rank) => rank < next).length / ranks.length;
    const about = `Window of ${count(window.ranks)} ranks from ${low} to ${high}, median ${ranks[Math.floor(ranks.length / 2)]}.` +
      (next === null ? "" : ` Of the next packet, rank ${next}, the quantile is ${lower.toFixed(2)}.`);
    const box = make("div", {});
    box.innerHTML = `<svg class="window" viewBox="-1 -4 102 108" preserveAspectRatio="none" role="img"><path d="${path} H100"/>${line}</svg>`;
    box.firstChild.setAttribute("aria-label", about);
    return make("div", { className: "strip" }, make("h4", {}, "Window: share of ranks up to each rank"), box, make("p", { className: "quiet" }, about));
  },

  lane(lane, index, next) {
    const queues = lane.queues.map((queue, number) => {
      const packets = queue.first.map((packet) => Draw.packet(packet, index, `waits in queue ${number}`));
      if (queue.packets > queue.first.length) packets.push(make("li", {}, `and ${count(queue.packets - queue.first.length)} more`));
      const about = make("div", { className: "about" }, `Queue ${number}: ${count(queue.packets)}`, make("span", {}, Draw.bounds(queue)));
      return make("div", { className: "queue" }, about, make("ol", { className: "packets", "aria-label": `Queue ${number}, next to leave first` }, ...packets));
    });
    const sent = [...lane.sent].reverse().map((packet) =>
      Draw.packet(packet, index, packet.inversion ? "sent while a lower rank waited" : "sent", packet.inversion ? "inversion" : ""));
    const lost = [...lane.lost].reverse().map((packet) => Draw.packet(packet, index, "lost", "lost"));
    const title = make("h3", { id: `lane-${index}` }, `${lane.chosen.label} `, make("small", { className: "quiet" }, lane.chosen.params || "all defaults"));
    const section = make("section", { className: "lane", "aria-labelledby": `lane-${index}` }, title,
      make("p", { className: "said" }, lane.said ? `${lane.said[0].toUpperCase()}${lane.said.slice(1)}.` : ""),
      ...queues,
      make("p", { className: "quiet" }, `${count(lane.waiting)} of ${lane.capacity} wait; served from the top, ${lane.in_order ? "each queue from the left, in order of arrival" : "in order of rank"}.`));
    if (lane.window) section.append(Draw.window(lane.window, next));
    section.append(
      strip("Sent, last first; underlined in red: while a lower rank waited", sent),
      strip("Lost, last first", lost));
    section.style.setProperty("--colour", ink(lane.chosen.colour));
    return section;
  },

  state(state) {
    Draw.counters(document.getElementById("counters"), state.lanes);
    const next = state.next.step === "offer" ? Number(state.next.packet.rank) : null;
    document.getElementById("lanes").replaceChildren(...state.lanes.map((lane, index) => Draw.lane(lane, index, next)));
    const coming = state.coming.map((packet) => Draw.packet(packet, null, "to come"));
    const left = state.packets - state.lanes[0].counts.arrived - coming.length;
    if (left > 0) coming.push(make("li", {}, `and ${count(left)} more`));
    document.getElementById("coming").replaceChildren(...(coming.length ? coming : [make("li", { className: "quiet" }, "All packets have arrived.")]));
    const expected = document.getElementById("expected");
    expected.hidden = !state.expected;
    if (state.expected) {
      const done = Math.min(state.position, state.expected.answers);
      expected.textContent = `Vector: ${count(done)} of ${count(state.expected.answers)} answers given, ${count(state.expected.mismatches)} differ from what it expects.`;
    }
  },

  why(why, lane) {
    const list = (what) => what.first.map((packet) => `${packet.packet} (rank ${packet.rank})`).join(", ") +
      (what.count > what.first.length ? ` and ${count(what.count - what.first.length)} more` : "");
    const fates = {
      waiting: () => `waits in queue ${why.fate.queue}`,
      sent: () => `entered queue ${why.fate.queue} and was sent`,
      lost: () => why.fate.text,
    };
    const lines = [`Packet ${why.packet}, rank ${why.rank}, flow ${why.flow}, ${count(why.bytes)} B, in ${lane.chosen.label}: it ${fates[why.fate.state]()}.`];
    const window = (seen) => `${seen.lower} of ${seen.ranks} ranks in the window are lower and ${seen.equal} equal: quantile ${(seen.lower / seen.ranks).toFixed(3)}`;
    if (why.before.seen) lines.push(`Before it came, ${window(why.before.seen)}.`);
    if (why.after.seen) lines.push(`When it had been decided, ${window(why.after.seen)}.`);
    const queues = why.before.queues.map((queue, number) => {
      const bounds = Draw.bounds(queue);
      return `queue ${number} held ${count(queue.packets)}${bounds ? ` and took ${bounds}` : ""}`;
    });
    lines.push(`At that moment ${queues.slice(0, 16).join("; ")}${queues.length > 16 ? "; and so on" : ""}.`);
    const waited = Number.isInteger(why.fate.queue);
    if (waited) lines.push(why.overtaken_by.count ? `Overtaken by ${count(why.overtaken_by.count)}: ${list(why.overtaken_by)}.` : "No later packet overtook it.");
    if (why.overtook.count) lines.push(`When it left, ${count(why.overtook.count)} that had come before it still waited: ${list(why.overtook)}.`);
    if (why.lower_ranks_waited.count) lines.push(`It left while ${count(why.lower_ranks_waited.count)} of lower rank waited, an inversion: ${list(why.lower_ranks_waited)}.`);
    return lines.map((line) => make("p", {}, line));
  },
};
