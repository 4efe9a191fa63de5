// A packed model that reads texts: textlds.serve.reading in JavaScript, with the same names. The mathematics is told
// there; in the coordinates of inference
//     p_t = A x_{t-1}    x_t = phi * p_t + k(w_t)    s_t = x_t + A' (phi * (s_{t+1} - p_{t+1}))

import { readArrays, Table } from "./arrays.js";
import { principalAxes, dot, norm, topRows } from "./linear.js";
import { Predictor } from "./language.js";
import { Meaning } from "./meaning.js";
import { spellingFeatures } from "./spelling.js";
import { Tokenizer } from "./tokenizer.js";

const SPELLINGS = 8; // of a word that differ in case, at most
const REACH = 100; // tokens on either side whose contribution is looked at

/** Fetch a packed model: its facts, and the arrays beside them. */
export async function loadModel(url, onProgress = () => {}) {
  const facts = await (await fetched(url)).json();
  if (facts.format !== "textlds-packed" || facts.format_version !== 1) {
    throw new Error(`${url} is not a packed model that this page can read`);
  }
  const response = await fetched(new URL("model.safetensors", new URL(url, document.baseURI)));
  return new Model(facts, readArrays(await received(response, onProgress)));
}

async function fetched(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return response;
}

async function received(response, onProgress) {
  const total = Number(response.headers.get("content-length")) || 0;
  if (!total || response.headers.get("content-encoding")) return response.arrayBuffer();
  const out = new Uint8Array(total);
  let size = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return out.buffer;
    out.set(value, size);
    size += value.length;
    onProgress(size / total);
  }
}

/** A filter and smoother. */
class System {
  constructor(arrays, name) {
    this.A = arrays[`${name}.A`].data;
    this.shrink = arrays[`${name}.shrink`].data;
    this.gains = arrays[`${name}.gains`] ? new Table(arrays, `${name}.gains`) : null;
    this.h = this.shrink.length;
    this.AT = new Float32Array(this.A.length);
    for (let i = 0; i < this.h; i++) for (let j = 0; j < this.h; j++) this.AT[j * this.h + i] = this.A[i * this.h + j];
  }

  /** Write M x to y, for M of (h, h) given by rows, x and y at offsets of larger arrays. */
  product(M, x, xAt, y, yAt) {
    const { h } = this;
    for (let i = 0, at = 0; i < h; i++) {
      let a = 0, b = 0, j = 0;
      for (; j + 1 < h; j += 2, at += 2) {
        a += M[at] * x[xAt + j];
        b += M[at + 1] * x[xAt + j + 1];
      }
      if (j < h) a += M[at++] * x[xAt + j];
      y[yAt + i] = a + b;
    }
  }

  /** Filter one sequence of n gains, (n, h); filt holds the gains before. */
  filter(pred, filt, n, from = 0) {
    const { h, shrink } = this;
    for (let t = from; t < n; t++) {
      if (t > from) this.product(this.A, filt, (t - 1) * h, pred, t * h);
      else pred.fill(0, t * h, (t + 1) * h);
      for (let i = t * h, c = 0; c < h; i++, c++) filt[i] += shrink[c] * pred[i];
    }
  }

  /** Smooth a filtered sequence backwards to position `to`. */
  smooth(pred, filt, n, to = 0) {
    const { h, shrink } = this;
    const out = filt.slice();
    const correction = new Float32Array(h), moved = new Float32Array(h);
    for (let t = n - 2; t >= to; t--) {
      for (let c = 0, i = (t + 1) * h; c < h; c++, i++) correction[c] = shrink[c] * (out[i] - pred[i]);
      this.product(this.AT, correction, 0, moved, 0);
      for (let c = 0, i = t * h; c < h; c++, i++) out[i] += moved[c];
    }
    return out;
  }
}

/** The gains of words from their vectors, for words that are met: (l - centre) carry; with a shift, scaled to length one
    and less the shift. */
class Gains {
  constructor({ vectors, arrays, h }) {
    Object.assign(this, { vectors, h, width: vectors.width });
    [this.carry, this.centre, this.shift] = ["carry", "centre", "shift"].map((name) => arrays[`spelling.${name}`]?.data);
    this.made = new Uint8Array(vectors.rows);
    this.table = new Float32Array(vectors.rows * h);
  }

  /** Return the gain of a vector of a word. */
  of(vector) {
    const { h, carry, centre, shift } = this;
    const out = new Float64Array(h);
    for (let j = 0; j < vector.length; j++) {
      const x = vector[j] - centre[j];
      for (let c = 0, at = j * h; c < h; c++, at++) out[c] += x * carry[at];
    }
    if (!shift) return Float32Array.from(out);
    const length = norm(out);
    return Float32Array.from(out, (x, c) => (length > 1e-5 ? x / length : 0) - shift[c]);
  }

  row(i, out = new Float32Array(this.h), offset = 0) {
    if (!this.made[i]) {
      this.table.set(this.of(this.vectors.row(i)), i * this.h);
      this.made[i] = 1;
    }
    out.set(row(this.table, i, this.h), offset);
    return out;
  }
}

export class Model {
  constructor(facts, arrays) {
    this.facts = facts;
    this.arrays = arrays;
    this.h = facts.state_size;
    this.words = new TextDecoder().decode(arrays.words.data).split("\n");
    this.n = facts.n_types;
    this.rows = new Map(this.words.slice(0, this.n).map((word, row) => [word, row]));
    this.classes = new Map(this.words.slice(this.n).map((word, row) => [word, this.n + row]));
    this.tokenizer = new Tokenizer(facts, arrays["characters.index"].data, arrays["characters.blocks"].data);
    this.system = new System(arrays, "context");
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
    return this.nearest(this.places, this.d, vector, count, without);
  }

  alone(word, count) {
    const own = this.rows.get(this.tokenizer.normalise([...word].map((c) => c.codePointAt(0)), false));
    if (own === undefined) return [];
    const { data, width } = this.wordTable;
    return this.nearest(data, width, row(data, own, width), count, word);
  }

  nearest(table, width, vector, count, without) {
    const length = Math.max(norm(vector), 1e-30);
    const query = Float32Array.from(vector, (x) => x / length);
    const cosines = new Float32Array(this.n).fill(-2);
    for (let i = 0; i < this.n; i++) if (this.common[i]) cosines[i] = dot(table, i * width, query, width);
    const own = without.toLowerCase();
    return topRows(cosines, count + SPELLINGS)
      .filter((i) => cosines[i] > -2 && this.words[i].toLowerCase() !== own)
      .slice(0, count).map((i) => [this.words[i], cosines[i]]);
  }

  read(text) {
    const read = this.encode(text);
    const bits = this.predictor ? this.bits(read) : [];
    const tokens = read.tokens.map((token, i) => {
      const id = read.ids[read.positions[i]];
      return { text: token, before: read.before[i], row: id, known: id < this.n, bits: bits[i] };
    });
    const mean = bits.reduce((a, b) => a + b, 0) / bits.length;
    return { tokens, tail: read.tail, perplexity: bits.length ? 2 ** mean : null };
  }

  /** Return -log2 of the probability of each token given what precedes it. */
  bits(read) {
    const bits = new Array(read.tokens.length);
    const places = new Map(read.positions.map((position, i) => [position, i]));
    this.eachContext(read, (context, position) => {
      const i = places.get(position);
      if (i !== undefined) bits[i] = -Math.log2(this.predictor.of(context, read.ids[position]));
    });
    return bits;
  }

  /** Call visit(context, position) for every row; a context holds the word before and the state predicted for it. */
  eachContext(read, visit) {
    const { h, languageSystem: system } = this;
    const boundary = this.facts.boundary_row;
    read.starts.forEach((start, s) => {
      const end = read.starts[s + 1] ?? read.ids.length;
      const ids = boundary >= 0 ? [boundary, ...read.ids.slice(start, end)] : read.ids.slice(start, end);
      const offset = boundary >= 0 ? 1 : 0;
      const pred = new Float32Array(ids.length * h), filt = new Float32Array(ids.length * h);
      ids.forEach((id, t) => system.gains.row(id, filt, t * h));
      system.filter(pred, filt, ids.length);
      for (let t = offset; t < ids.length; t++) {
        const last = t > 0 ? ids[t - 1] : -1;
        const before = t > 0 ? row(pred, t - 1, h) : new Float32Array(h);
        visit({ last, before }, start + t - offset);
      }
    });
  }

  /** Return the distributions of the word at a token's place and of the one after it. */
  distributions(read, token) {
    const position = read.positions[token];
    const s = read.starts.findLastIndex((start) => start <= position);
    const ids = [...read.ids.slice(read.starts[s], position + 1), 0]; // what follows is not looked at
    const found = [];
    this.eachContext({ ids, starts: [0] }, (context, t) => {
      if (t >= ids.length - 2) found.push(this.predictor.all(context));
    });
    return found;
  }

  likely(probabilities, count) {
    return topRows(probabilities.subarray(0, this.n), count).map((i) => [this.words[i], probabilities[i]]);
  }

  token(text, token, count = 10) {
    const states = this.states(text);
    const { read } = states;
    const word = read.tokens[token];
    const own = read.ids[read.positions[token]];
    const smooth = states.at(states.smooth, token), filt = states.at(states.filt, token);
    const whole = this.whitened(smooth);
    const length = Math.max(norm(whole), 1e-30);
    const parts = {
      left: states.at(states.pred, token).map((x, c) => this.system.shrink[c] * x),
      word: states.at(states.gains, token),
      right: smooth.map((x, c) => x - filt[c]),
    };
    return {
      word,
      known: own < this.n,
      here: this.here(states, token, count),
      alone: this.alone(word, count),
      ...(this.predictor ? this.expected(read, token, own, count) : {}),
      parts: Object.fromEntries(Object.entries(parts).map(([name, part]) => {
        const white = this.whitened(part);
        return [name, {
          share: dot(white, 0, whole, this.d) / length ** 2,
          length: norm(white) / length,
          near: this.near(white, 3, word),
        }];
      })),
    };
  }

  expected(read, token, own, count) {
    const [here, after] = this.distributions(read, token);
    return {
      expected: this.likely(here, count),
      probability: here[own],
      rank: here.reduce((n, p) => n + (p > here[own]), 0) + 1,
      next: this.likely(after, count),
    };
  }

  path(text, landmarks = 24) {
    const states = this.states(text);
    const { tokens } = states.read;
    const n = tokens.length;
    if (!n) return { tokens: [], pred: [], filt: [], smooth: [], words: [] };
    const points = [states.pred, states.filt, states.smooth]
      .flatMap((table) => tokens.map((_, i) => unit(this.whitened(states.at(table, i)), new Float64Array(this.d), 0)));
    const centre = new Float64Array(this.d);
    for (const point of points) for (let c = 0; c < this.d; c++) centre[c] += point[c] / points.length;
    const axes = principalAxes(points.map((point) => point.map((x, c) => x - centre[c])));
    const flat = (point) => axes.map((axis) => dot(axis, 0, point.map((x, c) => x - centre[c]), this.d));
    const ends = points.slice(2 * n);
    const chosen = new Set(ends.flatMap((point, i) => this.near(point, 2, tokens[i]).map(([word]) => word)));
    const words = [...chosen].slice(0, landmarks).map((word) => {
      return { word, at: flat(Float64Array.from(row(this.places, this.id(word), this.d))) };
    });
    return {
      tokens, words, pred: points.slice(0, n).map(flat), filt: points.slice(n, 2 * n).map(flat), smooth: ends.map(flat),
    };
  }

  /** Return what every word within reach contributes to the smoothed state of a token. */
  contributions(states, token) {
    const { read } = states;
    const { h, system } = this;
    const position = read.positions[token];
    const s = read.starts.findLastIndex((start) => start <= position);
    const begin = read.starts[s], end = read.starts[s + 1] ?? read.ids.length;
    const inside = read.tokens.map((_, i) => i).filter((i) => read.positions[i] >= begin && read.positions[i] < end);
    const near = inside.filter((i) => Math.abs(i - token) <= REACH);
    const m = near.length, at = near.indexOf(token);
    return near.map((j, k) => {
      const pred = new Float32Array(m * h), filt = new Float32Array(m * h);
      filt.set(states.at(states.gains, j), k * h);
      system.filter(pred, filt, m, k);
      return { token: j, term: row(system.smooth(pred, filt, m, at), at, h) };
    });
  }

  /** The words nearest to a token where it stands: what it is about there, or how it is used. */
  here(states, token, count) {
    const word = states.read.tokens[token];
    if (!this.meaning) return this.near(this.whitened(states.at(states.smooth, token)), count, word);
    const { table, width } = this.meaning;
    return this.nearest(table, width, this.meaning.sense(states.read, token).vector, count, word);
  }

  use(text, word, count = 10) {
    const states = this.states(text);
    const { tokens } = states.read;
    const token = findToken(tokens, word);
    const { whole, terms, table, width } = this.meaning ? this.passage(states.read, token) : this.context(states, token);
    const length = Math.max(norm(whole), 1e-30);
    const pulls = terms.map(({ token: j, term, without }) => {
      const cosine = dot(without, 0, whole, width) / Math.max(norm(without) * length, 1e-30);
      return {
        token: j,
        text: tokens[j],
        share: dot(term, 0, whole, width) / length ** 2,
        shift: 1 - cosine,
        toward: this.nearest(table, width, term, 3, tokens[j]).map(([other]) => other),
      };
    });
    const vector = [...whole].map((x) => x / length);
    return { token, tokens, vector, here: this.nearest(table, width, whole, count, tokens[token]), pulls };
  }

  /** A token as its smoothed state, with what each word contributes. */
  context(states, token) {
    const whole = this.whitened(states.at(states.smooth, token));
    const terms = this.contributions(states, token).map(({ token: j, term }) => {
      const white = this.whitened(term);
      return { token: j, term: white, without: whole.map((x, c) => x - white[c]) };
    });
    return { whole, terms, table: this.places, width: this.d };
  }

  /** A token as what it is about in its passage, with what each word contributes. */
  passage(read, token) {
    const sense = this.meaning.sense(read, token);
    const near = read.tokens.map((_, j) => j).filter((j) => Math.abs(j - token) <= REACH);
    const terms = near.map((j) => ({
      token: j,
      term: j === token ? sense.terms[j].map((x, c) => x + sense.own[c]) : sense.terms[j],
      without: this.meaning.without(sense, j),
    }));
    return { whole: sense.vector, terms, table: this.meaning.table, width: this.meaning.width };
  }

  /** Where a text goes through each transition. */
  passing(text, most = 5) {
    const { h } = this;
    const source = this.arrays["transitions.source"].data, target = this.arrays["transitions.target"].data;
    const states = this.states(text);
    const n = states.read.tokens.length;
    return this.facts.transitions.map((_, k) => {
      const scores = [];
      for (let t = 0; t + 1 < n; t++) {
        const before = dot(source, k * h, states.at(states.smooth, t), h);
        const after = dot(target, k * h, states.at(states.smooth, t + 1), h);
        if (before > 0 && after > 0) scores.push({ at: t, score: before * after });
      }
      return scores.sort((a, b) => b.score - a.score).slice(0, most);
    });
  }
}

/** Return the first place of a word among tokens, in this spelling or, failing that, in any case. */
export function findToken(tokens, word) {
  let token = tokens.indexOf(word);
  if (token < 0) token = tokens.findIndex((other) => other.toLowerCase() === word.toLowerCase());
  if (token < 0) throw new Error(`the word "${word}" is not a token of the text. Its tokens are: ${tokens.slice(0, 30).join(" ")}`);
  return token;
}

function row(table, i, width) {
  return table.subarray(i * width, (i + 1) * width);
}

function unit(vector, out, offset) {
  const length = norm(vector);
  for (let c = 0; c < vector.length; c++) out[offset + c] = length > 1e-5 ? vector[c] / length : 0;
  return out;
}

function string(codes) {
  let out = "";
  for (let i = 0; i < codes.length; i += 4096) out += String.fromCodePoint(...codes.subarray(i, i + 4096));
  return out;
}
