// @ts-check
// Notices of payment providers that were refused: how many for each reason, and the last of them.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { Table } from './parts.js';

/** For how long a refused notice is shown, and for how long it needs a hand; milliseconds. */
const SHOWN = 7 * 86_400_000, NEWS = 86_400_000;

/** Notices that are signed as they should be: somebody has to look at that money. */
const MONEY = ['unknown_payment', 'wrong_amount'];

/** The entries that are not older than that. @param {any[]} entries @param {number} now @param {number} age */
const since = (entries, now, age) => entries.filter((n) => Date.parse(n.lastTime) > now - age);

/** The refused notices that need a hand: those of the last day. @param {any[]} entries @param {number} now */
export const newsOf = (entries, now) => since(entries, now, NEWS);

/** The refused notices of the last week; nothing for merchants, and if there are none. @param {any} props */
export function Notices({ client, words: { t, time, number, money } }) {
  const [all, setAll] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    if (client.shop) return;
    let open = true;
    void client.ask('GET', '/admin/notice').then((/** @type {any} */ answer) => open && answer.success && setAll(answer.data));
    return () => (open = false);
  }, []);
  const shown = since(all, client.clock.now(), SHOWN);
  if (shown.length === 0) return null;
  return html`<section class="panel flat" data-notices><h2>${t('notices')}</h2>
    <p class="soft">${t('notices.says')}</p>
    <${Table} label=${t('notices')} rows=${shown}
      columns=${[{ label: t('notice.reason'), head: true }, { label: t('notice.provider') }, { label: t('notice.count'), n: true }, { label: t('notice.last') }, { label: t('notice.at'), kind: 'figures nowrap' }]}
      row=${(/** @type {any} */ n) => ({ key: `${n.provider} ${n.reason}`, 'data-notice': n.reason, cells: [
        html`<span class="tag ${MONEY.includes(n.reason) ? 'bad' : 'warn'}">${t(`notice.${n.reason}`)}</span>`, n.provider ? html`<span lang="en">${n.provider}</span>` : '–', number(n.count),
        html`${n.paymentId && html`<span class="figures wrap">${n.paymentId}</span> · ${money(n.amount)}<br />`}<code class="soft small-text wrap" lang="en">${n.detail}</code>`, time(n.lastTime),
      ] })} />
  </section>`;
}
