/* Browsers start no workers in pages that are opened from disk. The search of this site asks for one; there, it gets a
   hidden frame instead, with the same messages. On a server nothing changes. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inner = this.frame.contentWindow;
      this.ready = new Promise((resolve) => this.frame.addEventListener("load", resolve, { once: true }));
      inner.document.open();
      inner.document.write(`<html><body><script>
        postMessage = (data) => parent.dispatchEvent(new MessageEvent("frame-message", { data }));
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((resolve) => {
          const script = document.createElement("script");
          script.src = url;
          script.onload = resolve;
          document.body.appendChild(script);
        })), Promise.resolve());
      <\/script><script src="${url}"><\/script></body></html>`);
      inner.document.close();
      window.addEventListener("frame-message", (event) => {
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
