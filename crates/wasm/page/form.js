"use strict";
/* The set-up: which packets, and which schedulers with which parameters. Forms are made from the library's tables. */

/** An element with properties and children. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function option(value, text, chosen) {
  return make("option", { value, selected: value === chosen }, text ?? value);
}

/** `key = value, key = value` as pairs; commas inside of brackets or quotes part nothing. */
function split(params) {
  const parts = [""];
  let [depth, quoted] = [0, false];
  for (const letter of params) {
    if (letter === '"') quoted = !quoted;
    if (!quoted && letter === "[") depth += 1;
    if (!quoted && letter === "]") depth -= 1;
    if (letter === "," && depth === 0 && !quoted) parts.push("");
    else parts[parts.length - 1] += letter;
  }
  const pairs = parts.map((part) => [part.slice(0, part.indexOf("=")).trim(), part.slice(part.indexOf("=") + 1).trim()]);
  return pairs.filter(([key]) => key);
}

/** A value as it is written: text with signs of its own in quotes. */
function quoted(value) {
  return /[[\],=]/.test(value) && !value.startsWith("[") && !value.startsWith('"') ? `"${value}"` : value;
}

const LOADS = "1.1";

/** The fields of each kind of packets: name, label, default, and how it is entered. */
const FIELDS = {
  example: () => [{ name: "example", label: "Example", choices: Object.entries(EXAMPLES).map(([name, e]) => [name, e.title]) }],
  ranks: () => [
    { name: "ranks", label: "Ranks in order of arrival; - is a departure", value: "3 4 1 4 5 2 1", area: true },
    { name: "load", label: "Load of the link (empty: all arrive first)", value: "" },
  ],
  distribution: (fields) => [
    { name: "shape", label: "Distribution", choices: Object.keys(SHAPES).map((name) => [name, name]) },
    ...Object.entries(SHAPES[fields.shape] ?? SHAPES.uniform).map(([name, value]) => ({ name, label: name, value, number: true })),
    { name: "packets", label: "Packets", value: 2000, number: true },
    { name: "load", label: "Load of the link", value: LOADS },
    { name: "flows", label: "Flows", value: 1, number: true },
    { name: "seed", label: "Seed", value: 1, number: true },
  ],
  witness: () => [{ name: "name", label: "Witness of pifolab attack", choices: vectorNames("worst-cases/") }],
  vector: () => [{ name: "name", label: "Vector", choices: vectorNames("vectors/") }],
  file: () => [
    { name: "load", label: "Load of the link", value: LOADS },
    { name: "map", label: "Ranks of a capture: dscp, phb, or such as 46=0,34=1 (empty: phb if packets have such classes)", value: "" },
  ],
};

function vectorNames(folder) {
  if (typeof PIFOLAB_VECTORS === "undefined") return [];
  const names = Object.keys(PIFOLAB_VECTORS).filter((name) => name.startsWith(folder));
  return names.map((name) => [name, name.slice(folder.length).replace(".json", "")]);
}

/** Vectors are half a megabyte: they are loaded when somebody wants them. */
function loadVectors() {
  if (typeof PIFOLAB_VECTORS !== "undefined") return Promise.resolve();
  return new Promise((resolve, reject) => {
    const failed = () => reject(new Error("vectors.js cannot be loaded: expected it beside this page"));
    document.head.append(make("script", { src: "vectors.js", onload: resolve, onerror: failed }));
  });
}

/** Draws the fields of the packets; `changed(fields)` is told of every change. */
function drawFields(place, setup, changed) {
  const fields = FIELDS[setup.kind](setup.fields);
  for (const field of fields) setup.fields[field.name] ??= String(field.value ?? field.choices?.[0]?.[0] ?? "");
  const known = new Set(fields.map((field) => field.name));
  for (const name of Object.keys(setup.fields)) if (!known.has(name)) delete setup.fields[name];
  place.replaceChildren(...fields.map((field) => {
    const value = setup.fields[field.name];
    let input;
    if (field.choices) input = make("select", {}, ...field.choices.map(([name, text]) => option(name, text, value)));
    else if (field.area) input = make("textarea", { value, spellcheck: false });
    else input = make("input", { value, type: field.number ? "number" : "text", step: "any" });
    input.dataset.field = field.name;
    input.addEventListener("change", () => {
      setup.fields[field.name] = input.value;
      changed(field.name);
    });
    return make("label", { className: field.area || field.choices ? "wide" : "" }, field.label, input);
  }));
  if (setup.kind === "file") {
    const input = make("input", { type: "file", id: "file" });
    input.addEventListener("change", () => input.files[0] && changed("file", input.files[0]));
    place.prepend(make("label", { className: "wide" }, "A capture (pcap, pcapng) or CSV trace, plain or gzip; or drop it anywhere", input));
  }
}

/** The request for the packets. */
function traceRequest(setup) {
  const { kind, fields } = setup;
  const number = (name) => {
    const value = Number(fields[name]);
    if (fields[name].trim() === "" || !Number.isFinite(value)) throw new Error(`${name} = ${fields[name]}: expected a number`);
    return value;
  };
  const whole = (name) => {
    const value = number(name);
    if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${name} = ${fields[name]}: expected a whole number from 0`);
    return value;
  };
  switch (kind) {
    case "example": {
      const example = EXAMPLES[fields.example];
      if (!example) throw new Error(`example = ${fields.example}: expected one of ${Object.keys(EXAMPLES).join(", ")}`);
      return { kind: "ranks", ranks: example.ranks, load: null };
    }
    case "ranks":
      return { kind: "ranks", ranks: fields.ranks, load: fields.load.trim() || null };
    case "distribution": {
      if (!(fields.shape in SHAPES)) throw new Error(`shape = ${fields.shape}: expected one of ${Object.keys(SHAPES).join(", ")}`);
      const shape = { name: fields.shape };
      for (const name of Object.keys(SHAPES[fields.shape])) shape[name] = name === "mean" ? number(name) : whole(name);
      return { kind, shape, packets: whole("packets"), load: fields.load, flows: whole("flows"), seed: whole("seed") };
    }
    case "file":
      return { kind, name: setup.file?.name, load: fields.load, map: fields.map?.trim() || null };
    default:
      return { kind: "vector", name: fields.name };
  }
}

/** Draws the schedulers; `changed()` is told of every change. */
function drawLanes(place, lanes, tables, library, changed) {
  place.replaceChildren(...lanes.map((lane, index) => choice(lane, index)));

  function choice(lane, index) {
    const table = tables.find((table) => table.name === lane.scheduler) ?? tables[0];
    const select = make("select", { "aria-label": `Scheduler ${index + 1}` }, ...tables.map((t) => option(t.name, t.label, table.name)));
    select.addEventListener("change", () => {
      [lane.scheduler, lane.params] = [select.value, ""];
      drawLanes(place, lanes, tables, library, changed);
      changed();
    });
    const remove = make("button", { type: "button", "aria-label": `Remove scheduler ${index + 1}, ${table.label}`, disabled: lanes.length < 2 }, "Remove");
    remove.addEventListener("click", () => {
      lanes.splice(index, 1);
      drawLanes(place, lanes, tables, library, changed);
      changed();
    });
    const fault = make("p", { className: "fault", role: "alert" });
    const written = make("div", { className: "written" }, lane.params || "all defaults");
    const rows = table.params.map((param) => row(param, lane, written, fault));
    const details = make("details", { open: lane.open ?? false }, make("summary", {}, `Parameters (${table.params.length})`), make("div", { className: "params" }, ...rows));
    details.addEventListener("toggle", () => (lane.open = details.open));
    const box = make("div", { className: "choice" }, make("div", { className: "row" }, select, remove), written, fault,
      make("p", { className: "quiet" }, table.summary), details);
    box.style.setProperty("--colour", ink(table.colour));
    return box;
  }

  function row(param, lane, written, fault) {
    const given = split(lane.params).find(([key]) => key === param.name)?.[1]?.replaceAll('"', "") ?? "";
    let input;
    if (param.field === "choice" || param.field === "flag") {
      const words = param.field === "flag" ? [["true", ""], ["false", ""]] : param.words;
      input = make("select", {}, option("", `(${param.absent})`, given), ...words.map(([word, meaning]) => option(word, meaning ? `${word}: ${meaning}` : word, given)));
    } else {
      input = make("input", { value: given, placeholder: param.absent, inputMode: param.field === "integer" ? "numeric" : "text" });
    }
    input.addEventListener("change", () => {
      const pairs = split(lane.params).filter(([key]) => key !== param.name);
      if (input.value.trim()) pairs.push([param.name, quoted(input.value.trim())]);
      const params = pairs.map(([key, value]) => `${key} = ${value}`).join(", ");
      try {
        library.ask({ do: "try", scheduler: lane.scheduler, params });
        fault.textContent = "";
        input.removeAttribute("aria-invalid");
      } catch (error) {
        // What was running goes on with what was right.
        fault.textContent = error.message;
        input.setAttribute("aria-invalid", "true");
        return;
      }
      lane.params = params;
      written.textContent = params || "all defaults";
      changed();
    });
    const unit = param.unit ? ` (${param.unit})` : "";
    return make("label", {}, `${param.name}${unit}`, input, make("small", {}, param.doc));
  }
}
