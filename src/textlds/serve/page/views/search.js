// 7. Search in the index: where is a word used like this, and in which senses?

import { cosine, h, later, latest, show, shownWord } from "../dom.js";

export default {
  id: "search",
  title: "Search",
  make(host, { backend, go, guard, about }) {
    if (!about.search) {
      show(host, h("div", { class: "notice" },
        h("h2", {}, "No index"),
        h("p", {}, "To search a corpus, build an index of it and serve the model with the index:"),
        h("pre", {}, "textlds index model corpus.txt --output index\ntextlds serve model --index index")));
      return { update: async () => {} };
    }
    const word = h("input", { type: "text", dir: "auto", autocomplete: "off", spellcheck: "false" });
    const context = h("textarea", { rows: 2, dir: "auto", spellcheck: "false" });
    const any = h("input", { type: "checkbox" });
    const found = h("ol", { class: "occurrences", "aria-live": "polite" }), senses = h("div", { class: "senses" });
    show(host,
      h("div", { class: "asked" },
        h("label", { class: "field" }, h("span", {}, "Word"), word),
        h("label", { class: "field" }, h("span", {}, "As it is used here"), context),
        h("label", { class: "check" }, any, "Any word used like this")),
      h("div", { class: "columns" },
        h("div", {}, h("h2", {}, "Used like this"), found),
        h("aside", {}, h("h2", {}, "Senses"), senses)));
    const lists = latest(), clusters = latest();
    const changed = later(() => go({ word: word.value.trim(), a: context.value, match: any.checked ? "any" : undefined }, { replace: true }), 400);
    [word, context, any].forEach((field) => field.addEventListener("input", changed));

    function occurrence({ word: own, sentence, start, score, file, line }) {
      const letters = [...sentence];
      return h("li", {},
        h("p", { dir: "auto" }, letters.slice(0, start).join(""), h("mark", {}, own), letters.slice(start + [...own].length).join("")),
        h("small", { class: "soft", title: `${file}:${line}` }, `${cosine(score)} · ${file.split(/[\\/]/).at(-1)}:${line}`));
    }

    return {
      async update(state) {
        const now = { word: state.word ?? "bank", context: state.a ?? "He sat on the bank of the river.", match: state.match ?? "same" };
        if (document.activeElement !== word) word.value = now.word;
        if (document.activeElement !== context) context.value = now.context;
        any.checked = now.match === "any";
        if (!now.word) {
          show(found, h("p", { class: "soft" }, "Type a word to find."));
          show(senses);
          return;
        }
        for (const list of [found, senses]) if (!list.firstChild) show(list, h("p", { class: "soft" }, "Searching …"));
        const asked = backend.find(now.word, now.context, now.match).catch((error) => {
          show(found);
          throw error;
        });
        await guard(lists(asked, ({ occurrences }) => show(found,
          occurrences.length ? distinct(occurrences).map(occurrence) : h("p", { class: "soft" }, "Nothing found."))));
        await clusters(backend.senses(now.word).catch((error) => error), (answer) => show(senses,
          answer instanceof Error ? h("p", { class: "soft" }, answer.message)
            : answer.map((sense, k) => h("section", { class: "sense" },
              h("h3", {}, `${k + 1}. `, h("span", { dir: "auto" }, sense.words.slice(0, 5).map(shownWord).join(", "))),
              h("small", { class: "soft" }, `${sense.size.toLocaleString("en")} occurrences, ${(100 * sense.share).toFixed(0)} %`),
              h("ol", { class: "occurrences" }, distinct(sense.examples).slice(0, 2).map(occurrence))))));
      },
    };
  },
};

/** One occurrence per sentence, the first. */
function distinct(occurrences) {
  const seen = new Set();
  return occurrences.filter(({ sentence }) => !seen.has(sentence) && seen.add(sentence));
}
