// @ts-check
// All shops' sales at a glance: what runs, what is to come, what has ended, with units sold, paid, and revenue.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { Foot, Table, Window, useFilter } from './parts.js';

const PHASES = ['running', 'coming', 'ended'];

/** @param {any} props */
export function Sales({ client, words }) {
  const { t, number, money } = words;
  const [{ phase }, setFilter] = useFilter(['phase']);
  const asked = useRef(/** @type {any} */ (0));
  const [page, setPage] = useState(/** @type {any} */ ({ rows: null, next: '', sums: null, answer: null }));
  /** @param {any[]} before @param {string} cursor */
  const load = async (before, cursor) => {
    const mine = ++asked.current;
    const answer = await client.list('/admin/sale', { phase, before: cursor, limit: '20' });
    if (mine !== asked.current) return; // another request was made since
    if (answer.success) setPage({ rows: [...before, ...answer.data.sales], next: answer.next ?? '', sums: answer.data.sums, answer });
    else setPage((/** @type {any} */ p) => ({ ...p, rows: before.length ? p.rows : null, answer }));
  };
  useEffect(() => void load([], ''), [phase]);
  return html`
    <header class="head"><h1>${t('place.sales')}</h1>
      <div class="row"><label class="unseen" for="phase">${t('state')}</label>
        <select id="phase" class="small-input" onChange=${(/** @type {any} */ e) => setFilter({ phase: e.target.value })}>
          <option value="">${t('any.state')}</option>${PHASES.map((p) => html`<option value=${p} selected=${p === phase}>${t(`phase.${p}`)}</option>`)}
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
    <${Table} label=${t('place.sales')} rows=${page.rows ?? []}
      columns=${[{ label: t('voucher'), head: true }, { label: t('state') }, { label: t('window') }, ...['field.stock', 'sold', 'order.paid', 'revenue'].map((name) => ({ label: t(name), n: true }))]}
      row=${(/** @type {any} */ s) => ({ key: s.voucherId, 'data-sale': s.voucherId, cells: [
        html`<a href=${`#/report/${s.voucherId}`}>${s.title}</a><span class="soft"> #${s.voucherId}</span>`,
        html`<span class="tag ${s.callOffTime ? 'bad' : s.phase === 'running' ? 'good' : ''}">${t(s.callOffTime ? 'state.called_off' : `phase.${s.phase}`)}</span>`,
        html`<${Window} begin=${s.beginTime} end=${s.endTime} now=${client.clock.now()} words=${words} />`,
        number(s.issued), number(s.sold), number(s.paid), money(s.revenue),
      ] })} />
    <${Foot} pages=${{ ...page, more: () => load(page.rows, page.next) }} t=${t} empty=${t(phase ? 'sales.none.phase' : 'sales.none')}
      action=${html`<a class="button small" href=${phase ? '#/sales' : '#/start'}>${t(phase ? 'all.show' : 'place.start')}</a>`} />
  `;
}
