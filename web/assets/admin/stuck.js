// @ts-check
// Refunds that their provider refuses for good: why, and what staff do about them. Each act asks first, with a reason for the audit trail, and is
// done once, however often it is sent.

import { html } from '../vendor/htm-preact.js';
import { Ask, Field, tied, trouble } from './parts.js';
import { refused } from './refunds.js';
import { refusal } from './wrong.js';

/** What staff may do. */
const ACTS = ['retry', 'close'];

/** Why a payment is stuck, and since when; onAct, if it is given, is called with what staff want to do. @param {any} props */
export function Stuck({ payment: p, words: { t, time }, onAct = null }) {
  if (p.state !== 'stuck') return null;
  return html`<div class="stuck" data-stuck=${p.id}>
    <p class="soft small-text">${t(p.refusal ? 'stuck.why' : 'stuck.since', { why: p.refusal ?? '', time: time(p.stuckTime) })}</p>
    ${onAct && p.dispute !== 'open' && html`<div class="row">${ACTS.map((act) => html`<button type="button" class=${`button small ${act === 'close' ? 'danger' : ''}`} data-act=${`stuck-${act}`} onClick=${() => onAct(act)}>${t(`stuck.${act}`)}</button>`)}</div>`}
  </div>`;
}

/** Asks before an act, and does it. @param {any} props onDone is told what was done, to be said; onRefused is called when the payment may be other than it is shown */
export function StuckAct({ act, payment: p, client, words: { t, money }, onClose, onDone, onRefused }) {
  /** @param {FormData} form */
  const run = async (form) => {
    const why = String(form.get('why')).trim();
    if (!why) return [{ why: t('wrong.missing') }];
    const answer = await client.create(`/admin/payment/${p.id}/${act}`, { why });
    if (!answer.success) {
      onRefused();
      return refusal(answer, t, answer.code === 'PAYMENT_STATE' ? t('stuck.state', { state: t(`payment.${answer.data.state}`) }) : trouble(answer, t));
    }
    onDone(t(`stuck.${act}.done`));
    return '';
  };
  const ofPart = p.state === 'received', rest = money(ofPart ? refused(p) : p.keptAmount);
  return html`<${Ask} title=${t(`stuck.${act}.ask`, { money: rest })} says=${t(ofPart && act === 'close' ? 'part.close.says' : `stuck.${act}.says`, { money: rest, user: String(p.userId), order: p.orderId })} yes=${t(`stuck.${act}.yes`)} danger=${act === 'close'} t=${t} run=${run} onClose=${onClose}>${(/** @type {Record<string, string>} */ wrong) => html`
    <${Field} name="why" label=${t('field.why')} hint=${t('staff.why')} wrong=${wrong.why}>
      <input ...${tied('why', wrong.why, true)} autocomplete="off" />
    <//>`}
  <//>`;
}
