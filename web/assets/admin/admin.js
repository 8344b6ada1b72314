// @ts-check
// The operator's console. Where one is stands in the address: #/vouchers, #/voucher/7, #/orders, #/deadletters, #/audit.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { announce, show } from '../shell.js';
import { preferred } from '../words.js';
import { Audit } from './audit.js';
import { Desk } from './desk.js';
import { Letters } from './letters.js';
import { Live } from './live.js';
import { Orders } from './orders.js';
import { Session } from './session.js';
import { SignIn } from './signin.js';
import { TEXTS } from './texts.js';
import { Vouchers } from './vouchers.js';

const session = new Session();
const desk = new Desk(session, preferred);

// The bar's button has to know when somebody signs in or out.
/** @type {{changed: () => void, signOut: () => void}} */
const bar = { changed() {}, signOut() {} };

/** @type {Record<string, any>} */
const PLACES = { vouchers: Vouchers, orders: Orders, deadletters: Letters, audit: Audit };

/** Where the address says that one is: a place, and for a voucher its number. */
function place() {
  const [name, rest] = location.hash.replace(/^#\/?/, '').split(/[/?]/);
  if (name === 'voucher' && Number(rest) > 0) return { name, id: Number(rest) };
  return { name: name in PLACES ? name : 'vouchers', id: 0 };
}

/** @param {{words: import('../words.js').Words}} props */
function Console({ words }) {
  const { t } = words;
  const [at, go] = useState(place());
  const [signedIn, setSignedIn] = useState(session.token !== '');
  const [why, setWhy] = useState('');
  useEffect(() => {
    const moved = () => go(place());
    window.addEventListener('hashchange', moved);
    desk.refused = (answer) => {
      const expired = Session.problem(session.token, Date.now());
      session.forget();
      setWhy(answer.code === 'FORBIDDEN' ? 'sign.buyer' : expired || 'sign.refused');
      setSignedIn(false);
      bar.changed();
    };
    return () => window.removeEventListener('hashchange', moved);
  }, []);
  bar.signOut = () => (session.forget(), setWhy(''), setSignedIn(false), bar.changed());
  if (!signedIn) {
    return html`<${SignIn} desk=${desk} session=${session} words=${words} why=${why} onSignedIn=${() => (setSignedIn(true), bar.changed(), announce(t('signed.in')))} />`;
  }
  const Place = PLACES[at.name];
  return html`
    <nav class="places" aria-label=${t('places')}>
      ${Object.keys(PLACES).map((name) => html`<a href="#/${name}" aria-current=${name === at.name || (name === 'vouchers' && at.name === 'voucher') ? 'page' : undefined}>${t(`place.${name}`)}</a>`)}
    </nav>
    ${at.name === 'voucher'
      ? html`<${Live} key=${at.id} id=${at.id} desk=${desk} words=${words} />`
      : html`<${Place} desk=${desk} words=${words} />`}
  `;
}

/** Who is signed in, in the bar. @param {any} props */
function Who({ words: { t } }) {
  const [, changed] = useState(0);
  bar.changed = () => changed((/** @type {number} */ n) => n + 1);
  return session.token && html`
    <span class="who soft">${t('sign.admin', { user: session.user })}</span>
    <button type="button" class="button quiet small" data-act="sign-out" onClick=${() => bar.signOut()}>${t('sign.out')}</button>
  `;
}

show((words) => html`<${Console} words=${words} />`, TEXTS, {
  title: 'title', home: '/admin', extra: (words) => html`<${Who} words=${words} />`,
});
