// Browsers start no workers for pages opened from a disk, and the search is one. There it runs in a hidden frame instead.
if (location.protocol === "file:") {
  // A message is a copy: what either side does to its own must not be seen by the other.
  const later = (message, receive) => {
    const data = structuredClone(message);
    setTimeout(() => receive(new MessageEvent("message", { data })));
  };

  window.Worker = class {
    #frame = document.createElement("iframe");
    #waiting = [];

    constructor(address) {
      this.#frame.hidden = true;
      document.body.append(this.#frame);
      const inside = this.#frame.contentWindow;
      inside.postMessage = (data) => later(data, (event) => this.onmessage?.(event));
      const script = inside.document.createElement("script");
      script.src = address;
      script.onload = () => this.#waiting.splice(0).forEach((data) => this.#deliver(data));
      script.onerror = (event) => this.onerror?.(event);
      inside.document.body.append(script);
    }

    #deliver(data) {
      later(data, (event) => this.#frame.contentWindow?.onmessage(event));
    }

    postMessage(data) {
      if (this.#frame.contentWindow?.onmessage) this.#deliver(data);
      else this.#waiting.push(data);
    }

    terminate() {
      this.#frame.remove();
    }
  };
}
