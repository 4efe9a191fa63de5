// Probabilities of words: textlds.language in JavaScript. A mixture of the unigram and of what the state says, which is
// a readout (two softmaxes, over classes and within one) or, without one, the clipped linear link.

import { Table } from "./arrays.js";
import { dot, product } from "./linear.js";

const KEPT = 4000; // words of which it is kept what they say as the last of a context: 6 MB

export class Predictor {
  constructor(facts, arrays, system) {
    this.said = {};
    this.system = system;
    this.h = system.h;
    this.floor = facts.floor;
    this.counts = arrays.counts.data;
    this.unigram = smoothedUnigram(this.counts);
    this.edges = arrays["mixture.edges"].data;
    this.weights = arrays["mixture.weights"].data;
    if (arrays["readout.classes"]) {
      this.classes = arrays["readout.classes"].data;
      this.classWeights = halves(arrays["readout.class_weights"].data, 2 * this.h);
      this.classBias = arrays["readout.class_bias"].data;
      this.sortWords(arrays);
    } else {
      this.output = new Table(arrays, "output");
    }
  }

  /** The weights of unigram and state, by how often the last word of the context occurs. */
  mixed({ last }) {
    const seen = last < 0 ? 0 : this.counts[last];
    let bucket = 0;
    while (bucket < this.edges.length && this.edges[bucket] <= seen) bucket++;
    return [this.weights[2 * bucket], this.weights[2 * bucket + 1]];
  }

  /** P(word | context). */
  of(context, word) {
    const [a, b] = this.mixed(context);
    return a * this.unigram[word] + b * (this.output ? this.clipped(context)[word] : this.readout(context, word));
  }

  /** The distribution of all words. */
  all(context) {
    const [a, b] = this.mixed(context);
    const state = this.output ? this.clipped(context) : this.readoutAll(context);
    let total = 0;
    for (let i = 0; i < state.length; i++) total += state[i] = a * this.unigram[i] + b * state[i];
    return state.map((p) => p / total);
  }

  /** x: the state predicted for the word before, and that word's gain, each at the fourth root of its length. */
  features({ last, before }) {
    const { h } = this;
    const x = new Float32Array(2 * h);
    drawnIn(before, x, 0);
    const kept = this.carry && this.said.classWeights?.has(last) && this.said.carry?.has(last); // see product
    if (last >= 0 && !kept) drawnIn(this.system.gains.row(last), x, h);
    return x;
  }

  /** M x, for M in halves. What the half of the word before says is kept: a text has the same words again and again. */
  product(name, x, last) {
    const [ofState, ofWord] = this[name], { h } = this, rows = ofState.length / h;
    const out = new Float32Array(rows);
    product(ofState, rows, h, x, 0, out, 0);
    if (last < 0) return out;
    const said = this.said[name] ??= new Map();
    let own = said.get(last);
    if (!own) {
      if (said.size >= KEPT) said.clear();
      said.set(last, own = new Float32Array(rows));
      product(ofWord, rows, h, x, h, own, 0);
    }
    for (let i = 0; i < rows; i++) out[i] += own[i];
    return out;
  }

  /** Lay the words of a class side by side: the inner softmax then reads one stretch of memory. A readout has a row of
      weights per word, or one matrix (carry) that makes them of the vectors of words: there the rows are the vectors. */
  sortWords(arrays) {
    const order = [...this.classes.keys()].sort((a, b) => this.classes[a] - this.classes[b] || a - b);
    this.order = Int32Array.from(order);
    this.slot = new Int32Array(order.length);
    this.begin = new Int32Array(this.classBias.length + 1);
    this.wordBias = new Float32Array(order.length);
    order.forEach((word, slot) => {
      this.slot[word] = slot;
      this.begin[this.classes[word] + 1] = slot + 1;
      this.wordBias[slot] = arrays["readout.word_bias"].data[word];
    });
    this.carry = arrays["readout.carry"] ? halves(new Table(arrays, "readout.carry").all(), 2 * this.h) : null;
    const names = this.carry ? ["vectors", ...(arrays.meaning ? ["meaning"] : [])] : ["readout.word_weights"];
    this.parts = names.map((name) => sorted(new Table(arrays, name), order));
  }

  classProbabilities(x, last) {
    const logits = this.product("classWeights", x, last);
    for (let c = 0; c < logits.length; c++) logits[c] += this.classBias[c];
    return softmax(logits);
  }

  /** What the rows of words are multiplied with: x itself, or carry x, in a piece for each table of rows. */
  asked(x, last) {
    if (!this.carry) return [x];
    const z = this.product("carry", x, last);
    let from = 0;
    return this.parts.map(({ width }) => z.subarray(from, from += width));
  }

  /** The softmax within a class. */
  within(asked, c) {
    const first = this.begin[c], n = this.begin[c + 1] - first;
    const logits = this.wordBias.slice(first, first + n), products = new Float32Array(n);
    this.parts.forEach(({ rows, scale }, p) => {
      smallProducts(rows, first, asked[p], products);
      for (let k = 0; k < n; k++) logits[k] += scale[first + k] * products[k];
    });
    return softmax(logits);
  }

  readout(context, word) {
    const x = this.features(context);
    const c = this.classes[word], first = this.begin[c];
    const part = this.classProbabilities(x, context.last)[c];
    return this.begin[c + 1] - first > 1 ? part * this.within(this.asked(x, context.last), c)[this.slot[word] - first] : part;
  }

  readoutAll(context) {
    const x = this.features(context);
    const parts = this.classProbabilities(x, context.last), asked = this.asked(x, context.last);
    const out = new Float64Array(this.classes.length);
    parts.forEach((part, c) => {
      const inner = this.begin[c + 1] - this.begin[c] > 1 ? this.within(asked, c) : [1];
      inner.forEach((p, k) => { out[this.order[this.begin[c] + k]] = part * p; });
    });
    return out;
  }

  /** max(f + (output p_t), floor f), made a distribution; p_t = A (phi * p_{t-1} + k). */
  clipped({ last, before }) {
    const { h, system, output, unigram, floor } = this;
    const filt = new Float32Array(h), pred = new Float32Array(h);
    if (last >= 0) system.gains.row(last, filt);
    for (let c = 0; c < h; c++) filt[c] += system.shrink[c] * before[c];
    product(system.A, h, h, filt, 0, pred, 0);
    const out = new Float64Array(unigram.length), spoken = new Float32Array(unigram.length);
    smallProducts(output.data, 0, pred, spoken);
    let total = 0;
    for (let i = 0; i < out.length; i++) {
      total += out[i] = Math.max(unigram[i] + output.scale[i] * spoken[i], floor * unigram[i]);
    }
    for (let i = 0; i < out.length; i++) out[i] /= total;
    return out;
  }
}

/** The left and the right half of a matrix given by rows. */
function halves(M, width) {
  const half = width / 2, rows = M.length / width;
  const both = [new Float32Array(rows * half), new Float32Array(rows * half)];
  for (let i = 0; i < rows; i++) both.forEach((out, k) => out.set(M.subarray(i * width + k * half, i * width + (k + 1) * half), i * half));
  return both;
}

/** The rows of a table in another order. */
function sorted({ data, scale, width }, order) {
  const rows = new Int8Array(data.length), scales = new Float32Array(order.length);
  order.forEach((word, slot) => {
    rows.set(data.subarray(word * width, (word + 1) * width), slot * width);
    scales[slot] = scale[word];
  });
  return { rows, scale: scales, width };
}

function smoothedUnigram(counts) {
  let taken = 0;
  for (const count of counts) taken += Math.min(count, 0.5);
  const out = Float64Array.from(counts, (count) => (count > 0 ? count - Math.min(count, 0.5) : 0) + taken / counts.length);
  const total = out.reduce((a, b) => a + b, 0);
  return out.map((x) => x / total);
}

function drawnIn(vector, out, offset) {
  const square = Math.max(dot(vector, 0, vector, vector.length), 1e-24);
  const scale = square ** -0.375;
  for (let c = 0; c < vector.length; c++) out[offset + c] = scale * vector[c];
}

function softmax(logits) {
  let top = -Infinity, total = 0;
  for (let i = 0; i < logits.length; i++) if (logits[i] > top) top = logits[i];
  for (let i = 0; i < logits.length; i++) total += logits[i] = Math.exp(logits[i] - top);
  for (let i = 0; i < logits.length; i++) logits[i] /= total;
  return logits;
}

/** Write the products of rows of an int8 table, from row `first` on, with x; as many as out has room for. */
function smallProducts(table, first, x, out) {
  const width = x.length, even = width & ~1, rows = out.length;
  let k = 0;
  for (; k + 1 < rows; k += 2) {
    let a = 0, b = 0, c = 0, d = 0, j = 0, p = (first + k) * width, q = p + width;
    for (; j < even; j += 2, p += 2, q += 2) {
      const v = x[j], w = x[j + 1];
      a += table[p] * v;
      b += table[p + 1] * w;
      c += table[q] * v;
      d += table[q + 1] * w;
    }
    if (j < width) {
      a += table[p] * x[j];
      c += table[q] * x[j];
    }
    out[k] = a + b;
    out[k + 1] = c + d;
  }
  if (k < rows) {
    let a = 0;
    for (let j = 0, p = (first + k) * width; j < width; j++, p++) a += table[p] * x[j];
    out[k] = a;
  }
}
