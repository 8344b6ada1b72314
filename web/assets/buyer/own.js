// @ts-check
// What the buyer has, before what is on offer: invitations and places of waiting lists, and orders that may still change.
// The most urgent of it stays in view with its countdown.

import { html, useEffect, useRef } from '../vendor/htm-preact.js';
import { LIVE } from '../client.js';
import { PAYABLE } from '../site.js';
import { countdown } from '../words.js';
import { One } from './orders.js';

/** @typedef {import('../client.js').Order} Order */
/** @typedef {import('../client.js').Place} Place */

/** What comes first. */
const ORDER = ['invited', 'unpaid', 'queued', 'accepted', 'refunding', 'waiting', 'paid'];

/** @param {string} state */
const rank = (state) => (ORDER.indexOf(state) + 1 || ORDER.length + 1);

/** How many things are shown before the rest is folded: what is on offer must stay near. */
const MOST = 3;

/**
 * What is at hand: places, and orders that were live when they were first seen; those that have ended since stay where they are.
 * @param {import('./shop.js').Shop} shop
 */
export function ownOf(shop) {
  const orders = shop.orders.filter((o) => LIVE.has(o.status) || shop.wasLive.has(o.id));
  const places = shop.places.open().filter((p) => p.state !== 'accepted' && shop.vouchers?.some((v) => v.id === p.voucherId));
  return [...places.map((place) => ({ place, state: place.state })), ...orders.map((order) => ({ order, state: order.status }))].sort((a, b) => rank(a.state) - rank(b.state));
}

/** @param {any} props */
export function Own({ shop, words, now }) {
  const { t } = words;
  const own = ownOf(shop);
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => stay(/** @type {HTMLElement} */ (place.current), () => shop.ordersKnown && shop.acted), []);
  /** @param {any} one */
  const item = (one) => html`<li key=${one.order?.id ?? `place-${one.place.voucherId}`}>${one.order ? html`<${One} order=${one.order} shop=${shop} words=${words} now=${now} />` : html`<${Waits} place=${one.place} shop=${shop} words=${words} now=${now} />`}</li>`;
  return html`<div ref=${place}>${own.length > 0 && html`<section class="orders own" aria-labelledby="own-title">
    <h2 id="own-title">${t('own')}</h2>
    <ul class="own-list">${own.slice(0, MOST).map(item)}</ul>
    ${own.length > MOST && html`<details class="own-more"><summary>${t('own.more', { n: own.length - MOST })}</summary><ul class="own-list">${own.slice(MOST).map(item)}</ul></details>`}
  </section>`}</div>`;
}

/**
 * Keeps what is below an element where it is when the element grows: nothing moves under a finger. It lasts until the returned function is called.
 * @param {HTMLElement} element @param {() => boolean} wanted
 */
function stay(element, wanted) {
  let before = element.offsetHeight;
  const watch = new ResizeObserver(() => { // before the page is painted
    const grown = element.offsetHeight - before;
    before += grown;
    if (grown && wanted() && element.getBoundingClientRect().top > -before) window.scrollBy({ top: grown, behavior: 'instant' });
  });
  watch.observe(element);
  return () => watch.disconnect();
}

/** A place on a waiting list. Its card has what else can be done. @param {any} props */
function Waits({ place, shop, words, now }) {
  const { t, number } = words;
  const voucher = shop.vouchers.find((/** @type {any} */ v) => v.id === place.voucherId);
  const invited = place.state === 'invited';
  const says = place.paused ? t('note.paused') : invited ? t('own.kept', { left: leftOf(place.acceptBefore, now) })
    : place.ahead === undefined ? '' : t(place.aheadMore ? 'note.ahead.more' : place.ahead > 0 ? 'note.ahead' : 'note.ahead.none', { n: number(place.ahead) });
  return html`<article class="panel order" data-place=${place.voucherId} aria-labelledby=${`place-${place.voucherId}-title`}>
    <header class="order-head"><h3 id=${`place-${place.voucherId}-title`}>${voucher.title}</h3><span class="tag ${invited ? 'warn' : ''}">${t(invited ? 'title.invited' : 'state.waiting')}</span></header>
    <p class="figures">${says}</p>
    <p><a href=${`#voucher-${place.voucherId}`}>${t('own.see')}</a></p>
  </article>`;
}

/** How much time there is, as a clock. @param {string} until @param {number} now */
const leftOf = (until, now) => countdown(Date.parse(until) - now).short;

/**
 * What cannot wait, in a bar that stays at the lower edge: an invitation, else an order to be paid; the one with the least time.
 * @param {any} props
 */
export function Urgent({ shop, words, now }) {
  const { t, money } = words;
  const title = (/** @type {number} */ id) => shop.vouchers?.find((/** @type {any} */ v) => v.id === id)?.title ?? '';
  /** @param {any[]} list @param {string} until */
  const soonest = (list, until) => list.filter((one) => Date.parse(one[until]) > now).sort((a, b) => Date.parse(a[until]) - Date.parse(b[until]))[0];
  const place = soonest(shop.places.open().filter((/** @type {Place} */ p) => p.state === 'invited' && !p.paused), 'acceptBefore');
  const order = place ? undefined : soonest(shop.orders.filter((/** @type {Order} */ o) => o.status === 'unpaid' && !o.processing && !shop.calledOff(o.voucherId) && (PAYABLE || !o.amount)), 'payBefore');
  const id = place?.voucherId ?? order?.voucherId;
  const voucher = shop.vouchers?.find((/** @type {any} */ v) => v.id === id);
  const amount = order?.amount ?? voucher?.payValue ?? 0;
  const price = amount === 0 ? t('free') : money(amount);
  const doing = place ? shop.places.doing.has(id) : order && shop.doing.get(order.id) !== undefined;
  const act = () => (doing ? undefined : place ? shop.places.accept(voucher) : shop.act('pay', order));
  useEffect(() => { document.body.classList.toggle('has-urgent', id !== undefined); }, [id !== undefined]); // the page's end stays in reach
  if (!voucher) return null;
  return html`<aside class="urgent" aria-label=${t('own.urgent')} data-urgent=${place ? 'invited' : 'unpaid'}>
    <p><b class="figures">${t(place ? 'own.kept' : 'own.pay', { left: leftOf(place ? place.acceptBefore : order.payBefore, now) })}</b> <span class="soft">${title(id)}</span></p>
    <button type="button" class="button primary" data-act="urgent" aria-disabled=${String(Boolean(doing))} onClick=${act}>${doing && html`<span class="spinner" aria-hidden="true"></span>`}${t(place ? 'state.invited' : 'pay', { price })}</button>
  </aside>`;
}
