// 6. How the model was learnt: the likelihood, the spectra, the settings.

import { h, s, show } from "../dom.js";

const ROLES = { A: "transition", F: "filter", J: "smoother" };
const WIDTH = 460, HEIGHT = 280, LEFT = 60, RIGHT = 22, TOP = 14, BOTTOM = 38;

export default {
  id: "learning",
  title: "Learning",
  make(host, { backend }) {
    let drawn = false;
    return {
      async update() {
        if (drawn) return;
        const found = await backend.learning();
        drawn = true;
        const curve = [...(found.start === null ? [] : [found.start]), ...found.log_likelihood];
        const first = found.start === null ? 1 : 0;
        const settings = Object.entries(found.settings);
        show(host, h("div", { class: "charts" },
          curve.length > 1 && chart("Log-likelihood", "EM iteration", "nats per token over the static model",
            [{ name: "", points: curve.map((value, i) => [first + i, value]) }], { last: true }),
          Object.keys(found.singular_values).length > 0 && chart("Singular values", "rank", "value, logarithmic", Object.entries(found.singular_values)
            .map(([name, values]) => ({ name, points: values.map((value, i) => [i + 1, Math.log10(Math.max(value, 1e-6))]) })), { log: true }),
          ...Object.entries(found.eigenvalues).map(([name, values]) => circle(`Eigenvalues of ${named(name)}`, values))),
        settings.length && h("section", {}, h("h2", {}, "Settings"),
          h("dl", { class: "settings" }, settings.flatMap(([name, value]) => [h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, shown(value))]))));
      },
    };
  },
};

function named(matrix) {
  return matrix in ROLES ? `${matrix} (${ROLES[matrix]})` : matrix;
}

function shown(value) {
  if (value === null) return "–";
  return typeof value === "number" ? Number(value.toPrecision(6)).toLocaleString("en", { maximumSignificantDigits: 6 }) : String(value);
}

function ticks(low, high, most = 5) {
  const rough = (high - low) / most || 1;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * unit).find((k) => k >= rough) ?? unit;
  const out = [];
  for (let value = Math.ceil(low / step) * step; value <= high + 1e-9 * step; value += step) out.push(Number(value.toPrecision(10)));
  return out;
}

function chart(title, across, up, series, { log = false, last = false } = {}) {
  const points = series.flatMap((one) => one.points);
  const [xs, ys] = [0, 1].map((k) => points.map((point) => point[k]));
  const box = { x0: Math.min(...xs), x1: Math.max(...xs), y0: Math.min(...ys), y1: Math.max(...ys) };
  const margin = 0.06 * (box.y1 - box.y0 || 1);
  box.y0 -= margin;
  box.y1 += margin;
  const x = (value) => LEFT + (WIDTH - LEFT - RIGHT) * (value - box.x0) / (box.x1 - box.x0 || 1);
  const y = (value) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - box.y0) / (box.y1 - box.y0 || 1);
  const label = (value) => (log ? Number((10 ** value).toPrecision(1)).toString() : String(value));
  const end = series[0].points.at(-1);
  return h("figure", {}, h("figcaption", {}, h("b", {}, series.length === 1 && series[0].name ? `${title} of ${named(series[0].name)}` : title), series.length > 1 && h("span", { class: "keys" },
    series.map((one, k) => h("span", { class: `key line${k}` }, ROLES[one.name] ?? one.name)))),
  s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: ${up} against ${across}, from ${label(series[0].points[0][1])} to ${label(end[1])}`, class: "chart" },
    ticks(box.y0, box.y1).map((value) => [s("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), class: "grid" }),
      s("text", { x: LEFT - 8, y: y(value) + 4, class: "tick end" }, label(value))]),
    ticks(box.x0, box.x1).map((value) => s("text", { x: x(value), y: HEIGHT - BOTTOM + 18, class: "tick" }, String(value))),
    s("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 4, class: "tick" }, across),
    s("text", { x: LEFT, y: TOP - 3, class: "tick start" }, up),
    series.map((one, k) => s("polyline", { class: `curve line${k}`, points: one.points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ") })),
    last && s("circle", { cx: x(end[0]), cy: y(end[1]), r: 4, class: "curve-end" }),
    last && s("text", { x: x(end[0]), y: y(end[1]) - 9, class: "tick end strong" }, end[1].toFixed(3))));
}

function circle(title, values) {
  const size = HEIGHT, middle = size / 2, scale = middle - 24;
  const largest = Math.max(...values.map(([a, b]) => Math.hypot(a, b)));
  return h("figure", {}, h("figcaption", {}, h("b", {}, title), h("span", { class: "soft" }, ` largest modulus ${largest.toFixed(3)}`)),
    s("svg", { viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": `${title}, ${values.length} points within the unit circle; the largest modulus is ${largest.toFixed(3)}`, class: "chart round" },
      s("circle", { cx: middle, cy: middle, r: scale, class: "unit" }),
      s("line", { x1: middle - scale, x2: middle + scale, y1: middle, y2: middle, class: "grid" }),
      s("line", { y1: middle - scale, y2: middle + scale, x1: middle, x2: middle, class: "grid" }),
      values.map(([a, b]) => s("circle", { cx: (middle + scale * a).toFixed(1), cy: (middle - scale * b).toFixed(1), r: 2.6, class: "eigenvalue" })),
      s("text", { x: middle + scale + 6, y: middle + 4, class: "tick start" }, "1"),
      s("text", { x: middle + scale - 6, y: middle + 16, class: "tick end" }, "real"),
      s("text", { x: middle, y: middle - scale - 8, class: "tick" }, "imaginary")));
}
