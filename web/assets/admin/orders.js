// @ts-check
// Every user's orders, by user, voucher and state, or one by its number; each with its history.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { Dialog } from '../shell.js';
import { Foot, trouble, usePages } from './parts.js';

const STATES = ['unpaid', 'paid', 'redeemed', 'cancelled', 'refunding', 'refunded', 'failed', 'lapsed'];

/** The colour of an order's state. @type {Record<string, string>} */
const TONES = { paid: 'good', redeemed: 'good', unpaid: 'warn', refunding: 'warn', failed: 'bad' };

/** @param {any} props */
export function Orders({ client, words }) {
  const { t, time, money } = words;
  const [filter, setFilter] = useState({ userId: '', voucherId: '', status: '' });
  const [open, setOpen] = useState('');
  const pages = usePages(client, '/admin/order', { ...filter, limit: '50' });
  /** @param {any} e */
  const search = (e) => {
    e.preventDefault();
    const text = (/** @type {string} */ name) => String(new FormData(e.target).get(name) ?? '').trim();
    if (text('orderId')) setOpen(text('orderId'));
    else setFilter({ userId: text('userId'), voucherId: text('voucherId'), status: text('status') });
  };
  return html`
    <header class="head"><h1>${t('place.orders')}</h1>
      <form class="row" role="search" onSubmit=${search}>
        ${['orderId', 'userId', 'voucherId'].map((name) => html`<label class="unseen" for=${name}>${t(`filter.${name}`)}</label>
          <input id=${name} name=${name} class="small-input" inputmode="numeric" placeholder=${t(`filter.${name}`)} />`)}
        <label class="unseen" for="status">${t('state')}</label>
        <select id="status" name="status" class="small-input"><option value="">${t('any.state')}</option>${STATES.map((s) => html`<option value=${s}>${t(`order.${s}`)}</option>`)}</select>
        <button class="button quiet small">${t('search')}</button>
      </form>
    </header>
    <div class="sheet" tabindex="0" role="region" aria-label=${t('place.orders')}>
      <table>
        <thead><tr><th scope="col">${t('order')}</th><th scope="col">${t('state')}</th><th scope="col" class="n">${t('user')}</th><th scope="col" class="n">${t('voucher')}</th><th scope="col" class="n">${t('amount')}</th><th scope="col">${t('made')}</th></tr></thead>
        <tbody>${(pages.rows ?? []).map((/** @type {any} */ o) => html`<tr key=${o.id}>
          <th scope="row"><button type="button" class="link figures" onClick=${() => setOpen(o.id)}>${o.id}</button></th>
          <td><span class="tag ${TONES[o.status] ?? ''}">${t(`order.${o.status}`)}</span></td>
          <td class="n">${o.userId}</td><td class="n">${o.quantity > 1 && `${o.quantity} × `}<a href=${`#/voucher/${o.voucherId}`}>#${o.voucherId}</a></td>
          <td class="n">${o.amount === undefined ? '–' : money(o.amount)}</td><td class="figures nowrap">${o.createTime ? time(o.createTime) : '–'}</td>
        </tr>`)}</tbody>
      </table>
    </div>
    <${Foot} pages=${pages} t=${t} empty=${t('orders.none')} />
    ${open && html`<${Order} id=${open} client=${client} words=${words} onClose=${() => setOpen('')} />`}
  `;
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
      <p>${t('user')} ${o.userId} · ${o.quantity > 1 && `${o.quantity} × `}<a href=${`#/voucher/${o.voucherId}`} onClick=${onClose}>${t('voucher')} #${o.voucherId}</a>${o.amount !== undefined && ` · ${money(o.amount)}`}</p>
      ${o.coupon && html`<p class="figures">${t('coupon')} ${o.coupon.code}${o.coupon.validUntil && html` · ${t('valid.until', { time: time(o.coupon.validUntil) })}`}${o.coupon.redeemedBy && html` · <span lang="en">${o.coupon.redeemedBy}</span>`}</p>`}
      ${o.payments && html`<ul>${o.payments.map((/** @type {any} */ p) => html`<li class="figures">
        ${t('payment')} ${money(p.amount)} · ${t(`payment.${p.state}`)}${p.provider && html` · <span lang="en">${p.provider}</span>`} <span class="soft">${p.reference || p.paymentId}</span></li>`)}</ul>`}
      <ol class="history">${(o.history ?? []).map((/** @type {any} */ e) => html`<li><span class="figures soft">${time(e.at)}</span> <b>${t(`order.${e.status}`)}</b> <span class="soft" lang="en">${e.by}${e.why && `, ${e.why}`}</span></li>`)}</ol>
    </div>`}
  <//>`;
}
