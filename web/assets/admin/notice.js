// @ts-check
// What was done, said where it is seen wherever the page is scrolled to. It goes by itself, or by a click.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';

/** Milliseconds for which it is shown. */
const AWHILE = 10_000;

/** Milliseconds within which what was done also leads to another page, as creating a voucher does. */
const SAME = 1000;

/** The one notice of the page. @type {{say: (text: string) => void}} */
const place = { say() {} };

/** Shows a text, and has screen readers say it. @param {string} text */
export const notify = (text) => place.say(text);

/** @param {any} props */
export function Notice({ t }) {
  const [{ text, n }, set] = useState({ text: '', n: 0 });
  const said = useRef(/** @type {any} */ (0)); // when
  place.say = (/** @type {string} */ what) => ((said.current = Date.now()), set((before) => ({ text: what, n: before.n + 1 })));
  const clear = () => place.say('');
  useEffect(() => {
    if (text === '') return undefined;
    const timer = setTimeout(clear, AWHILE);
    return () => clearTimeout(timer);
  }, [n]);
  useEffect(() => {
    const moved = () => Date.now() - said.current > SAME && clear(); // of the page that was left
    window.addEventListener('hashchange', moved);
    return () => window.removeEventListener('hashchange', moved);
  }, []);
  return html`<div id="notice" role="status" onClick=${clear}>${text && html`<p key=${n} class="notice">${text} <button type="button" class="icon" aria-label=${t('close')}>✕</button></p>`}</div>`;
}
