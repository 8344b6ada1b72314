// @ts-check
// One voucher: its sale's stats, live, and the actions on it.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { announce, useTick } from '../shell.js';
import { countdown } from '../words.js';
import { Actions } from './actions.js';
import { Trail } from './audit.js';
import { Balance } from './balance.js';
import { Unwinding } from './call-off.js';
import { Chart } from './chart.js';
import { Draw } from './draw.js';
import { GuardFigures, GuardsDialog, guardLine } from './guards.js';
import { State, Waiting, lag, took, trouble, useAgain } from './parts.js';
import { joined, marksOf, peakOf, total, usePast } from './past.js';
import { REFUSALS } from './refusals.js';
import { unpaidOf, useLine } from './sale.js';
import { ShopNamed } from './shops.js';
import { Waitlist } from './waitlist.js';

/** Seconds between two summaries for screen readers: numbers that change each second are not read out. */
const SUMMARY = 30;

/** States of a sale that a person decides; others come by themselves. */
const DECIDED = new Set(['paused', 'off_shelf', 'called_off']);

/** @param {any} props */
export function Live({ id, client, words }) {
  const { t, number, money, language } = /** @type {import('../words.js').Words} */ (words);
  const [voucher, setVoucher] = useState(/** @type {any} */ (null));
  const [failed, setFailed] = useState(/** @type {any} */ (null));
  const [version, setVersion] = useState(0); // raised to read again: by each action here, and by what others decide
  const [guarding, setGuarding] = useState(false); // whether their dialog is open
  const sale = useSale(id, client, voucher?.type === 1, words);
  const past = usePast(id, client, voucher?.type === 1, version);
  const line = useLine(id, client, voucher?.type === 1);
  const state = sale.now?.saleState, lost = sale.now?.lostDecision?.at, known = useRef(state);
  useEffect(() => {
    const turned = known.current && known.current !== state && (DECIDED.has(state) || DECIDED.has(known.current));
    if (lost || turned) setVersion((n) => n + 1);
    known.current = state;
  }, [state, lost]);
  const asked = useRef(/** @type {any} */ (0));
  useTick(1000);
  const read = async () => {
    const mine = ++asked.current;
    const answer = await client.ask('GET', `/voucher/${id}`);
    if (mine !== asked.current) return; // another request was made since
    setFailed(answer.success ? null : answer);
    if (answer.success) setVoucher({ ...answer.data, stale: answer.stale === true || answer.data.stale === true });
  };
  useEffect(() => void read(), [id, version]);
  useAgain(failed, read);
  if (!voucher) return html`<header class="head"><div><p class="crumb"><a href="#/vouchers">${t('place.vouchers')}</a></p><h1>#${id}</h1></div></header>
    ${failed ? html`<p class="note warn" role="alert">${trouble(failed, t)}</p>` : html`<${Waiting} t=${t} />`}`;
  const f = sale.now, points = joined(past.points, sale.points), peak = peakOf(points), fast = past.p99Ms ? t('p99', { n: took(past.p99Ms, words) }) : '';
  const units = f && unitsAt(f, line);
  const rate = (/** @type {number | null | undefined} */ n) => t('rate', { n: n == null ? '–' : number(n) });
  const shown = voucher.callOffTime ? { ...voucher, saleState: 'called_off', stale: false } : f && voucher.status === 1 ? { ...voucher, saleState: f.saleState, stale: sale.away !== '' } : voucher;
  const draw = voucher.type === 1 && html`<${Draw} voucher=${voucher} client=${client} words=${words} version=${version} onDone=${() => setVersion(version + 1)} />`;
  const changeable = !voucher.archiveTime && client.clock.now() < Date.parse(voucher.endTime);
  return html`
    <header class="head">
      <div>
        <p class="crumb"><a href="#/vouchers">${t('place.vouchers')}</a></p>
        <h1>${voucher.title} <span class="soft">#${id}</span> <${State} voucher=${shown} t=${t} /></h1>
        <p class="soft figures"><${ShopNamed} id=${voucher.shopId} client=${client} words=${words} />${voucher.subTitle && ` · ${voucher.subTitle}`}${voucher.type === 1 && ` · ${clockOf(voucher, client.clock.now(), words)}`}${Date.parse(voucher.visibleFrom) > client.clock.now() && ` · ${t('hidden.until', { time: words.time(voucher.visibleFrom) })}`}</p>
        <p class="figures" data-money>${line && html`<b>${t('revenue')} ${money(line.revenue)}</b> · `}${t('money.each', { price: money(voucher.payValue), worth: money(voucher.actualValue) })}${(voucher.perUser || voucher.type === 1) && ` · ${t('per.user', { n: voucher.perUser ?? 1 })}`}</p>
        ${f && !voucher.callOffTime && html`<p class="soft" data-guard-line>${changeable ? html`<button type="button" class="link" data-act="guard-line" onClick=${() => setGuarding(true)}>${guardLine(f.guards?.settings, words)}</button>` : guardLine(f.guards?.settings, words)}</p>`}
      </div>
      ${guarding && html`<${GuardsDialog} voucher=${shown} guards=${f?.guards?.settings ?? null} client=${client} words=${words} onClose=${() => setGuarding(false)} onDone=${() => setVersion(version + 1)} />`}
      <${Actions} voucher=${shown} client=${client} words=${words} left=${f?.stock ?? voucher.stock} guards=${f && (f.guards?.settings ?? null)} onDone=${() => setVersion(version + 1)} />
    </header>
    ${voucher.type !== 1 && html`<p class="note">${t('no.sale')}</p>`}
    ${voucher.type === 1 && sale.away && html`<p class="note warn" role="status">${t(`away.${sale.away}`)}</p>`}
    ${f?.lostDecision && html`<${LostDecision} lost=${f.lostDecision} words=${words} />`}
    ${voucher.callOffTime && html`<${Unwinding} voucher=${voucher} client=${client} words=${words} version=${version} />`}
    ${shown.saleState === 'not_started' && html`<${Coming} voucher=${voucher} now=${client.clock.now()} t=${t} />${draw}`}
    ${f && html`
      <div class="tiles figures" role="group" aria-label=${t('live')}>
        <${Tile} name="stock" label=${t(voucher.callOffTime ? 'withdrawn' : 'stock.left')} value=${number(f.stock)} note=${t('of', { n: number(f.issued) })} bar=${f.stock / Math.max(1, f.issued)} />
        <${Tile} name="paid" label=${t('order.paid')} value=${units ? number(units.paid) : '–'} note=${units?.back > 0 ? t('units.back', { n: number(units.back) }) : line ? money(line.revenue) : ''} />
        <${Tile} name="unpaid" label=${t('order.unpaid')} value=${!units ? '–' : units.unpaid > 0 ? html`<a href=${unpaidOf(voucher.id)}>${number(units.unpaid)}</a>` : number(units.unpaid)} note=${under(f, words) || rate(sale.rates.accepted)} />
        <${Tile} name="refused" label=${t('refused')} value=${number(total(f.refused))} note=${rate(sale.rates.refused)} />
        <${Tile} name="recorded" label=${t('recorded')} value=${number(f.recorded)} note=${f.stale ? t('stale') : rate(sale.rates.recorded)} tone=${f.stale ? 'warn' : ''} />
        <${Tile} name="lag" label=${t('lag')} value=${lag(f.waitingMs, words)} note=${`${t('waiting', { n: number(f.waiting) })}${f.partition ? ` · ${t('partition.n', { n: String(f.partition) })}` : ''}`} tone=${f.waitingMs > 5000 ? 'warn' : ''} />
        <${Tile} name="letters" label=${t('place.deadletters')} value=${number(f.deadLetters)} note=${f.deadLetters ? html`<a href="#/deadletters">${t('look')}</a>` : t('none')} tone=${f.deadLetters ? 'bad' : ''} />
      </div>
      <div class="columns">
        ${shown.saleState === 'not_started' && points[0].every((at) => at * 1000 > client.clock.now() - 60_000) ? html`<section class="panel flat"><h2>${t('over.time')}</h2><p class="soft">${t('chart.coming')}</p></section>` : html`<section class="panel flat over-time"><h2>${t('over.time')} <span class="soft small-text">${words.zone()}</span>${peak && html` <span class="soft small-text" data-peak>· ${t('peak', { rate: number(peak.rate), time: words.time(peak.at * 1000) })}</span>`}${fast && html` <span class="soft small-text" data-p99>· ${fast}</span>`}</h2>
          <${Chart} points=${points} marks=${marksOf(past, words)} words=${words} names=${{
            refused: t('refused.rate'), accepted: t('accepted.rate'), p99: t('p99.rate'), describe: `${t('chart.says', { accepted: number(f.accepted), refused: number(total(f.refused)), stock: number(f.stock) })} ${fast}`,
          }} />
        </section>`}
        <div class="stack">
          <${Balance} figures=${f} words=${words} />
          <section class="panel flat"><h2>${t('refused.why')}</h2>
            <table class="plain figures"><tbody>
              ${REFUSALS.map((r) => html`<tr key=${r.code} class=${f.refused[r.code] ? '' : 'soft'}><th scope="row">${r[language]}</th><td class="n">${number(f.refused[r.code] ?? 0)}</td></tr>`)}
            </tbody></table>
          </section>
        </div>
      </div>
      ${voucher.waitlistWindowSeconds && html`<${Waitlist} voucher=${voucher} client=${client} words=${words} />`}
      ${shown.saleState !== 'not_started' && draw}
      <${GuardFigures} figures=${f.guards} begin=${voucher.beginTime} now=${client.clock.now()} words=${words} />`}
    <section><h2>${t('place.audit')}</h2><${Trail} client=${client} words=${words} filter=${{ voucherId: String(id), limit: '10' }} version=${version} /></section>
  `;
}

/** A decision that the database has lost, with what either store had of the sale; what differs is bold. @param {any} props */
function LostDecision({ lost, words: { t, number, time } }) {
  const row = (/** @type {string} */ label, /** @type {(side: any) => string} */ of) => {
    const [redis, database] = [of(lost.redis), of(lost.database)];
    const cell = (/** @type {string} */ s) => html`<td>${redis === database ? s : html`<b>${s}</b>`}</td>`;
    return html`<tr><th scope="row">${label}</th>${cell(redis)}${cell(database)}</tr>`;
  };
  return html`<section class="panel flat" data-lost role="alert">
    <h2>${t('lost.title')}</h2>
    <p>${t('lost.says', { time: time(lost.at), kind: t(`lost.kind.${lost.kind ?? 'unknown'}`) })}</p>
    <table class="plain figures"><thead><tr><th scope="col">${t('sale')}</th><th scope="col">${t('lost.redis')}</th><th scope="col">${t('lost.database')}</th></tr></thead><tbody>
      ${row(t('field.saleState'), (s) => t(`lost.mode.${s.saleState ?? 'unknown'}`))}
      ${row(t('field.beginTime'), (s) => time(s.beginTime))}
      ${row(t('field.endTime'), (s) => time(s.endTime))}
      ${row(t('stock.left'), (s) => number(s.stock))}
    </tbody></table>
    <p>${t('lost.do')}</p>
  </section>`;
}

/** How long it is until a sale begins, and what to do before. @param {any} props */
function Coming({ voucher, now, t }) {
  const { days, clock } = countdown(Date.parse(voucher.beginTime) - now);
  return html`<section class="panel flat coming" data-before>
    <div><h2>${t('begins')}</h2><p class="big figures" role="timer" aria-label=${t('begins')}>${days > 0 && `${t('days', { n: days })} `}${clock}</p></div>
    <p class="soft">${t('before.says')}</p>
  </section>`;
}

/** @param {any} props */
function Tile({ name, label, value, note, bar, tone }) {
  return html`<div class="tile ${tone ?? ''}" data-tile=${name}>
    <p class="tile-label">${label}</p><p class="tile-value ${value.length > 8 ? 'long' : ''}">${value}</p><p class="tile-note">${note}</p>
    ${bar !== undefined && html`<div class="bar-line" aria-hidden="true"><div style=${{ width: `${Math.round(bar * 100)}%` }}></div></div>`}
  </div>`;
}

/**
 * What has become of the units that buyers have. While the sale runs, what is held is of this second, so orders that are not recorded yet are
 * unpaid ones, too. @param {import('./admin-client.js').Figures} f @param {any} line
 */
export function unitsAt(f, line) {
  if (line === undefined) return null;
  const { paid, unpaid, sold } = line ?? { paid: 0, unpaid: 0, sold: 0 }; // nobody pays in a rehearsal
  const back = sold - paid - unpaid;
  return { paid, back, unpaid: line && line.phase !== 'running' ? unpaid : Math.max(0, f.held - paid - back) };
}

/** Units that are neither left nor held: kept for those who wait, or on their way. With them the sum is what was issued. @param {import('./admin-client.js').Figures} f @param {import('../words.js').Words} words */
function under(f, { t, number }) {
  const n = f.issued - f.stock - f.held;
  return n > 0 && !f.stale ? t('held.not', { n: number(n) }) : '';
}

/** When a sale begins, ends, or was called off. @param {any} v @param {number} now @param {import('../words.js').Words} words */
function clockOf(v, now, { t, time, span, away }) {
  const begin = Date.parse(v.beginTime), end = Date.parse(v.endTime);
  if (v.callOffTime) return `${t('called.off.at', { time: time(v.callOffTime) })}, ${away(v.callOffTime, now)}`;
  if (now >= end) return `${t('ended.at', { time: time(end) })}, ${away(end, now)}`;
  const { days, clock } = countdown((now < begin ? begin : end) - now);
  const left = t(now < begin ? 'begins.in' : 'ends.in', { clock: days ? `${t('days', { n: days })} ${clock}` : clock });
  return `${span(begin, end)} · ${left}`;
}

/**
 * The stats of a sale as they come, their rates a second, and for the chart what each second brought since it is watched.
 * @param {number} id @param {any} client @param {boolean} wanted @param {import('../words.js').Words} words
 */
function useSale(id, client, wanted, words) {
  const [sale, set] = useState(/** @type {any} */ ({ now: null, away: '', rates: {}, seen: [], points: [[], [], [], []] }));
  const said = useRef(/** @type {any} */ ({ state: '', at: 0 }));
  const speaker = useRef(/** @type {any} */ (words));
  speaker.current = words;
  useEffect(() => {
    if (!wanted) return undefined;
    return client.watch(id, {
      /** @param {import('./admin-client.js').Figures} f */
      figures(f) {
        set((/** @type {any} */ s) => next(s, f));
        speak(f, said.current, speaker.current);
      },
      /** @param {string} why */
      away: (why) => set((/** @type {any} */ s) => ({ ...s, away: why })),
    });
  }, [id, wanted]);
  return sale;
}

/** Seconds over which rates are averaged: instances add their refusals once a second, each at a moment of its own. */
const AVERAGED = 5;

/** Seconds that are kept: the past has what was before. */
const SEEN = 600;

/** Seconds without figures that the chart shows as a gap. */
const GAP = 3;

/** A sale's stats with the next ones. @param {any} s @param {import('./admin-client.js').Figures} f */
export function next(s, f) {
  const at = Date.parse(f.at) / 1000;
  const before = s.now;
  const passed = before ? at - Date.parse(before.at) / 1000 : 0;
  if (before && passed <= 0) return { ...s, now: f, away: '' };
  const seen = [...s.seen.slice(-AVERAGED), { at, f }];
  const first = seen[0].f, over = at - seen[0].at;
  const rates = {
    // The sequence is Redis's own, read together with the time. A rebuild begins it anew.
    accepted: first.epoch === f.epoch ? perSecond(f.sequence - first.sequence, over) : null,
    refused: perSecond(total(f.refused) - total(first.refused), over),
    recorded: first.stale || f.stale ? null : perSecond(f.recorded - first.recorded, over),
  };
  // The chart has what each second brought.
  const each = before && before.epoch === f.epoch ? perSecond(f.sequence - before.sequence, passed) : null;
  const stopped = before && perSecond(total(f.refused) - total(before.refused), passed);
  const add = (/** @type {(number | null)[]} */ list, /** @type {number | null} */ n) => [...list.slice(-SEEN + 1), n];
  const more = (/** @type {any[][]} */ points, /** @type {(number | null)[]} */ second) => points.map((column, i) => add(column, second[i]));
  const points = passed > GAP ? more(s.points, [at - 1, null, null, null]) : s.points;
  return { now: f, away: '', rates, seen, points: more(points, [at, stopped, each, f.p99Ms ?? null]) };
}

/** A rate, which is not known without time, and where a count began anew. @param {number} n @param {number} seconds */
const perSecond = (n, seconds) => (seconds > 0 && n >= 0 ? Math.round(n / seconds) : null);

/**
 * Announces to screen readers that the sale's state has changed, and now and then its stats.
 * @param {import('./admin-client.js').Figures} f @param {{state: string, at: number}} said @param {import('../words.js').Words} words
 */
function speak(f, said, { t, number }) {
  const now = Date.now();
  if (said.state !== '' && said.state !== f.saleState) announce(t('tell.state', { state: t(`state.${f.saleState}`) }));
  else if (f.saleState === 'on_sale' && now - said.at > SUMMARY * 1000) announce(t('tell.figures', { accepted: number(f.accepted), stock: number(f.stock) }));
  else if (said.state !== '') return void (said.state = f.saleState);
  said.state = f.saleState;
  said.at = now;
}
