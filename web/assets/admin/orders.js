// @ts-check
// Every user's orders, by user, voucher and state, or one by its number; each with its history.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { Dialog } from '../shell.js';
import { Foot, Search, Table, trouble, usePages, useFilter } from './parts.js';

const STATES = ['unpaid', 'paid', 'redeemed', 'cancelled', 'refunding', 'refunded', 'failed', 'lapsed'];

/** The colour of an order's state. @type {Record<string, string>} */
const TONES = { paid: 'good', redeemed: 'good', unpaid: 'warn', refunding: 'warn', failed: 'bad' };

/** @param {any} props */
export function Orders({ client, words }) {
  const { t, time, money } = words;
  const [filter, setFilter] = useFilter(['orderId', 'userId', 'voucherId', 'status']);
  const { orderId: open, ...listed } = filter; // the order that is open is in the address, too
  const setOpen = (/** @type {string} */ orderId) => setFilter({ ...filter, orderId });
  const pages = usePages(client, '/admin/order', { ...listed, limit: '50' });
  const names = Object.fromEntries(['orderId', 'userId', 'voucherId'].map((name) => [name, t(`filter.${name}`)]));
  return html`
    <header class="head"><h1>${t('place.orders')}</h1>
      <${Search} fields=${Object.entries(names).map(([name, label]) => ({ name, label, numeric: true }))} filter=${filter} pages=${pages} t=${t} onSearch=${setFilter}>
        <label class="unseen" for="status">${t('state')}</label>
        <select id="status" name="status" class="small-input"><option value="">${t('any.state')}</option>${STATES.map((s) => html`<option value=${s} selected=${s === filter.status}>${t(`order.${s}`)}</option>`)}</select>
      <//>
    </header>
    <${Table} label=${t('place.orders')} rows=${pages.rows ?? []}
      columns=${[{ label: t('order'), head: true }, { label: t('state') }, { label: t('user'), n: true }, { label: t('voucher'), n: true }, { label: t('amount'), n: true }, { label: t('made'), kind: 'figures nowrap' }]}
      row=${(/** @type {any} */ o) => ({ key: o.id, cells: [
        html`<button type="button" class="link figures" onClick=${() => setOpen(o.id)}>${o.id}</button>`,
        html`<span class="tag ${TONES[o.status] ?? ''}">${t(`order.${o.status}`)}</span>`,
        o.userId, html`${o.quantity > 1 && `${o.quantity} × `}<a href=${`#/voucher/${o.voucherId}`}>#${o.voucherId}</a>`,
        o.amount === undefined ? '–' : money(o.amount), o.createTime ? time(o.createTime) : '–',
      ] })} />
    <${Foot} pages=${pages} t=${t} names=${names} empty=${t('orders.none')} />
    ${open && html`<${Order} id=${open} client=${client} words=${words} onClose=${() => setOpen('')} />`}
  `;
}

/** Who did something to an order: the words that are stored are the service's own. @param {string} by @param {import('../words.js').Words} words */
function actor(by, { t, has }) {
  if (has(`by.${by}`)) return t(`by.${by}`);
  const [kind, n] = by.split(' ');
  return has(`by.${kind}.n`) ? t(`by.${kind}.n`, { n }) : by;
}

/** One order with its history. @param {any} props */
function Order({ id, client, words, onClose }) {
  const { t, time, money } = words;
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  useEffect(() => void client.ask('GET', `/admin/order/${encodeURIComponent(id)}`).then(setAnswer), [id]);
  const o = answer?.success && answer.data;
  return html`<${Dialog} title=${t('order.title', { id })} closeLabel=${t('close')} onClose=${onClose}>
    ${!answer && html`<p class="soft">${t('loading')}</p>`}
    ${answer && !o && html`<p class="note warn" role="alert">${trouble(answer, t)}</p>`}
    ${o && html`<div class="stack">
      <p><span class="tag ${TONES[o.status] ?? ''}">${t(`order.${o.status}`)}</span> ${o.reason && html`<code>${o.reason}</code>`}</p>
      <p>${t('user')} ${o.userId} · ${o.quantity > 1 && `${o.quantity} × `}<a href=${`#/voucher/${o.voucherId}`}>${t('voucher')} #${o.voucherId}</a>${o.amount !== undefined && ` · ${money(o.amount)}`}</p>
      ${o.coupon && html`<p class="figures">${t('coupon')} ${o.coupon.code}${o.coupon.validUntil && html` · ${t('valid.until', { time: time(o.coupon.validUntil) })}`}${o.coupon.redeemedBy && ` · ${actor(o.coupon.redeemedBy, words)}`}</p>`}
      ${o.payments && html`<ul>${o.payments.map((/** @type {any} */ p) => html`<li class="figures">
        ${t('payment')} ${money(p.amount)} · ${t(`payment.${p.state}`)}${p.provider && html` · <span lang="en">${p.provider}</span>`} <span class="soft">${p.reference || p.paymentId}</span></li>`)}</ul>`}
      <ol class="history">${(o.history ?? []).map((/** @type {any} */ e) => html`<li><span class="figures soft">${time(e.at)}</span> <b>${t(`order.${e.status}`)}</b> <span class="soft">${[...new Set([actor(e.by, words), words.why(e)])].filter(Boolean).join(t('comma'))}</span></li>`)}</ol>
    </div>`}
  <//>`;
}
