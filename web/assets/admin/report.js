// @ts-check
// What a sale has left behind: figures, what became of its orders, requests over time; to read, to print, and as files.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { announce } from '../shell.js';
import { Chart } from './chart.js';
import { Waiting, took, trouble } from './parts.js';
import { marksOf, peakOf, timelineOf } from './past.js';
import { REFUSALS } from './refusals.js';
import { GuardFigures } from './guards.js';
import { WaitlistFigures } from './waitlist.js';

/** The states of orders. Expired ones are cancelled ones that were not paid in time. */
const STATES = ['unpaid', 'paid', 'redeemed', 'lapsed', 'refunding', 'refunded', 'cancelled', 'expired', 'failed'];

/** @param {any} props */
export function Report({ id, client, words }) {
  const { t, number, money, time, language } = /** @type {import('../words.js').Words} */ (words);
  const [report, setReport] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState('');
  const [entries, setEntries] = useState(/** @type {any[]} */ ([]));
  useEffect(() => void client.list('/admin/audit', { voucherId: String(id), limit: '100' }).then((/** @type {any} */ a) => a.success && setEntries(a.data)), [id]);
  useEffect(() => void client.ask('GET', `/admin/voucher/${id}/report`).then((/** @type {any} */ a) => (a.success ? setReport(a.data) : setProblem(trouble(a, t)))), [id]);
  const last = useLast(report, client);
  if (!report) return html`<header class="head"><div><p class="crumb"><a href="#/vouchers">${t('place.vouchers')}</a></p><h1>${t('act.report')} <span class="soft">#${id}</span></h1></div></header>
    ${problem ? html`<p class="note warn" role="alert">${problem}</p>` : html`<${Waiting} t=${t} />`}`;
  const r = report;
  const sale = r.timeline !== undefined, coming = sale && Date.parse(r.beginTime) > Date.parse(r.at);
  const points = wholeOf(timelineOf(r), r), peak = peakOf(points), fast = r.p99Ms ? t('p99', { n: took(r.p99Ms, words) }) : '', marks = marksOf({ entries, soldOutTime: r.soldOutTime }, words);
  /** @param {string} name */
  const download = (name) => async () => setProblem(await save(client, `/admin/voucher/${id}/${name}.csv?xlsx=true`, `${name}-${id}.xlsx`, t));
  /** @param {string} name @param {string} label @param {any} value @param {any[]} notes */
  const tile = (name, label, value, notes) => html`<div class="tile" data-tile=${name}><p class="tile-label">${label}</p><p class="tile-value">${value}</p>${notes.map((note) => note && html`<p class="tile-note">${note}</p>`)}</div>`;
  /** The same of the shop's last sale, if there was one. @param {(report: any) => string} value */
  const than = (value) => last && t('last.sale', { id: String(last.voucherId), value: value(last) });
  const back = r.sold.units - paidOf(r) - r.orders.unpaid.units;
  const shareOf = (/** @type {any} */ of) => (of.accepted ? t('percent', { n: Math.round((100 * paidOf(of)) / of.accepted) }) : '–');
  const soldOut = (/** @type {any} */ of) => (of.soldOutSeconds === undefined ? '–' : t('seconds', { n: of.soldOutSeconds || '< 1' }));
  return html`
    <header class="head">
      <div>
        <p class="crumb"><a href="#/vouchers">${t('place.vouchers')}</a> › <a href=${`#/voucher/${id}`}>${r.title}</a></p>
        <h1>${t('report.title', { title: r.title })} <span class="soft">#${id}</span></h1>
        <p class="soft figures">${sale && `${time(r.beginTime)} – ${time(r.endTime)} · `}${t('report.at', { time: time(r.at) })}</p>
        ${last && html`<p class="soft figures" data-last>${t('last.sale.is')}: <a href=${`#/report/${last.voucherId}`}>${last.title}</a> #${last.voucherId}, ${words.span(last.beginTime, last.endTime)}</p>`}
      </div>
      <div class="row actions">
        ${['report', ...(sale ? ['timeline'] : []), 'orders'].map((name) => html`<button type="button" class="button small" data-act=${`save-${name}`} onClick=${download(name)}>${t(`save.${name}`)}</button>`)}
        <button type="button" class="button quiet small" data-act="print" onClick=${() => window.print()}>${t('print')}</button>
      </div>
    </header>
    ${r.purgedOrders && html`<p class="note" data-purged>${t('purged.report', { n: number(r.purgedOrders), time: time(r.purgeTime) })}</p>`}
    ${r.callOffTime && html`<p class="note warn" data-called-off>${t('report.called.off', { time: time(r.callOffTime), n: number(r.withdrawn) })} <a href=${`#/voucher/${id}`}>${t('report.called.off.see')}</a></p>`}
    <p class="note warn" role="alert" hidden=${problem === ''}>${problem}</p>
    <div class="tiles figures">
      ${tile('revenue', t('revenue'), money(r.revenue), [r.receivedAmount === r.revenue ? t('revenue.of') : t('revenue.other', { n: money(r.receivedAmount) }), r.returnedAmount > 0 && t('returned', { n: money(r.returnedAmount), kept: money(r.keptAmount) }), r.stuckAmount > 0 && t('report.stuck', { n: money(r.stuckAmount) }), r.closedAmount > 0 && t('report.closed', { n: money(r.closedAmount) }), than((l) => money(l.revenue))])}
      ${tile('paid', t('order.paid'), number(paidOf(r)), [[t('units.unpaid', { n: number(r.orders.unpaid.units) }), back > 0 && t('units.back', { n: number(back) }), sale && t('units.of', { n: number(r.issued) })].filter(Boolean).join(t('units.comma')), r.callOffTime && t('report.withdrawn', { n: number(r.withdrawn) }), than((l) => number(paidOf(l)))])}
      ${sale && tile('conversion', t('conversion'), shareOf(r), [t('conversion.of', { n: number(paidOf(r)), all: number(r.accepted) }), than(shareOf)])}
      ${sale && tile('soldout', t('sold.out.after'), soldOut(r), [r.soldOutTime ? time(r.soldOutTime) : t(coming ? 'sold.out.coming' : 'sold.out.never'), r.soldOutTime && than(soldOut)])}
      ${sale && tile('asked', t('asked'), number(r.asked), [than((l) => number(l.asked))])}
      ${sale && tile('accepted', t('accepted'), number(r.accepted), [t('of.requests', { n: number(r.asked) }), than((l) => number(l.accepted))])}
    </div>
    ${r.guardsUnread && html`<p class="note warn">${t('report.guards.unread')}</p>`}
    ${r.unreadableMinutes && html`<p class="note warn">${t('report.spoilt', { n: number(r.unreadableMinutes) })}</p>`}
    ${coming && html`<p class="note" data-coming>${t('report.coming', { time: time(r.beginTime) })}</p>`}
    <div class="columns">
      <section class="panel flat ${points[0].length > 0 ? 'over-time' : ''}"><h2>${t('over.time')} <span class="soft small-text">${words.zone()}</span>${peak && html` <span class="soft small-text" data-peak>· ${t('peak', { rate: number(peak.rate), time: time(peak.at * 1000) })}</span>`}${fast && html` <span class="soft small-text" data-p99>· ${fast}</span>`}</h2>
        ${points[0].length > 0
          ? html`<${Chart} points=${points} marks=${marks} words=${words} names=${{ refused: t('refused.rate'), accepted: t('accepted.rate'), p99: t('p99.rate'), describe: `${t('report.chart', { asked: number(r.asked), accepted: number(r.accepted) })} ${fast}` }} />`
          : html`<p class="soft">${t(coming ? 'chart.coming' : 'report.quiet')}</p>`}
      </section>
      <div class="stack">
        <section class="panel flat"><h2>${t('place.orders')}</h2>
          <table class="plain figures"><thead class="unseen"><tr><th scope="col">${t('state')}</th><th scope="col">${t('place.orders')}</th><th scope="col">${t('amount')}</th></tr></thead><tbody>
            ${STATES.map((s) => {
              const { orders, amount } = s === 'cancelled' ? plus(r.orders.cancelled, r.orders.expired) : r.orders[s], part = s === 'expired';
              return html`<tr key=${s} data-state=${s} class=${part ? 'of-it' : orders ? '' : 'soft'}><th scope="row">${orders && !part ? html`<a href=${`#/orders?voucherId=${id}&status=${s}`}>${t(`order.${s}`)}</a>` : t(`order.${s}`)}</th><td class="n">${number(orders)}</td><td class="n">${money(amount)}</td></tr>`;
            })}
            ${r.underWay.orders > 0 && html`<tr data-state="underWay" class="of-it"><th scope="row">${t('report.underway')}</th><td class="n">${number(r.underWay.orders)}</td><td class="n">${money(r.underWay.amount)}</td></tr>`}
            <tr data-state="all"><th scope="row"><b>${t('all.ordered')}</b></th><td class="n"><b>${number(r.recorded.orders)}</b></td><td class="n"><b>${money(r.recorded.amount)}</b></td></tr>
          </tbody></table>
        </section>
        <${GuardFigures} figures=${r.guards} words=${words} />
        <${WaitlistFigures} figures=${r.waitlist} words=${words} />
        ${sale && html`<section class="panel flat"><h2>${t('refused.why')}</h2>
          <table class="plain figures"><tbody>
            ${REFUSALS.map((w) => html`<tr key=${w.code} class=${r.refused[w.code] ? '' : 'soft'}><th scope="row">${w[language]}</th><td class="n">${number(r.refused[w.code] ?? 0)}</td></tr>`)}
          </tbody></table>
        </section>
        <${Tenths} journal=${r.journal} words=${words} />`}
      </div>
    </div>
  `;
}

/** How many tenths of a second are shown on each side of the moment at which the sale was first sold out. */
const NEAR = 50;

/** When they came who got nothing, around the moment at which nothing was left. @param {any} props */
function Tenths({ journal, words }) {
  const { t, number, exact } = words;
  if (!journal?.firstSoldOutTime || journal.tenths.length === 0) return null;
  const first = Date.parse(journal.firstSoldOutTime), zero = first - (first % 100), bars = Array(2 * NEAR).fill(0);
  for (const { at, users } of journal.tenths) {
    const i = Math.floor((Date.parse(at) - zero) / 100) + NEAR;
    if (i >= 0 && i < bars.length) bars[i] += users;
  }
  const sum = (/** @type {number[]} */ of) => of.reduce((a, b) => a + b, 0), most = Math.max(...bars);
  const says = t('tenths.says', { before: sum(bars.slice(0, NEAR)), after: sum(bars.slice(NEAR)), time: exact(first), most });
  return html`<section class="panel flat" data-tenths><h2>${t('tenths')}</h2>
    <div class="tenths" role="img" aria-label=${says}>${bars.map((n, i) => html`<span class=${i < NEAR ? '' : 'after'} title=${`${exact(zero + (i - NEAR) * 100)}: ${number(n)}`} style=${{ height: `${most ? Math.max(n > 0 ? 2 : 0, 100 * n / most) : 0}%` }}></span>`)}</div>
    <p class="soft small-text">${says}${journal.missed > 0 && ` ${t('tenths.missed', { n: journal.missed })}`}</p>
  </section>`;
}

/** @param {any} a @param {any} b */
const plus = (a, b) => ({ orders: a.orders + b.orders, amount: a.amount + b.amount });

/**
 * A timeline with nought from the sale's beginning to its end, or to now while it runs, so that the chart shows all of its time.
 * @param {any[][]} points @param {any} report
 */
export function wholeOf(points, { beginTime, endTime, at }) {
  const begin = Date.parse(beginTime) / 1000, end = Math.min(Date.parse(endTime), Date.parse(at)) / 1000;
  const first = points[0][0] > begin ? [begin, 0, 0, null] : [], last = points[0].at(-1) < end ? [end, 0, 0, null] : [];
  return points.map((column, i) => [...first.slice(i, i + 1), ...column, ...last.slice(i, i + 1)]);
}

/** Units whose orders were paid and whose money did not go back. @param {any} report */
const paidOf = ({ orders }) => ['paid', 'redeemed', 'lapsed'].reduce((n, state) => n + orders[state].units, 0);

/** The report of the shop's last sale before the reported one. @param {any} report @param {any} client */
function useLast(report, client) {
  const [last, setLast] = useState(/** @type {any} */ (null));
  useEffect(() => {
    let open = true;
    const find = async () => {
      const list = await client.list('/admin/sale', { limit: '100' });
      const before = list.success && list.data.sales.filter((/** @type {any} */ s) => s.shopId === report.shopId && s.voucherId !== report.voucherId && Date.parse(s.beginTime) < Date.parse(report.beginTime) && (s.phase === 'ended' || s.callOffTime))
        .sort((/** @type {any} */ a, /** @type {any} */ b) => Date.parse(b.beginTime) - Date.parse(a.beginTime))[0];
      const answer = before && await client.ask('GET', `/admin/voucher/${before.voucherId}/report`);
      if (open && answer?.success) setLast(answer.data);
    };
    if (report?.beginTime) void find();
    return () => void (open = false);
  }, [report]);
  return last;
}

/**
 * Saves a file. It returns what went wrong, "" for nothing: also that the file was cut off, which its missing end shows.
 * @param {any} client @param {string} path @param {string} name @param {(key: string) => string} t
 */
export async function save(client, path, name, t) {
  const file = await client.file(path);
  if (!file) return t('no.answer');
  const end = await file.slice(Math.max(0, file.size - 22), file.size - 18).text(); // where a whole workbook has its directory's end
  if (end !== 'PK\x05\x06') return t('save.cut');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  announce(t('save.done'));
  return '';
}
