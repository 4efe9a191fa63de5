// Elements without markup: every string becomes a text node.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("aria-")) element.setAttribute(name, String(value)); // "false" says something here
    else if (value === false) continue;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "vars") for (const [key, v] of Object.entries(value)) element.style.setProperty(key, v);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function h(tag, properties, ...children) {
  return filled(document.createElement(tag), properties, children);
}

export function s(tag, properties, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

export function show(host, ...children) {
  host.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

/** Run the last call of several, some milliseconds after it. */
export function later(work, wait = 250) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), wait);
  };
}

/** Answers that arrive after a newer question was asked are dropped. */
export function latest() {
  let asked = 0;
  return async (question, use) => {
    const own = ++asked;
    const answer = await question;
    if (own === asked) use(answer);
  };
}

/** A word of the vocabulary as people read it: NUM, which every number is read as, becomes #. */
export const shownWord = (word) => word.replaceAll("NUM", "#");

/** Words with a number each, as a list with bars. */
export function ranked(pairs, { format, most = 1, pick, empty = "Nothing to show." } = {}) {
  if (!pairs.length) return h("p", { class: "soft" }, empty);
  return h("ol", { class: "ranked" }, pairs.map(([word, value]) => h("li", { vars: { "--part": Math.max(0, Math.min(1, value / most)) } },
    pick ? h("button", { type: "button", class: "word", dir: "auto", onclick: () => pick(word) }, shownWord(word))
      : h("span", { class: "word", dir: "auto", title: word.includes("NUM") && "# is any number" }, shownWord(word)),
    h("span", { class: "value" }, format(value)))));
}

export const cosine = (x) => x.toFixed(2).replace("-", "−");

export function percent(p) {
  if (p >= 0.0995) return `${(100 * p).toFixed(0)} %`;
  if (p >= 0.000995) return `${(100 * p).toPrecision(2)} %`;
  return p > 0 ? `1 in ${count(Math.round(1 / p))}` : "0 %";
}

export function count(n) {
  return Number(n).toLocaleString("en");
}

const OPENING = /^[\p{Ps}\p{Pi}]+$/u, MARK = /^[^\p{L}\p{N}\s]+$/u;
const GLUED = 4; // tokens at most: a long row of marks may break

/** A text of tokens with the white space between them; make(token, i) gives the element of a token. A mark stays on the
    line of the word it belongs to. */
export function running(tokens, tail, make) {
  const out = [];
  let held = [];
  tokens.forEach((token, i) => {
    const last = tokens[i - 1];
    const stays = held.length > 0 && held.length < GLUED && token.before === "" && (MARK.test(token.text) || OPENING.test(last.text));
    if (!stays) {
      out.push(together(held), token.before);
      held = [];
    }
    held.push(make(token, i));
  });
  return [...out, together(held), tail];
}

function together(elements) {
  return elements.length > 1 ? h("span", { class: "together" }, elements) : elements;
}

/** The tokens of a text with what precedes each, and what follows the last. */
export function spaced(text, tokens) {
  let end = 0;
  const shaped = tokens.map((token) => {
    const start = Math.max(end, text.indexOf(token, end));
    const before = text.slice(end, start);
    end = start + token.length;
    return { text: token, before };
  });
  return [shaped, text.slice(end)];
}
