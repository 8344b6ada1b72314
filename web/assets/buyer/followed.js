// @ts-check
// The stream of the buyer's orders that can still change by themselves. It is open while the window is visible, unless others
// of the browser hold as many as it can have: then the orders are read instead, now and then.

import { Windows } from '../windows.js';

/** @typedef {import('../client.js').Order} Order */

/** States that an order leaves without its buyer. */
const CHANGING = ['queued', 'unknown', 'unpaid', 'refunding'];

/** Milliseconds between two readings where there is no stream. */
const READ = 5_000;

/** Milliseconds after which a stream is tried again that the service has refused. */
const REST = 30_000;

export class Followed {
  #windows = new Windows(() => this.#settle());
  /** Ends the stream. @type {(() => void) | null} */
  #stop = null;
  /** The orders in the stream, or that were followed when it began. @type {Set<string>} */
  #known = new Set();
  /** The orders that can change. @type {string[]} */
  #wanted = [];
  #refused = -Infinity; // when the service refused a stream last, by performance.now()
  #timer = 0;

  /**
   * @param {import('../client.js').Client} client
   * @param {{changed: (update: Order) => void, read: () => void}} on changed: an order is in this state; read: the orders have to be
   * read, as no stream tells of them
   */
  constructor(client, on) {
    this.client = client;
    this.on = on;
    document.addEventListener('visibilitychange', () => !document.hidden && this.#wanted.length > 0 && this.on.read());
  }

  /** Follows those of the orders that can still change, and no others. @param {Order[]} orders */
  follow(orders) {
    this.#wanted = orders.filter((o) => CHANGING.includes(o.status)).map((o) => o.id);
    this.#windows.want(this.#wanted.length > 0);
    this.#settle();
  }

  /** Follows none. */
  end() {
    this.follow([]);
  }

  /** Opens, renews or ends the stream, as it is needed. */
  #settle() {
    clearTimeout(this.#timer);
    const rests = performance.now() - this.#refused < REST;
    if (!this.#windows.may || rests) this.#close();
    else if (!this.#stop || this.#wanted.some((id) => !this.#known.has(id))) this.#open(); // a stream has the orders that there were at its beginning
    if (!this.#stop && this.#wanted.length > 0) this.#timer = window.setTimeout(() => this.#poll(), READ * (1 + Math.random() / 4));
  }

  #poll() {
    if (document.hidden) return this.#settle();
    this.on.read(); // which follows what it reads
  }

  #open() {
    this.#close();
    this.#known = new Set(this.#wanted);
    const changed = (/** @type {Order} */ update) => (this.#known.add(update.id), this.on.changed(update));
    this.#stop = this.client.follow(changed, (refused) => {
      this.#stop = null;
      if (refused) this.#refused = performance.now();
      this.on.read();
    });
  }

  #close() {
    this.#stop?.();
    this.#stop = null;
  }
}
