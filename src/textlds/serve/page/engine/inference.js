// A packed model that reads texts: tokens, states, probabilities, neighbours among words.

import { Table } from "./arrays.js";
import { dot, norm, row, topRows, unit } from "./linear.js";
import { Predictor } from "./language.js";
import { Meaning } from "./meaning.js";
import { spellingFeatures } from "./spelling.js";
import { Gains, System } from "./system.js";
import { Tokenizer } from "./tokenizer.js";


/** From text to the states of a packed model, their neighbours among words, and probabilities. */
export class Inference {
  constructor(facts, arrays) {
    this.facts = facts;
    this.arrays = arrays;
    this.words = new TextDecoder().decode(arrays.words.data).split("\n");
    this.n = facts.n_types;
    this.rows = new Map(this.words.slice(0, this.n).map((word, row) => [word, row]));
    this.classes = new Map(this.words.slice(this.n).map((word, row) => [word, this.n + row]));
    this.tokenizer = new Tokenizer(facts, arrays["characters.index"].data, arrays["characters.blocks"].data);
    this.system = new System(arrays, "context");
    this.h = this.system.h; // of the state; vectors may be shorter
    this.whitener = arrays.whitener.data;
    [, this.d] = arrays.whitener.shape;
    this.vectors = new Table(arrays, "vectors");
    this.speller = arrays.spelling ? new Table(arrays, "spelling") : null;
    if (!this.system.gains) this.system.gains = new Gains(this);
    this.languageSystem = facts.language === "language" ? new System(arrays, "language") : this.system;
    this.predictor = facts.language ? new Predictor(facts, arrays, this.languageSystem) : null;
    this.spelt = new Map();
    this.tables = {};
    this.common = arrays.common.data;
    this.meaning = arrays.meaning ? new Meaning(this) : null;
  }

  /** Return the row of a word: its own, or that of its class. */
  id(word, ignore = false) {
    const plain = this.tokenizer.normalise([...word].map((c) => c.codePointAt(0)), ignore);
    return this.rows.get(plain) ?? this.classRow(plain);
  }

  classRow(plain) {
    if (this.classes.has(plain)) return this.classes.get(plain); // a class that is named in the text is meant
    return this.classes.size === 1 ? this.n : this.classes.get(this.tokenizer.shapeClass(plain));
  }

  /** Return the tokens of a text, their rows, and the rows with boundary tokens among them. */
  encode(text) {
    const { tokens, codes, count } = this.tokenizer.tokenize(text);
    const ignore = this.facts.text.tokenizer === "words";
    const boundary = this.facts.boundary_row;
    const result = { tokens: [], before: [], ids: [], positions: [], starts: [] };
    let end = 0;
    for (const token of tokens) {
      if (token.boundary && boundary >= 0) result.ids.push(boundary);
      if (!result.tokens.length || (token.boundary && boundary < 0)) result.starts.push(result.ids.length);
      const own = codes.subarray(token.start, token.end);
      const plain = this.tokenizer.normalise(own, ignore);
      result.positions.push(result.ids.length);
      result.ids.push(this.rows.get(plain) ?? this.classRow(plain));
      result.tokens.push(string(own));
      result.before.push(string(codes.subarray(end, token.start)));
      end = token.end;
    }
    if (result.tokens.length && boundary >= 0) result.ids.push(boundary);
    result.tail = string(codes.subarray(end, count));
    return result;
  }

  /** Write the gain of a token to out: that of its row, or of its spelling. */
  gain(row, token, out, offset) {
    if (row < this.n || !this.speller || token === null || token === this.words[row]) {
      this.system.gains.row(row, out, offset);
      return;
    }
    if (!this.spelt.has(token)) {
      if (this.spelt.size > 20000) this.spelt.clear();
      this.spelt.set(token, this.spell(token));
    }
    out.set(this.spelt.get(token), offset);
  }

  /** A token as its spelling is read: digits normalised, without format characters. */
  plain(token) {
    return [...this.tokenizer.normalise([...token].map((c) => c.codePointAt(0)), false)]
      .filter((character) => this.tokenizer.kindOf(character.codePointAt(0)) !== 8).join("");
  }

  spell(token) {
    const { speller } = this;
    const plain = this.plain(token);
    const width = speller.width;
    const sum = new Float64Array(width), row = new Float32Array(width);
    for (const bucket of spellingFeatures(plain, speller.rows)) {
      speller.row(bucket, row);
      for (let c = 0; c < width; c++) sum[c] += row[c];
    }
    const length = norm(sum) || Infinity;
    return this.system.gains.of(sum.map((x) => x / length));
  }

  /** Read a text: the means of the state at each token. */
  states(text) {
    const read = typeof text === "string" ? this.encode(text) : text;
    const { h, system } = this;
    const n = read.ids.length;
    const gains = new Float32Array(n * h);
    const token = new Array(n).fill(null);
    read.positions.forEach((position, i) => { token[position] = read.tokens[i]; });
    for (let t = 0; t < n; t++) this.gain(read.ids[t], token[t], gains, t * h);
    const pred = new Float32Array(n * h), filt = gains.slice(), smooth = new Float32Array(n * h);
    read.starts.forEach((start, s) => {
      const end = read.starts[s + 1] ?? n;
      const p = pred.subarray(start * h, end * h), f = filt.subarray(start * h, end * h);
      system.filter(p, f, end - start);
      smooth.set(system.smooth(p, f, end - start), start * h);
    });
    // up to the first word that only its spelling is known of, probabilities ask for the same states
    if (this.languageSystem === system && this.facts.boundary_row < 0) read.pred = pred;
    return { read, gains, pred, filt, smooth, at: (table, i) => row(table, read.positions[i], h) };
  }

  /** Return x W for a state x. */
  whitened(x) {
    const { h, d, whitener } = this;
    const out = new Float64Array(d);
    for (let j = 0, at = 0; j < h; j++) for (let c = 0; c < d; c++, at++) out[c] += x[j] * whitener[at];
    return out;
  }

  /** Unit vectors of the known words where states are compared with them. */
  get places() {
    if (!this.tables.places) {
      const { h, d, n } = this;
      const out = new Float32Array(n * d), gain = new Float32Array(h);
      for (let i = 0; i < n; i++) {
        this.system.gains.row(i, gain);
        unit(this.whitened(gain), out, i * d);
      }
      this.tables.places = out;
    }
    return this.tables.places;
  }

  /** The vectors of words by themselves: what they are about, or how they are used. */
  get wordTable() {
    if (this.meaning) return { data: this.meaning.table, width: this.meaning.width };
    this.tables.words ??= { data: this.vectors.all(), width: this.vectors.width };
    return this.tables.words;
  }

  near(vector, count, without) {
    return this.nearest(this.places, this.d, vector, count, [without]);
  }

  alone(word, count) {
    const own = this.rows.get(this.tokenizer.normalise([...word].map((c) => c.codePointAt(0)), false));
    if (own === undefined) return [];
    const { data, width } = this.wordTable;
    return this.nearest(data, width, row(data, own, width), count, [word]);
  }

  /** The words nearest to a vector, but those given in any case. */
  nearest(table, width, vector, count, without) {
    const length = Math.max(norm(vector), 1e-30);
    const query = Float32Array.from(vector, (x) => x / length);
    const cosines = new Float32Array(this.n).fill(-2);
    const own = new Set(without.map((word) => word.toLowerCase()));
    this.lower ??= this.words.map((word) => word.toLowerCase());
    for (let i = 0; i < this.n; i++) {
      if (this.common[i] && !own.has(this.lower[i])) cosines[i] = dot(table, i * width, query, width);
    }
    return topRows(cosines, count).filter((i) => cosines[i] > -2).map((i) => [this.words[i], cosines[i]]);
  }

  /** Return -log2 of the probability of each token given what precedes it. */
  bits(read) {
    const chances = this.predictor.of(this.contexts(read), read.ids);
    return read.positions.map((position) => -Math.log2(chances[position]));
  }

  /** Return what precedes every row: the last word (-1 for none), and the state that was predicted for it, (n, h). */
  contexts(read) {
    const { h, languageSystem: system } = this;
    const boundary = this.facts.boundary_row;
    const last = new Int32Array(read.ids.length).fill(-1), before = new Float32Array(read.ids.length * h);
    read.starts.forEach((start, s) => {
      const end = read.starts[s + 1] ?? read.ids.length;
      const ids = boundary >= 0 ? [boundary, ...read.ids.slice(start, end)] : read.ids.slice(start, end);
      const pred = read.pred?.slice(start * h, end * h) ?? new Float32Array(ids.length * h);
      const unknown = read.pred ? ids.findIndex((id) => id >= this.n) : 0;
      if (unknown >= 0) {
        const filt = new Float32Array(ids.length * h);
        for (let t = unknown; t < ids.length; t++) system.gains.row(ids[t], filt, t * h);
        system.filter(pred, filt, ids.length, unknown, unknown > 0);
      }
      const first = boundary >= 0 ? start : start + 1; // the row that the first of these precedes
      last.set(ids.slice(0, -1), first);
      before.set(pred.subarray(0, (ids.length - 1) * h), first * h);
    });
    return { last, before };
  }

  /** Return the distributions of the word at a token's place and of the one after it. */
  distributions(read, token) {
    const position = read.positions[token];
    const s = read.starts.findLastIndex((start) => start <= position);
    const ids = [...read.ids.slice(read.starts[s], position + 1), 0]; // what follows is not looked at
    const contexts = this.contexts({ ids, starts: [0] });
    return [ids.length - 2, ids.length - 1].map((t) => this.predictor.all(contexts, t));
  }
}

function string(codes) {
  let out = "";
  for (let i = 0; i < codes.length; i += 4096) out += String.fromCodePoint(...codes.subarray(i, i + 4096));
  return out;
}
