// The filter and smoother of a packed model. In the coordinates of inference
//     p_t = A x_{t-1}    x_t = phi * p_t + k(w_t)    s_t = x_t + A' (phi * (s_{t+1} - p_{t+1}))

import { Table } from "./arrays.js";
import { Matrix, norm, row } from "./linear.js";

/** A filter and smoother. */
export class System {
  constructor(arrays, name) {
    this.shrink = arrays[`${name}.shrink`].data;
    this.gains = arrays[`${name}.gains`] ? new Table(arrays, `${name}.gains`) : null;
    const h = this.h = this.shrink.length, A = arrays[`${name}.A`].data;
    this.A = new Matrix(A, h, h);
    this.AT = new Matrix(A.map((_, at) => A[(at % h) * h + Math.floor(at / h)]), h, h);
  }

  /** Filter one sequence of n gains, (n, h); filt holds the gains before. `continued`: pred at `from` is there already. */
  filter(pred, filt, n, from = 0, continued = false) {
    const { h, shrink } = this;
    for (let t = from; t < n; t++) {
      if (t > from) this.A.times(filt, (t - 1) * h, pred, t * h);
      else if (!continued) pred.fill(0, t * h, (t + 1) * h);
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
      this.AT.times(correction, 0, moved, 0);
      for (let c = 0, i = t * h; c < h; c++, i++) out[i] += moved[c];
    }
    return out;
  }
}

/** The gains of words from their vectors, for words that are met: (l - centre) carry; with a shift, scaled to length one
    and less the shift. */
export class Gains {
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
