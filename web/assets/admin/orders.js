// @ts-check
// Every user's orders, by user, voucher and state, or one by its number.

import { html, useState } from '../vendor/htm-preact.js';
import { NoOrder, OtherSale } from './no-order.js';
import { Order, TONES, late } from './order.js';
import { Foot, Table, VoucherLink, When, usePages, useFilter } from './parts.js';
import { Search } from './search.js';
import { OfShop } from './shops.js';
import { Several, chooses, useChosen } from './several.js';

const STATES = ['unpaid', 'paid', 'redeemed', 'cancelled', 'refunding', 'refunded', 'failed', 'lapsed'];

/** What is done to several orders. @type {import('./several.js').SeveralAct[]} */
const ACTS = [
  { act: 'cancel', danger: true, asks: true, can: (o) => o.status === 'unpaid', path: (o) => `/admin/order/${o.id}/cancel` },
  { act: 'refund', danger: true, asks: true, can: (o) => o.status === 'paid', path: (o) => `/admin/order/${o.id}/refund` },
];

/** @param {any} props */
export function Orders({ client, words }) {
  const { t, money } = words;
  const [inAddress, setAddress] = useFilter(['orderId', 'userId', 'voucherId', 'shopId', 'payment', 'from', 'to', 'status']);
  const [code, setCode] = useState(''); // it is as good as the coupon: neither the address has it nor a log
  const filter = { ...inAddress, code };
  const setFilter = (/** @type {any} */ { code: next, ...rest }) => (setCode(next), setAddress(rest));
  const { orderId: open, ...listed } = filter; // the order that is open is in the address, too
  const given = Object.keys(listed).filter((name) => filter[/** @type {'userId'} */ (name)] !== ''), some = given.length > 0;
  const ofBuyer = given.includes('userId') && given.every((name) => name === 'userId' || name === 'voucherId');
  const setOpen = (/** @type {string} */ orderId) => setFilter({ ...filter, orderId });
  // The browser's clock shows what was typed, not the server's.
  const times = Object.fromEntries(/** @type {const} */ (['from', 'to']).map((name) => [name, Number.isNaN(Date.parse(filter[name])) ? filter[name] : new Date(filter[name]).toISOString()]));
  const pages = usePages(client, '/admin/order', { ...listed, ...times, limit: '50' });
  const rows = pages.rows ?? [], chosen = useChosen(rows), choose = chooses(chosen, rows, t);
  const names = Object.fromEntries(['orderId', 'userId', 'voucherId', ...(client.shop ? [] : ['shopId']), 'payment', 'code', 'from', 'to'].map((name) => [name, t(`filter.${name}`)]));
  return html`
    <header class="head"><h1>${t('place.orders')}</h1>
      <${Search} client=${client} fields=${Object.entries(names).map(([name, label]) => ({ name, label, numeric: name.endsWith('Id') && name !== 'voucherId', time: name === 'from' || name === 'to' }))} filter=${filter} pages=${pages} t=${t} onSearch=${setFilter}>
        <label class="unseen" for="status">${t('state')}</label>
        <select id="status" name="status" class="small-input"><option value="">${t('any.state')}</option>${STATES.map((s) => html`<option value=${s} selected=${s === filter.status}>${t(`order.${s}`)}</option>`)}</select>
      <//>
      <p class="soft small-text">${t('orders.user.hint')}</p>
    </header>
    <${Several} chosen=${chosen} acts=${ACTS} name=${(/** @type {any} */ o) => o.id} client=${client} words=${words} onDone=${pages.again} />
    <${Table} label=${t('place.orders')} rows=${rows}
      columns=${[choose.column, { label: t('order'), head: true }, { label: t('state') }, { label: t('user'), n: true }, { label: t('voucher') }, { label: t('amount'), n: true }, { label: t('made'), kind: 'figures nowrap' }]}
      row=${(/** @type {any} */ o) => ({ key: o.id, cells: [
        choose.cell(o, o.id),
        html`<button type="button" class="link figures" onClick=${() => setOpen(o.id)}>${o.id}</button>`,
        html`<span class="tag ${TONES[o.status] ?? ''}">${t(`order.${o.status}`)}</span>${late(o) && html` <span class="soft small-text">${t('order.expired')}</span>`}`,
        o.userId, html`${o.quantity > 1 && `${o.quantity} × `}<${VoucherLink} of=${o} /><${OfShop} of=${o} client=${client} t=${t} />`,
        o.amount === undefined ? '–' : money(o.amount), o.createTime ? html`<${When} at=${o.createTime} words=${words} />` : '–',
      ] })} />
    ${ofBuyer && pages.answer?.success && pages.rows?.length > 0 && html`<${OtherSale} key=${`${filter.userId} ${filter.voucherId}`} userId=${filter.userId} client=${client} words=${words} />`}
    ${ofBuyer && pages.answer?.success && pages.rows?.length === 0 ? html`<${NoOrder} key=${`${filter.userId} ${filter.voucherId}`} userId=${filter.userId} voucherId=${filter.voucherId} client=${client} words=${words} />`
      : html`<${Foot} pages=${pages} t=${t} names=${names} empty=${t(!some ? 'orders.none.yet' : filter.userId ? 'orders.none.user' : 'orders.none')}
      action=${html`<a class="button small" href=${some ? '#/orders' : '#/sales'} onClick=${() => setCode('')}>${t(some ? 'all.show' : 'place.sales')}</a>`} />`}
    ${open && html`<${Order} key=${open} id=${open} client=${client} words=${words} onClose=${() => setOpen('')} onChange=${pages.again} />`}
  `;
}
