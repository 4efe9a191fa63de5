// 1. Tokens coloured by surprisal; press one to see what it means here.

import { cosine, count, h, later, latest, percent, ranked, running, show, shownWord } from "../dom.js";

const FULL = 16; // bits at which a token has the full colour
const ROUGH = "The model was not calibrated, so probabilities are rough: run textlds calibrate.";
const TRY = [
  ["a river", undefined],
  ["a bank that lends", "The bank raised its interest rates again in May."],
  ["a garden path", "The old man the boat. The horse raced past the barn fell."],
  ["two kinds of bass", "She played the bass in a jazz band. He caught a bass in the lake."],
  ["words nobody wrote", "The glorpish frobnicator quickly unzapped twelve blenks."],
];

/** Arrow keys walk along tokens, in the direction of the text; Home and End jump. */
export function walk(host, event, chosen, choose) {
  const buttons = [...host.querySelectorAll(".token")];
  const rightToLeft = getComputedStyle(buttons[chosen] ?? host).direction === "rtl"
    || buttons[chosen]?.matches(":dir(rtl)");
  const steps = { ArrowRight: rightToLeft ? -1 : 1, ArrowLeft: rightToLeft ? 1 : -1, ArrowDown: 1, ArrowUp: -1 };
  let to;
  if (event.key in steps) to = chosen + steps[event.key];
  else if (event.key === "Home") to = 0;
  else if (event.key === "End") to = buttons.length - 1;
  if (to === undefined || to < 0 || to >= buttons.length) return;
  event.preventDefault();
  choose(to);
  buttons[to].focus();
}

export default {
  id: "reading",
  title: "Reading",
  make(host, { backend, go, guard, about }) {
    const input = h("textarea", { id: "text", rows: 3, dir: "auto", spellcheck: "false", "aria-label": "Text to read" });
    const tokens = h("div", { class: "tokens", dir: "auto", role: "group", "aria-label": "The text, token by token" });
    const facts = h("p", { class: "facts soft" });
    const surprise = h("span", { class: "scale" }, "expected", h("span", { class: "ramp" }), "surprising");
    const legend = h("p", { class: "legend soft" }, surprise, h("span", {}, h("span", { class: "token unknown" }, h("span", {}, "dotted")), " outside the vocabulary, read by its spelling"));
    const notes = h("p", { class: "notes soft" });
    const panel = h("aside", { class: "panel", "aria-live": "polite", "aria-label": "The chosen token" });
    show(host,
      h("div", { class: "columns" },
        h("div", {},
          h("label", { class: "field" }, h("span", {}, "Type or paste a text"), input),
          tokens, facts, legend, notes,
          h("p", { class: "try soft" }, "Try ", TRY.map(([name, text]) => h("button", { type: "button", class: "quiet", onclick: () => go({ text, token: undefined }) }, name)))),
        panel));
    const texts = latest(), details = latest();
    let shown = {}, chosen = 0;

    const choose = (i) => go({ token: i }, { replace: true });
    input.addEventListener("input", later(() => go({ text: input.value, token: undefined }, { replace: true })));
    tokens.addEventListener("keydown", (event) => walk(tokens, event, chosen, choose));

    function mark() {
      tokens.querySelectorAll(".token").forEach((button, i) => {
        button.setAttribute("aria-pressed", i === chosen);
        button.tabIndex = i === chosen ? 0 : -1;
      });
    }

    function draw(read) {
      show(tokens, ...running(read.tokens, read.tail, (token, i) => h("button", {
        type: "button", class: token.known ? "token" : "token unknown", // no direction of its own: the whole text decides
        vars: { "--heat": Math.min(1, (token.bits ?? 0) / FULL).toFixed(3) },
        "aria-label": [token.text, token.tag, token.bits && `${token.bits.toFixed(1)} bits`, !token.known && "unknown"].filter(Boolean).join(", "),
        title: token.bits && `${token.bits.toFixed(1)} bits`, onclick: () => choose(i), "data-tag": token.tag }, token.known ? token.text : h("span", {}, token.text))).flat(Infinity)); // the dots are of the word, not of its tag
      surprise.hidden = !read.perplexity;
      notes.textContent = read.perplexity && about.calibrated === false ? ROUGH : "";
      facts.textContent = read.tokens.length
        ? `${read.tokens.length} tokens${read.perplexity ? ` · perplexity ${count(read.perplexity.toFixed(0))}` : ""}`
        : "Nothing to read yet.";
    }

    function describe(found, token) {
      const part = (name, label) => h("div", { class: `part ${name}` },
        h("b", {}, label), h("span", { class: "value" }, percentOf(found.parts[name].share)),
        h("small", { dir: "auto" }, found.parts[name].near.map(([word]) => shownWord(word)).join(", ")));
      const shares = ["left", "word", "right"].map((name) => h("i", { class: name, vars: { "--share": Math.max(0, found.parts[name].share).toFixed(3) } }));
      show(panel,
        h("h2", { dir: "auto", "data-tag": token.tag }, found.word),
        found.expected && h("p", { class: "soft" }, `${token.bits.toFixed(1)} bits of surprise · probability ${percent(found.probability)} · ${ordinal(found.rank)} most expected word`),
        h("div", { class: "pair" },
          h("div", {}, h("h3", {}, "Means here"), ranked(found.here, { format: cosine })),
          h("div", {}, h("h3", {}, "The word alone"), ranked(found.alone, { format: cosine, empty: "The vocabulary does not have it." }))),
        h("h3", {}, "What its vector is made of"),
        h("div", { class: "shares", "aria-hidden": "true" }, shares),
        h("div", { class: "parts" }, part("left", "words before"), part("word", "the word"), part("right", "words after")),
        found.expected && h("div", { class: "pair" },
          h("div", {}, h("h3", {}, "Expected here"), likely(found.expected)),
          h("div", {}, h("h3", {}, "Expected next"), likely(found.next))),
        [found.here, found.alone, found.expected, found.next].some((pairs) => pairs?.some(([word]) => shownWord(word) !== word))
          && h("p", { class: "notes soft" }, "# is any number."));
    }

    function likely(pairs) {
      return ranked(pairs, { format: percent, most: pairs[0]?.[1] ?? 1 });
    }

    return {
      async update(state) {
        const { text } = state;
        if (document.activeElement !== input || input.value.trim() === "") input.value = text;
        if (shown.text !== text) {
          tokens.setAttribute("aria-busy", "true");
          await texts(backend.read(text), (read) => {
            shown = { text, read };
            draw(read);
          }).finally(() => tokens.removeAttribute("aria-busy"));
        }
        const all = shown.read?.tokens ?? [];
        if (shown.text !== text || !all.length) {
          show(panel, h("p", { class: "soft" }, "Press a word to see what it means where it occurs."));
          return;
        }
        chosen = Math.max(0, Math.min(all.length - 1, Number(state.token ?? mostTelling(all)) || 0));
        mark();
        await guard(details(backend.details(text, chosen), (found) => describe(found, all[chosen])));
      },
    };
  },
};

function percentOf(share) {
  return `${(100 * share).toFixed(0)} %`.replace("-", "−");
}

function ordinal(n) {
  const ending = n % 100 >= 11 && n % 100 <= 13 ? "th" : ["th", "st", "nd", "rd"][n % 10] ?? "th";
  return n === 1 ? "the" : `${count(n)}${ending}`;
}

/** The token to begin with: the first long one that is known. */
export function mostTelling(tokens) {
  let best = 0;
  tokens.forEach((token, i) => {
    if (token.known && token.text.length > 3 && !(tokens[best].known && tokens[best].text.length > 3)) best = i;
  });
  return best;
}
