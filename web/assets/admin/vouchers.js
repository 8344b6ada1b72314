// @ts-check
// Every shop's vouchers, and creating one.

import { html, useState } from '../vendor/htm-preact.js';
import { Small } from '../picture.js';
import { NewVoucher } from './form.js';
import { Foot, State, Table, Window, usePages, useFilter } from './parts.js';
import { Search } from './search.js';
import { Several, chooses, useChosen } from './several.js';
import { ShopLink } from './shops.js';

/** Milliseconds between two reads of the list while it is visible. */
const EVERY = 10_000;

/** What is done to several vouchers. @type {import('./several.js').SeveralAct[]} */
const ACTS = [
  { act: 'archive', can: (v) => !v.archiveTime && (v.type !== 1 || v.phase === 'ended' || v.saleState === 'ended'), path: (v) => `/voucher/${v.id}/archive` },
];

/** @param {any} props */
export function Vouchers({ client, words }) {
  const { t, number, money, moment } = words;
  const [filter, setFilter] = useFilter(['title', 'shopId', 'archived']);
  const [creating, setCreating] = useState(false);
  const pages = usePages(client, '/admin/voucher', { ...filter, limit: '50' }, { every: EVERY });
  const rows = pages.rows ?? [], chosen = useChosen(rows), choose = chooses(chosen, rows, t);
  const now = client.clock.now(), some = Object.values(filter).some((value) => value !== '');
  const names = { title: t('filter.title'), shopId: t('filter.shopId') };
  return html`
    <header class="head">
      <h1>${t('place.vouchers')}</h1>
      <${Search} client=${client} fields=${[{ name: 'title', label: names.title }, { name: 'shopId', label: names.shopId, numeric: true }]} filter=${filter} pages=${pages} t=${t} onSearch=${setFilter}>
        <label class="unseen" for="archived">${t('archived')}</label>
        <select id="archived" name="archived" class="small-input">${['', 'true', 'only'].map((v) => html`<option value=${v} selected=${v === filter.archived}>${t(`archived.${v || 'none'}`)}</option>`)}</select>
      <//>
      <button type="button" class="button primary small" data-act="create" onClick=${() => setCreating(true)}>${t('create')}</button>
    </header>
    <${Several} chosen=${chosen} acts=${ACTS} name=${(/** @type {any} */ v) => v.title} client=${client} words=${words} onDone=${pages.again} />
    <${Table} label=${t('place.vouchers')} rows=${rows}
      columns=${[choose.column, { label: t('voucher'), head: true }, { label: t('state') }, { label: t('shop') }, { label: t('price'), n: true }, { label: t('stock.left'), n: true }, { label: t('window') }]}
      row=${(/** @type {any} */ v) => ({ key: v.id, 'data-voucher': v.id, cells: [
        choose.cell(v, v.title),
        html`<${Small} name=${v.title} picture=${v.picture} /><a href=${`#/voucher/${v.id}`}>${v.title}</a><span class="soft"> #${v.id}</span>`,
        html`<${State} voucher=${v} t=${t} />${Date.parse(v.visibleFrom) > now && html` <span class="soft small-text">${t('hidden.until', { time: moment(v.visibleFrom) })}</span>`}`,
        html`<${ShopLink} id=${v.shopId} name=${v.shopName} t=${t} />`,
        html`${money(v.payValue)} <span class="soft">/ ${money(v.actualValue)}</span>`,
        v.type === 1 ? html`${v.stale ? '–' : number(v.stock)} <span class="soft">/ ${number(v.issued)}</span>` : '–',
        v.type === 1 ? html`<${Window} begin=${v.beginTime} end=${v.endTime} now=${now} words=${words} />` : html`<span class="soft">${t('always')}</span>`,
      ] })} />
    <${Foot} pages=${pages} t=${t} names=${names} partly=${t('vouchers.no.match.yet')} empty=${t(some ? 'vouchers.no.match' : 'vouchers.none')}
      action=${some ? html`<a class="button small" href="#/vouchers">${t('all.show')}</a>` : html`<button type="button" class="button small" data-act="create-first" onClick=${() => setCreating(true)}>${t('create')}</button>`} />
    ${creating && html`<${NewVoucher} client=${client} words=${words} onClose=${() => setCreating(false)}
      onDone=${(/** @type {any} */ v) => (location.hash = `#/voucher/${v.id}`)} />`}
  `;
}
