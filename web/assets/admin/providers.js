// @ts-check
// Payment providers that need a hand: which give no clear answers, and since when; for which refunds wait that are set no more.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { Table } from './parts.js';

/** Those that need a hand; nothing for merchants, and if there are none. @param {any} props */
export function Providers({ client, words: { t, time, number } }) {
  const [all, setAll] = useState(/** @type {any[]} */ ([]));
  useEffect(() => {
    if (client.shop) return;
    let open = true;
    void client.ask('GET', '/admin/provider').then((/** @type {any} */ answer) => open && answer.success && setAll(answer.data));
    return () => (open = false);
  }, []);
  const shown = all.filter((p) => p.failure || !p.set);
  if (shown.length === 0) return null;
  return html`<section class="panel flat" data-providers><h2>${t('providers')}</h2>
    <p class="soft">${t('providers.says')}</p>
    <${Table} label=${t('providers')} rows=${shown}
      columns=${[{ label: t('notice.provider'), head: true }, { label: t('provider.trouble') }, { label: t('provider.since'), kind: 'figures nowrap' }, { label: t('notice.count'), n: true }, { label: t('provider.waiting'), n: true }]}
      row=${(/** @type {any} */ p) => ({ key: p.name, 'data-provider': p.name, cells: [
        html`<span lang="en">${p.name}</span>`,
        p.set ? html`<span class="tag bad">${t(`provider.${p.failure.reason}`)}</span>${p.failure.detail && html` <code class="soft small-text wrap" lang="en">${p.failure.detail}</code>`}` : html`<span class="tag warn">${t('provider.unset')}</span>`,
        p.failure ? time(p.failure.sinceTime) : '–', p.failure ? number(p.failure.count) : '–', number(p.waitingRefunds),
      ] })} />
  </section>`;
}
