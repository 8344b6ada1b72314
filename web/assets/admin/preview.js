// @ts-check
// A voucher as buyers will see it, while it is written.

import { html } from '../vendor/htm-preact.js';
import { speak } from '../words.js';
import { Card } from '../buyer/card.js';
import { TEXTS } from '../buyer/texts.js';
import { least } from './rules.js';
import { numberOf } from './parts.js';
import { typedTime } from './times.js';

/** A shop in which nobody has bought anything. */
const EMPTY = {
  presses: new Map(), doing: new Map(), liveOrder() {}, liveOrders: () => [], orderOf() {}, calledOff: () => false, quantity: () => 1, choose() {},
  places: { of() {}, doing: new Map(), refusals: new Map() }, tickets: { of() {} },
};

/** The units of a sale of which none are typed yet: it is not shown as sold out. */
const UNKNOWN = 1e9;

/** A number, or another where none is typed yet. @param {string | undefined} text @param {number} otherwise */
const known = (text, otherwise) => (text && !Number.isNaN(numberOf(text)) ? numberOf(text) : otherwise);

/** The card of what is in a form. @param {{form: any, voucher: any, words: import('../words.js').Words, now: number}} props voucher is the one that is changed, if any */
export function Preview({ form, voucher, words, now }) {
  const text = (/** @type {string} */ name) => form?.elements[name]?.value.trim();
  /** @param {string} name */
  const time = (name) => {
    const typed = form?.elements[name] && typedTime(form, name);
    return typed ? new Date(typed).toISOString() : voucher?.[name];
  };
  const money = (/** @type {string} */ name) => Math.max(0, known(text(name), NaN) >= 0 ? Math.round(least(text(name))) : voucher?.[name] ?? 0);
  const sale = Boolean(form?.elements.beginTime);
  const units = known(text('stock'), voucher?.stock ?? 0) || (voucher ? 0 : UNKNOWN);
  const priced = voucher || text('payValue'), valued = voucher || text('actualValue');
  /** What the card says where nothing is typed yet. @type {Record<string, string>} */
  const missing = {
    ...(units === UNKNOWN && { left: words.t('preview.units') }), ...(!priced && { 'price.free': words.t('preview.price') }), ...(!valued && { worth: '' }),
  };
  const spoken = speak(words.language, TEXTS);
  const buyers = {
    ...spoken, t: (/** @type {string} */ key, /** @type {any} */ values) => missing[key] ?? spoken.t(key, values),
    money: (/** @type {number} */ n) => (n === 0 && !valued ? '' : spoken.money(n)), // of the value: a price of 0 is said to be free
  };
  const shown = /** @type {any} */ ({
    id: voucher?.id ?? 1, shopId: 1, title: text('title') || words.t('preview.title'), subTitle: text('subTitle'), rules: text('rules'), type: sale ? 1 : 0, status: 1,
    payValue: money('payValue'), actualValue: money('actualValue'), perUser: known(text('perUser'), voucher?.perUser ?? (sale ? 1 : 0)),
    ...(sale && { beginTime: time('beginTime'), endTime: time('endTime'), saleState: 'on_sale', stock: units, issued: voucher?.issued ?? units }),
  });
  if (!voucher && !text('title') && !text('payValue') && !text('actualValue')) { // nothing to be seen yet
    return html`<aside class="preview"><h3 class="soft">${words.t('preview')}</h3><p class="note">${words.t('preview.none')}</p></aside>`;
  }
  return html`<aside class="preview"><h3 class="soft">${words.t('preview')}</h3>
    <div inert><${Card} voucher=${shown} shop=${EMPTY} words=${buyers} now=${now} onPress=${() => {}} onJoin=${() => {}} onPay=${() => {}} /></div>
  </aside>`;
}
