// @ts-check
// The buyer's orders, each with its history and the actions on it.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { LIVE } from '../client.js';
import { Small } from '../picture.js';
import { Dialog } from '../shell.js';
import { PAYABLE } from '../site.js';
import { countdown } from '../words.js';

/** How each state looks. @type {Record<string, string>} */
const TONES = { queued: 'warn', unpaid: 'warn', refunding: 'warn', paid: 'good', redeemed: 'good', failed: 'bad' };

/** States in which there is something else to say of an order that cost nothing. */
const FREE = new Set(['paid', 'redeemed', 'lapsed', 'refunding', 'refunded']);

/**
 * The orders that have ended, and what is to be said where there are none.
 * @param {{shop: import('./shop.js').Shop, words: import('../words.js').Words, now: number}} props
 */
export function Orders({ shop, words, now }) {
  const { t } = words;
  const ended = shop.orders.filter((o) => !LIVE.has(o.status) && !shop.wasLive.has(o.id));
  const says = shop.orders.length > 0 || shop.ordersTrouble ? '' : t(shop.ordersKnown ? 'orders.none' : 'orders.loading');
  if (!says && !shop.ordersTrouble && ended.length === 0) return null;
  return html`<section class="orders" aria-labelledby="orders-title">
    <h2 id="orders-title">${t(ended.length > 0 ? 'orders.ended' : 'orders')}</h2>
    ${shop.ordersTrouble && html`<p class="note warn" role="status">${t(shop.ordersKnown ? 'orders.stale' : 'orders.trouble')}</p>`}
    ${says && html`<p class="soft">${says}</p>`}
    <ul class="own-list">${ended.map((order) => html`<li key=${order.id}><${One} order=${order} shop=${shop} words=${words} now=${now} /></li>`)}</ul>
  </section>`;
}

/** What calling its sale off means for the buyer's order, or for a buyer without one. @param {import('../client.js').Order} [order] */
export const offNote = (order) => (order && order.status !== 'failed' ? `note.off.${order.status}${order.amount === 0 && FREE.has(order.status) ? '.free' : ''}` : 'note.off');

/** @param {any} props */
export function One({ order, shop, words, now }) {
  const { t, has, money, moment } = words;
  const [asking, ask] = useState('');
  const voucher = shop.vouchers?.find((/** @type {any} */ v) => v.id === order.voucherId);
  const n = order.quantity ?? 1;
  const title = `${n > 1 ? `${n} × ` : ''}${voucher?.title ?? t('voucher', { id: String(order.voucherId) })}`;
  /** A text, in its form for several units where there is one. @param {string} key @param {Record<string, string>} [values] */
  const counted = (key, values) => t(n > 1 && has(`${key}.several`) ? `${key}.several` : key, { n, ...values });
  const doing = shop.doing.get(order.id);
  const refusal = shop.refusalOf(order), off = shop.calledOff(order.voucherId);
  const price = order.amount === undefined ? '' : money(order.amount);
  const gone = (order.refunds ?? []).reduce((/** @type {number} */ sum, /** @type {any} */ r) => (r.state === 'failed' ? sum : sum + r.amount), 0); // in parts
  const free = order.amount === 0 && asking === 'refund' ? '.free' : ''; // there is no money to speak of
  /** @param {'pay' | 'cancel' | 'refund'} what */
  const act = (what) => {
    ask('');
    shop.act(what, order);
  };
  return html`<article class="panel order" id=${`order-${order.id}`} aria-labelledby=${`order-${order.id}-title`} tabindex="-1">
    <header class="order-head">
      <h3 id=${`order-${order.id}-title`}>${voucher && html`<${Small} name=${voucher.title} picture=${voucher.picture} />`}${title}</h3>
      <span class="tag ${TONES[order.status] ?? ''}">${t(order.processing ? 'order.processing' : `order.${order.status}`)}</span>
    </header>
    <p class="soft order-facts">
      ${price && html`<span>${price}</span>`}
      ${order.createTime && html`<time datetime=${order.createTime}>${moment(order.createTime)}</time>`}
      <span class="order-id">${t('order', { id: order.id })}</span>
    </p>
    ${refusal && html`<p class="note bad" role="alert">${refusal.errorMsg || t('note.refused')}</p>`}
    ${off && LIVE.has(order.status) && html`<p class="note warn" data-off>${t(offNote(order))}</p>`}
    ${order.processing && !off && html`<p class="note" role="status" data-processing>${t('processing.says', { time: moment(order.payBefore) })}</p>`}
    ${order.status === 'unpaid' && !order.processing && !off && html`<p class="row">
      ${PAYABLE || !order.amount ? html`<${Act} what="pay" label=${t('pay', { price })} tone="primary" doing=${doing} onPress=${() => act('pay')} />`
        : html`<span class="note warn">${t('note.unpayable')}</span>`}
      <${Act} what="cancel" label=${t('cancel')} tone="quiet" doing=${doing} onPress=${() => ask('cancel')} />
      ${order.payBefore && html`<span class="soft figures">${t('pay.before', { left: countdown(Date.parse(order.payBefore) - now).short })}</span>`}
    </p>`}
    ${order.status === 'paid' && !off && html`<p class="row">
      ${voucher && !voucher.redeemable && html`<span class="note" data-uncoded>${t('code.none')}</span>`}
      ${(!voucher || voucher.redeemable) && html`<${Act} what="code" label=${t('code')} tone="primary" doing=${doing} onPress=${() => ask('code')} />`}
      <${Act} what="refund" label=${t(order.amount === 0 ? 'refund.free' : 'refund')} tone="quiet" doing=${doing} onPress=${() => ask('refund')} />
    </p>`}
    ${order.refunds && html`<ul class="plain" data-refunds>${order.refunds.map((/** @type {any} */ r) => html`<li class=${r.state === 'failed' ? 'note bad' : 'soft'} data-refund=${r.state}>${t(`refund.${r.state}`, { amount: money(r.amount), time: moment(r.refundTime ?? r.failTime ?? r.createTime) })}</li>`)}</ul>`}
    <${History} order=${order} words=${words} onOpen=${() => order.history || shop.readOrder(order.id)} />
    ${asking === 'code' && html`<${Code} id=${order.id} title=${title} shop=${shop} words=${words} onClose=${() => ask('')} />`}
    ${asking && asking !== 'code' && html`<${Dialog} back title=${counted(`${asking}.ask`)} closeLabel=${t('close')} onClose=${() => ask('')}>
      <div class="stack">
        <p>${counted(`${asking}.says${free}`, { price: money(Math.max(0, (order.amount ?? 0) - gone)) })}</p>
        <p class="row">
          <button type="button" class="button danger" onClick=${() => act(/** @type {any} */ (asking))}>${t(`${asking}.yes${free}`)}</button>
          <button type="button" class="button quiet" onClick=${() => ask('')}>${t('keep')}</button>
        </p>
      </div>
    <//>`}
  </article>`;
}

/**
 * The order's code, to be shown at a till. The order is read anew meanwhile, so that the page shows when it was redeemed.
 * @param {any} props
 */
function Code({ id, title, shop, words: { t, moment }, onClose }) {
  const [order, setOrder] = useState(/** @type {any} */ (null));
  const [picture, setPicture] = useState('');
  useEffect(() => {
    let open = true;
    shop.client.qr(id).then((/** @type {string} */ p) => open && setPicture(p));
    const read = async () => {
      const answer = await shop.client.order(id);
      if (!open) return;
      const paid = answer.success && answer.data.status === 'paid';
      // What was read stays while it cannot be read again: the till needs the code, not our trouble.
      setOrder((/** @type {any} */ last) => (last?.success && (!answer.success || (paid && answer.stale)) ? last : answer));
      if (answer.success && !paid) shop.readOrders();
      else setTimeout(() => open && read(), 2_000);
    };
    read();
    return () => void (open = false);
  }, [id]);
  const o = order?.success && order.data;
  const used = o && o.status !== 'paid';
  return html`<${Dialog} back title=${title} closeLabel=${t('close')} onClose=${onClose}>
    <div class="stack coupon" aria-live="polite">
      ${!order && html`<p class="soft">${t('loading')}</p>`}
      ${order && !o && html`<p class="note warn">${order.errorMsg || t('code.trouble')}</p>`}
      ${o && !o.coupon && html`<p class="note">${t(order.stale ? 'code.trouble' : 'code.none')}</p>`}
      ${used && html`<p class="note ${o.status === 'redeemed' ? 'good' : 'warn'} coupon-used">${t(`order.${o.status}`)}</p>`}
      ${o && !used && o.coupon && html`
        ${picture && html`<img class="qr" src=${picture} alt=${t('code.qr')} />`}
        <p class="coupon-code figures">${o.coupon.code}</p>
        <p class="soft">${t('code.show')}${o.coupon.validUntil && ` ${t('code.until', { time: moment(o.coupon.validUntil) })}`}</p>`}
    </div>
  <//>`;
}

/** @param {any} props */
function Act({ what, label, tone, doing, onPress }) {
  return html`<button type="button" class="button ${tone}" data-act=${what} aria-disabled=${String(doing !== undefined)} onClick=${() => doing || onPress()}>
    ${doing === what && html`<span class="spinner" aria-hidden="true"></span>`}${label}
  </button>`;
}

/** Who did something to an order and why, each once. @param {any} event @param {import('../words.js').Words} words */
function causes(event, words) {
  const { t, has } = words, { by } = event;
  const who = by.startsWith('till ') ? t('by.till') : has(`by.${by}`) ? t(`by.${by}`) : '';
  return [...new Set([who, words.why(event)])].filter(Boolean);
}

/** @param {any} props */
function History({ order, words, onOpen }) {
  const { t, time } = words;
  return html`<details class="history" onToggle=${(/** @type {any} */ e) => e.target.open && onOpen()}>
    <summary>${t('history')}</summary>
    <ol>
      ${(order.history ?? []).map((/** @type {any} */ e) => html`<li class=${TONES[e.status] ?? ''}>
        <span>${t(e.status === 'queued' ? 'event.accepted' : `order.${e.status}`)}</span>
        <span class="soft"><time datetime=${e.at}>${time(e.at)}</time>${causes(e, words).map((cause) => `, ${cause}`)}</span>
      </li>`)}
    </ol>
  </details>`;
}
