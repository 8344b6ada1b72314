// @ts-check
// How many units the buyer asks for, where a sale allows several.

import { html } from '../vendor/htm-preact.js';

/**
 * @param {{voucher: import('../client.js').Voucher, value: number, most: number, fixed: boolean,
 *   words: import('../words.js').Words, onChange: (n: number) => void}} props fixed: a press has been sent with it
 */
export function Stepper({ voucher, value, most, fixed, words: { t }, onChange }) {
  const id = `quantity-${voucher.id}`;
  /** @param {number} by @param {string} name @param {string} sign */
  const step = (by, name, sign) => {
    const off = fixed || value + by < 1 || (by > 0 && value + by > most);
    return html`<button type="button" class="step" data-act=${name} aria-label=${t(`quantity.${name}`)} aria-controls=${id}
      aria-disabled=${String(off)} onClick=${() => off || onChange(value + by)}><span aria-hidden="true">${sign}</span></button>`;
  };
  return html`<div class="stepper" role="group" aria-label=${t('quantity.of', { title: voucher.title })}>
    <span class="soft">${t('quantity.most', { n: voucher.perUser ?? 1 })}</span>
    <span class="steps">
      ${step(-1, 'fewer', '−')}
      <output id=${id} class="figures">${value}</output>
      ${step(1, 'more', '+')}
    </span>
  </div>`;
}
