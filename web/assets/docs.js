// @ts-check
// The description of the HTTP interface, /docs: search, a menu that is out of the way on a telephone, and requests to try where
// the service hands out buyers for it. Without this script the page is whole, and does none of that.

import { DEMO } from './site.js';

/** Of the tokens that requests need, by role: where the tab keeps one, where it has one from, and what its field is called. @type {Record<string, {kept: string, from?: string, label: string}>} */
const TOKENS = {
  buyer: { kept: 'seckill.docs.token', label: 'Token' },
  admin: { kept: 'seckill.docs.admin', from: 'seckill.admin', label: 'Token of an admin (that of the console, if you are signed in there in this tab)' },
  till: { kept: 'seckill.docs.till', label: 'Token of a till' },
};

/** @param {string} id */
const element = (id) => /** @type {any} */ (document.getElementById(id));

const articles = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('main article')]);
const words = new Map(articles.map((a) => [a, (a.textContent ?? '').toLowerCase()]));

/** Shows the routes and schemas in which all words of a text occur, and of the menu what leads to them. @param {string} text */
function search(text) {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  let n = 0;
  for (const article of articles) {
    const fits = wanted.every((w) => words.get(article)?.includes(w));
    article.hidden = !fits;
    if (fits) n++;
    const link = document.querySelector(`nav a[href="#${article.id}"]`)?.parentElement;
    if (link) link.hidden = !fits;
  }
  for (const list of document.querySelectorAll('nav ul')) {
    const empty = ![...list.children].some((li) => !(/** @type {HTMLElement} */ (li).hidden));
    /** @type {HTMLElement} */ (list.previousElementSibling).hidden = empty;
  }
  for (const section of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('main section'))) {
    section.hidden = [...section.querySelectorAll('article')].every((a) => a.hidden);
  }
  element('found').textContent = wanted.length ? `${n} of ${articles.length}` : '';
}

const field = element('search');
field.addEventListener('input', () => search(field.value));
// A link to what the search has hidden ends the search.
addEventListener('hashchange', () => {
  const at = document.getElementById(location.hash.slice(1));
  if (!at || at.checkVisibility()) return;
  field.value = '';
  search('');
  at.scrollIntoView();
});
document.addEventListener('keydown', (e) => {
  if (e.key !== '/' || /^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName ?? '')) return;
  e.preventDefault();
  field.focus();
});

const narrow = matchMedia('(max-width: 52rem)');
const menu = /** @type {HTMLDetailsElement} */ (document.querySelector('.menu'));
menu.open = !narrow.matches;
menu.addEventListener('click', (e) => {
  if (narrow.matches && /** @type {Element} */ (e.target).closest('a')) menu.open = false;
});

/** A labelled control. @param {string} tag @param {string} label @param {string} value */
function control(tag, label, value) {
  const at = document.createElement('label');
  const made = /** @type {HTMLInputElement} */ (document.createElement(tag));
  at.textContent = label;
  made.value = value;
  made.spellcheck = false;
  made.autocomplete = 'off';
  at.append(made);
  return { at, made };
}

/** @param {string} text @param {() => void} act */
function button(text, act) {
  const made = document.createElement('button');
  made.type = 'button';
  made.className = 'button small';
  made.textContent = text;
  made.addEventListener('click', act);
  return made;
}

/** The order that was bought here last, for the forms that are opened after it; before that, the id that examples have. */
const EXAMPLE_ORDER = '660000000123456789';
let lastOrder = EXAMPLE_ORDER;

/** A form that makes an article's request. @param {HTMLElement} article */
function form(article) {
  const request = JSON.parse(article.dataset.request ?? '{}');
  const place = document.createElement('div');
  place.className = 'try';
  const target = control('input', 'Path', request.target.replace(EXAMPLE_ORDER, lastOrder));
  const { kept, from = '', label } = TOKENS[request.token] ?? TOKENS.buyer;
  const token = control('input', label, sessionStorage.getItem(kept) || sessionStorage.getItem(from) || '');
  const body = control('textarea', 'Body', request.body && JSON.stringify(JSON.parse(request.body), null, 2));
  const answer = document.createElement('pre');
  answer.tabIndex = 0;
  answer.hidden = true;
  answer.setAttribute('role', 'status');
  const send = async () => {
    /** @type {Record<string, string>} */
    const headers = Object.fromEntries(request.headers ?? []);
    if ('Idempotency-Key' in headers) headers['Idempotency-Key'] = crypto.randomUUID();
    const typed = token.made.value.trim();
    if (request.token && typed) headers.Authorization = `Bearer ${typed}`;
    // No copy of the console's: it would outlive its admin's signing out.
    if (request.token) sessionStorage.setItem(kept, typed === sessionStorage.getItem(from) ? '' : typed);
    answer.hidden = false;
    answer.textContent = '…';
    const text = await told(target.made.value, { method: request.method, headers, body: request.body ? body.made.value : undefined });
    lastOrder = /"orderId": "(\d+)"/.exec(text)?.[1] ?? lastOrder;
    answer.textContent = text;
  };
  const become = async () => {
    const text = await told('/demo/buyer', { method: 'POST' });
    const made = /"token": "([^"]+)"/.exec(text)?.[1];
    answer.hidden = Boolean(made);
    answer.textContent = text; // why there is none, such as RATE_LIMITED
    if (!made) return;
    token.made.value = made;
    sessionStorage.setItem(kept, made);
  };
  const act = document.createElement('div');
  act.className = 'try-act';
  act.append(button('Send', send), ...(request.token === 'buyer' ? [button('Become a demo buyer', become)] : []));
  place.append(target.at, ...(request.token ? [token.at] : []), ...(request.body ? [body.at] : []), act, answer);
  return place;
}

/** What the service answers, as text. @param {string} target @param {RequestInit} request */
async function told(target, request) {
  try {
    const response = await fetch(target, { ...request, signal: AbortSignal.timeout(20_000) });
    const text = await response.text();
    try {
      return `${response.status}\n${JSON.stringify(JSON.parse(text), null, 2)}`;
    } catch {
      return `${response.status}\n${text}`;
    }
  } catch (problem) {
    return `No answer: ${problem}`;
  }
}

if (DEMO) {
  for (const article of articles) {
    if (!article.dataset.request) continue;
    const open = button('Try it', () => {
      open.replaceWith(form(article));
      /** @type {HTMLElement} */ (article.querySelector('.try input')).focus();
    });
    article.append(open);
  }
}
