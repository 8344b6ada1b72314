// @ts-check
// All shops' sales at a glance: what runs, what is to come, what has ended, with units sold, paid, and revenue.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { Foot } from './parts.js';

const PHASES = ['running', 'coming', 'ended'];

/** @param {any} props */
export function Sales({ client, words }) {
  const { t, number, money, moment } = words;
  const [phase, setPhase] = useState('');
  const [page, setPage] = useState(/** @type {any} */ ({ rows: null, next: '', sums: null, answer: null }));
  /** @param {any[]} before @param {string} cursor */
  const load = async (before, cursor) => {
    const answer = await client.list('/admin/sale', { phase, before: cursor, limit: '20' });
    if (answer.success) setPage({ rows: [...before, ...answer.data.sales], next: answer.next ?? '', sums: answer.data.sums, answer });
    else setPage((/** @type {any} */ p) => ({ ...p, answer }));
  };
  useEffect(() => void load([], ''), [phase]);
  return html`
    <header class="head"><h1>${t('place.sales')}</h1>
      <div class="row"><label class="unseen" for="phase">${t('state')}</label>
        <select id="phase" class="small-input" onChange=${(/** @type {any} */ e) => setPhase(e.target.value)}>
          <option value="">${t('any.state')}</option>${PHASES.map((p) => html`<option value=${p}>${t(`phase.${p}`)}</option>`)}
        </select>
        <button type="button" class="button quiet small" onClick=${() => load([], '')}>${t('reload')}</button></div>
    </header>
    ${page.sums && html`<div class="tiles figures" role="group" aria-label=${t('place.sales')}>
      ${PHASES.map((p) => html`<div class="tile" data-tile=${p}>
        <p class="tile-label">${t(`phase.${p}`)}: ${number(page.sums[p].count)}</p>
        <p class="tile-value">${money(page.sums[p].revenue)}</p>
        <p class="tile-note">${t('sales.note', { sold: number(page.sums[p].sold), issued: number(page.sums[p].issued), paid: number(page.sums[p].paid) })}</p>
      </div>`)}
    </div>`}
    <div class="sheet" tabindex="0" role="region" aria-label=${t('place.sales')}>
      <table>
        <thead><tr><th scope="col">${t('voucher')}</th><th scope="col">${t('state')}</th><th scope="col">${t('window')}</th><th scope="col" class="n">${t('field.stock')}</th><th scope="col" class="n">${t('sold')}</th><th scope="col" class="n">${t('order.paid')}</th><th scope="col" class="n">${t('revenue')}</th></tr></thead>
        <tbody>${(page.rows ?? []).map((/** @type {any} */ s) => html`<tr key=${s.voucherId} data-sale=${s.voucherId}>
          <th scope="row"><a href=${`#/report/${s.voucherId}`}>${s.title}</a><span class="soft"> #${s.voucherId}</span></th>
          <td><span class="tag ${s.phase === 'running' ? 'good' : ''}">${t(`phase.${s.phase}`)}</span></td>
          <td>${moment(s.beginTime)} – ${moment(s.endTime)}</td>
          <td class="n">${number(s.issued)}</td><td class="n">${number(s.sold)}</td><td class="n">${number(s.paid)}</td><td class="n">${money(s.revenue)}</td>
        </tr>`)}</tbody>
      </table>
    </div>
    <${Foot} pages=${{ ...page, more: () => load(page.rows, page.next) }} t=${t} empty=${t('vouchers.none')} />
  `;
}
