// @ts-check
// The balance of a sale: whether every unit that was issued is accounted for, with the numbers.

import { html } from '../vendor/htm-preact.js';

/** @type {Record<string, string>} */
const TONES = { balanced: 'good', broken: 'bad', undecided: 'warn' };

/** @param {any} props */
export function Balance({ figures, words }) {
  const { t, number, time } = words;
  const b = figures.balance;
  const light = !b ? 'none' : b.finding === 'balanced' || b.finding === 'undecided' ? b.finding : 'broken';
  const tone = TONES[light] ?? '';
  const units = b && { issued: number(b.issued), stock: number(b.stock), waiting: number(Math.max(0, b.held - b.live)), live: number(b.live), kept: number(b.kept ?? 0) };
  return html`<section class="panel flat balance ${tone}" data-balance=${light}>
    <h2><span class="light ${tone}" aria-hidden="true"></span>${t('balance')}</h2>
    <p role="status">${t(`balance.${light}`, { n: number(Math.abs(b?.difference || b?.lost || 0)) })}</p>
    ${light === 'balanced' && html`<p class="figures small-text">${t(b.kept ? 'balance.sum.kept' : 'balance.sum', units)}</p>`}
    ${b?.why && light !== 'undecided' && html`<p class="small-text" lang="en">${b.why}</p>`}
    ${b && html`<p class="soft small-text figures">${t('balance.at', { time: time(b.at) })}</p>`}
  </section>`;
}
