// A little linear algebra.

/** The product of width numbers of a, from offset on, with b. */
export function dot(a, offset, b, width) {
  let x = 0, y = 0, c = 0;
  for (; c + 1 < width; c += 2) {
    x += a[offset + c] * b[c];
    y += a[offset + c + 1] * b[c + 1];
  }
  if (c < width) x += a[offset + c] * b[c];
  return x + y;
}

/** A matrix of float32, given by rows, for products with one vector after the other. Eight rows at a time lie side by
    side, column by column: a product reads them in one go, nearly twice as fast as row after row. */
export class Matrix {
  constructor(M, rows, width) {
    this.rows = rows;
    this.width = width;
    this.data = M.slice(); // rows beyond the last eight stay as they are
    for (let i = 0; i + 8 <= rows; i += 8) {
      for (let j = 0; j < width; j++) for (let k = 0; k < 8; k++) this.data[i * width + 8 * j + k] = M[(i + k) * width + j];
    }
  }

  /** Write M x to y; x and y begin at offsets of larger float32 arrays. */
  times(x, xAt, y, yAt) {
    const { data: M, rows, width } = this;
    const end = xAt + width;
    let i = 0, at = 0;
    for (; i + 8 <= rows; i += 8) {
      let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
      for (let j = xAt; j < end; j++, at += 8) {
        const v = x[j];
        a += M[at] * v;
        b += M[at + 1] * v;
        c += M[at + 2] * v;
        d += M[at + 3] * v;
        e += M[at + 4] * v;
        f += M[at + 5] * v;
        g += M[at + 6] * v;
        h += M[at + 7] * v;
      }
      const to = yAt + i;
      y[to] = a;
      y[to + 1] = b;
      y[to + 2] = c;
      y[to + 3] = d;
      y[to + 4] = e;
      y[to + 5] = f;
      y[to + 6] = g;
      y[to + 7] = h;
    }
    for (; i < rows; i++) {
      let a = 0;
      for (let j = xAt; j < end; j++, at++) a += M[at] * x[j];
      y[yAt + i] = a;
    }
  }
}

/** Return X M' for n rows of X and M of float32, both given by rows of so many numbers. Four rows of X and two of M at a
    time: M is read once for four vectors, which takes half as long as one vector after the other. */
export function products(X, n, M, width) {
  const rows = M.length / width, out = new Float32Array(n * rows);
  const whole = n & ~3, even = rows & ~1;
  for (let t = 0; t < whole; t += 4) {
    const x0 = t * width, x1 = x0 + width, x2 = x1 + width, x3 = x2 + width;
    for (let i = 0; i < even; i += 2) {
      const p = i * width, q = p + width;
      let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
      for (let j = 0; j < width; j++) {
        const m = M[p + j], o = M[q + j], u = X[x0 + j], v = X[x1 + j], w = X[x2 + j], z = X[x3 + j];
        a += m * u;
        b += m * v;
        c += m * w;
        d += m * z;
        e += o * u;
        f += o * v;
        g += o * w;
        h += o * z;
      }
      let to = t * rows + i;
      out[to] = a;
      out[to + 1] = e;
      out[to += rows] = b;
      out[to + 1] = f;
      out[to += rows] = c;
      out[to + 1] = g;
      out[to += rows] = d;
      out[to + 1] = h;
    }
  }
  for (let t = 0; t < n; t++) { // what is left: the last row of M, the last rows of X
    const x = X.subarray(t * width, (t + 1) * width);
    for (let i = t < whole ? even : 0; i < rows; i++) out[t * rows + i] = dot(M, i * width, x, width);
  }
  return out;
}

export function norm(a) {
  return Math.sqrt(dot(a, 0, a, a.length));
}

/** Row i of a table of so many columns, without copying it. */
export function row(table, i, width) {
  return table.subarray(i * width, (i + 1) * width);
}

/** Write a vector at length one to out; one too short to have a direction becomes zero. */
export function unit(vector, out, offset) {
  const length = norm(vector);
  for (let c = 0; c < vector.length; c++) out[offset + c] = length > 1e-5 ? vector[c] / length : 0;
  return out;
}

/** Return the rows of the largest values, largest first; equal ones in the order of their rows. */
export function topRows(values, count) {
  const top = [];
  let least = -Infinity;
  for (let i = 0; i < values.length; i++) {
    if (top.length === count && !(values[i] > least)) continue;
    let at = top.length;
    while (at > 0 && values[top[at - 1]] < values[i]) at--;
    top.splice(at, 0, i);
    if (top.length > count) top.pop();
    if (top.length === count) least = values[top[count - 1]];
  }
  return top;
}

/** Return the two leading principal axes of centred points, each with its largest entry positive. */
export function principalAxes(points) {
  const h = points[0].length;
  const width = Math.min(6, h);
  // subspace iteration from fixed vectors; what converges slowly differs little in importance
  let basis = Array.from({ length: width }, (_, k) => Float64Array.from({ length: h }, (_, c) => Math.sin((k + 1) * (c + 1))));
  const apply = (axis) => {
    const out = new Float64Array(h);
    for (const point of points) {
      const along = dot(point, 0, axis, h);
      for (let c = 0; c < h; c++) out[c] += along * point[c];
    }
    return out;
  };
  for (let round = 0; round < 60; round++) basis = orthonormal(basis.map(apply));
  const images = basis.map(apply);
  const small = basis.map((a) => images.map((b) => dot(a, 0, b, h)));
  const { values, vectors } = jacobi(small);
  const order = values.map((_, k) => k).sort((a, b) => values[b] - values[a]).slice(0, 2);
  const axes = order.map((k) => {
    const axis = new Float64Array(h);
    basis.forEach((b, j) => { for (let c = 0; c < h; c++) axis[c] += vectors[j][k] * b[c]; });
    let largest = 0;
    for (let c = 0; c < h; c++) if (Math.abs(axis[c]) > Math.abs(axis[largest])) largest = c;
    return axis[largest] < 0 ? axis.map((x) => -x) : axis;
  });
  while (axes.length < 2) axes.push(new Float64Array(h));
  return axes;
}

function orthonormal(vectors) {
  const out = [];
  for (const given of vectors) {
    const vector = given.slice();
    for (let pass = 0; pass < 2; pass++) {
      for (const other of out) {
        const along = dot(vector, 0, other, vector.length);
        for (let c = 0; c < vector.length; c++) vector[c] -= along * other[c];
      }
    }
    const length = norm(vector);
    out.push(length > 1e-12 ? vector.map((x) => x / length) : vector.fill(0));
  }
  return out;
}

/** Eigenvalues and eigenvectors (columns) of a small symmetric matrix. */
function jacobi(matrix) {
  const n = matrix.length;
  const a = matrix.map((r) => [...r]);
  const v = a.map((_, i) => a.map((_, j) => Number(i === j)));
  for (let sweep = 0; sweep < 50; sweep++) {
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        if (Math.abs(a[p][q]) < 1e-300) continue;
        const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        const c = 1 / Math.sqrt(t * t + 1), s = t * c;
        for (let k = 0; k < n; k++) [a[k][p], a[k][q]] = [c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]];
        for (let k = 0; k < n; k++) [a[p][k], a[q][k]] = [c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]];
        for (let k = 0; k < n; k++) [v[k][p], v[k][q]] = [c * v[k][p] - s * v[k][q], s * v[k][p] + c * v[k][q]];
      }
    }
  }
  return { values: a.map((r, i) => r[i]), vectors: v };
}
