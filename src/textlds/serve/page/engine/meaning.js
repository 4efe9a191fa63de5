// What words are about, alone and in a passage: textlds.serve.senses and textlds.vectors.meaning in JavaScript.

import { Table } from "./arrays.js";
import { norm } from "./linear.js";
import { spellingFeatures } from "./spelling.js";

const NOTHING = 1e-5; // a sum this short has no direction

export class Meaning {
  constructor(model) {
    const { arrays, facts } = model;
    this.model = model;
    this.words = new Table(arrays, "meaning");
    this.spelling = new Table(arrays, "meaning.spelling");
    this.leak = facts.leak;
    this.weights = arrays.frequencies.data.map((f) => facts.half / (facts.half + f));
    this.table = this.words.all();
    const { width, rows } = this.words;
    this.width = width;
    this.mean = new Float64Array(width);
    for (let i = 0; i < rows; i++) {
      const weight = arrays.frequencies.data[i] * this.weights[i];
      for (let c = 0; c < width; c++) this.mean[c] += weight * this.table[i * width + c];
    }
  }

  /** The vector of a token: of its row, or of its spelling. */
  vector(row, token) {
    const { n, words } = this.model;
    if (row < n || token === null || token === words[row]) {
      return this.table.subarray(row * this.width, (row + 1) * this.width);
    }
    const sum = new Float64Array(this.width), own = new Float32Array(this.width);
    for (const bucket of spellingFeatures(this.model.plain(token), this.spelling.rows)) {
      this.spelling.row(bucket, own);
      for (let c = 0; c < this.width; c++) sum[c] += own[c];
    }
    const length = norm(sum) || Infinity;
    return sum.map((x) => x / length);
  }

  /** A token in its passage: its own vector, what each token adds, and the length of the sum. */
  sense(read, token) {
    const { width, leak, mean } = this;
    const tokens = new Array(read.ids.length).fill(null);
    read.positions.forEach((position, i) => { tokens[position] = read.tokens[i]; });
    const place = read.positions[token];
    const terms = read.tokens.map(() => new Float64Array(width));
    const sum = new Float64Array(width);
    let owner = 0;
    read.ids.forEach((row, j) => {
      while (read.positions[owner + 1] <= j) owner++; // what boundary tokens add goes to the token before
      if (j === place) return;
      const factor = leak ** (Math.abs(j - place) - 1);
      const vector = this.vector(row, tokens[j]);
      for (let c = 0; c < width; c++) {
        const added = factor * (this.weights[row] * vector[c] - mean[c]);
        terms[owner][c] += added;
        sum[c] += added;
      }
    });
    const length = norm(sum);
    const scale = length > NOTHING ? 1 / length : 0;
    for (const term of terms) for (let c = 0; c < width; c++) term[c] *= scale;
    const own = Float64Array.from(this.vector(read.ids[place], tokens[place]));
    return { own, terms, vector: own.map((x, c) => x + scale * sum[c]), sum, length };
  }

  /** The same token without a word of its passage. */
  without(sense, token) {
    const rest = sense.sum.map((x, c) => x - sense.length * sense.terms[token][c]);
    const length = norm(rest);
    return sense.own.map((x, c) => x + (length > NOTHING ? rest[c] / length : 0));
  }
}
