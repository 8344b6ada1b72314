// @ts-check
// Who changed what.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { guardChanges } from './guard-fields.js';
import { actor } from './order.js';
import { Foot, Table, VoucherLink, When, usePages, useFilter } from './parts.js';
import { save } from './report.js';
import { Search } from './search.js';
import { ShopLink } from './shops.js';

/** @param {any} props */
export function Audit({ client, words }) {
  const { t } = words;
  const [filter, setFilter] = useFilter(['voucherId', 'adminId']);
  const pages = usePages(client, '/admin/audit', { ...filter, limit: '30' });
  const [problem, setProblem] = useState('');
  const download = async () => {
    const asked = new URLSearchParams({ ...Object.fromEntries(Object.entries(filter).filter(([, value]) => value)), xlsx: 'true' });
    setProblem(await save(client, `/admin/audit.csv?${asked}`, 'audit.xlsx', t));
  };
  return html`
    <header class="head"><h1>${t('place.audit')}</h1>
      <${Search} client=${client} fields=${Object.keys(filter).map((name) => ({ name, label: t(`filter.${name}`), numeric: name === 'adminId' }))} filter=${filter} pages=${pages} t=${t} onSearch=${setFilter}>
        <button type="button" class="button quiet small" data-act="save-audit" onClick=${download}>${t('save.audit')}</button>
      <//>
    </header>
    <p class="note warn" role="alert" hidden=${problem === ''}>${problem}</p>
    <${Entries} pages=${pages} some=${filter.voucherId !== '' || filter.adminId !== ''} words=${words} />
  `;
}

/** The audit trail of one voucher. It is read again when version changes. @param {any} props */
export function Trail({ client, words, filter, version }) {
  const pages = usePages(client, '/admin/audit', filter);
  useEffect(() => void (version && pages.again()), [version]);
  return html`<${Entries} pages=${pages} words=${words} />`;
}

/** @param {any} props some: a filter is set */
function Entries({ pages, some = false, words }) {
  const { t } = words;
  return html`
    <${Table} label=${t('place.audit')} rows=${pages.rows ?? []}
      columns=${[{ label: t('when'), kind: 'figures nowrap' }, { label: t('who') }, { label: t('what'), kind: 'nowrap' }, { label: t('audit.subject') }, { label: t('changes') }, { label: t('request') }]}
      row=${(/** @type {any} */ e) => ({ key: e.id, 'data-action': e.action, cells: [
        html`<${When} at=${e.at} words=${words} />`, html`<${Author} entry=${e} t=${t} />`, t(`action.${e.action}`),
        e.voucherId ? html`<${VoucherLink} of=${e} />` : e.shopId ? html`<${ShopLink} id=${e.shopId} name=${e.shopName} t=${t} />` : '–',
        html`<${Changes} entry=${e} words=${words} />`,
        html`<code title=${e.requestId}>${e.requestId.slice(0, 8) || '–'}</code>`,
      ] })} />
    <${Foot} pages=${pages} t=${t} names=${{ voucherId: t('filter.voucherId'), adminId: t('filter.adminId') }} empty=${t(some ? 'audit.no.match' : 'audit.none')}
      action=${some && html`<a class="button small" href="#/audit">${t('all.show')}</a>`} />
  `;
}

/** Who made an entry, and whom their provider knows them as. @param {any} props */
function Author({ entry: e, t }) {
  if (!e.adminId) return html`<span class="nowrap">${t('service')}</span>`;
  return html`<span class="nowrap">${t('admin', { user: String(e.adminId) })}</span>${e.account && html`<br /><span class="soft small-text wrap" lang="en">${e.account.subject} · ${e.account.issuer}</span>`}`;
}

/** The colour of the state of a change of stock. @type {Record<string, string>} */
const OUTCOMES = { done: 'good', refused: 'bad' };

/** Fields that are counts, and not ids. */
const COUNTS = new Set(['stock', 'perUser', 'payWithinSeconds', 'processingWithinSeconds', 'validDays', 'waitlistWindowSeconds', 'maxSales', 'maxUnits']);

/** Fields of a new voucher that are told. */
const FIRST = new Set(['title', 'payValue', 'stock', 'beginTime', 'endTime']);

/** Fields of which those of a new voucher are told if there are several. */
const SEVERAL = new Set(['perUser']);

/** @param {any} props */
function Changes({ entry: e, words }) {
  const { t, number, money, time, has } = words;
  if (e.delta) return html`${e.delta > 0 ? '+' : '−'}${number(Math.abs(e.delta))} <span class="tag ${OUTCOMES[e.outcome] ?? 'warn'}">${t(`outcome.${e.outcome}`)}</span>`;
  /** @param {string} field @param {string} text */
  const value = (field, text) => {
    if (text === '') return '–';
    if (field === 'payValue' || field === 'actualValue') return money(Number(text));
    if (['beginTime', 'endTime', 'visibleFrom', 'validUntil', 'archiveTime'].includes(field)) return time(text);
    if (COUNTS.has(field)) return number(Number(text));
    if (field === 'status') return t(text === '1' ? 'state.on_shelf' : 'state.off_shelf');
    if (field === 'orderStatus') return t(`order.${text}`);
    if (field === 'paymentState') return t(`payment.${text}`);
    if (field === 'redeemedBy') return actor(text, words);
    if (field === 'saleState') return t(`lost.mode.${text}`);
    if (field === 'paused') return t(text === 'true' ? 'yes' : 'no');
    return text;
  };
  const fresh = e.action === 'create';
  const told = fresh ? e.changes.filter((/** @type {any} */ c) => FIRST.has(c.field) || SEVERAL.has(c.field) && Number(c.to) > 1) : e.changes;
  return html`<ul class="changes">${told.map((/** @type {any} */ c) => c.field === 'guards' && guardChanges(c.from, c.to, words)?.map((g) => html`<li>
    <span class="soft">${g.name}</span> ${!fresh && html`<del>${g.from}</del> → `}<ins>${g.to}</ins></li>`) || html`<li>
    <span class="soft">${has(`field.${c.field}`) ? t(`field.${c.field}`) : c.field}</span> ${!fresh && c.from !== '' && c.from !== c.to && html`<del>${value(c.field, c.from)}</del> → `}<ins>${value(c.field, c.to)}</ins></li>`)}</ul>`;
}
