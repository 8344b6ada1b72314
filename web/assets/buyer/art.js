// @ts-check
// The picture of a voucher: its own, or one drawn from its number, the same everywhere.

import { html } from '../vendor/htm-preact.js';
import { Picture } from '../picture.js';

/** Two colours of a picture and that of its writing, with 4.5:1 between writing and both. */
const PALETTES = [
  ['#8f2410', '#c2451e', '#ffffff'],
  ['#123c69', '#2463a5', '#ffffff'],
  ['#0b4d3c', '#177a5b', '#ffffff'],
  ['#4a2370', '#7a44a8', '#ffffff'],
  ['#7a1f4a', '#b03a72', '#ffffff'],
  ['#59400a', '#8d6814', '#ffffff'],
];

/** @param {{id: number, value: string, picture?: string}} props value is the text on the drawn one; the card has it too */
export function Art({ id, value, picture }) {
  const [deep, bright, ink] = PALETTES[id % PALETTES.length];
  const gradient = `art-${id}`;
  const turn = (id * 47) % 360;
  return html`<div class="art" aria-hidden="true">
    <svg viewBox="0 0 320 180" preserveAspectRatio="xMaxYMid slice" focusable="false">
      <defs>
        <linearGradient id=${gradient} x1="0" y1="0" x2="1" y2="1">
          <stop offset="0" stop-color=${deep} /><stop offset="1" stop-color=${bright} />
        </linearGradient>
      </defs>
      <rect width="320" height="180" fill="url(#${gradient})" />
      <g fill="none" stroke=${ink} stroke-opacity="0.13" stroke-width="14" transform="rotate(${turn} 160 90)">
        <circle cx="285" cy="20" r="52" /><circle cx="285" cy="20" r="92" /><circle cx="20" cy="185" r="64" />
      </g>
      <path d="M262 0v180" stroke=${ink} stroke-opacity="0.4" stroke-width="2" stroke-dasharray="3 8" stroke-linecap="round" />
    </svg>
    <span style=${{ color: ink, '--fit': Math.min(1, 7 / value.length) }}>${value}</span>
    <${Picture} from=${picture} />
  </div>`;
}
