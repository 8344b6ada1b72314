// @ts-check
// What was done, said where it is seen wherever the page is scrolled to. It goes by itself, or by a click; what went wrong goes by a click only.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';

/** Milliseconds for which it is shown. */
const AWHILE = 10_000;

/** Milliseconds within which what was done also leads to another page, as creating a voucher does. */
const SAME = 1000;

/** The one notice of the page. @type {{say: (text: string, tone?: '' | 'warn') => void}} */
const place = { say() {} };

/** Shows a text, and has screen readers say it. @param {string} text @param {'' | 'warn'} [tone] */
export const notify = (text, tone) => place.say(text, tone);

/** @param {any} props */
export function Notice({ t }) {
  const [{ text, tone, n }, set] = useState({ text: '', tone: '', n: 0 });
  const said = useRef(/** @type {any} */ (0)); // when
  place.say = (/** @type {string} */ what, /** @type {'' | 'warn'} */ how = '') => ((said.current = Date.now()), set((before) => ({ text: what, tone: how, n: before.n + 1 })));
  const clear = () => place.say('');
  useEffect(() => {
    if (text === '' || tone === 'warn') return undefined;
    const timer = setTimeout(clear, AWHILE);
    return () => clearTimeout(timer);
  }, [n]);
  useEffect(() => {
    const moved = () => Date.now() - said.current > SAME && clear(); // of the page that was left
    window.addEventListener('hashchange', moved);
    return () => window.removeEventListener('hashchange', moved);
  }, []);
  return html`<div id="notice" role="status" onClick=${clear}>${text && html`<p key=${n} class="notice ${tone}">${text} <button type="button" class="icon" aria-label=${t('close')}>✕</button></p>`}</div>`;
}

/** Milliseconds after which a text comes into its place: screen readers say what comes into one that they know. */
const SOON = 50;

/** What was done, said in a dialog: a notice behind one is neither seen nor heard. @param {any} props */
export function Said({ text, class: kind = '' }) {
  const [shown, show] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => show(text), SOON);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<p role="status" class="${kind} ${shown && 'note good'}" data-said>${shown}</p>`;
}
