// @ts-check
// Which of a browser's windows hold an event stream. Over HTTP/1.1 a browser has six connections to a host for all of its
// windows, and a stream keeps one busy: with six of them open no request of any window has an answer. So visible windows
// alone hold one, at most STREAMS of them; the others ask now and then. Windows count each other by messages, which say
// nothing about who is signed in, because plain HTTP lacks Web Locks.

/** Streams of all windows together. It leaves two connections for requests. */
const STREAMS = 4;

/** Milliseconds in which the other windows answer a new one. */
const SETTLE = 150;

/** Milliseconds between two messages of a window. */
const BEAT = 10_000;

/** Milliseconds without a message after which a window counts as gone, as it does when it was frozen or killed. */
const SILENT = 25_000;

/** @typedef {{id: string, since: number, asks?: boolean, gone?: boolean}} Message */

export class Windows {
  /** Whether this window may hold a stream. It never may while it is hidden. */
  may = false;

  #channel = 'BroadcastChannel' in window ? new BroadcastChannel('seckill.streams') : null;
  #id = String(Math.random());
  #since = 0; // when it began to want a stream; 0: it wants none, or is hidden
  #wanted = false;
  #settled = false;
  /** The others that want one. @type {Map<string, {since: number, heard: number}>} by id */
  #others = new Map();
  #timer = 0;
  #changed;

  /** @param {() => void} changed is called when may has changed */
  constructor(changed) {
    this.#changed = changed;
    if (this.#channel) this.#channel.onmessage = (e) => this.#hear(e.data);
    document.addEventListener('visibilitychange', () => this.#look(document.hidden));
    window.addEventListener('pagehide', () => this.#look(true));
    window.addEventListener('pageshow', () => this.#look(document.hidden));
  }

  /** Says whether the window has a use for a stream. @param {boolean} yes */
  want(yes) {
    this.#wanted = yes;
    this.#look(document.hidden);
  }

  /** @param {boolean} hidden */
  #look(hidden) {
    const wants = this.#wanted && !hidden;
    if (wants === (this.#since > 0)) return;
    if (wants) this.#begin();
    else this.#end();
  }

  #begin() {
    this.#since = Date.now();
    this.#tell({ asks: true });
    this.#timer = window.setTimeout(() => ((this.#settled = true), this.#beat()), this.#channel ? SETTLE : 0);
  }

  #beat() {
    const now = performance.now();
    for (const [id, { heard }] of this.#others) if (now - heard > SILENT) this.#others.delete(id);
    this.#tell({});
    this.#decide();
    this.#timer = window.setTimeout(() => this.#beat(), BEAT);
  }

  #end() {
    clearTimeout(this.#timer);
    this.#tell({ gone: true });
    this.#since = 0;
    this.#settled = false;
    this.#others.clear();
    this.#decide();
  }

  /** @param {Partial<Message>} more */
  #tell(more) {
    this.#channel?.postMessage({ id: this.#id, since: this.#since, ...more });
  }

  /** @param {Message} m */
  #hear({ id, since, asks, gone }) {
    if (!this.#since) return;
    if (gone) this.#others.delete(id);
    else this.#others.set(id, { since, heard: performance.now() });
    if (asks) this.#tell({});
    this.#decide();
  }

  /** The windows that have wanted a stream for longest hold one. */
  #decide() {
    /** @param {number} since @param {string} id */
    const earlier = (since, id) => since < this.#since || (since === this.#since && id < this.#id);
    const before = [...this.#others].filter(([id, { since }]) => earlier(since, id)).length;
    const may = this.#settled && before < STREAMS;
    if (may === this.may) return;
    this.may = may;
    this.#changed();
  }
}
