// What the page shows of texts: textlds.serve.reading in JavaScript, with the same names. The mathematics is told there.

import { readArrays } from "./arrays.js";
import { Inference } from "./inference.js";
import { dot, norm, principalAxes, row, topRows, unit } from "./linear.js";

const REACH = 100; // tokens on either side whose contribution is looked at

/** Fetch a packed model: its facts, and the arrays beside them. */
export async function loadModel(url, onProgress = () => {}) {
  const arrays = fetched(new URL("model.safetensors.gz", new URL(url, document.baseURI)));
  arrays.catch(() => {}); // told below, after what is wrong with the facts
  const facts = await (await fetched(url)).json();
  if (facts.format !== "textlds-packed" || facts.format_version !== 2) {
    throw new Error(`${url} is not a packed model that this page can read. Write the page again with textlds explore.`);
  }
  const response = await arrays;
  const content = await received(response, onProgress).catch((error) => {
    throw new Error(`${response.url} did not arrive whole (${error.message}). Load the page again.`);
  });
  return new Model(facts, readArrays(content));
}

async function fetched(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return response;
}

/** Unpack an answer while it arrives. Some servers send .gz files as encoded, and the browser has unpacked them already:
    the first byte of a gzip file is 31, and never that of a safetensors file, whose header ends on a cache line. */
async function received(response, onProgress) {
  const total = Number(response.headers.get("content-length")) || 0;
  let whole, writer, size = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (!writer) {
      const through = value[0] === 31 ? new DecompressionStream("gzip") : new TransformStream();
      writer = through.writable.getWriter();
      whole = new Response(through.readable).arrayBuffer();
      whole.catch(() => {}); // told below
    }
    await writer.write(value);
    size += value.length;
    if (total) onProgress(Math.min(1, size / total));
  }
  await writer?.close();
  return whole ?? new ArrayBuffer(0);
}

export class Model extends Inference {
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
    const means = { pred: states.pred, filt: states.filt, smooth: states.smooth };
    return {
      word,
      known: own < this.n,
      moves: Object.fromEntries(Object.entries(means).map(([name, table]) => (
        [name, this.near(this.whitened(states.at(table, token)), 5, word)]))),
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

  /** The words nearest to a token where it occurs: what it is about there, or how it is used. */
  here(states, token, count) {
    const word = states.read.tokens[token];
    if (!this.meaning) return this.near(this.whitened(states.at(states.smooth, token)), count, word);
    const { table, width } = this.meaning;
    return this.nearest(table, width, this.meaning.sense(states.read, token).vector, count, states.read.tokens);
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
        toward: this.nearest(table, width, term, 3, [tokens[j]]).map(([other]) => other),
      };
    });
    const vector = [...whole].map((x) => x / length);
    const known = this.meaning ? tokens : [tokens[token]]; // of which it would say nothing new that they are near
    return { token, tokens, vector, here: this.nearest(table, width, whole, count, known), pulls };
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
