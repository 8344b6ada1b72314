// @ts-check
// What needs a hand, what runs, what comes next, and what has ended today: the first page of the console.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { useTick } from '../shell.js';
import { countdown } from '../words.js';
import { NewVoucher } from './form.js';
import { State, Waiting, trouble } from './parts.js';
import { newsOf } from './notices.js';
import { local } from './rules.js';
import { unitsOf, vouchersOf } from './sale.js';

/** Milliseconds between two looks while the page is visible, between two checks of the next sale, and between two readings of today's money. */
const EVERY = 5_000, CHECK = 60_000, MONEY = 30_000;

/** In which looks the sales that have ended are read, too: they change little. */
const NTH = 6;

/** How many sales of a phase are looked through. */
const MANY = '100';

/** Milliseconds after which a refund that is under way needs a hand. */
const OVERDUE = 3_600_000;

/** How many of a list there are, and whether there may be more, until it is read. */
const NONE = { n: 0, more: false };

/** Milliseconds of a day. */
const DAY = 86_400_000;

/**
 * What a look came to, and the last that was answered.
 * @param {any} client
 */
function useLooks(client) {
  const [seen, set] = useState(/** @type {any} */ ({ failed: null, coming: null, running: null, ended: null, vouchers: new Map(), letters: 0, hooks: [], notices: [], refunds: NONE, stuck: NONE, disputes: NONE, parts: NONE, overdrawn: NONE, rates: {}, at: 0 }));
  useEffect(() => {
    let open = true, timer = 0, looks = 0;
    const look = async () => {
      if (!document.hidden) {
        const now = client.clock.now();
        const [coming, running, ended, letters, hooks, notices, refunds, stuck, disputes, parts, overdrawn] = await Promise.all([
          ...['coming', 'running', 'ended'].map((phase) => (phase !== 'ended' || looks % NTH === 0 ? client.list('/admin/sale', { phase, limit: MANY }) : null)),
          client.shop ? null : client.list('/admin/deadletter', { limit: '1' }), client.list('/admin/webhook'), client.shop ? null : client.list('/admin/notice'), client.list('/admin/payment', { state: 'refunding', to: new Date(now - OVERDUE).toISOString(), limit: MANY }),
          client.list('/admin/payment', { state: 'stuck', limit: MANY }), client.list('/admin/payment', { dispute: 'open', limit: MANY }),
          client.list('/admin/payment', { refund: 'failed', state: 'received', limit: MANY }), client.list('/admin/payment', { overdrawn: 'true', limit: MANY }),
        ]);
        const shown = [coming, running, ended].flatMap((answer) => (answer?.success ? answer.data.sales : [])).filter((s) => Date.parse(s.endTime) > now - DAY && Date.parse(s.beginTime) < now + DAY);
        const { vouchers, failed: unread } = await vouchersOf(client, shown);
        if (!open) return;
        looks++;
        const failed = [coming, running, ended, letters, hooks, notices, refunds, stuck, disputes, parts, overdrawn, unread].find((answer) => answer && !answer.success) ?? null;
        set((/** @type {any} */ before) => next(before, { failed, coming, running, ended, vouchers: unread ? null : vouchers, letters, hooks, notices, refunds, stuck, disputes, parts, overdrawn }, client.clock.now()));
      }
      timer = window.setTimeout(look, EVERY);
    };
    void look();
    return () => ((open = false), clearTimeout(timer));
  }, []);
  return seen;
}

/** What is known after another look; what was not answered stays. @param {any} before @param {any} got @param {number} now */
export function next(before, { failed, coming, running, ended, vouchers, letters, hooks, notices, refunds, stuck, disputes, parts, overdrawn }, now) {
  const known = (/** @type {any} */ answer, /** @type {(data: any) => any} */ take, /** @type {any} */ otherwise) => (answer?.success ? take(answer.data) : otherwise);
  const sales = known(running, (data) => data.sales, before.running);
  const sold = (/** @type {any[] | null} */ list, /** @type {number} */ id) => list?.find((s) => s.voucherId === id)?.sold;
  const seconds = (now - before.at) / 1000;
  const count = (/** @type {any[]} */ data, /** @type {any[]} */ of = data) => ({ n: of.length, more: data.length >= Number(MANY) });
  return {
    failed, at: running?.success ? now : before.at, running: sales,
    rates: !running?.success ? before.rates : Object.fromEntries(sales.map((/** @type {any} */ s) => [s.voucherId, before.at && sold(before.running, s.voucherId) !== undefined
      ? Math.max(0, Math.round((s.sold - (sold(before.running, s.voucherId) ?? 0)) / seconds)) : null])),
    coming: known(coming, (data) => [...data.sales].sort((a, b) => Date.parse(a.beginTime) - Date.parse(b.beginTime)), before.coming),
    ended: known(ended, (data) => data.sales, [...(before.running ?? []).filter((/** @type {any} */ s) => !sales.includes(s) && Date.parse(s.endTime) <= now), ...(before.ended ?? [])]),
    vouchers: vouchers ? new Map([...before.vouchers, ...vouchers]) : before.vouchers,
    letters: known(letters, () => letters.total ?? letters.data.length, before.letters),
    hooks: known(hooks, (data) => data.filter((/** @type {any} */ e) => e.disabled || e.failures > 0), before.hooks),
    notices: known(notices, (data) => newsOf(data, now), before.notices),
    refunds: known(refunds, (data) => count(data, data.filter((/** @type {any} */ p) => now - Date.parse(p.refundingTime) > OVERDUE)), before.refunds),
    stuck: known(stuck, (data) => count(data), before.stuck),
    disputes: known(disputes, (data) => count(data), before.disputes),
    parts: known(parts, (data) => count(data), before.parts),
    overdrawn: known(overdrawn, (data) => count(data), before.overdrawn),
  };
}

/**
 * The sales of a look by where they are now: the next one, those of the day after it, those that run, and those that have ended today, the last
 * one first. A sale that ends between two looks moves at once. @param {any} seen @param {number} now @param {number} since when the day began
 */
export function ofToday({ coming, running, ended }, now, since) {
  const begin = (/** @type {any} */ s) => Date.parse(s.beginTime), end = (/** @type {any} */ s) => Date.parse(s.endTime);
  const [next, ...later] = (coming ?? []).filter((/** @type {any} */ s) => begin(s) > now);
  const begun = [...(coming ?? []).filter((/** @type {any} */ s) => begin(s) <= now), ...(running ?? [])];
  const over = new Map([...begun, ...(ended ?? [])].filter((s) => end(s) <= now && end(s) >= since).map((s) => [s.voucherId, s]));
  return {
    next, later: later.filter((/** @type {any} */ s) => begin(s) < since + DAY), running: begun.filter((s) => end(s) > now),
    ended: [...over.values()].sort((a, b) => end(b) - end(a)),
  };
}

/** The beginning of the browser's day, until the service has told its own. @param {number} now */
const midnight = (now) => new Date(now).setHours(0, 0, 0, 0);

/** @param {any} props */
export function Start({ client, words }) {
  const { t, number, span } = words;
  const seen = useLooks(client), today = useToday(client);
  const [creating, setCreating] = useState(false);
  useTick(1000);
  const now = client.clock.now();
  const sales = ofToday(seen, now, today ? Date.parse(today.since) : midnight(now));
  const hands = handsOf(seen, sales.running, words);
  const line = (/** @type {any} */ s, /** @type {any} */ more) => html`<${Line} key=${s.voucherId} sale=${s} voucher=${seen.vouchers.get(s.voucherId)} words=${words}>${more}<//>`;
  return html`
    <header class="head"><h1>${t('place.start')}</h1>
      <button type="button" class="button primary small" data-act="create" onClick=${() => setCreating(true)}>${t('create.sale')}</button></header>
    ${seen.failed && html`<p class="note warn" role="status">${trouble(seen.failed, t)}</p>`}
    ${hands.length > 0 && html`<section class="panel flat" data-hands><h2>${t('start.hands')}</h2>
      <ul class="hands">${hands.map((h) => html`<li key=${h.key} data-hand=${h.key}><span>${h.text}</span> <a class="button small" href=${h.to} aria-label=${`${h.act}${t('colon')}${h.text}`}>${h.act}</a></li>`)}</ul></section>`}
    <section class="panel flat" data-running><h2>${t('start.running')}</h2>
      ${!seen.running && html`<${Waiting} t=${t} />`}
      ${seen.running && sales.running.length === 0 && html`<p class="soft">${t('start.running.none')}</p><p><a class="button small" href="#/sales">${t('place.sales')}</a></p>`}
      ${sales.running.length > 0 && html`<ul class="running">${sales.running.map((/** @type {any} */ s) => {
        const voucher = seen.vouchers.get(s.voucherId), rate = seen.rates[s.voucherId];
        return line(s, html`${rate != null && html` · <span data-rate>${t('rate', { n: number(rate) })}</span>`}${voucher && !voucher.stale && ` · ${t('start.left', { n: number(voucher.stock) })}`}`);
      })}</ul>`}</section>
    <section class="panel flat" data-next><h2>${t('start.next')}</h2>
      ${!seen.coming ? html`<${Waiting} t=${t} />` : sales.next ? html`<${Next} key=${sales.next.voucherId} sale=${sales.next} now=${now} client=${client} words=${words} />`
        : html`<p class="soft">${t('start.next.none')}</p><p><button type="button" class="button small" onClick=${() => setCreating(true)}>${t('create.sale')}</button></p>`}
      ${sales.later.length > 0 && html`<h3 class="small-text soft">${t('start.later')}</h3>
        <ul class="changes" data-later>${sales.later.map((/** @type {any} */ s) => html`<li key=${s.voucherId} data-sale=${s.voucherId}><a href=${`#/voucher/${s.voucherId}`}>${s.title}</a> <span class="soft">#${s.voucherId} · ${t('start.units', { n: number(s.issued) })} · ${span(s.beginTime, s.endTime)}</span></li>`)}</ul>`}
    </section>
    ${sales.ended.length > 0 && html`<section class="panel flat" data-ended><h2>${t('start.ended')}</h2>
      <ul class="running">${sales.ended.map((/** @type {any} */ s) => line({ ...s, phase: 'ended' }, ` · ${t('ended.at', { time: words.moment(s.endTime) })}`))}</ul></section>`}
    <${Today} today=${today} words=${words} />
    ${creating && html`<${NewVoucher} title=${t('create.sale')} client=${client} words=${words} onClose=${() => setCreating(false)} onDone=${(/** @type {any} */ v) => (location.hash = `#/voucher/${v.id}`)} />`}
  `;
}

/** A sale that has begun: its state, its money and units, and its report. @param {any} props */
function Line({ sale: s, voucher, words, children }) {
  const { t, money } = words;
  return html`<li data-sale=${s.voucherId} class="next">
    <div class="grows"><p><a href=${`#/voucher/${s.voucherId}`}><b>${s.title}</b></a> <span class="soft">#${s.voucherId}</span> <${State} voucher=${s.phase === 'ended' && !s.callOffTime ? s : voucher ?? s} t=${t} /></p>
      <p class="figures"><b>${money(s.revenue)}</b> · ${unitsOf(s, words)}${children}</p>
      <div class="bar-line" aria-hidden="true"><div style=${{ width: `${Math.round((100 * s.sold) / Math.max(1, s.issued))}%` }}></div></div></div>
    <a class="button small" data-act="report" href=${`#/report/${s.voucherId}`} aria-label=${`${t('act.report')}${t('colon')}${s.title}`}>${t('act.report')}</a>
  </li>`;
}

/** What today has brought, by the service's clock and zone; null until it is known. @param {any} client */
function useToday(client) {
  const [today, setToday] = useState(/** @type {any} */ (null));
  useEffect(() => {
    let open = true;
    const read = async () => {
      const answer = document.hidden ? null : await client.ask('GET', '/admin/today');
      if (open && answer?.success) setToday(answer.data);
    };
    void read();
    const timer = setInterval(read, MONEY);
    return () => ((open = false), clearInterval(timer));
  }, []);
  return today;
}

/** The money of today, which leads to its payments. @param {any} props */
function Today({ today, words: { t, number, money } }) {
  if (!today) return null;
  const { received, returned } = today;
  return html`<section class="panel flat today" data-today><h2>${t('start.today')} <span class="soft small-text">${today.zone}</span></h2>
    <p class="figures"><a href=${`#/payments?from=${local(today.since).slice(0, 10)}`}><b class="tile-value">${money(received.amount)}</b></a> <span class="soft">${t(received.payments > 0 ? 'start.received' : 'start.received.none', { n: number(received.payments) })}${returned.payments > 0 && ` · ${t('start.returned', { money: money(returned.amount), n: number(returned.payments) })}`}</span></p>
  </section>`;
}

/** Where payments are that need a hand. @type {Record<string, string>} */
const PAYMENTS = { refunds: 'state=refunding', stuck: 'state=stuck', disputes: 'dispute=open', parts: 'refund=failed', overdrawn: 'overdrawn=true' };

/** What needs a hand, each with where it is done. @param {any} seen @param {any[]} running @param {import('../words.js').Words} words */
function handsOf(seen, running, { t, number }) {
  const paused = running.filter((s) => seen.vouchers.get(s.voucherId)?.saleState === 'paused');
  return [
    ...paused.map((s) => ({ key: `paused-${s.voucherId}`, text: t('hand.paused', { title: s.title }), act: t('act.resume'), to: `#/voucher/${s.voucherId}` })),
    ...(seen.letters > 0 ? [{ key: 'letters', text: t('hand.letters', { n: number(seen.letters) }), act: t('look'), to: '#/deadletters' }] : []),
    ...seen.hooks.map((/** @type {any} */ e) => ({ key: `hook-${e.id}`, text: t(e.disabled ? 'hand.hook.disabled' : 'hand.hook', { url: e.url, n: number(e.failures ?? 0) }), act: t('look'), to: `#/webhook/${e.id}` })),
    ...seen.notices.map((/** @type {any} */ n) => ({ key: `notice-${n.provider}-${n.reason}`, text: t('hand.notice', { why: t(`notice.${n.reason}`), provider: n.provider || '–' }), act: t('look'), to: '#/payments' })),
    ...Object.keys(PAYMENTS).filter((key) => seen[key].n > 0).map((key) => ({ key, text: t(`hand.${key}`, { n: `${number(seen[key].n)}${seen[key].more ? '+' : ''}` }), act: t('look'), to: `#/payments?${PAYMENTS[key]}` })),
  ];
}

/** The next sale: how long it is until then, and whether it may begin. @param {any} props */
function Next({ sale, now, client, words }) {
  const { t, span, number } = words;
  const [list, setList] = useState(/** @type {any} */ (null));
  useEffect(() => {
    let open = true;
    const check = async () => {
      const answer = document.hidden ? null : await client.ask('GET', `/admin/check?voucherId=${sale.voucherId}`);
      if (open && answer?.success) setList(answer.data);
    };
    void check();
    const timer = setInterval(check, CHECK);
    return () => ((open = false), clearInterval(timer));
  }, [words.language]);
  const { days, clock } = countdown(Date.parse(sale.beginTime) - now);
  const wrong = list?.lines.filter((/** @type {any} */ l) => l.level === 'no').length ?? 0;
  return html`<div class="next">
    <div><p><a href=${`#/voucher/${sale.voucherId}`}><b>${sale.title}</b></a> <span class="soft">#${sale.voucherId} · ${t('start.units', { n: number(sale.issued) })} · ${span(sale.beginTime, sale.endTime)}</span></p>
      <p class="big figures" role="timer" aria-label=${t('begins')}>${days > 0 && `${t('days', { n: days })} `}${clock}</p></div>
    <p class="row">${list ? html`<span class="tag ${list.go ? 'good' : 'bad'}" data-verdict=${list.go ? 'go' : 'nogo'}>${t(list.go ? 'check.go' : 'check.nogo')}</span>${wrong > 0 && html`<span class="soft">${t('start.wrong', { n: number(wrong) })}</span>`}` : html`<span class="soft">${t('check.asking')}</span>`}
      <a class="button small ${list && !list.go ? 'primary' : ''}" data-act="before" href=${`#/before/${sale.voucherId}`}>${t('act.before')}</a></p>
  </div>`;
}
