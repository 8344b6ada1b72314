// @ts-check
// What staff do to somebody's order: cancel it, give its money back, give its coupon a later date, undo its redemption. Each asks first, with a
// reason for the audit trail, and is done once, however often it is sent.

import { html, useState } from '../vendor/htm-preact.js';
import { instant, local, wrongTime } from './rules.js';
import { Ask, Field, tied, trouble } from './parts.js';
import { TimeFields, typedTime } from './times.js';
import { refusal } from './wrong.js';

/** @typedef {{act: string, danger?: boolean, dated?: boolean, coupon?: boolean}} Act coupon: it needs one; dated: one with a date */

/** What staff may do to an order, by its state. @type {Record<string, Act[]>} */
const ACTS = {
  unpaid: [{ act: 'cancel', danger: true }],
  paid: [{ act: 'extend', dated: true }, { act: 'refund', danger: true }],
  redeemed: [{ act: 'unredeem', danger: true, coupon: true }],
  lapsed: [{ act: 'extend', dated: true }],
};

/** Milliseconds of the later date of a coupon that nobody is to use: its order is refunded. */
const A_DAY = 86_400_000;

/** What staff may do to the order now. @param {any} o @returns {Act[]} */
export const actsOn = (o) => (ACTS[o.status] ?? []).filter((one) => (!one.dated || o.coupon?.validUntil) && (!one.coupon || o.coupon));

/**
 * Asks before an act, and does it. @param {any} props off: of a sale that was called off, so the order's money goes back; onDone is told what was done,
 * to be said; onRefused is called when the order may be other than it is shown
 */
export function StaffAct({ act, off = false, order: o, client, words, onClose, onDone, onRefused }) {
  const { t, money } = words;
  const [busy, setBusy] = useState(false);
  const dated = act === 'extend', asks = dated && !off, of = `${off ? 'off' : 'staff'}.${act}`;
  const [soon] = useState(() => (dated && off ? instant(Math.max(client.clock.now(), Date.parse(o.coupon.validUntil)) + A_DAY) : '')); // the same when it is sent again
  /** @param {FormData} form @param {any} element */
  const run = async (form, element) => {
    const why = String(form.get('why')).trim();
    const late = asks ? wrongTime(element, 'validUntil', t) : '';
    const found = { ...(late && { validUntil: late }), ...(!why && { why: t('wrong.missing') }) };
    if (Object.keys(found).length > 0) return [found];
    setBusy(true);
    const answer = await client.create(`/admin/order/${o.id}/${act}`, { why, ...(dated && { validUntil: asks ? instant(typedTime(element, 'validUntil') ?? '') : soon }) });
    setBusy(false);
    if (!answer.success) {
      onRefused();
      if (asks && answer.code === 'NOT_LATER') return [{ validUntil: trouble(answer, t) }];
      return refusal(answer, t, answer.code === 'ORDER_STATE' ? t('staff.state', { state: t(`order.${answer.data.status}`) }) : trouble(answer, t));
    }
    onDone(t(answer.status === 202 ? 'staff.refund.coming' : `${of}.done`));
    return '';
  };
  const until = t('form.zone', { label: t('staff.until'), zone: words.zone() });
  const says = t(act === 'refund' && !o.amount && !off ? 'staff.refund.free' : `${of}.says`, { user: String(o.userId), money: money(o.amount ?? 0) });
  return html`<${Ask} title=${t(`${of}.ask`, { id: o.id })} says=${says} yes=${t(`${of}.yes`)} danger=${off || !dated} t=${t} run=${run} onClose=${onClose}>${(/** @type {Record<string, string>} */ wrong) => html`
    ${asks && html`<${Field} name="validUntil" label=${until} wrong=${wrong.validUntil}>
      <${TimeFields} name="validUntil" label=${until} time=${local(o.coupon.validUntil)} wrong=${wrong.validUntil} words=${words} />
    <//>`}
    <${Field} name="why" label=${t('field.why')} hint=${t('staff.why')} wrong=${wrong.why}>
      <input ...${tied('why', wrong.why, true)} autocomplete="off" />
    <//>
    <p class="soft" role="status">${busy && t('staff.busy')}</p>`}
  <//>`;
}
