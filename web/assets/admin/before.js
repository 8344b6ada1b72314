// @ts-check
// What is done before a sale: the list to go through, and rehearsals.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { Check } from './check.js';
import { trouble } from './parts.js';
import { Rehearsals } from './rehearsals.js';

/** @param {any} props */
export function Before({ id, client, words }) {
  const { t } = words;
  const [voucher, setVoucher] = useState(/** @type {any} */ (null));
  const [version, setVersion] = useState(0); // raised by each rehearsal that is done, which the list judges too
  const [failed, setFailed] = useState(/** @type {any} */ (null));
  useEffect(() => {
    client.ask('GET', `/voucher/${id}`).then((/** @type {any} */ answer) => (answer.success ? setVoucher(answer.data) : setFailed(answer)));
  }, [id]);
  return html`
    <header class="head"><div>
      <p class="crumb"><a href=${`#/voucher/${id}`}>${voucher ? voucher.title : t('place.vouchers')}</a></p>
      <h1>${t('before')} <span class="soft">#${id}</span></h1>
      ${voucher?.beginTime && html`<p class="soft figures">${t('before.window', { begin: words.time(voucher.beginTime), end: words.time(voucher.endTime) })}</p>`}
    </div></header>
    ${failed && html`<p class="note warn" role="alert">${trouble(failed, t)}</p>`}
    <${Check} id=${id} client=${client} words=${words} version=${version} />
    ${voucher?.type === 1 && html`<${Rehearsals} id=${id} issued=${voucher.issued} client=${client} words=${words} onDone=${() => setVersion((/** @type {number} */ n) => n + 1)} />`}
  `;
}
