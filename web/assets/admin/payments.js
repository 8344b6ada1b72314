// @ts-check
// Payments: what was taken, what has gone back, and what is disputed; to find, and as a file.

import { html, useState } from '../vendor/htm-preact.js';
import { notify } from './notice.js';
import { Notices } from './notices.js';
import { Providers } from './providers.js';
import { Foot, Table, VoucherLink, When, usePages, useFilter } from './parts.js';
import { save } from './report.js';
import { RefundPart, Refunds } from './refunds.js';
import { Search } from './search.js';
import { Several, chooses, useChosen } from './several.js';
import { OfShop } from './shops.js';
import { Stuck, StuckAct } from './stuck.js';

const STATES = ['open', 'received', 'late', 'refunding', 'refunded', 'stuck', 'closed'], DISPUTES = ['open', 'won', 'lost'], REFUNDS = ['asked', 'pending', 'done', 'failed'];

/** The colours of a payment's state. @type {Record<string, string>} */
const TONES = { received: 'good', late: 'warn', refunding: 'warn', stuck: 'bad' };

/** The colours of a dispute. @type {Record<string, string>} */
const DISPUTE_TONES = { open: 'warn', won: 'good', lost: 'bad' };

/** What a filter asks the service for: its days begin and end by the browser's clock. @param {Record<string, string>} filter */
function askedBy({ from, to, ...rest }) {
  const midnight = (/** @type {string} */ day, /** @type {number} */ later) => {
    const at = new Date(`${day}T00:00:00`);
    at.setDate(at.getDate() + later);
    return Number.isNaN(at.getTime()) ? day : at.toISOString(); // the service says what is wrong with it
  };
  return { ...rest, from: from && midnight(from, 0), to: to && midnight(to, 1) };
}

/** How a payment's dispute stands; nothing without one. @param {any} props */
export function Dispute({ payment: p, words: { t, money } }) {
  if (p.dispute === 'none') return null;
  return html`<span class="tag ${DISPUTE_TONES[p.dispute] ?? ''}" data-dispute=${p.dispute}>${t(`dispute.${p.dispute}`)}${p.disputedAmount !== p.amount && ` · ${money(p.disputedAmount)}`}</span>`;
}

/** What has gone back of a payment: as refunds, and by a dispute. @param {any} p @param {import('../words.js').Words} words */
const goneOf = (p, { t, money }) => html`${p.refundedAmount ? money(p.refundedAmount) : p.lostAmount ? '' : '–'}${p.lostAmount > 0 && html` <span class="soft small-text">${t('payment.lost', { amount: money(p.lostAmount) })}</span>`}`;

/** What the provider says of an open payment; nothing if it says nothing. @param {any} props */
export function Progress({ payment: p, words: { t, time } }) {
  if (!p.progress) return null;
  return html`<span class="tag ${p.progress === 'processing' ? 'warn' : ''}" data-progress=${p.progress} title=${p.progressReason ?? ''}>${t(`progress.${p.progress}`)}${p.progressUntil && ` · ${time(p.progressUntil)}`}</span> `;
}

/** What is done to several payments. @type {import('./several.js').SeveralAct[]} */
const ACTS = [
  { act: 'retry', asks: true, can: (p) => p.state === 'stuck' && p.dispute !== 'open', path: (p) => `/admin/payment/${p.id}/retry` },
];

/** @param {any} props */
export function Payments({ client, words }) {
  const { t, money } = words;
  const [filter, setFilter] = useFilter(/** @type {string[]} */ (['payment', 'orderId', 'voucherId', 'state', 'dispute', 'refund', 'overdrawn', 'from', 'to']));
  const [problem, setProblem] = useState('');
  const [act, setAct] = useState(/** @type {any} */ (null));
  const asked = askedBy(filter), some = Object.values(filter).some((value) => value !== '');
  const pages = usePages(client, '/admin/payment', { ...asked, limit: '50' });
  const rows = pages.rows ?? [], chosen = useChosen(rows), choose = chooses(chosen, rows, t);
  const names = { payment: t('filter.reference'), orderId: t('filter.orderId'), voucherId: t('filter.voucherId') };
  const days = { from: t('filter.from'), to: t('filter.to') };
  const download = async () => {
    const query = new URLSearchParams(Object.entries({ ...asked, xlsx: 'true' }).filter(([, value]) => value !== ''));
    setProblem(await save(client, `/admin/payments.csv?${query}`, 'payments.xlsx', t));
  };
  /** @param {string} name @param {string} label @param {string} any @param {string[]} values @param {string} texts */
  const choice = (name, label, any, values, texts) => html`<label class="unseen" for=${name}>${label}</label>
    <select id=${name} name=${name} class="small-input"><option value="">${any}</option>${values.map((v) => html`<option value=${v} selected=${v === filter[name]}>${t(`${texts}.${v}`)}</option>`)}</select>`;
  return html`
    <header class="head"><h1>${t('place.payments')}</h1>
      <div class="row"><button type="button" class="button small" data-act="save-payments" onClick=${download}>${t('save.payments')}</button></div>
      <${Search} client=${client} fields=${Object.entries(names).map(([name, label]) => ({ name, label, numeric: name === 'orderId' }))} filter=${filter} pages=${pages} t=${t} onSearch=${setFilter}>
        ${choice('state', t('state'), t('any.state'), STATES, 'payment')}
        ${choice('dispute', t('dispute'), t('dispute.any'), DISPUTES, 'dispute')}
        ${choice('refund', t('refund'), t('refund.any'), REFUNDS, 'refund')}
        ${Object.entries(days).map(([name, label]) => html`<label class="row soft small-text" for=${`q-${name}`}>${label} <input id=${`q-${name}`} name=${name} type="date" class="small-input" value=${filter[name]} /></label>`)}
      <//>
    </header>
    <p class="note warn" role="alert" hidden=${problem === ''}>${problem}</p>
    <${Providers} client=${client} words=${words} />
    <${Notices} client=${client} words=${words} />
    <${Several} chosen=${chosen} acts=${ACTS} name=${(/** @type {any} */ p) => p.reference || p.id} client=${client} words=${words} onDone=${pages.again} />
    <${Table} label=${t('place.payments')} rows=${rows}
      columns=${[choose.column, { label: t('payment'), head: true }, { label: t('state') }, { label: t('order'), kind: 'figures' }, { label: t('voucher') }, { label: t('amount'), n: true }, { label: t('payment.returned'), n: true }, { label: t('payment.kept'), n: true }, { label: t('made'), kind: 'figures nowrap' }]}
      row=${(/** @type {any} */ p) => ({ key: p.id, 'data-payment': p.id, cells: [
        choose.cell(p, p.reference || p.id),
        html`<span class="figures wrap">${p.reference || p.id}</span>${p.provider && html` <span class="soft small-text" lang="en">${p.provider}</span>`}`,
        html`<span class="tag ${TONES[p.state] ?? ''}">${t(`payment.${p.state}`)}</span> <${Progress} payment=${p} words=${words} /><${Dispute} payment=${p} words=${words} /><${Stuck} payment=${p} words=${words} onAct=${(/** @type {string} */ what) => setAct({ what, payment: p })} /><${Refunds} payment=${p} words=${words} onAct=${(/** @type {string} */ what) => setAct({ what, payment: p })} />`,
        html`<a href=${`#/orders?orderId=${p.orderId}`}>${p.orderId}</a>`, html`<${VoucherLink} of=${p} /><${OfShop} of=${p} client=${client} t=${t} />`,
        money(p.amount), goneOf(p, words), p.receiveTime ? html`<span class=${p.overdrawnAmount ? 'bad' : ''} data-overdrawn=${p.overdrawnAmount ? 'yes' : 'no'}>${money(p.keptAmount)}</span>${p.overdrawnAmount && html` <span class="tag bad">${t('payment.overdrawn')}</span>`}` : '–', html`<${When} at=${p.createTime} words=${words} />`,
      ] })} />
    <${Foot} pages=${pages} t=${t} names=${{ ...names, ...days }} empty=${t(some ? 'payments.none' : 'payments.none.yet')}
      action=${some && html`<a class="button small" href="#/payments">${t('all.show')}</a>`} />
    ${act?.what === 'refund' && html`<${RefundPart} key=${act.payment.id} payment=${act.payment} client=${client} words=${words} onRefused=${pages.again} onDone=${(/** @type {string} */ says) => (notify(says), pages.again())} onClose=${() => setAct(null)} />`}
    ${act && act.what !== 'refund' && html`<${StuckAct} key=${act.payment.id} act=${act.what} payment=${act.payment} client=${client} words=${words} onRefused=${pages.again} onDone=${(/** @type {string} */ says) => (notify(says), pages.again())} onClose=${() => setAct(null)} />`}
  `;
}
