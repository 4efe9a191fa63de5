// Probabilities of words: textlds.language in JavaScript. A mixture of the unigram and of what the state says, which is
// a readout (two softmaxes, over classes and within one) or, without one, the clipped linear link.

import { Table } from "./arrays.js";
import { dot, products, row } from "./linear.js";

const KEPT = 8000; // words of which it is kept what they say as the last of a context: 13 MB for the English model

export class Predictor {
  constructor(facts, arrays, system) {
    this.said = new Map();
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

  /** The weights of unigram and state, by how often the last word of a context occurs. */
  mixed(last) {
    const seen = last < 0 ? 0 : this.counts[last];
    let bucket = 0;
    while (bucket < this.edges.length && this.edges[bucket] <= seen) bucket++;
    return [this.weights[2 * bucket], this.weights[2 * bucket + 1]];
  }

  /** P(word | context) of a word for every context: {last, (n); before, (n, h)}. */
  of(contexts, words) {
    const features = this.output ? null : this.features(contexts);
    return Float64Array.from(contexts.last, (last, t) => {
      const [a, b] = this.mixed(last);
      const word = words[t];
      return a * this.unigram[word] + b * (this.output ? this.clipped(contexts, t)[word] : this.readout(features, t, word));
    });
  }

  /** The distribution of all words in context t. */
  all({ last, before }, t) {
    const { h } = this;
    const context = { last: last.subarray(t, t + 1), before: before.subarray(t * h, (t + 1) * h) };
    const [a, b] = this.mixed(last[t]);
    const state = this.output ? this.clipped(context, 0) : this.readoutAll(this.features(context));
    let total = 0;
    for (let i = 0; i < state.length; i++) total += state[i] = a * this.unigram[i] + b * state[i];
    return state.map((p) => p / total);
  }

  /** What a readout makes of contexts. x: the state predicted for the word before, and that word's gain, each at the
      fourth root of its length. Gives the logits of classes, (n, classes), and what the rows of words are multiplied
      with: x itself, or carry x, (n, width). */
  features({ last, before }) {
    const { h } = this, n = last.length;
    const x = new Float32Array(n * h);
    for (let t = 0; t < n; t++) drawnIn(row(before, t, h), x, t * h);
    this.hear(last);
    const classes = this.added(products(x, n, this.classWeights[0], h), last, "classes");
    if (this.carry) return { classes, asked: this.added(products(x, n, this.carry[0], h), last, "words"), width: this.carry[0].length / h };
    const asked = new Float32Array(2 * n * h);
    last.forEach((word, t) => {
      asked.set(row(x, t, h), 2 * t * h);
      if (word >= 0) asked.set(this.said.get(word).words, (2 * t + 1) * h);
    });
    return { classes, asked, width: 2 * h };
  }

  /** Keep what each word says as the last of a context: a text has the same words again and again. */
  hear(last) {
    const { h, said } = this;
    const distinct = [...new Set(last)].filter((word) => word >= 0);
    if (said.size + distinct.length > KEPT) said.clear();
    const fresh = distinct.filter((word) => !said.has(word)), n = fresh.length;
    const gains = new Float32Array(n * h);
    fresh.forEach((word, k) => drawnIn(this.system.gains.row(word), gains, k * h));
    const classes = products(gains, n, this.classWeights[1], h);
    const words = this.carry ? products(gains, n, this.carry[1], h) : gains;
    const size = classes.length / n, width = words.length / n;
    fresh.forEach((word, k) => said.set(word, { classes: row(classes, k, size), words: row(words, k, width) }));
  }

  /** Add what the last words say to the rows of a table, in place. */
  added(table, last, name) {
    const width = table.length / last.length;
    last.forEach((word, t) => {
      if (word < 0) return;
      const own = this.said.get(word)[name];
      for (let c = 0, at = t * width; c < width; c++, at++) table[at] += own[c];
    });
    return table;
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

  classLogits({ classes }, t) {
    const logits = row(classes, t, this.classBias.length);
    return logits.map((logit, c) => logit + this.classBias[c]);
  }

  /** The logits within a class. */
  within({ asked, width: whole }, t, c) {
    const first = this.begin[c], n = this.begin[c + 1] - first;
    const logits = this.wordBias.slice(first, first + n), products = new Float32Array(n);
    let from = t * whole;
    this.parts.forEach(({ rows, scale, width }) => {
      smallProducts(rows, first, asked.subarray(from, from += width), products);
      for (let k = 0; k < n; k++) logits[k] += scale[first + k] * products[k];
    });
    return logits;
  }

  readout(features, t, word) {
    const c = this.classes[word], first = this.begin[c];
    const part = chance(this.classLogits(features, t), c);
    return this.begin[c + 1] - first > 1 ? part * chance(this.within(features, t, c), this.slot[word] - first) : part;
  }

  readoutAll(features) {
    const out = new Float64Array(this.classes.length);
    softmax(this.classLogits(features, 0)).forEach((part, c) => {
      softmax(this.within(features, 0, c)).forEach((p, k) => { out[this.order[this.begin[c] + k]] = part * p; });
    });
    return out;
  }

  /** max(f + (output p_t), floor f), made a distribution; p_t = A (phi * p_{t-1} + k). */
  clipped({ last, before }, t) {
    const { h, system, output, unigram, floor } = this;
    const filt = new Float32Array(h), pred = new Float32Array(h);
    if (last[t] >= 0) system.gains.row(last[t], filt);
    for (let c = 0; c < h; c++) filt[c] += system.shrink[c] * before[t * h + c];
    system.A.times(filt, 0, pred, 0);
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

/** One of the probabilities of a softmax. */
function chance(logits, which) {
  let top = -Infinity, total = 0;
  for (let i = 0; i < logits.length; i++) if (logits[i] > top) top = logits[i];
  for (let i = 0; i < logits.length; i++) total += Math.exp(logits[i] - top);
  return Math.exp(logits[which] - top) / total;
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
