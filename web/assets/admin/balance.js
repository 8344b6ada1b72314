// @ts-check
// The conservation light: whether every unit that was issued is accounted for.

import { html } from '../vendor/htm-preact.js';

/** @param {any} props */
export function Balance({ figures: f, words }) {
  const { t, number, time } = words;
  const check = f.check;
  const light = !check ? 'none' : check.state;
  const tone = { balanced: 'good', broken: 'bad' }[light] ?? 'warn';
  return html`<section class="panel flat balance ${check ? tone : ''}" data-balance=${light}>
    <h2><span class="light ${check ? tone : ''}" aria-hidden="true"></span>${t('balance')}</h2>
    <p role="status">${t(`balance.${light}`, { difference: number(Math.abs(check?.difference ?? 0)) })}</p>
    ${check && html`<p class="soft small-text">${t('balance.at', { time: time(check.at) })}</p>`}
  </section>`;
}
