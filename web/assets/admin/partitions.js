// @ts-check
// The partitions: where each is, what waits there, and how busy it and its Redis node are.

import { html, useRef } from '../vendor/htm-preact.js';
import { Foot, Table, lag, usePages } from './parts.js';

const EVERY = 5000; // ms between two readings

/** @param {any} props */
export function Partitions({ client, words }) {
  const { t, number, time } = words;
  const pages = usePages(client, '/admin/partition', {}, { every: EVERY });
  const rows = useRates(pages.rows);
  return html`
    <header class="head"><h1>${t('place.partitions')}</h1>
      <button type="button" class="button quiet small" onClick=${pages.again}>${t('reload')}</button>
    </header>
    <p class="soft">${t('partitions.intro')}</p>
    <div class="many-columns"><${Table} label=${t('place.partitions')} rows=${rows}
      columns=${[{ label: t('field.partition'), head: true, kind: 'figures' }, { label: t('state') }, { label: t('partition.since'), kind: 'figures' },
        ...['partition.sales', 'partition.waiting', 'lag', 'partition.rate', 'place.deadletters'].map((name) => ({ label: t(name), n: true })),
        { label: t('partition.node') }, { label: t('partition.busy'), n: true }, { label: t('partition.instances') }]}
      row=${(/** @type {any} */ p) => ({ key: p.number, 'data-partition': p.number, cells: [
        p.number,
        html`<span class="tag ${p.away || p.otherData ? 'bad' : p.state === 'open' ? 'good' : ''}">${t(p.otherData ? 'partition.other' : p.away ? 'partition.away' : `partition.${p.state}`)}</span>`,
        p.since ? time(p.since) : '–', number(p.sales),
        ...['waiting', 'lag', 'rate', 'deadLetters'].map((what) => shown(p, what, words)),
        html`<code>${p.figures?.node ?? '–'}</code>`, p.busy == null ? '–' : `${Math.round(100 * p.busy)} %`,
        html`${p.figures ? number(p.instances) : '–'}${p.missing && html`<br /><span class="tag bad">${t('partition.missing', { names: p.missing.join(', ') })}</span>`}`,
      ] })} /></div>
    <${Foot} pages=${pages} t=${t} empty="" />
  `;
}

/** The partitions with how busy each was between the last two readings. @param {any[] | null} rows a new list for each reading */
function useRates(rows) {
  const last = useRef(/** @type {any} */ ({ rows: null, rated: [] }));
  if (rows && rows !== last.current.rows) {
    const before = new Map((last.current.rows ?? []).map((/** @type {any} */ p) => [p.number, p.figures]));
    last.current = { rows, rated: rows.map((p) => ({ ...p, ...rates(before.get(p.number), p.figures) })) };
  }
  return last.current.rated;
}

/** A figure of a partition; a dash where it is not known. @param {any} p @param {string} what @param {import('../words.js').Words} words */
function shown(p, what, words) {
  const { number } = words;
  if (!p.figures) return '–';
  if (what === 'lag') return lag(p.figures.waitingMs, words);
  if (what === 'rate') return p.rate == null ? '–' : number(p.rate);
  return number(p.figures[what]);
}

/**
 * How busy a partition was between two readings of the same node: entries a second, and its node's processor time as a share of one
 * processor. Nothing where either is not known, which reads as 0, or was set back.
 * @param {any} before @param {any} now
 */
function rates(before, now) {
  const ms = before && now && before.node === now.node ? Date.parse(now.at) - Date.parse(before.at) : 0;
  if (ms <= 0) return {};
  return {
    ...(before.added > 0 && now.added >= before.added && { rate: Math.round((now.added - before.added) * 1000 / ms) }),
    ...(before.processorMs > 0 && now.processorMs >= before.processorMs && { busy: (now.processorMs - before.processorMs) / ms }),
  };
}
