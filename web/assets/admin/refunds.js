// @ts-check
// Refunds of a payment: how each stands, and a new one of a part.

import { html } from '../vendor/htm-preact.js';
import { Ask, Field, tied, trouble } from './parts.js';
import { least } from './rules.js';
import { refusal } from './wrong.js';

/** The colours of a refund's state. @type {Record<string, string>} */
const TONES = { asked: 'warn', pending: 'warn', done: '', failed: 'bad' };

/** What may still be sent back of a payment. @param {any} p */
const left = (p) => Math.max(0, p.keptAmount - (p.refundingAmount ?? 0));

/** Whether a part of a payment may be sent back. @param {any} p */
const divisible = (p) => p.state === 'received' && p.dispute !== 'open' && left(p) > 0;

/** How much of a payment has been refused as parts to which nobody has seen. @param {any} p */
export const refused = (p) => (p.state === 'received' ? (p.refunds ?? []) : []).filter((/** @type {any} */ r) => r.state === 'failed' && !r.closeTime).reduce((/** @type {number} */ sum, /** @type {any} */ r) => sum + r.amount, 0);

/** The refunds of a payment, and what staff may do: ask for a part, and see to those that have failed. @param {any} props */
export function Refunds({ payment: p, words: { t, time, money }, onAct = null }) {
  const known = p.refunds ?? [], acts = onAct && (divisible(p) || refused(p) > 0);
  return (known.length > 0 || acts) && html`<div class="stuck">
    ${known.length > 0 && html`<ul class="plain small-text" data-refunds=${p.id}>${known.map((/** @type {any} */ r) => html`<li key=${r.id} data-refund=${r.state}>
      <span class="tag ${TONES[r.state] ?? ''}">${t(`refund.${r.state}`)}</span> ${money(r.amount)} <span class="soft">${time(r.failTime ?? r.refundTime ?? r.createTime)} · ${t(`refund.of.${r.origin}`)}${r.refusal && ` · ${r.refusal}`}</span></li>`)}</ul>`}
    ${acts && html`<div class="row">
      ${divisible(p) && html`<button type="button" class="button small" data-act="refund-part" onClick=${() => onAct('refund')}>${t('part.refund')}</button>`}
      ${refused(p) > 0 && ['retry', 'close'].map((act) => html`<button type="button" class=${`button small ${act === 'close' ? 'danger' : ''}`} data-act=${`stuck-${act}`} onClick=${() => onAct(act)}>${t(`stuck.${act}`)}</button>`)}
    </div>`}</div>`;
}

/** Asks how much of a payment goes back, and why, and sends it. @param {any} props onDone is told what was done; onRefused is called when the payment may be other than it is shown */
export function RefundPart({ payment: p, client, words: { t, money }, onClose, onDone, onRefused }) {
  /** @param {FormData} form */
  const run = async (form) => {
    const why = String(form.get('why')).trim(), amount = least(String(form.get('amount')));
    const wrong = { ...(!why && { why: t('wrong.missing') }), ...(!(Number.isInteger(amount) && amount >= 1 && amount <= left(p)) && { amount: t('part.range', { least: money(1), most: money(left(p)) }) }) };
    if (Object.keys(wrong).length > 0) return [wrong];
    const answer = await client.create(`/admin/payment/${p.id}/refund`, { amount, why });
    if (!answer.success) {
      onRefused();
      return refusal(answer, t, trouble(answer, t));
    }
    onDone(t('part.done', { amount: money(amount) }));
    return '';
  };
  return html`<${Ask} title=${t('part.ask')} says=${t('part.says', { most: money(left(p)) })} yes=${t('part.yes')} t=${t} run=${run} onClose=${onClose}>${(/** @type {Record<string, string>} */ wrong) => html`
    <${Field} name="amount" label=${t('amount')} wrong=${wrong.amount}><input ...${tied('amount', wrong.amount)} inputmode="decimal" autocomplete="off" /><//>
    <${Field} name="why" label=${t('field.why')} hint=${t('staff.why')} wrong=${wrong.why}><input ...${tied('why', wrong.why, true)} autocomplete="off" /><//>`}
  <//>`;
}
