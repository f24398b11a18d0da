"use strict";
/* The exact state as a link: what is behind # names the packets, the schedulers and the step. */

const Link = {
  write(setup, step) {
    const words = new URLSearchParams();
    words.set("from", setup.kind);
    for (const [name, value] of Object.entries(setup.fields)) words.set(name, value);
    for (const lane of setup.lanes) words.append("s", lane.params ? `${lane.scheduler}: ${lane.params}` : lane.scheduler);
    words.set("step", step);
    return "#" + words.toString();
  },

  /** The set-up of a link; null if there is none, an error if it cannot be understood. */
  read(hash) {
    if (hash.length < 2) return null;
    const words = new URLSearchParams(hash.slice(1));
    const kind = words.get("from");
    const kinds = ["example", "ranks", "distribution", "witness", "vector", "file"];
    if (!kinds.includes(kind)) throw new Error(`from = ${kind ?? "(nothing)"}: expected one of ${kinds.join(", ")}`);
    const lanes = words.getAll("s").map((text) => {
      const colon = text.indexOf(":");
      return colon < 0
        ? { scheduler: text.trim(), params: "" }
        : { scheduler: text.slice(0, colon).trim(), params: text.slice(colon + 1).trim() };
    });
    const step = Number(words.get("step") ?? 0);
    if (!Number.isSafeInteger(step) || step < 0) throw new Error(`step = ${words.get("step")}: expected a whole number from 0`);
    const fields = {};
    for (const [name, value] of words) if (!["from", "s", "step"].includes(name)) fields[name] = value;
    return { setup: { kind, fields, lanes }, step };
  },
};
