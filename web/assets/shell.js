// @ts-check
// What all pages have in common: the bar at the top, the choice of language and of light or dark, and the one place
// from which screen readers get announcements.

import { html, render, useEffect, useRef, useState } from './vendor/htm-preact.js';
import { BASE } from './client.js';
import { LANGUAGES, choose, preferred, speak } from './words.js';

const THEME = 'seckill.theme';

/** @type {Record<string, Record<import('./words.js').Language, string>>} */
const TEXTS = {
  brand: { en: 'Seckill', zh: '秒杀' },
  skip: { en: 'Skip to the content', zh: '跳到正文' },
  language: { en: 'Language', zh: '语言' },
  theme: { en: 'Appearance', zh: '外观' },
  'theme.auto': { en: 'As the system', zh: '跟随系统' },
  'theme.light': { en: 'Light', zh: '浅色' },
  'theme.dark': { en: 'Dark', zh: '深色' },
};

if (history.state) history.replaceState(null, ''); // that of a dialog, in a page that was loaded again

/** @param {string} theme auto, light or dark */
function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
}

/**
 * Shows a page in <body>. table has the page's own texts; texts of the shell cannot be replaced.
 * @param {(words: import('./words.js').Words) => any} page renders the page in the words that it is given
 * @param {Record<string, Record<import('./words.js').Language, string>>} table
 * @param {{title: string, home?: string, extra?: (words: import('./words.js').Words) => any}} options title is a key of the
 * table; home is where the brand leads; extra renders what the bar shows in addition
 */
export function show(page, table, options) {
  applyTheme(localStorage.getItem(THEME) ?? 'auto');
  const name = document.querySelector('meta[name=site-name]')?.getAttribute('content');
  const all = { ...table, ...TEXTS, ...(name && { brand: { en: name, zh: name } }) };
  const root = /** @type {HTMLElement} */ (document.getElementById('page'));
  root.replaceChildren();
  render(html`<${Shell} page=${page} table=${all} options=${options} />`, root);
}

/** @param {any} props */
function Shell({ page, table, options }) {
  const [language, setLanguage] = useState(preferred());
  const words = speak(language, table);
  const { t } = words;
  useEffect(() => {
    document.documentElement.lang = words.locale;
    document.title = titled(t, t(options.title));
  }, [language]);
  return html`
    <a class="skip" href="#content">${t('skip')}</a>
    <header class="bar">
      <a class="brand" href=${BASE + (options.home ?? '/')}><${Mark} /><span>${t('brand')}</span></a>
      <div class="bar-end">
        ${options.extra?.(words)}
        <${Choice} label=${t('language')} icon="文" value=${language} values=${LANGUAGES}
          onChoose=${(/** @type {any} */ l) => (choose(l), setLanguage(l))} />
        <${Theme} t=${t} />
      </div>
    </header>
    <main id="content" tabindex="-1">${page(words)}</main>
    <div id="announcer" class="unseen" role="status" aria-live="polite"></div>
  `;
}

/** @param {any} props */
function Theme({ t }) {
  const [theme, setTheme] = useState(localStorage.getItem(THEME) ?? 'auto');
  const values = { auto: t('theme.auto'), light: t('theme.light'), dark: t('theme.dark') };
  return html`<${Choice} label=${t('theme')} icon="◐" value=${theme} values=${values}
    onChoose=${(/** @type {string} */ v) => (localStorage.setItem(THEME, v), applyTheme(v), setTheme(v))} />`;
}

/** A small native select: it works with every keyboard, phone and screen reader. @param {any} props */
function Choice({ label, icon, value, values, onChoose }) {
  return html`<label class="choice" title=${label}>
    <span aria-hidden="true">${icon}</span>
    <select aria-label=${label} onChange=${(/** @type {any} */ e) => onChoose(e.target.value)}>
      ${Object.entries(values).map(([v, name]) => html`<option value=${v} selected=${v === value}>${name}</option>`)}
    </select>
  </label>`;
}

/** The title of a page: what it shows, and the product's name. @param {(key: string) => string} t @param {string} shows */
export const titled = (t, shows) => `${shows} · ${t('brand')}`;

/** The logo: a coupon with its tear-off edge. */
function Mark() {
  return html`<svg class="mark" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d="M3 6.5A1.5 1.5 0 0 1 4.5 5h15A1.5 1.5 0 0 1 21 6.5V10a2 2 0 0 0 0 4v3.5a1.5 1.5 0 0 1-1.5 1.5h-15A1.5 1.5 0 0 1 3 17.5V14a2 2 0 0 0 0-4z" />
    <path class="mark-bolt" d="M13.2 7.5 8.8 13h2.8l-.8 3.5L15.2 11h-2.8z" />
  </svg>`;
}

/** Announces a text to screen readers, once, when they have finished the one before. @param {string} text */
export function announce(text) {
  const place = document.getElementById('announcer');
  if (!place) return;
  place.textContent = '';
  setTimeout(() => (place.textContent = text), 50); // the same words again are news only after none
}

/**
 * Renders again every so many milliseconds while the page is visible, and sooner where until returns less.
 * @param {number} every @param {() => number} [until] milliseconds until something changes; the first render's is kept
 */
export function useTick(every, until = () => Infinity) {
  const [, set] = useState(0);
  useEffect(() => {
    let timer = 0;
    const next = () => (timer = window.setTimeout(tick, Math.min(every, until())));
    const tick = () => (document.hidden || set((/** @type {number} */ n) => n + 1), next());
    next();
    return () => clearTimeout(timer);
  }, [every]);
}

/**
 * A dialog over the page, with the browser's own focus and Escape. The focus goes to what has autofocus, else to the first control: the
 * cross is the last. back: the browser's Back closes it, and does not leave the page. @param {any} props
 */
export function Dialog({ title, id = 'dialog-title', onClose, closeLabel, back, class: kind = '', children }) {
  const place = useRef(null), close = useRef(onClose);
  close.current = onClose;
  useEffect(() => {
    if (!back) return undefined;
    // An entry of the history, for Back to leave. Of two dialogs in a row the second may take over that of the first.
    const left = () => history.state || close.current();
    history.pushState('dialog', '');
    window.addEventListener('popstate', left);
    return () => {
      window.removeEventListener('popstate', left);
      if (history.state) history.back();
    };
  }, []);
  useEffect(() => {
    const dialog = /** @type {any} */ (place.current);
    return () => dialog.close();
  }, []);
  useEffect(() => { // also where the page was drawn anew and has moved it: a dialog that was moved is open, but no longer over the page
    const dialog = /** @type {any} */ (place.current);
    if (dialog.matches(':modal')) return;
    dialog.removeAttribute('open');
    dialog.showModal();
  });
  useEffect(() => { // not as an attribute: the event of close() above comes late, and would close what was opened since
    const dialog = /** @type {any} */ (place.current);
    dialog.addEventListener('close', onClose);
    return () => dialog.removeEventListener('close', onClose);
  }, [onClose]);
  return html`<dialog ref=${place} class="dialog ${kind}" aria-labelledby=${id}>
    <header class="dialog-head">
      <h2 id=${id}>${title}</h2>
    </header>
    ${children}
    <button class="icon dialog-close" type="button" aria-label=${closeLabel} onClick=${onClose}>✕</button>
  </dialog>`;
}
