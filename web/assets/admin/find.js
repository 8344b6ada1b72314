// @ts-check
// One field that finds vouchers, orders, payments and shops, by number, text or code. / or Ctrl-K leads there.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { pause } from '../client.js';
import { announce } from '../shell.js';
import { TONES } from './order.js';
import { trouble } from './parts.js';
import { shopName } from './shops.js';

/** Seconds after the last key in which nothing is asked yet. */
const TYPING = 0.25;

/** What may be a code, or a part of one: letters with or without digits, as codes have them. Digits alone are a number. */
const CODE = /^(?=.*[A-Z])[0-9A-TV-Z]{8,16}$/;

/** What may be the number of a user. */
const USER = /^[1-9][0-9]{0,15}$/;

/** The letters and digits of a text, as codes have them. @param {string} text */
const coded = (text) => text.normalize('NFKC').toUpperCase().replace(/[^\p{L}\p{Nd}]/gu, '');

/** Where a hit is shown. @param {any} hit */
const address = ({ kind, id }) => ({ voucher: `#/voucher/${id}`, shop: `#/shop/${id}`, order: `#/orders?orderId=${id}`, payment: `#/payments?payment=${encodeURIComponent(id)}` })[/** @type {'order'} */ (kind)];

/** Where all that a text finds is listed. @param {string} by @param {string} text */
const list = (by, text) => by === 'name' ? '#/shops' : ({ user: '#/orders?userId=', title: '#/vouchers?archived=true&title=', payment: '#/payments?payment=' })[/** @type {'user'} */ (by)] + encodeURIComponent(text.replace(/^#/, ''));

/** Asks for what a text may be. What may be a code is in a header, as no address may have it. @param {any} client @param {string} text */
const found = (client, text) => (CODE.test(coded(text)) ? client.ask('GET', '/admin/search', { headers: { 'Coupon-Code': text.normalize('NFKC') } }) : client.list('/admin/search', { q: text }));

/** @param {any} props */
export function Find({ client, words }) {
  const { t } = words;
  const [text, setText] = useState('');
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const [at, setAt] = useState(0);
  const [open, setOpen] = useState(false);
  const field = useRef(/** @type {any} */ (null)), place = useRef(/** @type {any} */ (null)), asked = useRef(/** @type {any} */ (0));
  const typed = text.trim();
  useEffect(() => {
    const key = (/** @type {KeyboardEvent} */ e) => {
      const typing = e.target instanceof Element && e.target.closest('input, select, textarea, dialog');
      if (e.ctrlKey || e.metaKey ? e.key.toLowerCase() !== 'k' : e.key !== '/' || typing) return;
      if (document.querySelector('dialog:modal')) return;
      e.preventDefault();
      field.current.focus();
      field.current.select();
    };
    const escape = (/** @type {KeyboardEvent} */ e) => e.key === 'Escape' && setOpen(false);
    const outside = (/** @type {Event} */ e) => e.target instanceof Node && !place.current.contains(e.target) && setOpen(false);
    const went = () => setOpen(false);
    const all = /** @type {[EventTarget, string, any][]} */ ([[document, 'keydown', escape], [document, 'keydown', key], [document, 'pointerdown', outside], [window, 'hashchange', went]]);
    for (const [on, event, does] of all) on.addEventListener(event, does);
    return () => all.forEach(([on, event, does]) => on.removeEventListener(event, does));
  }, []);
  useEffect(() => {
    const mine = ++asked.current;
    setAnswer(null);
    setAt(0);
    if (!typed) return;
    void (async () => {
      await pause(TYPING);
      if (mine !== asked.current) return;
      const got = await found(client, typed);
      if (mine !== asked.current) return;
      setAnswer(got);
      announce(got.success ? t('find.hits', { n: got.data.hits.length }) : trouble(got, t));
    })();
  }, [typed]);
  const hits = answer?.success ? answer.data.hits : [], more = answer?.success ? answer.data.more.filter((/** @type {string} */ by) => by !== 'id' && by !== 'user') : [];
  // A number may be a user's who has no order: what sales refused is there, too.
  if (answer?.success && USER.test(typed)) more.push('user');
  const rows = [...hits.map((/** @type {any} */ hit) => ({ to: address(hit), hit })), ...more.map((/** @type {string} */ by) => ({ to: list(by, typed), by }))];
  const done = () => (setOpen(false), setText(''), field.current.blur());
  /** @param {KeyboardEvent} e */
  const key = (e) => {
    if (e.key === 'Enter' && rows[at] && open) return (e.preventDefault(), (location.hash = rows[at].to), done());
    const step = { ArrowDown: 1, ArrowUp: -1 }[/** @type {'ArrowDown'} */ (e.key)];
    if (!step || rows.length === 0) return;
    e.preventDefault();
    setOpen(true);
    setAt((at + step + rows.length) % rows.length);
  };
  const shown = open && typed !== '';
  return html`<div class="find" ref=${place} role="search" aria-label=${t('find')}>
    <input ref=${field} id="find" class="small-input" type="search" role="combobox" autocomplete="off" aria-label=${t('find')} placeholder=${t('find.hint')} aria-keyshortcuts="/ Control+K"
      aria-expanded=${shown ? 'true' : 'false'} aria-controls="finds" aria-autocomplete="list" aria-activedescendant=${shown && rows[at] ? `find-${at}` : undefined} value=${text}
      onInput=${(/** @type {any} */ e) => (setText(e.target.value), setOpen(true))} onFocus=${() => setOpen(true)} onKeyDown=${key} />
    <div class="finds" hidden=${!shown}>
      <ul id="finds" role="listbox" aria-label=${t('find')}>
        ${rows.map(({ to, hit, by }, i) => html`<li role="option" id=${`find-${i}`} key=${to} aria-selected=${i === at ? 'true' : 'false'} onClick=${() => ((location.hash = to), done())}>
          ${hit ? html`<${Hit} hit=${hit} words=${words} />` : html`<span class="find-more">${t(`find.more.${by}`, { text: typed })}</span>`}
        </li>`)}
      </ul>
      ${!answer ? html`<p class="soft small-text">${t('loading')}</p>` : !answer.success ? html`<p class="small-text">${trouble(answer, t)}</p>` : rows.length === 0 && html`<p class="soft small-text">${t('find.none', { text: typed })}</p>`}
    </div>
  </div>`;
}

/** @param {any} props */
function Hit({ hit, words: { t } }) {
  const { kind, id, by, title, voucherId, shopId, userId, status } = hit;
  const state = kind === 'order' ? `order.${status}` : `payment.${status}`;
  return html`<span class="find-what">${t(`find.${kind}`)}</span>
    <span class="find-title">${kind === 'shop' ? shopName(shopId, hit.shopName, t) : title ?? `#${voucherId}`}</span>
    ${status && html`<span class="tag ${kind === 'order' ? TONES[status] ?? '' : ''}">${t(state)}</span>`}
    <span class="soft small-text figures">${kind === 'voucher' || kind === 'shop' ? `#${id}` : id}${userId && ` · ${t('user')} ${userId}`}${kind !== 'shop' && shopId && ` · ${shopName(shopId, hit.shopName, t)}`} · ${t(`find.by.${by}`)}</span>`;
}
