// @ts-check
// A sale as all pages show it: its units in the same words, and its state.

import { html, useEffect, useState } from '../vendor/htm-preact.js';

/**
 * What has become of a sale's units: "1 paid, 1 unpaid, of 2 units". Unpaid ones come back unless they are paid in time; money of a refund may be
 * on its way.
 * @param {{paid: number, unpaid: number, sold: number, issued?: number, voucherId?: number}} units of a sale, or of several @param {import('../words.js').Words} words
 */
export function unitsOf({ paid, unpaid, sold, issued, voucherId }, { t, number }) {
  const back = sold - paid - unpaid, waiting = t('units.unpaid', { n: number(unpaid) });
  return [
    t('units.paid', { n: number(paid) }), voucherId && unpaid > 0 ? html`<a href=${unpaidOf(voucherId)}>${waiting}</a>` : waiting, back > 0 && t('units.back', { n: number(back) }), issued !== undefined && t('units.of', { n: number(issued) }),
  ].filter(Boolean).map((part, i) => [i > 0 && t('units.comma'), part]);
}

/** Where the orders of a sale are that nobody has paid yet. @param {number} voucherId */
export const unpaidOf = (voucherId) => `#/orders?voucherId=${voucherId}&status=unpaid`;

/** Milliseconds between two readings of a sale's line at least; and the part of the time in which it may be read: while many orders are unpaid, an answer takes seconds. */
const EVERY = 5_000, PART = 0.1;

/**
 * A sale's line of GET /admin/sale, read again at intervals while it is watched: undefined until it is known, null for a rehearsal, which is in no
 * list. @param {number} id @param {any} client @param {boolean} wanted
 */
export function useLine(id, client, wanted) {
  const [line, setLine] = useState(/** @type {any} */ (undefined));
  useEffect(() => {
    if (!wanted) return undefined;
    let open = true, timer = 0;
    const read = async () => {
      const asked = performance.now();
      const answer = document.hidden ? null : await client.list('/admin/sale', { before: String(id + 1), limit: '1' });
      if (!open) return;
      if (answer?.success) setLine(answer.data.sales.find((/** @type {any} */ s) => s.voucherId === id) ?? null);
      timer = window.setTimeout(read, Math.max(EVERY, (performance.now() - asked) / PART));
    };
    void read();
    return () => ((open = false), clearTimeout(timer));
  }, [id, wanted]);
  return line;
}

/** How many vouchers are asked for at once. */
const MANY = '100';

/**
 * The vouchers of sales, by number. Those that are not among as many newest ones are asked for alone, unless the sale's line says all of its state.
 * @param {any} client @param {any[]} sales lines of GET /admin/sale @returns {Promise<{vouchers: Map<number, any>, failed: any}>}
 */
export async function vouchersOf(client, sales) {
  /** @type {Map<number, any>} */
  const vouchers = new Map();
  if (sales.length === 0) return { vouchers, failed: null };
  const page = await client.list('/admin/voucher', { before: String(Math.max(...sales.map((s) => s.voucherId)) + 1), limit: MANY });
  if (!page.success) return { vouchers, failed: page };
  for (const v of page.data) vouchers.set(v.id, v);
  const others = sales.filter((s) => !vouchers.has(s.voucherId) && s.phase !== 'ended' && !s.callOffTime);
  for (const answer of await Promise.all(others.map((s) => client.ask('GET', `/voucher/${s.voucherId}`)))) {
    if (answer.success) vouchers.set(answer.data.id, { ...answer.data, stale: answer.stale === true || answer.data.stale === true });
  }
  return { vouchers, failed: null };
}
