// The page: which view is shown, of what. All of it is in the address: #view?text=...&token=3

import { count, h, show } from "./dom.js";
import { Local } from "./local.js";
import { Remote } from "./remote.js";
import contexts from "./views/contexts.js";
import filter from "./views/filter.js";
import learning from "./views/learning.js";
import map from "./views/map.js";
import reading from "./views/reading.js";
import search from "./views/search.js";
import transitions from "./views/transitions.js";

const VIEWS = [reading, filter, contexts, map, transitions, learning, search];
const BY_TOKEN = new Set(["reading", "filter"]); // views in which one token of the text is chosen
const LONGEST_LINK = 6000; // characters that browsers and chats carry without harm
const SAMPLE = "He sat on the bank of the river and watched the boats go by.";
const $ = (id) => document.getElementById(id);

const made = new Map();
let backend;

/** Return the state in the address. */
function state() {
  const [view, query = ""] = location.hash.slice(1).split("?", 2);
  const values = Object.fromEntries(new URLSearchParams(query));
  return { text: SAMPLE, ...values, view: VIEWS.some(({ id }) => id === view) ? view : VIEWS[0].id };
}

/** Change the state: what is undefined is left out of the address. */
function go(changes, { replace = false } = {}) {
  const { view, ...values } = { ...state(), ...changes };
  if (values.text === SAMPLE) delete values.text;
  for (const [name, value] of Object.entries(values)) if (value === undefined || value === "") delete values[name];
  if (changes.text === "") values.text = "";
  const query = new URLSearchParams(values).toString();
  const hash = `#${view}${query ? `?${query}` : ""}`;
  if (hash === location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", hash);
  update();
}

async function update() {
  const now = state();
  $("problem").hidden = true;
  for (const link of $("views").children) {
    const own = link.dataset.view === now.view;
    link.toggleAttribute("aria-current", own);
    if (own) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    link.href = address(now, link.dataset.view);
  }
  const view = VIEWS.find(({ id }) => id === now.view);
  document.title = `${view.title} · textlds`;
  if (!made.has(view.id)) {
    const host = h("section", { class: `view ${view.id}`, "aria-label": view.title });
    made.set(view.id, { host, ...view.make(host, { backend, go, guard, say, about: about_ }) });
  }
  const shown = made.get(view.id);
  if ($("main").firstElementChild !== shown.host) show($("main"), shown.host);
  await guard(shown.update(now));
}

/** The address of a view of the same text; the token stays chosen where there is one. */
function address({ text, token }, view) {
  const kept = { ...(text !== SAMPLE && text !== undefined && { text }), ...(token !== undefined && BY_TOKEN.has(view) && { token }) };
  const query = new URLSearchParams(kept).toString();
  return `#${view}${query ? `?${query}` : ""}`;
}

/** Wait for work; if it fails, say so on the page. */
async function guard(work) {
  try {
    return await work;
  } catch (error) {
    $("problem").textContent = error.message.replace(/^./u, (first) => first.toUpperCase());
    $("problem").hidden = false;
    return undefined;
  }
}

/** Tell those who listen instead of looking. */
function say(message) {
  $("status").textContent = message;
}

/** Ask for the token of the server; null if the dialog is left without one. */
function askToken(refused) {
  return new Promise((resolve) => {
    const dialog = $("ask");
    dialog.querySelector("label").textContent = refused ? "The server refused this token. Try another." : "This server asks for a token.";
    dialog.returnValue = "";
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "ok" ? $("token").value.trim() : null), { once: true });
    dialog.showModal();
    $("token").select();
  });
}

async function share() {
  const button = $("share");
  const long = location.href.length > LONGEST_LINK;
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = long ? "Copied; it is long" : "Copied";
  } catch {
    button.textContent = "Copy the address";
  }
  setTimeout(() => { button.textContent = "Copy link"; }, 1800);
}

let about_;

async function start() {
  const model = document.querySelector('meta[name="textlds-model"]').content;
  if (model) {
    const bar = h("progress", { max: 1, "aria-label": "Loading the model" });
    show($("main"), h("p", { class: "loading" }, "Loading the model ", bar));
    backend = await Local.load(model, (part) => { bar.value = part; });
  } else {
    backend = new Remote(askToken);
    $("routes").hidden = false;
  }
  about_ = await backend.about();
  show($("model"), about_.name, h("span", { class: "sizes" }, ` · ${count(about_.vocabulary_size)} words · ${about_.state_size} dimensions`));
  const views = VIEWS.filter((view) => !view.needs || about_[view.needs] !== undefined);
  show($("views"), views.map(({ id, title }) => h("a", { href: `#${id}`, "data-view": id }, title)));
  $("share").addEventListener("click", share);
  addEventListener("hashchange", update);
  addEventListener("popstate", update);
  await update();
  document.body.dataset.ready = "yes";
}

guard(start());
