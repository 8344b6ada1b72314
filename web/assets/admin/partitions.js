// @ts-check
// The partitions: where each is, what waits there, and how busy it and its Redis node are.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { Foot } from './parts.js';

const EVERY = 5000; // ms between two readings

/** @param {any} props */
export function Partitions({ client, words }) {
  const { t, number, time } = words;
  const [page, setPage] = useState(/** @type {any} */ ({ rows: null, answer: null }));
  const last = useRef(/** @type {Record<number, any>} */ ({})); // figures by partition
  const read = async () => {
    const answer = await client.list('/admin/partition', {});
    if (!answer.success) return setPage((/** @type {any} */ p) => ({ ...p, answer }));
    const rows = answer.data.map((/** @type {any} */ p) => ({ ...p, ...rates(last.current[p.number], p.figures) }));
    last.current = Object.fromEntries(answer.data.map((/** @type {any} */ p) => [p.number, p.figures]));
    setPage({ rows, answer });
  };
  useEffect(() => {
    void read();
    const timer = setInterval(read, EVERY);
    return () => clearInterval(timer);
  }, []);
  return html`
    <header class="head"><h1>${t('place.partitions')}</h1>
      <button type="button" class="button quiet small" onClick=${read}>${t('reload')}</button>
    </header>
    <p class="soft">${t('partitions.intro')}</p>
    <div class="sheet" tabindex="0" role="region" aria-label=${t('place.partitions')}>
      <table>
        <thead><tr><th scope="col">${t('field.partition')}</th><th scope="col">${t('state')}</th><th scope="col">${t('partition.since')}</th><th scope="col" class="n">${t('partition.sales')}</th><th scope="col" class="n">${t('partition.waiting')}</th><th scope="col" class="n">${t('lag')}</th><th scope="col" class="n">${t('partition.rate')}</th><th scope="col" class="n">${t('place.deadletters')}</th><th scope="col">${t('partition.node')}</th><th scope="col" class="n">${t('partition.busy')}</th><th scope="col">${t('partition.instances')}</th></tr></thead>
        <tbody>${(page.rows ?? []).map((/** @type {any} */ p) => html`<tr key=${p.number} data-partition=${p.number}>
          <th scope="row" class="figures">${p.number}</th>
          <td><span class="tag ${p.away ? 'bad' : p.state === 'open' ? 'good' : ''}">${t(p.away ? 'partition.away' : `partition.${p.state}`)}</span></td>
          <td class="figures nowrap">${p.since ? time(p.since) : '–'}</td>
          <td class="n">${number(p.sales)}</td>
          ${['waiting', 'lag', 'rate', 'deadLetters'].map((what) => html`<td class="n">${shown(p, what, words)}</td>`)}
          <td><code>${p.figures?.node ?? '–'}</code></td>
          <td class="n">${p.busy == null ? '–' : `${Math.round(100 * p.busy)} %`}</td>
          <td>${p.figures ? number(p.instances) : '–'}${p.missing && html`<br /><span class="tag bad">${t('partition.missing', { names: p.missing.join(', ') })}</span>`}</td>
        </tr>`)}</tbody>
      </table>
    </div>
    <${Foot} pages=${page} t=${t} empty="" />
  `;
}

/** A figure of a partition; a dash where it is not known. @param {any} p @param {string} what @param {import('../words.js').Words} words */
function shown(p, what, { t, number }) {
  if (!p.figures) return '–';
  if (what === 'lag') return t('seconds', { n: (p.figures.waitingMs / 1000).toFixed(p.figures.waitingMs > 0 && p.figures.waitingMs < 10_000 ? 1 : 0) });
  if (what === 'rate') return p.rate == null ? '–' : number(p.rate);
  return number(p.figures[what]);
}

/**
 * How busy a partition was between two readings of the same node: entries a second, and its node's processor time as a share of one
 * processor. Nothing where either is not known, or was set back.
 * @param {any} before @param {any} now
 */
function rates(before, now) {
  const ms = before && now && before.node === now.node ? Date.parse(now.at) - Date.parse(before.at) : 0;
  if (ms <= 0) return {};
  return {
    ...(now.added >= before.added && now.added > 0 && { rate: Math.round((now.added - before.added) * 1000 / ms) }),
    ...(now.processorMs >= before.processorMs && now.processorMs > 0 && { busy: (now.processorMs - before.processorMs) / ms }),
  };
}
