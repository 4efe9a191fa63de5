// 2. The state word by word: where a token is after the words before it, and where those after it move it.

import { h, latest, running, s, show, shownWord } from "../dom.js";
import { mostTelling, walk } from "./reading.js";

const EDGE = 48;

export default {
  id: "filter",
  title: "Filter and smoother",
  make(host, { backend, go, guard, say }) {
    const strip = h("div", { class: "tokens", dir: "auto", role: "group", "aria-label": "The text, token by token" });
    const slider = h("input", { type: "range", min: 0, value: 0, step: 1, "aria-label": "Word of the text" });
    const play = h("button", { type: "button", class: "quiet" }, "Play");
    const picture = s("svg", { role: "img", class: "plane" });
    const story = h("p", { class: "story", "aria-live": "polite" }), near = h("div", { class: "stages" });
    show(host,
      h("p", { class: "lead" }, "The model reads a text forwards, then backwards. Move along it to see the state before a word, after it, and once the rest of the text is known."),
      strip, h("div", { class: "slide" }, slider, play),
      h("div", { class: "columns" },
        h("figure", {}, picture, h("figcaption", { class: "soft" }, "The plane in which this text moves most (two principal axes of its states). The line joins the states after each word so far. Grey words lie where a text of that word alone would be.")),
        h("aside", { class: "panel", "aria-label": "The state at the chosen word" }, story, near)));
    const details = latest();
    const asked = latest();
    let shown = {}, at = 0, timer;

    const choose = (i) => go({ token: i }, { replace: true });
    slider.addEventListener("input", () => choose(Number(slider.value)));
    strip.addEventListener("keydown", (event) => walk(strip, event, at, choose));
    play.addEventListener("click", () => {
      if (timer) { stop(); return; }
      play.textContent = "Pause";
      timer = setInterval(() => {
        if (at + 1 >= shown.path.tokens.length || !host.isConnected) stop();
        else choose(at + 1);
      }, 900);
      if (at + 1 >= shown.path.tokens.length) choose(0);
    });

    new ResizeObserver(() => { if (shown.path?.tokens.length && host.isConnected) draw(); }).observe(picture);

    function stop() {
      clearInterval(timer);
      timer = undefined;
      play.textContent = "Play";
    }

    function draw() {
      const { path } = shown;
      const width = Math.max(280, picture.clientWidth), height = Math.max(280, picture.clientHeight);
      picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
      const all = [...path.pred, ...path.filt, ...path.smooth, ...path.words.map(({ at: place }) => place)];
      const [xs, ys] = [0, 1].map((k) => all.map((point) => point[k]));
      const low = [Math.min(...xs), Math.min(...ys)], high = [Math.max(...xs), Math.max(...ys)];
      const scale = Math.min((width - 2 * EDGE) / (high[0] - low[0] || 1), (height - 2 * EDGE) / (high[1] - low[1] || 1));
      const x = (point) => width / 2 + scale * (point[0] - (low[0] + high[0]) / 2);
      const y = (point) => height / 2 - scale * (point[1] - (low[1] + high[1]) / 2);
      const place = (point) => `translate(${x(point).toFixed(1)} ${y(point).toFixed(1)})`;
      const arrow = (from, to, name) => s("line", { x1: x(from), y1: y(from), x2: x(to), y2: y(to), class: `move ${name}`, "marker-end": `url(#head-${name})` });
      const head = (name) => s("marker", { id: `head-${name}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, s("path", { d: "M0 0L8 4L0 8z", class: name }));
      const taken = [];
      const boxed = (left, top, half, tall) => [left - half, top - tall, left + half, top + tall];
      const free = (point, word, shift = 0) => {
        const box = boxed(x(point), y(point) + shift, 3.6 * word.length, 8);
        const clash = taken.some((b) => box[0] < b[2] && box[2] > b[0] && box[1] < b[3] && box[3] > b[1]);
        if (!clash) taken.push(box);
        return !clash;
      };
      const now = [path.pred[at], path.filt[at], path.smooth[at]];
      now.forEach((point) => free(point, "xxxx"));
      const half = 6 * path.tokens[at].length;
      const covers = (shift) => [now[0], now[2]].some((point) => Math.abs(x(point) - x(now[1])) < half + 7
        && Math.abs(y(point) - y(now[1]) - shift) < 15); // a mark of the state
      const below = covers(-20) && !covers(23);
      taken.push(boxed(x(now[1]), y(now[1]) + (below ? 23 : -20), half, 12));
      const past = path.filt.slice(0, at).map((point, i) => [point, path.tokens[i], i]).reverse()
        .filter(([point, word]) => free(point, word, -11)); // the latest words first
      show(picture,
        s("title", {}, "The state of the text in the plane in which it moves most"),
        s("defs", {}, head("filtered"), head("smoothed")),
        path.words.filter(({ word, at: point }) => free(point, word))
          .map(({ word, at: point }) => s("text", { transform: place(point), class: "landmark" }, shownWord(word))),
        s("polyline", { points: path.filt.slice(0, at + 1).map((point) => `${x(point).toFixed(1)},${y(point).toFixed(1)}`).join(" "), class: "trail" }),
        path.filt.slice(0, at).map((point) => s("circle", { transform: place(point), r: 3, class: "past" })),
        past.map(([point, word]) => s("text", { transform: place(point), dy: -11, class: "landmark read" }, word)),
        arrow(now[0], now[1], "filtered"), arrow(now[1], now[2], "smoothed"),
        s("circle", { transform: place(now[0]), r: 6, class: "predicted" }),
        s("circle", { transform: place(now[1]), r: 7, class: "filtered" }),
        s("circle", { transform: place(now[2]), r: 7, class: "smoothed" }),
        s("text", { transform: place(now[1]), dy: below ? 29 : -14, class: "here" }, path.tokens[at]));
    }

    /** The words nearest to the state at each of three times. */
    function stages({ moves }) {
      const stage = (name, title, about) => h("section", {}, h("h3", { class: `key ${name.slice(0, 4)}` }, title, " ", h("span", { class: "soft" }, about)),
        h("p", { dir: "auto" }, moves[name].map(([word]) => shownWord(word)).join(", ")));
      show(near, at > 0 && stage("pred", "Expected", "before the word"), stage("filt", "Filter", "after the word"),
        stage("smooth", "Smoother", "after the whole text"));
    }

    function tell(path) {
      const apart = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
      const word = path.tokens[at];
      const [back, ahead] = [apart(path.pred[at], path.filt[at]), apart(path.filt[at], path.smooth[at])];
      const last = at + 1 === path.tokens.length;
      show(story, h("b", { dir: "auto" }, word), last ? " is the last word: nothing after it moves the state."
        : ` moves the state by ${back.toFixed(2)} in this plane, the words after it by ${ahead.toFixed(2)} more.`);
      say(`${word}, ${at + 1} of ${path.tokens.length}`);
    }

    return {
      async update({ text, token }) {
        if (shown.text !== text) {
          stop();
          await asked(Promise.all([backend.path(text), backend.read(text)]), ([path, read]) => {
            shown = { text, path, first: mostTelling(read.tokens) };
            slider.max = Math.max(0, path.tokens.length - 1);
            slider.disabled = !path.tokens.length;
            show(strip, ...running(read.tokens, read.tail, (token, i) => h("button", { type: "button", class: "token plain", onclick: () => choose(i) }, token.text)).flat(Infinity));
          });
        }
        const n = shown.path?.tokens.length ?? 0;
        if (shown.text !== text || !n) {
          show(picture);
          show(near);
          show(story, "Type a text under Reading first.");
          return;
        }
        at = Math.max(0, Math.min(n - 1, Number(token ?? shown.first) || 0));
        slider.dir = getComputedStyle(strip).direction; // the slider moves as the text runs
        slider.value = at;
        slider.setAttribute("aria-valuetext", shown.path.tokens[at]);
        strip.querySelectorAll(".token").forEach((button, i) => {
          button.setAttribute("aria-pressed", i === at);
          button.classList.toggle("unread", i > at);
          button.tabIndex = i === at ? 0 : -1;
        });
        draw();
        tell(shown.path);
        await guard(details(backend.details(text, at), stages));
      },
    };
  },
};
