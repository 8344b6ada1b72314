// @ts-check
// All shops' sales at a glance: what runs, what is to come, what has ended, with units paid and unpaid, and revenue.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { Small } from '../picture.js';
import { NewVoucher } from './form.js';
import { Foot, State, Table, Window, useFilter } from './parts.js';
import { unitsOf, vouchersOf } from './sale.js';

const PHASES = ['running', 'coming', 'ended'];

/** @param {any} props */
export function Sales({ client, words }) {
  const { t, number, money } = words;
  const [{ phase }, setFilter] = useFilter(['phase']);
  const [creating, setCreating] = useState(false);
  const asked = useRef(/** @type {any} */ (0));
  const [page, setPage] = useState(/** @type {any} */ ({ rows: null, next: '', sums: null, answer: null }));
  /** @param {any[]} before @param {string} cursor */
  const load = async (before, cursor) => {
    const mine = ++asked.current;
    const answer = await client.list('/admin/sale', { phase, before: cursor, limit: '20' });
    const { vouchers } = await vouchersOf(client, answer.success ? answer.data.sales : []);
    if (mine !== asked.current) return; // another request was made since
    const rows = answer.success && answer.data.sales.map((/** @type {any} */ s) => ({ ...s, voucher: vouchers.get(s.voucherId) }));
    if (answer.success) setPage({ rows: [...before, ...rows], next: answer.next ?? '', sums: answer.data.sums, answer });
    else setPage((/** @type {any} */ p) => ({ ...p, rows: before.length ? p.rows : null, answer }));
  };
  useEffect(() => void load([], ''), [phase]);
  return html`
    <header class="head"><h1>${t('place.sales')}</h1>
      <div class="row"><label class="unseen" for="phase">${t('state')}</label>
        <select id="phase" class="small-input" onChange=${(/** @type {any} */ e) => setFilter({ phase: e.target.value })}>
          <option value="">${t('phase.any')}</option>${PHASES.map((p) => html`<option value=${p} selected=${p === phase}>${t(`phase.${p}`)}</option>`)}
        </select>
        <button type="button" class="button quiet small" onClick=${() => load([], '')}>${t('reload')}</button>
        <button type="button" class="button primary small" data-act="create" onClick=${() => setCreating(true)}>${t('create.sale')}</button></div>
    </header>
    <p class="soft">${t('sales.says')} <a href="#/vouchers">${t('place.vouchers')}</a>${t('stop')}</p>
    ${page.sums && html`<div class="tiles figures" role="group" aria-label=${t('place.sales')}>
      ${PHASES.map((p) => html`<div class="tile" data-tile=${p}>
        <p class="tile-label">${t(`phase.${p}`)}: ${number(page.sums[p].count)}</p>
        <p class="tile-value">${money(page.sums[p].revenue)}</p>
        <p class="tile-note">${t('sales.note')} · ${unitsOf(page.sums[p], words)}</p>
      </div>`)}
    </div>`}
    <${Table} label=${t('place.sales')} rows=${page.rows ?? []}
      columns=${[{ label: t('sale'), head: true }, { label: t('state') }, { label: t('window') }, ...['field.stock', 'order.paid', 'order.unpaid', 'revenue'].map((name) => ({ label: t(name), n: true }))]}
      row=${(/** @type {any} */ s) => ({ key: s.voucherId, 'data-sale': s.voucherId, cells: [
        html`<${Small} name=${s.title} picture=${s.voucher?.picture} /><a href=${`#/voucher/${s.voucherId}`}>${s.title}</a><span class="soft"> #${s.voucherId}</span>`,
        html`<${State} voucher=${s.voucher ?? s} t=${t} />`,
        html`<${Window} begin=${s.beginTime} end=${s.endTime} now=${client.clock.now()} words=${words} />`,
        number(s.issued), number(s.paid), number(s.unpaid), money(s.revenue),
      ] })} />
    <${Foot} pages=${{ ...page, more: () => load(page.rows, page.next) }} t=${t} empty=${t(phase ? 'sales.none.phase' : 'sales.none')}
      action=${phase ? html`<a class="button small" href="#/sales">${t('all.show')}</a>` : html`<button type="button" class="button small" onClick=${() => setCreating(true)}>${t('create.sale')}</button>`} />
    ${creating && html`<${NewVoucher} title=${t('create.sale')} client=${client} words=${words} onClose=${() => setCreating(false)} onDone=${(/** @type {any} */ v) => (location.hash = `#/voucher/${v.id}`)} />`}
  `;
}
