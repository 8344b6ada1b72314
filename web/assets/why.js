// @ts-check
// Why somebody got nothing in a sale, in words: when they asked, what they were answered, and when the sale was sold out.

import { html } from './vendor/htm-preact.js';

/** @type {Record<string, Record<import('./words.js').Language, string>>} */
export const WHY_TEXTS = {
  'whynot.asked': { en: 'Refused at {time}', zh: '{time} 被拒绝' },
  'whynot.within': { en: 'exact to {n} ms', zh: '误差不超过 {n} 毫秒' },
  'whynot.first': { en: 'First sold out at {time}.', zh: '首次售罄：{time}。' },
  'whynot.soldout': { en: 'Sold out from {from} to {to}', zh: '售罄：{from} 至 {to}' },
  'whynot.soldout.at': { en: 'Sold out at {from}', zh: '售罄：{from}' },
  'whynot.told': { en: 'They read: “{text}”', zh: '买家看到：“{text}”' },
  'whynot.clock': { en: 'By the clock that decides, {zone}.', zh: '时间以裁定库存的时钟为准（{zone}）。' },
  'whynot.nobody': { en: 'Within each of these times nobody could buy.', zh: '在上述每段时间内无人能够买到。' },
  'whynot.none': { en: 'No refusal is known of this account here.', zh: '没有该账号在本次活动中被拒绝的记录。' },
  'whynot.missing': { en: '{n} {n:refusal|refusals} of this sale could not be kept, or are not written yet.', zh: '本次活动有 {n} 条拒绝记录未能保留或尚未写入。' },
  'whynot.order': { en: 'There is an order in this sale: {id}.', zh: '该账号在本次活动中有订单：{id}。' },
};

/** @param {any} props why: what GET /voucher/:id/mine has answered; staff: others read it than the buyer */
export function Why({ why, staff = false, words: { t, exact, zone } }) {
  const { firstRefusal: refusal, order, soldOut = [], firstSoldOutTime } = why;
  const missing = (why.missed ?? 0) + (why.unwritten ?? 0);
  return html`<div class="stack" data-why-says>
    ${order && html`<p>${t('whynot.order', { id: order.orderId })}</p>`}
    ${refusal ? html`<p><b class="figures">${t('whynot.asked', { time: exact(refusal.refuseTime) })}</b> <span class="soft">(${t('whynot.within', { n: refusal.withinMs })})</span><br />${staff ? t('whynot.told', { text: refusal.text }) : refusal.text}</p>`
      : html`<p>${t('whynot.none')}</p>`}
    ${firstSoldOutTime && soldOut[0]?.from !== firstSoldOutTime && html`<p class="figures">${t('whynot.first', { time: exact(firstSoldOutTime) })}</p>`}
    ${soldOut.length > 0 && html`<ul class="figures">${soldOut.map((/** @type {any} */ s) => html`<li key=${s.from}>${t(s.from === s.to ? 'whynot.soldout.at' : 'whynot.soldout', { from: exact(s.from), to: exact(s.to) })}</li>`)}</ul>
      <p class="soft small-text">${soldOut.some((/** @type {any} */ s) => s.from !== s.to) && `${t('whynot.nobody')} `}${t('whynot.clock', { zone: zone() })}</p>`}
    ${!refusal && missing > 0 && html`<p class="soft small-text">${t('whynot.missing', { n: missing })}</p>`}
  </div>`;
}
