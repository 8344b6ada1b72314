// @ts-check
// The state of a voucher's one button. Nothing else decides it.

/** @typedef {import('../client.js').Voucher} Voucher */
/** @typedef {import('../client.js').Order} Order */
/** @typedef {import('../client.js').Place} Place */

import { isOpen } from './places.js';

/**
 * A press of the button that is not an order yet. asking: it was sent; again: no certain answer came, it is sent again;
 * busy: nothing was done, it is sent again; refused: it bought nothing; unknown: the outcome is not known, and pressing again finds it out;
 * ticket: it waits for the buyer's ticket; kept: it is sent at the buyer's moment, at.
 * @typedef {{phase: 'asking' | 'again' | 'busy' | 'refused' | 'unknown' | 'ticket' | 'kept', code?: string, message?: string, left?: number, at?: number}} Press
 */

/** @typedef {'preparing' | 'off_shelf' | 'paused' | 'not_started' | 'early' | 'ended' | 'sold_out' | 'grab' | 'try' | 'asking' | 'again' |
 *   'busy' | 'unknown' | 'ticket' | 'kept' | 'queued' | 'unpaid' | 'yours' | 'called_off' | 'waitable' | 'waiting' | 'invited' | 'passing' | 'accepted'} State */

/**
 * A list is a moment old, and must not have to be read again only because time has passed: begin and end are evaluated
 * here, by the server's clock. The buyer's live order comes first, because it stays theirs after the end. A stale list
 * says nothing about stock and pause: the button works, says that it is a try, and the answer to the purchase decides. Once a sale gives out tickets
 * the button works: what is pressed early is kept until the buyer's moment. An invitation of the waiting list comes before what is on
 * sale, and that before a place that only waits. An invitation whose time has passed is passing until the service says what became of it:
 * it may have been accepted at the last moment. While the sale is paused its time stands still. That the shop has called the sale off comes before everything:
 * no order of it stays.
 * @param {Voucher} voucher @param {number} now by the server's clock @param {Order} [order] the buyer's live order in this
 * sale @param {Press} [press] @param {Place} [place] the buyer's on its waiting list
 * @returns {State}
 */
export function stateOf(voucher, now, order, press, place) {
  if (voucher.saleState === 'called_off') return 'called_off';
  if (order && voucher.type === 1) {
    if (order.status === 'queued' || order.status === 'unpaid') return order.status;
    return 'yours';
  }
  if (press && press.phase !== 'refused') return press.phase;
  if (place?.state === 'accepted') return 'accepted';
  if (voucher.status !== 1 || voucher.saleState === 'off_shelf') return 'off_shelf';
  if (voucher.type === 0) return 'grab';
  if (place?.state === 'invited' && place.paused) return 'paused';
  if (place?.state === 'invited' && now < Date.parse(place.acceptBefore ?? '')) return 'invited';
  switch (voucher.saleState) {
    case 'preparing':
    case 'paused':
      if (!voucher.stale) return voucher.saleState;
      break;
    case 'ended':
      return 'ended';
    default:
  }
  if (now < Date.parse(voucher.beginTime ?? '')) return now >= Date.parse(voucher.ticketsFrom ?? '') ? 'early' : 'not_started';
  if (now >= Date.parse(voucher.endTime ?? '')) return 'ended';
  if (voucher.stale) return 'try';
  if ((voucher.stock ?? 0) > 0) return 'grab';
  if (isOpen(place)) return place?.state === 'invited' ? 'passing' : 'waiting';
  return voucher.waitlistWindowSeconds ? 'waitable' : 'sold_out';
}

/** Milliseconds until time alone changes a sale's state: it begins or ends, or its tickets do. @param {Voucher[]} vouchers @param {number} now */
export function untilChange(vouchers, now) {
  const moments = vouchers.flatMap((v) => [v.ticketsFrom, v.beginTime, v.endTime]).map((moment) => Date.parse(moment ?? ''));
  return Math.ceil(Math.min(...moments.filter((moment) => moment > now)) - now);
}

/** Which cards come first: what can be bought, what begins soonest, ordinary vouchers, what is sold out, and what is over. */
const RANKS = { grab: 0, preparing: 0, paused: 0, early: 1, not_started: 1, sold_out: 3, waitable: 3, ended: 4, off_shelf: 4, called_off: 4 };

/**
 * Where a card stands among others: lower first.
 * @param {Voucher} voucher @param {number} now by the server's clock
 */
export function rankOf(voucher, now) {
  const state = stateOf(voucher, now);
  if (voucher.type === 0 && state === 'grab') return [2, 0];
  const rank = RANKS[/** @type {keyof typeof RANKS} */ (state)] ?? 0;
  return [rank, rank === 1 ? Date.parse(voucher.beginTime ?? '') : 0];
}

/** Phases in which a press is not answered yet. */
export const UNDER_WAY = new Set(['asking', 'again', 'busy', 'ticket', 'kept']);

/** What refusals of a purchase reveal of the sale; the button then says it. @type {Record<string, Partial<Voucher>>} */
export const LEARNED = {
  SOLD_OUT: { saleState: 'sold_out', stock: 0, stale: false },
  ENDED: { saleState: 'ended' },
  CALLED_OFF: { saleState: 'called_off' },
  OFF_SHELF: { saleState: 'off_shelf' },
  PAUSED: { saleState: 'paused', stale: false },
};
