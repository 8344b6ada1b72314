// @ts-check
// The operator's console. The address has the section: #/start, #/sales, #/report/7, #/vouchers, #/voucher/7, #/before/7, #/orders, #/payments, #/deadletters, #/webhooks, #/webhook/3, #/events, #/shops, #/shop/7, #/partitions, #/audit.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { announce, show } from '../shell.js';
import { WHYS } from '../whys.js';
import { WHY_TEXTS } from '../why.js';
import { preferred } from '../words.js';
import { Audit } from './audit.js';
import { AdminClient } from './admin-client.js';
import { Before } from './before.js';
import { Guarded } from './broken.js';
import { CODES } from './codes.js';
import { DeadLetters } from './dead-letters.js';
import { DRAW_TEXTS } from './draw-texts.js';
import { dropDrafts } from './drafts.js';
import { Events } from './events.js';
import { Find } from './find.js';
import { GUARD_TEXTS } from './guard-texts.js';
import { Live } from './live.js';
import { Notice } from './notice.js';
import { Orders } from './orders.js';
import { Partitions } from './partitions.js';
import { Payments } from './payments.js';
import { Report } from './report.js';
import { Sales } from './sales.js';
import { Session } from './session.js';
import { NAMED, Shop, Shops, shopName } from './shops.js';
import { SignIn, linkCode } from './signin.js';
import { Start } from './start.js';
import { TEXTS } from './texts.js';
import { PROVIDER_TEXTS, SignInAgain, end } from '../sign-in.js';
import { Vouchers } from './vouchers.js';
import { Webhook, Webhooks } from './webhooks.js';

const session = new Session();
const client = new AdminClient(session, preferred);

// The bar's button has to know of signing in and out.
/** @type {{changed: () => void, signOut: () => void}} */
const bar = { changed() {}, signOut() {} };

/** @type {Record<string, any>} */
const SECTIONS = { start: Start, vouchers: Vouchers, sales: Sales, orders: Orders, payments: Payments, deadletters: DeadLetters, webhooks: Webhooks, events: Events, shops: Shops, partitions: Partitions, audit: Audit };

/** The sections that an installation has once. Merchants have none of them. */
const OF_ADMINS = ['deadletters', 'partitions'];

/** The names of the signed-in user's sections. */
const places = () => Object.keys(SECTIONS).filter((name) => !session.shop || !OF_ADMINS.includes(name));

/** Pages of one voucher, endpoint or shop, with the section that each belongs to. @type {Record<string, {page: any, of: string}>} */
const OF_ONE = { voucher: { page: Live, of: 'vouchers' }, before: { page: Before, of: 'vouchers' }, report: { page: Report, of: 'vouchers' }, webhook: { page: Webhook, of: 'webhooks' }, shop: { page: Shop, of: 'shops' } };

/** The section in the address, "" for none that there is, and for a page of one thing its number. */
function section() {
  const [name, rest] = location.hash.replace(/^#\/?/, '').split(/[/?]/);
  if (Object.hasOwn(OF_ONE, name) && Number(rest) > 0) return { name, id: Number(rest) };
  return { name: name === '' ? 'start' : places().includes(name) ? name : '', id: 0 };
}

/** The code of a sign-in link that somebody has opened who is not signed in, "" for none. It leaves the address. */
function newCode() {
  const code = linkCode();
  return session.token ? '' : code;
}

/** @param {{words: import('../words.js').Words}} props */
function Console({ words }) {
  const { t } = words;
  const [at, go] = useState(section());
  const [signedIn, setSignedIn] = useState(session.token !== '');
  const [why, setWhy] = useState('');
  const [code, setCode] = useState(/** @type {any} */ (newCode)); // of a sign-in link that was not tried yet
  useEffect(() => {
    const moved = () => {
      setCode(newCode);
      go(section());
    };
    window.addEventListener('hashchange', moved);
    go(section()); // it may have changed before anybody listened
    client.refused = (answer) => {
      const expired = Session.problem(session.token, Date.now());
      session.forget();
      setWhy(answer.code === 'FORBIDDEN' ? 'sign.buyer' : expired || 'sign.refused');
      setSignedIn(false);
      bar.changed();
    };
    return () => window.removeEventListener('hashchange', moved);
  }, []);
  useEffect(() => document.querySelector('.places [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' }), [at.name, signedIn]); // in a narrow window
  bar.signOut = () => (end(client, session.ofProvider), session.forget(), dropDrafts(), setWhy(''), setSignedIn(false), bar.changed());
  if (!signedIn) {
    return html`<${SignIn} client=${client} session=${session} words=${words} why=${why} code=${code} onTried=${() => setCode('')} onSignedIn=${() => (setSignedIn(true), go(section()), bar.changed(), announce(t('signed.in')))} />`;
  }
  const Section = Object.hasOwn(SECTIONS, at.name) ? SECTIONS[at.name] : null, Page = at.id ? OF_ONE[at.name] : undefined;
  return html`
    <nav class="places" aria-label=${t('places')}>
      ${places().map((name) => html`<a href="#/${name}" aria-current=${name === at.name || name === Page?.of ? 'page' : undefined}>${t(`place.${name}`)}</a>`)}
    </nav>
    <${Guarded} key=${`${at.name}/${at.id}`} t=${t}>${Page
      ? html`<${Page.page} id=${at.id} client=${client} words=${words} />`
      : Section ? html`<${Section} client=${client} words=${words} />` : html`<${Nowhere} t=${t} />`}<//>
    <${Notice} t=${t} />
    <${SignInAgain} words=${words} again=${client.again} purpose="console" onToken=${(/** @type {string} */ token) => session.keep(token)} onOut=${() => bar.signOut()} />
  `;
}

/** What an address shows that leads nowhere. @param {any} props */
function Nowhere({ t }) {
  return html`<header class="head"><h1>${t('nowhere')}</h1></header><p class="note">${t('nowhere.says', { address: location.hash })}</p><p><a class="button small" href="#/start">${t('place.start')}</a></p>`;
}

/** The field that finds things, and who is signed in, in the bar. @param {any} props */
function Who({ words }) {
  const { t } = words;
  const [, changed] = useState(0);
  bar.changed = () => changed((/** @type {number} */ n) => n + 1);
  const [shop, setShop] = useState(''); // the name of the merchant's
  useEffect(() => {
    let open = true;
    setShop('');
    if (session.token && session.shop) client.ask('GET', `/shop/${session.shop}`).then((answer) => open && answer.success && setShop(answer.data.name));
    return () => void (open = false);
  }, [session.token, words.language]);
  useEffect(() => {
    const named = (/** @type {any} */ { detail }) => detail.id === session.shop && setShop(detail.name ?? '');
    window.addEventListener(NAMED, named);
    return () => window.removeEventListener(NAMED, named);
  }, []);
  return session.token && html`
    <${Find} client=${client} words=${words} />
    <span class="who soft">${session.shop ? t('sign.merchant', { user: session.user, shop: shopName(session.shop, shop, t) }) : t('sign.admin', { user: session.user })}</span>
    <button type="button" class="button quiet small" data-act="sign-out" onClick=${() => bar.signOut()}>${t('sign.out')}</button>
  `;
}

show((words) => html`<${Console} words=${words} />`, { ...TEXTS, ...GUARD_TEXTS, ...DRAW_TEXTS, ...CODES, ...WHYS, ...WHY_TEXTS, ...PROVIDER_TEXTS }, {
  title: 'title', home: '/admin', extra: (words) => html`<${Who} words=${words} />`,
});
