// @ts-check
// Where a buyer asks why they got nothing. Nothing is asked of the service before they open it.

import { html, useState } from '../vendor/htm-preact.js';
import { Why } from '../why.js';

/** @param {{voucher: import('../client.js').Voucher, shop: import('./shop.js').Shop, words: import('../words.js').Words}} props */
export function WhyNot({ voucher, shop, words }) {
  const { t } = words;
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  /** @param {any} e */
  const toggled = async (e) => {
    if (!e.currentTarget.open) return;
    setAnswer(null);
    setAnswer(await shop.client.ask('GET', `/voucher/${voucher.id}/mine`));
  };
  return html`<details class="rules" data-why onToggle=${toggled}><summary>${t('whynot.ask')}</summary>
    <div role="status">${!answer ? html`<p class="soft">${t('whynot.wait')}</p>` : answer.success ? html`<${Why} why=${answer.data} words=${words} />` : html`<p>${answer.errorMsg || t('whynot.failed')}</p>`}</div>
  </details>`;
}
