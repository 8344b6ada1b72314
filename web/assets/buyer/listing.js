// @ts-check
// The list of what is on offer: its pages, read as one, and the order of its cards.

import { rankOf } from './state.js';

/** @typedef {import('../client.js').Voucher} Voucher */

/** Vouchers on a page. */
const PAGE = '50';

export class Listing {
  /** How many pages are shown. */
  pages = 1;
  /** Where a voucher's card stands. @type {Map<number, number[]>} by voucher */
  #ranks = new Map();

  /** @param {import('../client.js').Client} client @param {number} shopId */
  constructor(client, shopId) {
    this.client = client;
    this.shopId = shopId;
  }

  /** Reads the pages that are shown, as one list. @returns {Promise<import('../client.js').Answer>} */
  async read() {
    /** @type {Voucher[]} */
    const all = [];
    let stale = false;
    let numbersAgeSeconds = 0;
    let before = '';
    for (let page = 1; ; page++) {
      const answer = await this.client.vouchers(this.shopId, before ? { limit: PAGE, before } : { limit: PAGE });
      if (!answer.success) return answer;
      all.push(...answer.data);
      stale ||= answer.stale === true;
      numbersAgeSeconds = Math.max(numbersAgeSeconds, answer.numbersAgeSeconds ?? 0);
      before = answer.next ?? '';
      if (!before || page >= this.pages) return { ...answer, data: all, stale, numbersAgeSeconds };
    }
  }

  /**
   * Puts what can be bought first. A card keeps the rank that it had when it was first seen: none moves under a finger because
   * a sale begins, ends or is sold out.
   * @param {Voucher[]} vouchers
   */
  arrange(vouchers) {
    const now = this.client.clock.now();
    for (const v of vouchers) if (!this.#ranks.has(v.id)) this.#ranks.set(v.id, rankOf(v, now));
    const rank = (/** @type {Voucher} */ v) => this.#ranks.get(v.id) ?? [0, 0];
    return vouchers.sort((a, b) => rank(a)[0] - rank(b)[0] || rank(a)[1] - rank(b)[1]);
  }
}

/** Whether a sale sells, or begins or ended within two minutes. @param {Voucher} v @param {number} now */
export function nearSale(v, now) {
  return now > Date.parse(v.beginTime ?? '') - 120_000 && now < Date.parse(v.endTime ?? '') + 120_000;
}
