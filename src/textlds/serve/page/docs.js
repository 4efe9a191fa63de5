// The routes of the server, drawn from its OpenAPI document; each can be tried.

import { h, show } from "./dom.js";

const token = () => sessionStorage.getItem("textlds-token");
const headers = () => (token() ? { Authorization: `Bearer ${token()}` } : {});

function fields(schema, prefix = "") {
  return Object.entries(schema?.properties ?? {}).flatMap(([name, field]) => [
    h("tr", {}, h("td", {}, h("code", {}, prefix + name), schema.required?.includes(name) ? "" : " (optional)"),
      h("td", {}, field.type ?? (field.enum ? field.enum.map((value) => JSON.stringify(value)).join(" or ") : "text or list")),
      h("td", {}, [field.description, field.default !== undefined && `Default: ${JSON.stringify(field.default)}.`].filter(Boolean).join(" "))),
    ...fields(field, `${prefix}${name}.`)]);
}

function route(path, verb, about) {
  const content = about.requestBody?.content["application/json"];
  const example = JSON.stringify(content?.example, null, 1);
  const body = content && h("textarea", { rows: example.split("\n").length, spellcheck: "false", "aria-label": `Body of a request to ${path}` });
  if (body) body.value = example;
  const answer = h("pre", { hidden: true, tabindex: 0 });
  const send = async () => {
    const options = body ? { method: "POST", body: body.value, headers: { ...headers(), "Content-Type": "application/json" } } : { headers: headers() };
    const began = performance.now();
    const response = await fetch(path.slice(1), options);
    const text = await response.text();
    answer.hidden = false;
    answer.textContent = `${response.status}, ${(performance.now() - began).toFixed(0)} ms\n\n${text.slice(0, 4000)}${text.length > 4000 ? " …" : ""}`;
  };
  const errors = Object.entries(about.responses).filter(([status]) => status !== "200");
  return h("details", { class: "route", id: path.slice(1) },
    h("summary", {}, h("span", { class: "verb" }, verb.toUpperCase()), h("code", {}, path), h("span", { class: "soft" }, about.summary)),
    h("div", {}, h("p", {}, about.description),
      content && h("table", {}, h("thead", {}, h("tr", {}, ["field", "type", "meaning"].map((name) => h("th", {}, name)))), h("tbody", {}, fields(content.schema))),
      body && h("h3", {}, "Try it"), body,
      h("p", {}, h("button", { type: "button", class: "main", onclick: send }, "Send")), answer,
      errors.length > 0 && [h("h3", {}, "Errors, as {error, error_type}"), h("table", {}, h("tbody", {}, errors.map(([status, error]) => h("tr", {}, h("td", {}, status), h("td", {}, error.description)))))]));
}

const response = await fetch("openapi.json", { headers: headers() });
const description = await response.json();
if (!response.ok) {
  show(document.getElementById("main"), h("p", { class: "notice" }, response.status === 401 ? ["This server asks for a token. Enter it under ", h("a", { href: "./" }, "Explore"), ", then come back."] : description.error));
} else {
  document.getElementById("model").textContent = `${description.info.title.replace(/^textlds: /, "")} · version ${description.info.version}`;
  show(document.getElementById("main"), Object.entries(description.paths).flatMap(([path, verbs]) => Object.entries(verbs).map(([verb, about]) => route(path, verb, about))));
}
