"use strict";
/* The compiled library: a request in JSON goes in, an answer in JSON comes out. */

class Library {
  static async open() {
    if (typeof WebAssembly === "undefined") throw new Error("this browser has no WebAssembly: expected one of 2020 or later");
    const binary = Uint8Array.from(atob(PIFOLAB_WASM), (letter) => letter.charCodeAt(0));
    const library = new Library();
    library.module = await WebAssembly.compile(binary);
    await library.restart();
    return library;
  }

  async restart() {
    this.exports = (await WebAssembly.instantiate(this.module, {})).exports;
  }

  write(bytes) {
    const at = this.exports.pifolab_room(bytes.length);
    new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
  }

  /** Asks; what is wrong is thrown with the library's own words. */
  ask(request, file) {
    let text;
    try {
      if (file) {
        this.write(file);
        this.exports.pifolab_file();
      }
      this.write(new TextEncoder().encode(JSON.stringify(request)));
      const at = this.exports.pifolab_ask();
      const bytes = new Uint8Array(this.exports.memory.buffer, at, this.exports.pifolab_answer_bytes());
      text = new TextDecoder().decode(bytes);
    } catch (trap) {
      this.restart();
      throw new Error(`the library gave up (${trap.message}): out of memory, or a defect of pifolab; it was started anew`);
    }
    const answer = JSON.parse(text);
    if ("error" in answer) throw new Error(answer.error);
    return answer.ok;
  }
}
