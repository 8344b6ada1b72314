// @ts-check
// A sale over time: units left, and how many were accepted each second. uPlot draws it; the numbers beside it are the same.

import { html, useEffect, useRef } from '../vendor/htm-preact.js';

/** Seconds that the chart shows at most. */
export const SPAN = 600;

/** Seconds that it shows at least. */
const LEAST = 60;

/** Steps of an axis: counts have no fractions. */
const WHOLE = [...Array(10).keys()].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power));

/** A colour of base.css as the canvas needs it: resolved for light or dark. @param {HTMLElement} probe @param {string} name */
function colour(probe, name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

/** @param {any} props points is [times, stock, accepted a second], each an array; same: both curves have one scale */
export function Chart({ points, words, names, same = false }) {
  const place = useRef(/** @type {any} */ (null));
  const probe = useRef(/** @type {any} */ (null));
  const plot = useRef(/** @type {any} */ (null));
  useEffect(() => {
    const ink = (/** @type {string} */ name) => () => colour(probe.current, name);
    const faint = { stroke: ink('line'), width: 1 };
    const axis = { stroke: ink('soft'), grid: faint, ticks: faint, font: '12px system-ui, sans-serif' };
    const size = (/** @type {any} */ _, /** @type {string[] | null} */ texts) => Math.max(64, 24 + 7 * Math.max(0, ...(texts ?? []).map((one) => one.length)));
    const values = (/** @type {any} */ _, /** @type {number[]} */ splits) => splits.map((n) => words.number(n));
    const room = () => ({ width: place.current.clientWidth, height: place.current.clientHeight });
    plot.current = new /** @type {any} */ (window).uPlot({
      ...room(), legend: { show: false }, cursor: { show: false },
      scales: { x: { time: true, range: (/** @type {any} */ _, /** @type {number} */ first, /** @type {number} */ last) => (last == null ? [Date.now() / 1000 - LEAST, Date.now() / 1000] : [Math.min(first, last - LEAST), last]) }, stock: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ most) => [0, Math.max(1, most * 1.05)] },
        rate: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ most) => [0, Math.max(5, most * 1.15)] } },
      axes: [
        { ...axis, values: (/** @type {any} */ _, /** @type {number[]} */ splits) => splits.map((s) => new Date(s * 1000).toLocaleTimeString(words.locale)), space: 90, size: 34 },
        { ...axis, scale: same ? 'rate' : 'stock', size, values, incrs: WHOLE }, ...(same ? [] : [{ ...axis, scale: 'rate', side: 1, size, grid: { show: false }, values, incrs: WHOLE }]),
      ],
      series: [
        {},
        { scale: same ? 'rate' : 'stock', stroke: ink('accent'), width: 2, points: { show: false } },
        { scale: 'rate', stroke: ink('focus'), width: 1.5, points: { show: false } },
      ],
    }, points, place.current);
    const resized = new ResizeObserver(() => plot.current.setSize(room()));
    resized.observe(place.current);
    const again = () => plot.current.redraw(false, true);
    const themed = new MutationObserver(again);
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', again);
    return () => (resized.disconnect(), themed.disconnect(), dark.removeEventListener('change', again), plot.current.destroy());
  }, [words.language]);
  useEffect(() => plot.current.setData(points), [points]);
  return html`<figure class="chart">
    <figcaption class="row"><span class="key stock">${names.stock}</span><span class="key rate">${names.rate}</span></figcaption>
    <span ref=${probe} hidden></span>
    <div ref=${place} role="img" aria-label=${names.describe}></div>
  </figure>`;
}
