// @ts-check
// The orders whose event streams are open: the newest that can still change by themselves.

/** @typedef {import('../client.js').Order} Order */

/** Event streams that a page keeps open: a browser has six connections to a host, and needs some for requests. */
const STREAMS = 2;

/** States that an order leaves without its buyer. */
const CHANGING = ['queued', 'unknown', 'unpaid', 'refunding'];

export class Followed {
  /** @type {Map<string, () => void>} stops, by order */
  #stops = new Map();

  /** @param {import('../client.js').Client} client @param {(update: Order) => void} changed is called with an order's id and state */
  constructor(client, changed) {
    this.client = client;
    this.changed = changed;
  }

  /** Follows the newest of the orders that can still change, and no others. @param {Order[]} orders newest first */
  follow(orders) {
    const wanted = orders.filter((o) => CHANGING.includes(o.status)).slice(0, STREAMS);
    for (const id of this.#stops.keys()) if (!wanted.some((o) => o.id === id)) this.end(id);
    for (const { id } of wanted) if (!this.#stops.has(id)) this.#stops.set(id, this.client.follow(id, (update) => this.changed(update)));
  }

  /** @param {string} id */
  end(id) {
    this.#stops.get(id)?.();
    this.#stops.delete(id);
  }

  endAll() {
    for (const id of this.#stops.keys()) this.end(id);
  }
}
