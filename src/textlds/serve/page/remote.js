// The page's questions, put to the server.

export class Remote {
  constructor(askToken) {
    this.askToken = askToken;
    this.token = sessionStorage.getItem("textlds-token");
    this.kept = new Map();
  }

  async ask(path, body) {
    const headers = this.token ? { Authorization: `Bearer ${this.token}` } : {};
    const options = body === undefined ? { headers }
      : { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(body) };
    let response;
    try {
      response = await fetch(path, options);
    } catch {
      throw new Error("The server does not answer. Is it still running?");
    }
    if (response.status === 401) {
      const given = await this.askToken(Boolean(this.token));
      if (given === null) throw new Error("This server needs a token. Reload the page to enter it.");
      this.token = given;
      sessionStorage.setItem("textlds-token", this.token);
      return this.ask(path, body);
    }
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error ?? response.statusText);
    return answer;
  }

  /** The same question is asked once. */
  once(path, body) {
    const key = path + JSON.stringify(body ?? null);
    if (!this.kept.has(key)) {
      if (this.kept.size > 500) this.kept.clear();
      const answer = this.ask(path, body);
      answer.catch(() => this.kept.delete(key));
      this.kept.set(key, answer);
    }
    return this.kept.get(key);
  }

  about() { return this.once("explore/about", {}); }
  read(text) { return this.once("explore/read", { text }); }
  details(text, token) { return this.once("explore/token", { text, token }); }
  path(text) { return this.once("explore/path", { text }); }
  use(text, word) { return this.once("explore/use", { text, word }); }
  neighbours(word, n = 10) { return this.once("explore/neighbours", { word, n }); }
  map() { return this.once("explore/map"); }
  transitions(text) { return this.once("explore/transitions", { text }); }
  learning() { return this.once("explore/learning", {}); }
  find(word, context, match) { return this.once("v1/find", { word, context, match, n: 12 }); }
  senses(word) { return this.once("v1/senses", { word }); }
}
