// The page's questions, answered in the browser by a packed model.

import { loadModel } from "./engine/model.js";

export class Local {
  static async load(url, onProgress) {
    return new Local(await loadModel(url, onProgress));
  }

  constructor(model) {
    this.model = model;
  }

  async about() { return this.model.facts.about; }
  async read(text) { return this.model.read(text); }
  async details(text, token) { return this.model.token(text, token); }
  async path(text) { return this.model.path(text); }
  async use(text, word) { return this.model.use(text, word); }

  async neighbours(word, n = 10) {
    const found = this.model.alone(word, n);
    if (!found.length) throw new Error(`the word "${word}" is not among the ${this.model.n.toLocaleString("en")} words of the vocabulary.`);
    return found;
  }

  async map() {
    const { arrays, words } = this.model;
    const at = Float32Array.from(arrays["map.at"].data, (x) => x / 10000 - 2);
    return { words: words.slice(0, at.length / 2), at, group: arrays["map.group"].data };
  }

  async transitions(text) {
    const own = text && this.model.facts.transitions.length ? this.model.passing(text) : [];
    return this.model.facts.transitions.map((pair, k) => ({ ...pair, own: own[k] ?? [] }));
  }

  async learning() { return this.model.facts.learning; }
}
