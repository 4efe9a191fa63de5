// 4. All words in the plane, neighbours near each other.

import { cosine, count, h, later, latest, ranked, show } from "../dom.js";

const ZOOM = { least: 0.8, most: 60 };
const LABELS = 60, TRIED = 400; // shown at most at a time; words in sight that are tried
const SMALL = "12px system-ui, sans-serif";
const COMMON = 500; // the most frequent words tell little of a group

export default {
  id: "map",
  title: "Map of words",
  make(host, { backend, go, guard, say }) {
    const canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": "Map of words. Arrow keys move it, plus and minus zoom, the search box finds words." });
    const box = h("input", { type: "search", dir: "auto", autocomplete: "off", spellcheck: "false", placeholder: "Find a word", "aria-label": "Find a word", list: "known-words" });
    const options = h("datalist", { id: "known-words" });
    const colours = h("select", { "aria-label": "Colours" }, h("option", { value: "group" }, "Colour by group"), h("option", { value: "rank" }, "Colour by frequency"));
    const tip = h("div", { class: "tip", hidden: true });
    const legend = h("p", { class: "legend soft" });
    const wait = h("div", { class: "drawing", role: "status", hidden: true }, "Laying out the words. The first time, this takes some seconds; the map is then kept.", h("progress", { "aria-label": "Laying out the words" }));
    const side = h("aside", { class: "panel", "aria-live": "polite", "aria-label": "The chosen word" }, h("p", { class: "soft" }, "Press a point, or find a word."));
    const zoom = (factor) => h("button", { type: "button", class: "quiet", "aria-label": factor > 1 ? "Zoom in" : "Zoom out", onclick: () => zoomBy(factor) }, factor > 1 ? "+" : "−");
    show(host,
      h("div", { class: "tools" }, box, options, colours, zoom(1.6), zoom(1 / 1.6), h("button", { type: "button", class: "quiet", onclick: () => { Object.assign(camera, { x: 0, y: 0, zoom: 1 }); draw(); } }, "Reset")),
      h("div", { class: "columns wide" }, h("div", { class: "mapping" }, canvas, tip, wait, legend), side));
    const camera = { x: 0, y: 0, zoom: 1 };
    const asked = latest();
    let data, grid, chosen = -1, near = [], loading, image;

    async function load() {
      loading ??= backend.map().catch((error) => {
        loading = undefined; // asked again when the view is opened again
        throw error;
      }).then((map) => {
        data = { ...map, rows: new Map(map.words.map((word, i) => [word, i])), widths: new Float32Array(map.words.length) };
        grid = makeGrid(data.at);
        explain();
        say(`${count(data.words.length)} words on the map`);
        new ResizeObserver(draw).observe(canvas);
      });
      return loading;
    }

    /** What the colours mean: the most frequent words of each group, or ranks by frequency. */
    function explain() {
      const entry = (kind, k, text) => h("span", { class: "swatch", dir: "auto", vars: { "--colour": `var(--${kind}${k})` } }, text);
      if (colours.value === "rank") {
        show(legend, ["1–9", "10–99", "100–999", "1,000–9,999", "rarer"].map((text, k) => entry("rank", k, text)));
        return;
      }
      const named = Array.from({ length: 12 }, () => []);
      data.words.forEach((word, i) => { if (isTelling(word) && i >= COMMON && named[data.group[i] % 12].length < 3) named[data.group[i] % 12].push(word); });
      show(legend, named.map((words, k) => words.length > 0 && entry("group", k, words.join(", "))));
    }

    const size = () => canvas.getBoundingClientRect();
    const across = (r) => 0.46 * r.width * camera.zoom, up = (r) => 0.46 * r.height * camera.zoom; // pixels per unit
    const screen = (i, r) => [r.width / 2 + across(r) * (data.at[2 * i] - camera.x), r.height / 2 - up(r) * (data.at[2 * i + 1] - camera.y)];

    let queued = false;
    function draw() {
      if (queued || !data) return;
      queued = true;
      requestAnimationFrame(() => { queued = false; paint(); });
    }

    function palette() {
      const style = getComputedStyle(host);
      return {
        ink: style.getPropertyValue("--ink"), paper: style.getPropertyValue("--card"), accent: style.getPropertyValue("--accent"),
        warm: style.getPropertyValue("--warm"), soft: style.getPropertyValue("--soft"),
        groups: Array.from({ length: 12 }, (_, k) => style.getPropertyValue(`--group${k}`)),
        ranks: Array.from({ length: 5 }, (_, k) => style.getPropertyValue(`--rank${k}`)),
      };
    }

    function paint() {
      const r = size(), ratio = devicePixelRatio || 1;
      const wide = Math.max(1, Math.round(r.width * ratio)), high = Math.max(1, Math.round(r.height * ratio));
      if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
      const pen = canvas.getContext("2d");
      const colour = palette();
      dots(pen, r, ratio, colours.value === "rank" ? colour.ranks : colour.groups);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      label(pen, r, colour);
    }

    /** Points as pixels: many times faster than a rectangle for each. Frequent words lie on top. */
    function dots(pen, r, ratio, kinds) {
      const { width, height } = pen.canvas;
      if (image?.width !== width || image?.height !== height) image = pen.createImageData(width, height);
      const pixels = new Uint32Array(image.data.buffer);
      pixels.fill(0);
      const alpha = Math.round(255 * (chosen >= 0 ? 0.55 : 0.85));
      const inks = Uint32Array.from(kinds, (kind) => pixel(pen, kind, alpha));
      const byRank = colours.value === "rank";
      const small = Math.max(0.6, Math.min(1, r.width / 700)); // points of a small map are smaller
      const side = Math.max(1, Math.round(ratio * small * Math.max(1.7, Math.min(4.5, 1.5 * Math.sqrt(camera.zoom)))));
      const sx = ratio * across(r), sy = ratio * up(r);
      const cx = (ratio * r.width - side) / 2 - sx * camera.x, cy = (ratio * r.height - side) / 2 + sy * camera.y;
      const { at, group } = data;
      for (let i = data.words.length - 1; i >= 0; i--) {
        const x = Math.round(cx + sx * at[2 * i]), y = Math.round(cy - sy * at[2 * i + 1]);
        if (x < 0 || y < 0 || x + side > width || y + side > height) continue;
        const ink = inks[byRank ? Math.min(4, Math.floor(Math.log10(1 + i))) : group[i] % 12];
        for (let v = y; v < y + side; v++) for (let u = v * width + x, end = u + side; u < end; u++) pixels[u] = ink;
      }
      pen.putImageData(image, 0, 0);
    }

    /** Names of words that do not overlap: the chosen one and its neighbours, then the most frequent in sight. */
    function label(pen, r, colour) {
      const taken = [];
      pen.textAlign = "center";
      pen.lineWidth = 4;
      pen.lineJoin = "round";
      pen.strokeStyle = colour.paper;
      const write = (i, fill, font, force) => {
        const [x, y] = screen(i, r);
        if (x < 0 || y < 12 || x > r.width || y > r.height) return false;
        if (pen.font !== font) pen.font = font;
        const half = (font === SMALL ? data.widths[i] ||= pen.measureText(data.words[i]).width : pen.measureText(data.words[i]).width) / 2 + 3;
        const place = [x - half, y - 18, x + half, y - 1];
        if (!force && taken.some((b) => place[0] < b[2] && place[2] > b[0] && place[1] < b[3] && place[3] > b[1])) return false;
        taken.push(place);
        pen.strokeText(data.words[i], x, y - 6);
        pen.fillStyle = fill;
        pen.fillText(data.words[i], x, y - 6);
        return true;
      };
      const dot = (i, fill, radius) => {
        const [x, y] = screen(i, r);
        pen.beginPath();
        pen.arc(x, y, radius, 0, 2 * Math.PI);
        pen.fillStyle = fill;
        pen.fill();
      };
      if (chosen >= 0) {
        const [x0, y0] = screen(chosen, r);
        pen.globalAlpha = 0.5;
        pen.strokeStyle = colour.accent;
        pen.lineWidth = 1;
        near.forEach((i) => {
          const [x, y] = screen(i, r);
          pen.beginPath();
          pen.moveTo(x0, y0);
          pen.lineTo(x, y);
          pen.stroke();
        });
        pen.globalAlpha = 1;
        pen.lineWidth = 4;
        pen.strokeStyle = colour.paper;
        near.forEach((i) => dot(i, colour.accent, 3.5));
        dot(chosen, colour.warm, 5.5);
        write(chosen, colour.ink, "700 16px system-ui, sans-serif", true);
        near.forEach((i) => write(i, colour.ink, "13px system-ui, sans-serif"));
      }
      let shown = 0, tried = 0;
      for (let i = 0; i < data.words.length && shown < LABELS && tried < TRIED; i++) {
        const [x, y] = screen(i, r);
        if (x < 0 || y < 12 || x > r.width || y > r.height || i === chosen || !isTelling(data.words[i])) continue;
        tried++;
        if (write(i, chosen >= 0 ? colour.soft : colour.ink, SMALL)) shown++;
      }
    }

    function under(event) {
      const r = size();
      const x = (event.clientX - r.left - r.width / 2) / across(r) + camera.x;
      const y = (r.height / 2 - (event.clientY - r.top)) / up(r) + camera.y;
      return grid.nearest(x, y, 12 / Math.min(across(r), up(r)));
    }

    function zoomBy(factor, event) {
      const r = size(), before = camera.zoom;
      camera.zoom = Math.max(ZOOM.least, Math.min(ZOOM.most, camera.zoom * factor));
      if (event) { // what is under the pointer stays there
        const dx = event.clientX - r.left - r.width / 2, dy = r.height / 2 - (event.clientY - r.top);
        camera.x += dx / across(r) * (camera.zoom / before - 1);
        camera.y += dy / up(r) * (camera.zoom / before - 1);
      }
      draw();
    }

    canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoomBy(Math.exp(-event.deltaY / 400), event); }, { passive: false });
    let drag;
    const fingers = new Map();
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, event);
      drag = { x: event.clientX, y: event.clientY, moved: false };
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!data) return;
      if (fingers.size === 2 && fingers.has(event.pointerId)) {
        const apart = () => { const [a, b] = [...fingers.values()]; return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY); };
        const before = apart();
        fingers.set(event.pointerId, event);
        zoomBy(apart() / Math.max(before, 1));
        drag.moved = true;
        return;
      }
      if (drag) {
        const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
        if (!drag.moved && Math.hypot(dx, dy) < 4) return;
        camera.x -= dx / across(size());
        camera.y += dy / up(size());
        drag = { x: event.clientX, y: event.clientY, moved: true };
        draw();
        return;
      }
      const i = under(event);
      tip.hidden = i < 0;
      canvas.classList.toggle("over", i >= 0);
      if (i >= 0) {
        const r = size(), [x, y] = screen(i, r);
        tip.textContent = data.words[i];
        tip.style.setProperty("--x", `${x}px`);
        tip.style.setProperty("--y", `${y}px`);
      }
    });
    const release = (event) => {
      fingers.delete(event.pointerId);
      if (drag && !drag.moved && event.type === "pointerup") {
        const i = under(event);
        if (i >= 0) go({ word: data.words[i] });
      }
      drag = undefined;
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
    canvas.addEventListener("keydown", (event) => {
      const step = 0.15 / camera.zoom;
      const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
      if (event.key in moves) {
        camera.x += moves[event.key][0];
        camera.y += moves[event.key][1];
      } else if (event.key === "+" || event.key === "=") zoomBy(1.4);
      else if (event.key === "-") zoomBy(1 / 1.4);
      else return;
      event.preventDefault();
      draw();
    });
    colours.addEventListener("input", () => { explain(); draw(); });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    box.addEventListener("input", later(() => {
      if (!data) return;
      const typed = box.value.trim();
      const starts = typed ? data.words.filter((word) => word.startsWith(typed)).slice(0, 12) : [];
      show(options, starts.map((word) => h("option", { value: word })));
      if (data.rows.has(typed)) go({ word: typed }, { replace: true });
    }));
    box.addEventListener("keydown", (event) => { if (event.key === "Enter") go({ word: box.value.trim() }); });

    async function choose(word) {
      chosen = data.rows.get(word) ?? -1;
      near = [];
      await asked(backend.neighbours(word, 20), (pairs) => {
        near = pairs.map(([other]) => data.rows.get(other)).filter((i) => i !== undefined);
        show(side, h("h2", { dir: "auto" }, word),
          h("p", { class: "soft" }, chosen >= 0 ? `number ${count(chosen + 1)} by frequency` : "not on the map: too rare"),
          ranked(pairs, { format: cosine, pick: (other) => go({ word: other }) }));
        if (chosen >= 0) {
          const [x, y] = screen(chosen, size()), r = size();
          if (x < 40 || y < 40 || x > r.width - 40 || y > r.height - 40) {
            camera.x = data.at[2 * chosen];
            camera.y = data.at[2 * chosen + 1];
          }
        }
        draw();
      });
    }

    return {
      async update({ word }) {
        if (!data) {
          host.setAttribute("aria-busy", "true");
          wait.hidden = false;
          await load().finally(() => {
            host.removeAttribute("aria-busy");
            wait.hidden = true;
          });
        }
        draw();
        if (word) {
          if (document.activeElement !== box) box.value = word;
          await guard(choose(word));
        }
      },
    };
  },
};

/** A colour of the style sheet as a pixel. */
function pixel(pen, colour, alpha) {
  pen.fillStyle = colour; // read back as #rrggbb
  const rgb = parseInt(pen.fillStyle.slice(1), 16);
  return ((alpha << 24) | ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
}

/** Whether a word says something as a label: neither a number nor a mark. */
function isTelling(word) {
  return word.length > 2 && !word.includes("NUM") && /\p{L}/u.test(word);
}

/** Points by cells of the plane, to find the one under the pointer. */
function makeGrid(at) {
  const cells = new Map(), side = 0.02;
  const key = (x, y) => Math.floor(x / side) * 4096 + Math.floor(y / side);
  for (let i = 0; i < at.length / 2; i++) {
    const k = key(at[2 * i], at[2 * i + 1]);
    if (!cells.has(k)) cells.set(k, []);
    cells.get(k).push(i);
  }
  return {
    nearest(x, y, reach) {
      let best = -1, least = reach * reach;
      const steps = Math.min(10, Math.ceil(reach / side));
      for (let a = -steps; a <= steps; a++) {
        for (let b = -steps; b <= steps; b++) {
          for (const i of cells.get(key(x + a * side, y + b * side)) ?? []) {
            const d = (at[2 * i] - x) ** 2 + (at[2 * i + 1] - y) ** 2;
            if (d < least) [best, least] = [i, d];
          }
        }
      }
      return best;
    },
  };
}
