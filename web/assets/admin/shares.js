// @ts-check
// The shares of a split sale: where each is, what it has, and what has moved between them.

import { html } from '../vendor/htm-preact.js';
import { State, Table } from './parts.js';

/** @param {{figures: import('./admin-client.js').Figures, words: import('../words.js').Words}} props */
export function Shares({ figures: { shares }, words: { t, number } }) {
  if (!shares) return null;
  return html`<section data-shares><h2>${t('shares')}</h2>
    <p class="soft">${t('shares.intro')}</p>
    <${Table} label=${t('shares')} rows=${shares.map((share, n) => ({ ...share, n }))}
      columns=${[{ label: t('share'), head: true, kind: 'figures' }, { label: t('field.partition'), kind: 'figures' }, { label: t('state') },
        ...['stock.left', 'held', 'share.issued', 'share.movedIn', 'share.movedOut'].map((name) => ({ label: t(name), n: true }))]}
      row=${(/** @type {any} */ s) => ({ key: s.n, 'data-share': s.n, cells: [
        s.n, s.partition, html`<${State} voucher=${{ type: 1, status: 1, saleState: s.saleState }} t=${t} />`,
        ...['stock', 'held', 'issued', 'movedIn', 'movedOut'].map((what) => number(s[what])),
      ] })} />
  </section>`;
}
