// @ts-check
// One voucher as a card: its picture, price, stock and clock, and its one button.

import { html, useState } from '../vendor/htm-preact.js';
import { BASE } from '../client.js';
import { Dialog } from '../shell.js';
import { PAYABLE } from '../site.js';
import { countdown } from '../words.js';
import { ask, canAsk } from './alerts.js';
import { Art } from './art.js';
import { offNote } from './orders.js';
import { LEARNED, UNDER_WAY, stateOf } from './state.js';
import { Stepper } from './stepper.js';
import { WhyNot } from './why-not.js';

/** States in which the button does something. */
const PRESSABLE = new Set(['early', 'grab', 'try', 'unknown', 'unpaid', 'waitable', 'invited']);

/** States in which something is under way that the buyer waits for. */
const SPINS = new Set(['asking', 'again', 'busy', 'ticket', 'queued', 'passing', 'accepted']);

/** States in which the buyer sees how many they ask for; in the second set they choose. */
const ASKS = new Set(['not_started', 'early', 'grab', 'try', 'unknown', ...UNDER_WAY]);
const CHOOSES = new Set(['not_started', 'early', 'grab', 'try']);

/** States in which the stock is not shown. */
const OVER = new Set(['ended', 'off_shelf', 'called_off']);

/** States in which a buyer without an order may want to know why. A preview has no buyer, and no session. */
const MISSED = new Set(['sold_out', 'waitable', 'ended', 'called_off']);

/**
 * @param {{voucher: import('../client.js').Voucher, shop: import('./shop.js').Shop, words: import('../words.js').Words,
 *   now: number, onPress: () => void, onJoin: () => void, onPay: (order: import('../client.js').Order) => void}} props
 */
export function Card({ voucher, shop, words, now, onPress, onJoin, onPay }) {
  const { t, money } = words;
  const order = voucher.type === 1 ? shop.liveOrder(voucher.id) : undefined;
  const press = shop.presses.get(voucher.id);
  const mine = voucher.type === 0 ? shop.liveOrders(voucher.id) : []; // of an ordinary one there may be several
  const [again, setAgain] = useState(false); // whether the buyer is asked if they want another
  const place = voucher.type === 1 ? shop.places.of(voucher.id) : undefined;
  const state = stateOf(voucher, now, order, press, place);
  const n = order ? order.quantity ?? 1 : state === 'invited' ? 1 : shop.quantity(voucher); // an invitation is one unit
  const amount = order?.amount ?? voucher.payValue * n;
  const price = amount === 0 ? t('free') : money(amount);
  const several = voucher.type === 1 && (voucher.perUser ?? 1) > 1 && ASKS.has(state);
  const id = `voucher-${voucher.id}`;
  const doing = (order !== undefined && shop.doing.get(order.id) === 'pay') || shop.places.doing.has(voucher.id);
  const unpayable = !PAYABLE && voucher.payValue > 0;
  const back = state === 'yours' && order?.status === 'refunding'; // what is given back is not theirs any more
  const pressable = PRESSABLE.has(state) && !doing && !((unpayable || order?.processing) && state === 'unpaid');
  const act = () => {
    if (!pressable) return;
    if (state === 'unpaid' && order) onPay(order);
    else if (state === 'waitable') onJoin();
    else if (state === 'invited') shop.places.accept(voucher);
    else if (mine.length > 0 && state === 'grab') setAgain(true);
    else onPress();
  };
  const ticket = voucher.ticketsFrom && !order ? shop.tickets.of(voucher.id) : undefined;
  const note = noteOf(unpayable && state === 'unpaid' ? 'unpayable' : state, press, order, words, now);
  if (state === 'called_off') Object.assign(note, { text: t(offNote(shop.orderOf(voucher.id))), tone: 'warn' });
  if (note.text === '' && mine.length > 0) Object.assign(note, { text: t(mine.length > 1 ? 'note.mine.several' : 'note.mine', { n: mine.length }), tone: 'good' });
  if (note.text === '') note.text = ticketNote(state, voucher, press, ticket, words, now);
  if (note.text === '' && !order) Object.assign(note, placeNote(state, voucher, place, shop.places.refusals.get(voucher.id), words, now));
  if (unpayable && (state === 'grab' || state === 'try' || state === 'invited') && note.text === '') Object.assign(note, { text: t('note.unpayable'), tone: 'warn' });
  return html`<article class="card is-${state}" aria-labelledby=${id}>
    <${Art} id=${voucher.id} value=${money(voucher.actualValue)} picture=${voucher.picture} />
    <div class="card-body">
      <div>
        <h2 id=${id}>${voucher.title}</h2>
        ${voucher.subTitle && html`<p class="soft">${voucher.subTitle}</p>`}
      </div>
      <${Price} voucher=${voucher} words=${words} />
      ${voucher.type === 1 && html`
        ${!OVER.has(state) && html`<${Stock} voucher=${voucher} words=${words} state=${state} />`}
        <${Clock} voucher=${voucher} words=${words} now=${now} over=${OVER.has(state)} />`}
      ${voucher.type === 0 && voucher.perUser && html`<p class="soft">${t('quantity.most', { n: voucher.perUser })}</p>`}
      ${voucher.rules && html`<details class="rules"><summary>${t('rules')}</summary><p>${voucher.rules}</p></details>`}
      ${voucher.type === 1 && !order && MISSED.has(state) && shop.session?.token && html`<${WhyNot} key=${shop.session.token} voucher=${voucher} shop=${shop} words=${words} />`}
      ${voucher.drawn && html`<p><a href=${`${BASE}/draw?voucher=${voucher.id}#${ticket?.entry ?? ''}`} target="_blank">${t('draw')}</a></p>`}
      <div class="card-act">
        ${several && html`<${Stepper} voucher=${voucher} value=${n} most=${most(voucher)} fixed=${!CHOOSES.has(state)} words=${words}
          onChange=${(/** @type {number} */ to) => shop.choose(voucher, to)} />`}
        <button type="button" class="button wide ${pressable && state !== 'try' ? 'primary' : ''} ${state === 'yours' && !back ? 'good' : ''}" data-state=${state}
          aria-disabled=${String(!pressable)} aria-describedby=${`${id} ${id}-note`} onClick=${act}>
          ${(SPINS.has(state) || doing) && html`<span class="spinner" aria-hidden="true"></span>`}
          ${state === 'yours' && !back && html`<span aria-hidden="true">✓</span>`}
          ${t(back ? 'order.refunding' : mine.length > 0 && state === 'grab' ? 'state.buy.another' : label(voucher, state === 'unpaid' && (unpayable || order?.processing) ? (order?.processing ? 'processing' : 'yours') : state, n), { price, n, left: countdown((press?.at ?? now) - now).short })}
        </button>
        ${ticket?.phase === 'solving' && html`<${Work} ticket=${ticket} t=${t} />`}
        <p class="card-note ${note.tone}" id=${`${id}-note`}>${note.text}${(order ?? mine[0]) && html` <a href=${`#order-${(order ?? mine[0]).id}`}>${t('see.order')}</a>`}</p>
        ${(state === 'kept' || state === 'ticket') && html`<button type="button" class="button quiet" data-act="withdraw" onClick=${() => shop.withdraw(voucher)}>${t('withdraw')}</button>`}
        ${again && html`<${Another} n=${mine.length} price=${money(amount)} t=${t} onClose=${() => setAgain(false)} onYes=${onPress} />`}
        ${state === 'waiting' && html`<label class="pick"><input type="checkbox" data-act="standing" checked=${place?.standing} disabled=${doing} onChange=${(/** @type {any} */ e) => shop.places.say(voucher, e.currentTarget.checked)} /> ${t('standing')}</label>`}
        ${state === 'waiting' && canAsk() && html`<${Notify} t=${t} />`}
        ${(state === 'waiting' || state === 'invited') && html`<${Leave} state=${state} doing=${doing} t=${t} onLeave=${() => shop.places.leave(voucher)} />`}
      </div>
    </div>
  </article>`;
}

/** How many units a press can have: more than are left are refused, unless some come back. @param {import('../client.js').Voucher} voucher */
function most({ perUser = 1, stock = 0, stale }) {
  return stale || stock <= 0 ? perUser : Math.min(perUser, stock);
}

/** The text on the button. @param {import('../client.js').Voucher} voucher @param {string} state @param {number} n units */
function label(voucher, state, n) {
  if (state === 'try') return n > 1 ? 'state.try.several' : 'state.try';
  if (state !== 'grab') return `state.${state}`;
  if (voucher.type === 0) return 'state.buy';
  return n > 1 ? 'state.grab.several' : 'state.grab';
}

/** The line below the button. @returns {{text: string, tone: string}} */
function noteOf(/** @type {string} */ state, /** @type {any} */ press, /** @type {any} */ order, /** @type {any} */ { t }, /** @type {number} */ now) {
  if (state === 'unpaid' && order.processing) return { text: t('note.processing'), tone: 'soft' };
  if (state === 'unpaid' && order.payBefore) {
    return { text: t('note.unpaid', { left: countdown(Date.parse(order.payBefore) - now).short }), tone: 'warn' };
  }
  if (['unknown', 'again', 'busy', 'unpayable'].includes(state)) return { text: t(`note.${state}`), tone: 'warn' };
  if (press?.phase === 'refused' && press.left && state === 'grab') {
    return { text: t('note.few', { left: press.left }), tone: 'warn' };
  }
  if (press?.phase === 'refused' && !Object.hasOwn(LEARNED, press.code) && (state === 'grab' || state === 'try' || state === 'early')) {
    return { text: press.message || t('note.refused'), tone: 'bad' };
  }
  if (state === 'try') return { text: t('note.try'), tone: 'warn' };
  if (state === 'queued') return { text: t('note.queued'), tone: 'good' };
  if (['paused', 'sold_out'].includes(state)) return { text: t(`note.${state}`), tone: 'soft' };
  return { text: '', tone: '' };
}

/** What is to be said of the waiting list. @returns {{text: string, tone: string}} */
function placeNote(/** @type {string} */ state, /** @type {any} */ voucher, /** @type {any} */ place, /** @type {any} */ refusal, /** @type {any} */ { t, number }, /** @type {number} */ now) {
  const within = duration(voucher.waitlistWindowSeconds, t);
  if (refusal && (state === 'waitable' || state === 'waiting' || state === 'invited')) return { text: refusal.errorMsg || t('note.refused'), tone: 'bad' };
  if (state === 'invited') return { text: t(place.missed > 0 ? 'note.invited.last' : 'note.invited', { left: countdown(Date.parse(place.acceptBefore) - now).short }), tone: 'warn' };
  if (state === 'waiting') {
    const ahead = place.ahead === undefined ? '' : t(place.aheadMore ? 'note.ahead.more' : place.ahead > 0 ? 'note.ahead' : 'note.ahead.none', { n: number(place.ahead) });
    const then = place.standing ? 'note.waiting.standing' : place.missed > 0 ? 'note.waiting.missed' : 'note.waiting';
    return { text: `${ahead} ${t(then, { within })}`, tone: place.missed > 0 && !place.standing ? 'warn' : 'soft' };
  }
  if (state !== 'waitable') return { text: '', tone: '' };
  if (place?.state === 'missed' || place?.state === 'refused') return { text: t(`note.place.${place.state}`), tone: 'warn' };
  return { text: t('note.waitable', { within }), tone: 'soft' };
}

/** Seconds in words. @param {number} seconds @param {import('../words.js').Words['t']} t */
const duration = (seconds, t) => (seconds % 60 === 0 ? t('minutes', { n: seconds / 60 }) : t('seconds', { n: seconds }));

/** Leaves the waiting list, or declines its invitation, when the buyer has said so twice: the place is lost then. @param {any} props */
function Leave({ state, doing, t, onLeave }) {
  const [asking, ask] = useState(false);
  const name = state === 'invited' ? 'decline' : 'leave';
  return html`<button type="button" class="button quiet" data-act=${name} aria-disabled=${String(doing)} onClick=${() => doing || ask(true)}>${t(name)}</button>
    ${asking && html`<${Dialog} back title=${t(`${name}.ask`)} closeLabel=${t('close')} onClose=${() => ask(false)}>
      <div class="stack">
        <p>${t(`${name}.says`)}</p>
        <p class="row">
          <button type="button" class="button danger" onClick=${() => (ask(false), onLeave())}>${t(name)}</button>
          <button type="button" class="button quiet" onClick=${() => ask(false)}>${t('keep')}</button>
        </p>
      </div>
    <//>`}`;
}

/** Offers a notification for when it is the buyer's turn. @param {any} props */
function Notify({ t }) {
  const [, decided] = useState('');
  return html`<button type="button" class="button quiet" data-act="notify" onClick=${async () => decided(await ask())}>${t('notify')}</button>`;
}

/** Asks before a buyer buys another one of what they have. @param {any} props */
function Another({ n, price, t, onClose, onYes }) {
  return html`<${Dialog} back title=${t('another.ask')} closeLabel=${t('close')} onClose=${onClose}>
    <div class="stack">
      <p>${t(n > 1 ? 'another.says.several' : 'another.says', { n, price })}</p>
      <p class="row">
        <button type="button" class="button primary" data-act="another" onClick=${() => (onClose(), onYes())}>${t('state.buy.another', { price })}</button>
        <button type="button" class="button quiet" onClick=${onClose}>${t('another.no')}</button>
      </p>
    </div>
  <//>`;
}

/** What is to be said of the buyer's ticket. */
function ticketNote(/** @type {string} */ state, /** @type {any} */ voucher, /** @type {any} */ press, /** @type {any} */ ticket, /** @type {any} */ { t, moment, tenths }, /** @type {number} */ now) {
  if (!voucher.ticketsFrom) return '';
  if (state === 'kept') return t('note.kept');
  if (state === 'not_started') return t('note.tickets.from', { time: moment(voucher.ticketsFrom) });
  if (!['early', 'grab', 'ticket'].includes(state)) return '';
  if (ticket?.phase === 'solving') return t('note.work');
  if (ticket?.phase === 'ready' && state !== 'ticket' && ticket.usableFrom > now) {
    if (ticket.entry) return t('note.entry', { entry: ticket.entry }); // its moment may not be drawn yet
    return t('note.moment', { seconds: tenths((ticket.usableFrom - Date.parse(voucher.beginTime)) / 1000) });
  }
  return state === 'early' && press === undefined ? t('note.early') : '';
}

/** How far the device is with the work for a ticket. @param {any} props */
function Work({ ticket, t }) {
  return html`<progress class="work" max="1" value=${ticket.part} aria-label=${t('work')}></progress>`;
}

/** @param {any} props */
function Price({ voucher, words: { t, money } }) {
  const percent = Math.floor((100 * (voucher.actualValue - voucher.payValue)) / voucher.actualValue);
  return html`<p class="price">
    <strong>${voucher.payValue === 0 ? t('price.free') : money(voucher.payValue)}</strong>
    <span class="soft">${t('worth', { value: money(voucher.actualValue) })}</span>
    ${percent > 0 && percent < 100 && html`<span class="saving">${t('saving', { percent })}</span>`}
  </p>`;
}

/** @param {any} props */
function Stock({ voucher, words: { t, number }, state }) {
  const { stock, issued } = voucher;
  const share = issued > 0 ? stock / issued : 0;
  const minutes = Math.floor((voucher.numbersAge ?? 0) / 60);
  const before = minutes > 0 ? 'left.minutes' : 'left.before';
  const caption = t(voucher.stale ? before : 'left', { left: number(stock), all: number(issued), n: number(minutes) });
  const low = share <= 0.2 && stock > 0 && state === 'grab';
  return html`<div class="stock ${low ? 'low' : ''} ${voucher.stale ? 'stale' : ''}">
    <div class="stock-bar" role="meter" aria-label=${t('stock')} aria-valuemin="0" aria-valuemax=${issued} aria-valuenow=${stock} aria-valuetext=${caption}>
      <span style=${{ width: `${Math.max(stock > 0 ? 1.5 : 0, 100 * share)}%` }}></span>
    </div>
    <p class="figures soft" aria-hidden="true">${caption}</p>
  </div>`;
}

/** @param {any} props */
function Clock({ voucher, words: { t, time }, now, over }) {
  const begin = Date.parse(voucher.beginTime);
  const end = Date.parse(voucher.endTime);
  if (voucher.callOffTime) return html`<p class="clock soft">${t('off.at', { time: time(voucher.callOffTime) })}</p>`;
  if (now >= end) return html`<p class="clock soft">${t('ended.at', { time: time(voucher.endTime) })}</p>`;
  const left = (now < begin ? begin : end) - now;
  if (over || Number.isNaN(left)) return null; // it is not what there is to wait for; or it is not known in a preview
  const { days, clock } = countdown(left);
  return html`<p class="clock ${now < begin ? 'coming' : ''}">
    <span class="soft">${t(now < begin ? 'starts.in' : 'ends.in')}</span>
    <time class="figures" datetime=${now < begin ? voucher.beginTime : voucher.endTime}>${days > 0 && `${t('days', { days })} `}${clock}</time>
  </p>`;
}
