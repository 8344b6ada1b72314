// @ts-check
// A voucher as buyers will see it, while it is written.

import { html } from '../vendor/htm-preact.js';
import { PARTS, speak } from '../words.js';
import { Card } from '../buyer/card.js';
import { TEXTS } from '../buyer/texts.js';
import { valueOf, wrongTime } from './rules.js';
import { typedTime } from './times.js';

/** A shop in which nobody has bought anything. */
const EMPTY = {
  presses: new Map(), doing: new Map(), liveOrder() {}, liveOrders: () => [], orderOf() {}, calledOff: () => false, quantity: () => 1, choose() {},
  places: { of() {}, doing: new Map(), refusals: new Map() }, tickets: { of() {} },
};

/** The units of a sale of which none are typed yet: it is not shown as sold out. */
const UNKNOWN = 1e9;

/** The card of what is in a form; of what cannot be read there it says so. @param {{form: any, voucher: any, words: import('../words.js').Words, now: number}} props voucher is the one that is changed, if any */
export function Preview({ form, voucher, words, now }) {
  const text = (/** @type {string} */ name) => form?.elements[name]?.value.trim() ?? '';
  const sale = Boolean(form?.elements.beginTime);
  /** @param {string} name */
  const time = (name) => (wrongTime(form, name, (key) => key, true, voucher?.[name]) ? undefined : new Date(typedTime(form, name) ?? '').toISOString());
  /** A number in the form, or the voucher's where it has no field. @param {string} name */
  const known = (name) => (form?.elements[name] ? valueOf(name, text(name), sale) : undefined);
  const price = known('payValue') ?? voucher?.payValue / PARTS, worth = known('actualValue') ?? voucher?.actualValue / PARTS;
  const money = (/** @type {number} */ amount) => Math.round(amount * PARTS) || 0;
  const units = known('stock') ?? (voucher ? voucher.stock ?? 0 : UNKNOWN);
  const priced = !Number.isNaN(price), valued = !Number.isNaN(worth);
  const times = sale && { beginTime: time('beginTime'), endTime: time('endTime') };
  const timed = !times || Boolean(times.beginTime && times.endTime);
  /** What the card says where nothing is typed yet, or nothing that can be read. @type {Record<string, string>} */
  const missing = {
    ...(units === UNKNOWN && { left: words.t('preview.units') }), ...(!priced && { 'price.free': words.t('preview.price'), free: '–' }), ...(!valued && { worth: '' }),
    ...(!timed && { 'state.preparing': words.t('preview.time') }),
  };
  const spoken = speak(words.language, TEXTS);
  const buyers = {
    ...spoken, t: (/** @type {string} */ key, /** @type {any} */ values) => missing[key] ?? spoken.t(key, values),
    money: (/** @type {number} */ n) => (n === 0 && !valued ? '' : spoken.money(n)), // of the value: a price of 0 is said to be free
  };
  const shown = /** @type {any} */ ({
    id: voucher?.id ?? 1, shopId: 1, title: text('title') || words.t('preview.title'), subTitle: text('subTitle'), rules: text('rules'), picture: text('picture'), type: sale ? 1 : 0, status: 1,
    payValue: money(price), actualValue: money(worth), perUser: known('perUser') ?? voucher?.perUser ?? (sale ? 1 : 0),
    ...(times && { ...(timed && times), saleState: timed ? 'on_sale' : 'preparing', stock: units, issued: voucher?.issued ?? units }),
  });
  if (!voucher && !text('title') && !text('payValue') && !text('actualValue')) { // nothing to be seen yet
    return html`<aside class="preview"><h3 class="soft">${words.t('preview')}</h3><p class="note">${words.t('preview.none')}</p></aside>`;
  }
  return html`<aside class="preview"><h3 class="soft">${words.t('preview')}</h3>
    <div inert><${Card} voucher=${shown} shop=${EMPTY} words=${buyers} now=${now} onPress=${() => {}} onJoin=${() => {}} onPay=${() => {}} /></div>
  </aside>`;
}
