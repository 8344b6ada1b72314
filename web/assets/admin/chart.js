// @ts-check
// A sale over time: how many were refused and accepted each second, how fast (p99), and marks of what was done. uPlot draws it; the list of marks
// below has the same in words.

import { html, useEffect, useRef } from '../vendor/htm-preact.js';

/** Seconds that it shows at least. */
const LEAST = 60;

/** Steps of an axis: counts have no fractions. */
const WHOLE = [...Array(10).keys()].flatMap((power) => [1, 2, 5].map((n) => n * 10 ** power));

/** Milliseconds between two ticks of the axis of p99: there are no shorter times than a quarter. */
const FAST = [0.25, 0.5, ...WHOLE];

/** A colour of base.css as the canvas needs it: resolved for light or dark. @param {HTMLElement} probe @param {string} name */
function colour(probe, name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

/**
 * @param {{points: any[][], marks?: {at: number, text: string}[], words: import('../words.js').Words, names: {refused: string, accepted: string, p99: string, describe: string}}} props points is
 * [times, refused a second, accepted a second, p99 in milliseconds]; at is in seconds
 */
export function Chart({ points, marks = [], words, names }) {
  const shown = useRef(marks);
  shown.current = marks;
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
      ...room(), padding: [20, null, null, null], legend: { show: false }, cursor: { show: false },
      scales: { x: { time: true, range: (/** @type {any} */ _, /** @type {number} */ first, /** @type {number} */ last) => (last == null ? [Date.now() / 1000 - LEAST, Date.now() / 1000] : [Math.min(first, last - LEAST), last]) }, rate: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ most) => [0, Math.max(5, most * 1.15)] }, p99: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number | null} */ most) => (most == null ? [null, null] : [0, Math.max(1, most * 1.15)]) } },
      axes: [
        { ...axis, values: (/** @type {any} */ _, /** @type {number[]} */ splits) => splits.map((s) => new Date(s * 1000).toLocaleTimeString(words.locale)), space: 90, size: 34 },
        { ...axis, scale: 'rate', size, values, incrs: WHOLE },
        { ...axis, scale: 'p99', side: 1, grid: { show: false }, size: (/** @type {any} */ _, /** @type {string[] | null} */ texts) => size(_, texts) - 24, values, incrs: FAST }, // without p99 it is not there
      ],
      series: [
        {},
        { scale: 'rate', stroke: ink('accent'), width: 2, points: { show: false } },
        { scale: 'rate', stroke: ink('focus'), width: 1.5, points: { show: false } },
        { scale: 'p99', stroke: ink('ink'), width: 1, dash: [2, 3], points: { show: true, size: 3, fill: ink('ink') } },
      ],
      hooks: { draw: [(/** @type {any} */ u) => drawMarks(u, shown.current ?? [], ink('soft')())] },
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
  useEffect(() => plot.current.setData(points), [points, JSON.stringify(marks)]);
  return html`<figure class="chart">
    <figcaption class="row"><span class="key">${names.refused}</span><span class="key rate">${names.accepted}</span>${points[3].some((ms) => ms != null) && html`<span class="key p99">${names.p99}</span>`}</figcaption>
    <span ref=${probe} hidden></span>
    <div ref=${place} role="img" aria-label=${names.describe}></div>
    ${marks.length > 0 && html`<ol class="marks figures">${marks.map((m, i) => html`<li key=${`${m.at}${m.text}`}><b>${i + 1}</b> <time>${new Date(m.at * 1000).toLocaleTimeString(words.locale)}</time> ${m.text}</li>`)}</ol>`}
  </figure>`;
}

/** Draws marks as dashed lines. Above each is its number in the list below, which has the texts: so none lies across another, or across points. @param {any} u the plot @param {{at: number, text: string}[]} marks @param {string} ink */
function drawMarks(u, marks, ink) {
  const { ctx, bbox } = u, scale = devicePixelRatio;
  ctx.save();
  Object.assign(ctx, { strokeStyle: ink, fillStyle: ink, lineWidth: scale, font: `${12 * scale}px system-ui, sans-serif` });
  ctx.setLineDash([4 * scale, 4 * scale]);
  ctx.textAlign = 'center';
  let right = -Infinity; // of the number before
  marks.forEach(({ at }, i) => {
    const x = u.valToPos(at, 'x', true), half = (ctx.measureText(String(i + 1)).width + 6 * scale) / 2;
    if (x < bbox.left || x > bbox.left + bbox.width) return;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const middle = Math.max(x, right + half);
    ctx.fillText(String(i + 1), middle, bbox.top - 5 * scale);
    right = middle + half;
  });
  ctx.restore();
}
