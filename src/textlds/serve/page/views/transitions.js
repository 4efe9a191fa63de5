// 5. The strongest transitions of the state, as the words likely before and after.

import { h, latest, running, show, shownWord } from "../dom.js";

const ENOUGH = 0.2; // of the score of the best example: a passage of the text that is worth showing

export default {
  id: "transitions",
  title: "Transitions",
  make(host, { backend, go }) {
    const list = h("ol", { class: "pairs" });
    show(host, h("p", { class: "lead" }, "What follows what: words of a state on the left, words of the state it leads to on the right (singular vector pairs of the transition matrix, strongest first). Press a pair to see text that goes through it. # is any number."), list);
    const asked = latest();
    let open;

    function passage({ tokens, before, tail, at }) {
      const shaped = tokens.map((text, i) => ({ text, before: before[i] }));
      return h("li", { dir: "auto" }, ...running(shaped, tail, (token, i) => (
        i === at || i === at + 1 ? h("mark", { class: i === at ? "source" : "target" }, token.text) : token.text)).flat(Infinity));
    }

    function own(text, places, read) {
      if (!places.length) return null;
      return passage({ tokens: read.tokens.map((token) => token.text), before: read.tokens.map((token) => token.before), tail: read.tail, at: places[0].at });
    }

    function draw(pairs, read, text) {
      if (!pairs.length) show(list, h("li", { class: "soft" }, "This model was packed without its transitions. Pack it again, or use the model it was made from."));
      if (!pairs.length) return;
      const most = pairs[0].strength;
      show(list, pairs.map((pair, k) => {
        const expanded = String(k) === open;
        const examples = [...pair.examples.map(passage)];
        const least = ENOUGH * (pair.examples[0]?.score ?? 0);
        const here = own(text, pair.own.filter(({ score }) => score >= least), read);
        return h("li", { vars: { "--part": pair.strength / most } },
          h("button", { type: "button", class: "pairing", "aria-expanded": expanded, "aria-controls": `pair-${k}`, onclick: () => go({ pair: expanded ? undefined : k }, { replace: true }) },
            h("span", { class: "strength" }, pair.strength.toFixed(2)),
            h("span", { class: "source", dir: "auto" }, listed(pair.source)),
            h("span", { class: "arrow", "aria-label": "leads to" }, "→"),
            h("span", { class: "target", dir: "auto" }, listed(pair.target))),
          h("div", { id: `pair-${k}`, class: "passages", hidden: !expanded },
            here && [h("h3", {}, "In your text"), h("ul", {}, here)],
            examples.length ? [h("h3", {}, "Elsewhere"), h("ul", {}, examples)]
              : !here && h("p", { class: "soft" }, "Nothing in your text goes through it. Serve the model with --text FILE to see sentences of a corpus.")));
      }));
    }

    return {
      async update({ text, pair }) {
        open = pair;
        if (!list.firstChild) show(list, h("li", { class: "soft" }, "Looking for text that goes through them …"));
        await asked(Promise.all([backend.transitions(text), backend.read(text)]), ([pairs, read]) => draw(pairs, read, text)).catch((error) => {
          if (!list.querySelector(".pairing")) show(list);
          throw error;
        });
      },
    };
  },
};

function listed(words) {
  return words.map(shownWord).join(" · ");
}
