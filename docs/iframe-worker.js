/* Browsers start no worker from a file:// page, and the search of this site is one. Opened from a folder, its
   script runs in a hidden frame of the same page instead, which answers to what a worker answers to. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #waiting = [];
    #frame = null;

    constructor(url) {
      super();
      const source = new URL(url, document.baseURI).href;
      const begin = () => {
        const frame = document.createElement("iframe");
        frame.hidden = true;
        frame.title = "search";
        document.body.append(frame);
        const inside = frame.contentWindow;
        inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        const script = inside.document.createElement("script");
        script.src = source;
        script.onerror = () => this.dispatchEvent(new ErrorEvent("error", { message: `${source} is missing` }));
        script.onload = () => {
          this.#frame = inside;
          for (const data of this.#waiting.splice(0)) this.#tell(data);
        };
        inside.document.head.append(script);
      };
      if (document.body) begin();
      else addEventListener("DOMContentLoaded", begin);
    }

    #tell(data) {
      this.#frame.dispatchEvent(new this.#frame.MessageEvent("message", { data }));
    }

    postMessage(data) {
      if (this.#frame) this.#tell(data);
      else this.#waiting.push(data);
    }

    terminate() {
      this.#frame?.frameElement.remove();
    }
  };
}
