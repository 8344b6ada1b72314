// @ts-check
// What can be said of a buyer without an order: why and when they were refused, as far as it was noted, and what the sale refused, in numbers.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { Why } from '../why.js';
import { Waiting, trouble } from './parts.js';
import { REFUSALS } from './refusals.js';

/** Milliseconds for which a sale that has ended is still offered. */
const RECENT = 86_400_000;

/** How many sales of a phase are looked through. */
const MANY = '100';

/** @param {any} props voucherId is "" when it is not known which sale is meant */
export function NoOrder({ userId, voucherId, client, words }) {
  const { t } = words;
  const [report, setReport] = useState(/** @type {any} */ (null));
  const [why, setWhy] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState('');
  useEffect(() => {
    let open = true;
    if (voucherId) void client.ask('GET', `/admin/voucher/${voucherId}/report`).then((/** @type {any} */ a) => open && (a.success ? setReport(a.data) : setProblem(trouble(a, t))));
    if (voucherId) void client.ask('GET', `/admin/voucher/${voucherId}/refusals?userId=${userId}`).then((/** @type {any} */ a) => open && setWhy(a));
    return () => void (open = false);
  }, []);
  if (problem) return html`<p class="note warn" role="alert">${problem}</p>`;
  if (voucherId && !report) return html`<${Waiting} t=${t} />`;
  return html`<section class="panel flat stack" data-no-order>
    <div><h2>${report ? t('noorder.of', { user: userId, title: report.title, id: voucherId }) : t('noorder', { user: userId })}</h2>
      ${!(why?.success && why.data.firstRefusal) && html`<p>${t('noorder.says')}</p>`}</div>
    ${why && report && (why.success ? html`<${Why} why=${why.data} staff words=${words} />` : why.code !== 'NOT_SECKILL' && html`<p class="note warn">${trouble(why, t)}</p>`)}
    ${report ? html`<${Refused} report=${report} told=${why?.data?.soldOut?.length > 0} words=${words} />` : html`<${Recent} userId=${userId} client=${client} words=${words} />`}
  </section>`;
}

/** How many requests a sale refused, and why. @param {any} props told: when it was sold out is said already */
function Refused({ report: r, told, words }) {
  const { t, time, number, language } = /** @type {import('../words.js').Words} */ (words);
  const why = REFUSALS.filter(({ code }) => r.refused?.[code]);
  const guards = Object.entries(r.guards?.stopped ?? {}).filter(([, n]) => n > 0);
  return html`
    ${r.refused && !told && html`<p>${r.soldOutTime ? t('noorder.soldout', { time: time(r.soldOutTime) }) : t('noorder.soldout.never')}</p>`}
    ${why.length + guards.length > 0 ? html`<div><p class="soft small-text" id="all-refused">${t('noorder.refused', { time: time(r.at) })}</p><table class="plain figures facts" aria-labelledby="all-refused"><tbody>
      ${why.map((w) => html`<tr key=${w.code}><th scope="row">${w[language]}</th><td class="n">${number(r.refused[w.code])}</td></tr>`)}
      ${guards.map(([guard, n]) => html`<tr key=${guard}><th scope="row">${t('noorder.guard', { guard: t(`guard.${guard}`) })}</th><td class="n">${number(n)}</td></tr>`)}
    </tbody></table></div>` : r.refused && html`<p>${t('noorder.refused.none', { time: time(r.at) })}</p>`}
    <p><a class="button small" data-act="report" href=${`#/report/${r.voucherId}`}>${t('act.report')}</a></p>`;
}

/** The sales of the last day, each of which says what it refused. @param {any} props */
function Recent({ userId, client, words: { t, span } }) {
  const [seen, setSeen] = useState(/** @type {any} */ (null));
  useEffect(() => {
    let open = true;
    const read = async () => {
      const answers = await Promise.all(['running', 'ended'].map((phase) => client.list('/admin/sale', { phase, limit: MANY })));
      const found = answers.flatMap((a) => (a.success ? a.data.sales : []));
      if (open) setSeen({
        failed: answers.find((a) => !a.success),
        sales: found.filter((s) => Date.parse(s.endTime) > client.clock.now() - RECENT).sort((a, b) => Date.parse(b.beginTime) - Date.parse(a.beginTime)),
      });
    };
    void read();
    return () => void (open = false);
  }, []);
  if (!seen) return html`<${Waiting} t=${t} />`;
  const { failed, sales } = seen;
  return html`<div>${failed && html`<p class="note warn" role="alert">${trouble(failed, t)}</p>`}
    ${(sales.length > 0 || !failed) && html`<p>${t(sales.length > 0 ? 'noorder.which' : 'noorder.which.none')}</p>`}
    <ul class="changes">${sales.map((/** @type {any} */ s) => html`<li key=${s.voucherId}><a href=${`#/orders?userId=${userId}&voucherId=${s.voucherId}`}>${s.title}</a> <span class="soft">#${s.voucherId} · ${span(s.beginTime, s.endTime)}</span></li>`)}</ul></div>`;
}

/** Below the orders of a buyer: what can be said of a sale that is not among them. @param {any} props */
export function OtherSale({ userId, client, words }) {
  const { t } = words;
  const [open, setOpen] = useState(false);
  return html`<details class="panel flat" data-other-sale onToggle=${(/** @type {any} */ e) => setOpen(e.currentTarget.open)}><summary>${t('noorder.other')}</summary>
    ${open && html`<div class="stack"><p>${t('noorder.says')}</p><${Recent} userId=${userId} client=${client} words=${words} /></div>`}
  </details>`;
}
