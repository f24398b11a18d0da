"use strict";
/* The page: what happens when something is chosen, pressed, dropped or followed. */

const at = (id) => document.getElementById(id);
/** Larger files are not read: their packets would not fit into the memory of a page. */
const LARGEST_FILE = 64 * 1024 * 1024;
/** Steps between two looks at the clock. */
const SLICE = 20000;

class Playground {
  constructor(library) {
    this.library = library;
    this.tables = library.ask({ do: "tables" }).schedulers;
    this.setup = { kind: "example", fields: {}, lanes: [] };
    this.state = null;
    this.playing = null;
    /** Counts what was begun: what was begun earlier stops when it sees a later number. */
    this.begun = 0;
    this.listen();
  }

  listen() {
    at("first").onclick = () => this.go(0);
    at("back").onclick = () => this.go(this.state.position - 1);
    at("forward").onclick = () => this.go(this.state.position + 1);
    at("last").onclick = () => this.run();
    at("play").onclick = () => this.play(!this.playing);
    at("speed").onchange = () => this.playing && this.play(true);
    at("slider").oninput = () => this.go(Number(at("slider").value));
    at("add").onclick = () => this.add();
    at("link").onclick = () => this.copy();
    at("why-close").onclick = () => this.closeWhy();
    at("kind").onchange = () => this.choose(at("kind").value);
    at("setup").onsubmit = (event) => event.preventDefault();
    document.addEventListener("click", (event) => {
      const packet = event.target.closest?.("button[data-packet]");
      if (packet) this.why(Number(packet.dataset.lane), Number(packet.dataset.packet), packet);
    });
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      if (event.dataTransfer.files[0]) this.read(event.dataTransfer.files[0]);
    });
    window.addEventListener("hashchange", () => location.hash !== this.written && this.follow(location.hash));
  }

  key(event) {
    if (event.key === "Escape") return this.closeWhy();
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const keys = { ArrowRight: "forward", ArrowLeft: "back", Home: "first", End: "last" };
    if (event.key === " " && !/^(BUTTON|A|SUMMARY)$/.test(event.target.tagName)) at("play").click();
    else if (event.key in keys) at(keys[event.key]).click();
    else return;
    event.preventDefault();
  }

  /** Says what is wrong; what was there stays. */
  complain(error) {
    at("alert").textContent = error.message ?? String(error);
    at("alert").hidden = false;
  }

  /** Does something that may fail, in words for the user. */
  async attempt(what) {
    try {
      await what();
      return true;
    } catch (error) {
      this.complain(error);
      return false;
    }
  }

  /** Goes to what a link says; what it does not say, or wrongly, is the first example. */
  async follow(hash) {
    let read = null;
    const understood = await this.attempt(() => {
      read = Link.read(hash);
    });
    if (understood && read) {
      if (read.setup.kind === "file") {
        this.setup = { ...read.setup, lanes: read.setup.lanes.length ? read.setup.lanes : this.example("packs-fig2").lanes };
        await this.draw();
        at("settings").open = true;
        return this.complain(new Error("the link speaks of a file that only its writer has: choose the file here"));
      }
      this.setup = read.setup;
      if (await this.open(read.step)) return;
    }
    const said = at("alert").textContent;
    this.setup = this.example("packs-fig2");
    await this.open(EXAMPLES["packs-fig2"].step);
    if (said && hash.length > 1) this.complain(new Error(`The link cannot be followed: ${/[.?]$/.test(said) ? said : `${said}.`} The first example is shown.`));
  }

  example(name) {
    const lanes = EXAMPLES[name].lanes.map(([scheduler, params]) => ({ scheduler, params }));
    return { kind: "example", fields: { example: name }, lanes };
  }

  /** The schedulers, without the buffers of an example, which are of a few packets. */
  lanes() {
    const { kind, lanes } = this.setup;
    return kind === "example" ? lanes.map(({ scheduler }) => ({ scheduler, params: "" })) : lanes;
  }

  async choose(kind) {
    const lanes = kind === "ranks" ? this.setup.lanes : this.lanes();
    this.setup = kind === "example" ? this.example("packs-fig2") : { kind, lanes, fields: {}, file: null };
    if (kind === "file") {
      await this.draw();
      return;
    }
    await this.reopen(kind === "example" ? "example" : "name");
  }

  /** Something of the packets was changed. */
  async reopen(field, file) {
    if (file) return this.read(file);
    if (field === "example") this.setup = this.example(this.setup.fields.example);
    // A vector is of a scheduler; others may be put beside it.
    if (field === "name" && ["witness", "vector"].includes(this.setup.kind)) this.setup.lanes = [];
    await this.open(field === "example" ? EXAMPLES[this.setup.fields.example].step : 0);
  }

  async draw() {
    if (["witness", "vector"].includes(this.setup.kind)) await loadVectors();
    at("kind").value = this.setup.kind;
    drawFields(at("fields"), this.setup, (field, file) => this.reopen(field, file));
    drawLanes(at("lanes-form"), this.setup.lanes, this.tables, this.library, () => this.open(0));
  }

  async read(file) {
    this.play(false);
    await this.attempt(async () => {
      if (file.size > LARGEST_FILE) {
        const size = `${(file.size / 1048576).toFixed(0)} MiB`;
        throw new Error(`${file.name} has ${size}: expected at most 64 MiB. Take a part of it (editcap -r in.pcap out.pcap 1-500000), or run pifolab advise on all of it.`);
      }
      const isVector = file.name.endsWith(".json");
      const bytes = new Uint8Array(await file.arrayBuffer());
      const load = this.setup.kind === "file" ? this.setup.fields.load : undefined;
      const before = this.setup;
      this.setup = { kind: "file", fields: load ? { load } : {}, lanes: isVector ? [] : this.lanes(), file: { name: file.name, bytes, isVector } };
      if (!(await this.open(0))) this.setup = before;
    });
  }

  /** Opens what is set up and goes to a step. */
  async open(step) {
    this.play(false);
    this.closeWhy();
    return this.attempt(async () => {
      await this.draw();
      const { setup } = this;
      if (setup.kind === "file" && !setup.file) return;
      let file = setup.file?.bytes;
      let trace = traceRequest(setup);
      if (setup.file?.isVector) trace = { kind: "vector", name: setup.file.name };
      if (trace.kind === "vector" && !file) {
        const text = PIFOLAB_VECTORS[setup.fields.name];
        if (text === undefined) throw new Error(`name = ${setup.fields.name}: there is no such vector`);
        file = new TextEncoder().encode(text);
      }
      const lanes = setup.lanes.map(({ scheduler, params }) => ({ scheduler, params }));
      const opened = this.library.ask({ do: "open", trace, lanes }, file);
      at("alert").hidden = true;
      at("alert").textContent = "";
      at("note").textContent = opened.note;
      if (!setup.lanes.length) {
        setup.lanes = opened.lanes.map(({ scheduler, params }) => ({ scheduler, params }));
        await this.draw();
      }
      Draw.highest = Number(opened.highest);
      this.begun += 1;
      this.state = { position: 0 };
      this.library.ask({ do: "forward", steps: Math.min(step, SLICE) });
      this.show();
      if (step > SLICE) await this.go(step);
    });
  }

  add() {
    const used = new Set(this.setup.lanes.map((lane) => lane.scheduler));
    const free = this.tables.find((table) => !used.has(table.name) && !table.params.some((param) => param.required));
    this.setup.lanes.push({ scheduler: (free ?? this.tables[0]).name, params: "" });
    this.open(0).then((opened) => opened || (this.setup.lanes.pop(), this.draw()));
  }

  /** Goes to a step; back means from the beginning, since schedulers only know forward. */
  async go(step) {
    const begun = ++this.begun;
    step = Math.max(0, step);
    await this.attempt(async () => {
      if (step < this.state.position) {
        this.library.ask({ do: "rewind" });
        this.state.position = 0;
      }
      let moved = { position: this.state.position, more: true };
      while (moved.position < step && moved.more) {
        moved = this.library.ask({ do: "forward", steps: Math.min(step - moved.position, SLICE) });
        this.state.position = moved.position;
        if (step - moved.position > 0 && moved.more) {
          at("status").textContent = `Step ${count(moved.position)} ...`;
          await new Promise((resolve) => setTimeout(resolve));
          if (begun !== this.begun) return;
        }
      }
      this.show();
    });
  }

  /** Runs to the end without drawing. */
  async run() {
    this.play(false);
    const begun = ++this.begun;
    await this.attempt(async () => {
      let busy = 0;
      for (let more = true; more; ) {
        const start = performance.now();
        const moved = this.library.ask({ do: "forward", steps: SLICE });
        busy += performance.now() - start;
        more = moved.more;
        this.state.position = moved.position;
        if (more) {
          at("status").textContent = `Step ${count(moved.position)} ...`;
          await new Promise((resolve) => setTimeout(resolve));
          if (begun !== this.begun) return;
        }
      }
      this.show();
      this.ran = { packets: this.state.packets, seconds: busy / 1000 };
      at("status").textContent = `${count(this.state.packets)} packets through ${this.state.lanes.length} scheduler${this.state.lanes.length === 1 ? "" : "s"}, computed in ${(busy / 1000).toFixed(2)} s.`;
    });
  }

  play(on) {
    clearInterval(this.playing);
    this.playing = null;
    at("play").textContent = on ? "Pause" : "Play";
    if (!on) return;
    if (this.state.next?.step === "end") this.go(0);
    const speed = Number(at("speed").value);
    // No more than thirty drawings a second; the screen reader hears the status only when it stops.
    const [each, steps] = speed > 30 ? [33, Math.round(speed / 30)] : [1000 / speed, 1];
    this.playing = setInterval(async () => {
      await this.go(this.state.position + steps);
      if (this.state.next?.step === "end") this.play(false);
    }, each);
  }

  /** Draws the state and writes the link. */
  show() {
    this.state = this.library.ask({ do: "state" });
    const { state } = this;
    Draw.state(state);
    const known = state.steps !== null;
    at("slider").max = known ? state.steps : state.position;
    at("slider").value = state.position;
    at("slider").disabled = !known;
    const time = state.time_ns === null ? "" : `, ${(state.time_ns / 1000).toLocaleString("en", { maximumFractionDigits: 3 })} us`;
    at("position").textContent = `${count(state.position)}${known ? ` of ${count(state.steps)}` : ""}${time}`;
    at("back").disabled = at("first").disabled = state.position === 0;
    at("forward").disabled = at("last").disabled = state.next.step === "end";
    // Each scheduler shows its own; a screen reader hears them together.
    const said = state.lanes.map((lane) => lane.said && `${lane.chosen.label}: ${lane.said}`).filter(Boolean).join(". ");
    at("status").replaceChildren(make("span", { className: "heard" }, this.playing ? "" : said));
    const packets = this.setup.fields.example ? EXAMPLES[this.setup.fields.example].title : at("note").textContent;
    at("summary").textContent = `${packets.replace(/\.$/, "")}; ${state.lanes.map((lane) => lane.chosen.label).join(", ")}`;
    this.written = Link.write(this.setup, state.position);
    history.replaceState(null, "", this.written);
  }

  why(lane, packet, from) {
    this.attempt(() => {
      const why = this.library.ask({ do: "why", lane, packet });
      at("why-text").replaceChildren(...Draw.why(why, this.state.lanes[lane]));
      at("why").hidden = false;
      this.whyFrom = from;
      at("why").focus();
    });
  }

  closeWhy() {
    if (at("why").hidden) return;
    at("why").hidden = true;
    this.whyFrom?.focus();
  }

  async copy() {
    const text = new URL(this.written, location.href).href;
    const note = this.setup.kind === "file" ? " It cannot hold the file." : "";
    try {
      await navigator.clipboard.writeText(text);
      at("status").textContent = `The link is in the clipboard.${note}`;
    } catch {
      at("status").textContent = `The address of this page is the link.${note}`;
    }
  }
}

Library.open()
  .then(async (library) => {
    window.playground = new Playground(library);
    const arrived = location.hash.length < 2;
    await window.playground.follow(location.hash);
    // Without a link the first example moves, slowly enough to be read, unless the visitor wants no motion.
    if (arrived && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
      at("speed").value = "2";
      await window.playground.go(0);
      window.playground.play(true);
    }
    document.documentElement.dataset.ready = "true";
  })
  .catch((error) => {
    at("alert").textContent = `The playground cannot start: ${error.message}`;
    at("alert").hidden = false;
  });
