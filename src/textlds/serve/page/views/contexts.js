// 3. The same word in two sentences: its neighbours, the cosine, and which words pulled it where.

import { cosine, h, later, latest, ranked, running, show, shownWord, spaced } from "../dom.js";

const SAMPLES = { word: "bank", a: "He sat on the bank of the river and watched the boats go by.",
  b: "The bank raised its interest rates and lent money to the government." };

export default {
  id: "contexts",
  title: "Two contexts",
  make(host, { backend, go }) {
    const word = h("input", { type: "text", dir: "auto", autocomplete: "off", spellcheck: "false" });
    const fields = { a: area(), b: area() };
    const answer = h("div", { class: "contrast", "aria-live": "polite" });
    show(host,
      h("div", { class: "asked" },
        h("label", { class: "field" }, h("span", {}, "Word"), word),
        h("label", { class: "field" }, h("span", {}, "First context"), fields.a),
        h("label", { class: "field" }, h("span", {}, "Second context"), fields.b)),
      answer);
    const asked = latest();
    const changed = later(() => go({ word: word.value.trim(), a: fields.a.value, b: fields.b.value }, { replace: true }), 400);
    [word, fields.a, fields.b].forEach((field) => field.addEventListener("input", changed));

    function side(use, other, name, text) {
      const strongest = Math.max(...use.pulls.filter(({ token }) => token !== use.token).map(({ shift }) => shift), 1e-9);
      const pulls = new Map(use.pulls.map((pull) => [pull.token, pull]));
      const table = [...use.pulls].filter(({ token }) => token !== use.token)
        .sort((p, q) => q.shift - p.shift).slice(0, 6);
      const both = new Set(other.here.map(([near]) => near));
      return h("section", { "aria-label": `${name} context` },
        h("p", { class: "tokens", dir: "auto" }, running(...spaced(text, use.tokens), (token, i) => h("span", {
          class: i === use.token ? "token chosen" : "token pull",
          vars: { "--heat": i === use.token ? 0 : ((pulls.get(i)?.shift ?? 0) / strongest).toFixed(3) },
        }, token.text))),
        h("h3", {}, "Means here", use.here.some(([near]) => both.has(near)) && h("span", {}, " (grey: in both contexts)")),
        markedList(use.here, both),
        h("h3", {}, "Pulled by"),
        h("table", {},
          h("thead", {}, h("tr", {}, h("th", {}, "word"), h("th", {}, "shift if left out"), h("th", {}, "towards"))),
          h("tbody", {}, table.map((pull) => h("tr", {},
            h("td", { dir: "auto" }, h("b", {}, pull.text)),
            h("td", { class: "bar", vars: { "--part": pull.shift / strongest } }, pull.shift.toFixed(3)),
            h("td", { dir: "auto", class: "soft" }, pull.toward.map(shownWord).join(" · ")))))));
    }

    function markedList(pairs, both) {
      const list = ranked(pairs, { format: cosine });
      [...list.children].forEach((item, i) => item.classList.toggle("both", both.has(pairs[i][0])));
      return list;
    }

    return {
      async update(state) {
        const now = { word: state.word ?? SAMPLES.word, a: state.a ?? SAMPLES.a, b: state.b ?? SAMPLES.b };
        for (const [field, value] of [[word, now.word], [fields.a, now.a], [fields.b, now.b]]) {
          if (document.activeElement !== field) field.value = value;
        }
        if (!now.word) { show(answer, h("p", { class: "soft" }, "Type a word that occurs in both contexts.")); return; }
        answer.setAttribute("aria-busy", "true");
        const both = Promise.all([backend.use(now.a, now.word), backend.use(now.b, now.word)]);
        await asked(both, ([one, two]) => {
          const product = one.vector.reduce((sum, x, c) => sum + x * two.vector[c], 0);
          show(answer, side(one, two, "First", now.a),
            h("div", { class: "cosine" }, h("span", {}, cosine(product)), h("small", {}, "cosine of the two vectors")),
            side(two, one, "Second", now.b));
        }).finally(() => answer.removeAttribute("aria-busy"));
      },
    };
  },
};

function area() {
  return h("textarea", { rows: 2, dir: "auto", spellcheck: "false" });
}
