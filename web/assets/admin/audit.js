// @ts-check
// Who changed what.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { Foot, usePages } from './parts.js';

/** @param {any} props */
export function Audit({ client, words }) {
  const { t } = words;
  const [filter, setFilter] = useState({ voucherId: '', adminId: '' });
  /** @param {any} e */
  const search = (e) => {
    e.preventDefault();
    const form = new FormData(e.target);
    setFilter({ voucherId: String(form.get('voucherId')).trim(), adminId: String(form.get('adminId')).trim() });
  };
  return html`
    <header class="head"><h1>${t('place.audit')}</h1>
      <form class="row" role="search" onSubmit=${search}>
        ${Object.keys(filter).map((name) => html`<label class="unseen" for=${name}>${t(`filter.${name}`)}</label>
          <input id=${name} name=${name} class="small-input" inputmode="numeric" placeholder=${t(`filter.${name}`)} />`)}
        <button class="button quiet small">${t('search')}</button>
      </form>
    </header>
    <${Trail} client=${client} words=${words} filter=${{ ...filter, limit: '30' }} version=${0} />
  `;
}

/** Entries of the audit trail. They are read again when version changes. @param {any} props */
export function Trail({ client, words, filter, version }) {
  const { t, time } = words;
  const pages = usePages(client, '/admin/audit', filter);
  useEffect(() => void (version && pages.again()), [version]);
  return html`
    <div class="sheet" tabindex="0" role="region" aria-label=${t('place.audit')}>
      <table>
        <thead><tr><th scope="col">${t('when')}</th><th scope="col">${t('who')}</th><th scope="col">${t('what')}</th><th scope="col">${t('voucher')}</th><th scope="col">${t('changes')}</th><th scope="col">${t('request')}</th></tr></thead>
        <tbody>${(pages.rows ?? []).map((/** @type {any} */ e) => html`<tr key=${e.id} data-action=${e.action}>
          <td class="figures nowrap">${time(e.at)}</td>
          <td class="nowrap">${e.adminId ? t('admin', { user: e.adminId }) : t('service')}</td>
          <td class="nowrap">${t(`action.${e.action}`)}</td>
          <td>${e.voucherId ? html`<a href=${`#/voucher/${e.voucherId}`}>#${e.voucherId}</a>` : '–'}</td>
          <td><${Changes} entry=${e} words=${words} /></td>
          <td><code title=${e.requestId}>${e.requestId.slice(0, 8) || '–'}</code></td>
        </tr>`)}</tbody>
      </table>
    </div>
    <${Foot} pages=${pages} t=${t} empty=${t('audit.none')} />
  `;
}

/** The colour of the state of a change of stock. @type {Record<string, string>} */
const OUTCOMES = { done: 'good', refused: 'bad' };

/** @param {any} props */
function Changes({ entry: e, words }) {
  const { t, number, money, time, has } = words;
  if (e.delta) return html`${e.delta > 0 ? '+' : '−'}${number(Math.abs(e.delta))} <span class="tag ${OUTCOMES[e.outcome] ?? 'warn'}">${t(`outcome.${e.outcome}`)}</span>`;
  /** @param {string} field @param {string} text */
  const value = (field, text) => {
    if (text === '') return '–';
    if (field === 'payValue' || field === 'actualValue') return money(Number(text));
    if (['beginTime', 'endTime', 'visibleFrom', 'validUntil'].includes(field)) return time(text);
    if (field === 'status') return t(text === '1' ? 'state.on_shelf' : 'state.off_shelf');
    if (field === 'paused') return t(text === 'true' ? 'yes' : 'no');
    return text;
  };
  const fresh = e.action === 'create';
  const told = fresh ? e.changes.filter((/** @type {any} */ c) => ['title', 'payValue', 'stock', 'beginTime', 'endTime'].includes(c.field)) : e.changes;
  return html`<ul class="changes">${told.map((/** @type {any} */ c) => html`<li>
    <span class="soft">${has(`field.${c.field}`) ? t(`field.${c.field}`) : c.field}</span> ${!fresh && c.from !== '' && html`<del>${value(c.field, c.from)}</del> → `}<ins>${value(c.field, c.to)}</ins></li>`)}</ul>`;
}
