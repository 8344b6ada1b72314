// @ts-check
// Every shop's vouchers, and creating one.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { NewVoucher } from './form.js';
import { Foot, State, usePages } from './parts.js';

/** Milliseconds between two reads of the list while it is visible. */
const EVERY = 10_000;

/** @param {any} props */
export function Vouchers({ client, words }) {
  const { t, number, money, moment } = words;
  const [shop, setShop] = useState('');
  const [creating, setCreating] = useState(false);
  const pages = usePages(client, '/admin/voucher', { shopId: shop, limit: '50' });
  useEffect(() => {
    const timer = setInterval(() => document.hidden || pages.rows?.length > 50 || pages.again(), EVERY);
    return () => clearInterval(timer);
  });
  /** @param {any} e */
  const search = (e) => (e.preventDefault(), setShop(String(new FormData(e.target).get('shop')).trim()));
  return html`
    <header class="head">
      <h1>${t('place.vouchers')}</h1>
      <form class="row" role="search" onSubmit=${search}>
        <label class="unseen" for="shop">${t('shop')}</label>
        <input id="shop" name="shop" class="small-input" inputmode="numeric" placeholder=${t('shop.any')} />
        <button class="button quiet small">${t('search')}</button>
      </form>
      <button type="button" class="button primary small" data-act="create" onClick=${() => setCreating(true)}>${t('create')}</button>
    </header>
    <div class="sheet" tabindex="0" role="region" aria-label=${t('place.vouchers')}>
      <table>
        <thead><tr>
          <th scope="col">${t('voucher')}</th><th scope="col">${t('state')}</th><th scope="col" class="n">${t('shop')}</th>
          <th scope="col" class="n">${t('price')}</th><th scope="col" class="n">${t('stock.left')}</th><th scope="col">${t('window')}</th>
        </tr></thead>
        <tbody>
          ${(pages.rows ?? []).map((/** @type {any} */ v) => html`<tr key=${v.id} data-voucher=${v.id}>
            <th scope="row"><a href=${`#/voucher/${v.id}`}>${v.title}</a><span class="soft"> #${v.id}</span></th>
            <td><${State} voucher=${v} t=${t} />${Date.parse(v.visibleFrom) > client.clock.now() && html` <span class="soft small-text">${t('hidden.until', { time: moment(v.visibleFrom) })}</span>`}</td>
            <td class="n">${v.shopId}</td>
            <td class="n">${money(v.payValue)} <span class="soft">/ ${money(v.actualValue)}</span></td>
            <td class="n">${v.type === 1 ? html`${number(v.stock)} <span class="soft">/ ${number(v.issued)}</span>` : '–'}</td>
            <td>${v.type === 1 ? `${moment(v.beginTime)} – ${moment(v.endTime)}` : html`<span class="soft">${t('always')}</span>`}</td>
          </tr>`)}
        </tbody>
      </table>
    </div>
    <${Foot} pages=${pages} t=${t} empty=${t('vouchers.none')} />
    ${creating && html`<${NewVoucher} client=${client} words=${words} onClose=${() => setCreating(false)}
      onDone=${(/** @type {any} */ v) => (location.hash = `#/voucher/${v.id}`)} />`}
  `;
}
