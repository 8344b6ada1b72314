// @ts-check
// The buyer's page: a shop's vouchers, and the buyer's orders. The shop is 1, or ?shop= in the address.

import { html, useEffect, useMemo, useState } from '../vendor/htm-preact.js';
import { Client } from '../client.js';
import { Face } from '../picture.js';
import { announce, show, titled, useTick } from '../shell.js';
import { PROVIDER_TEXTS, end, left, returned } from '../sign-in.js';
import { WHYS } from '../whys.js';
import { WHY_TEXTS } from '../why.js';
import { preferred } from '../words.js';
import { alertBuyer } from './alerts.js';
import { Card } from './card.js';
import { Orders } from './orders.js';
import { Own, Urgent } from './own.js';
import { Session } from './session.js';
import { Shop } from './shop.js';
import { SignIn } from './signin.js';
import { stateOf, untilChange } from './state.js';
import { TEXTS } from './texts.js';

const shopId = Number(new URLSearchParams(location.search).get('shop')) || 1;
const session = new Session();
const client = new Client({ token: () => session.token, language: preferred });

/** What the account button in the bar does; the page sets it. @type {{open: () => void, changed: () => void}} */
const account = { open() {}, changed() {} };

/** @param {{words: import('../words.js').Words}} props */
function Page({ words }) {
  const { t } = words;
  const [, changed] = useState(0);
  const [signing, setSigning] = useState(/** @type {{why: string, again?: boolean, kept?: any, then?: () => void} | null} */ (returned ? { why: 'sign.in' } : null));
  const [goOn, setGoOn] = useState(/** @type {{act: string, voucher: number, n: number} | null} */ (left ?? null)); // what was pressed before leaving to sign in
  const shop = useMemo(() => new Shop(client, session, shopId, {
    changed: () => changed((/** @type {number} */ n) => n + 1),
    notify: (event, values = {}) => notify(event, values),
    signedOut: (then) => (account.changed(), setSigning({ why: 'signed.out', again: true, then })),
    another: () => (account.changed(), setSigning(null)),
  }), []);
  const [face, setFace] = useState({ name: '', picture: undefined });
  useEffect(() => void client.ask('GET', `/shop/${shopId}`).then((answer) => answer.success && setFace(answer.data)), [words.language]);
  useTick(500, () => untilChange(shop.vouchers ?? [], client.clock.now()));
  useEffect(() => {
    shop.watch();
    shop.readOrders();
    account.open = () => (session.token ? (end(client, session.ofProvider), shop.signOut(), setSigning(null)) : setSigning({ why: 'sign.in' }));
    const back = () => document.hidden || shop.watch();
    const shown = (/** @type {PageTransitionEvent} */ e) => e.persisted && shop.cameBack();
    document.addEventListener('visibilitychange', back);
    window.addEventListener('pageshow', shown);
    return () => (document.removeEventListener('visibilitychange', back), window.removeEventListener('pageshow', shown));
  }, []);

  const now = client.clock.now();
  /** @param {import('../client.js').Voucher} voucher */
  const press = (voucher) => (session.token ? shop.press(voucher) : setSigning({ why: 'sign.why', kept: keep('press', voucher), then: () => shop.press(voucher) }));
  /** @param {import('../client.js').Voucher} voucher */
  const join = (voucher) => (session.token ? shop.places.join(voucher) : setSigning({ why: 'sign.wait', kept: keep('join', voucher), then: () => shop.places.join(voucher) }));
  /** What the page goes on with when the browser comes back from a provider. @param {string} act @param {import('../client.js').Voucher} voucher */
  const keep = (act, voucher) => ({ act, voucher: voucher.id, n: shop.quantity(voucher) });
  useEffect(() => {
    if (!goOn || !session.token || !shop.vouchers) return;
    setGoOn(null);
    const voucher = shop.vouchers.find((v) => v.id === goOn.voucher);
    if (!voucher) return;
    if (goOn.n > 1) shop.choose(voucher, goOn.n);
    if (goOn.act === 'join') shop.places.join(voucher);
    else shop.press(voucher);
  });
  const signedIn = async () => {
    const then = signing?.then;
    setSigning(null);
    account.changed();
    then?.();
    shop.readPlaces();
    await shop.readOrders();
  };
  return html`
    <div class="intro"><p class="shop-name" data-shop=${shopId}>${face.name && html`<${Face} ...${face} />`}${face.name}</p><h1>${t('title')}</h1><p class="soft">${t(shop.vouchers?.every((v) => v.type === 1 && (v.perUser ?? 1) === 1) ? 'intro' : 'intro.several')}</p></div>
    ${shop.vouchers && shop.trouble && html`<p class="note warn" role="status">${t('stale')}</p>`}
    ${shop.vouchers === null && html`<p class="note ${shop.trouble ? 'warn' : ''}" role="status">${t(shop.trouble ? 'trouble' : 'loading')}</p>`}
    ${shop.vouchers?.length === 0 && html`<p class="note">${t('empty')}</p>`}
    ${session.token && html`<${Own} shop=${shop} words=${words} now=${now} />`}
    <div class="cards">
      ${(shop.vouchers ?? []).map((v) => html`<${Card} key=${v.id} voucher=${v} shop=${shop} words=${words} now=${now}
        onPress=${() => press(v)} onJoin=${() => join(v)} onPay=${(/** @type {any} */ o) => shop.act('pay', o)} />`)}
    </div>
    ${shop.more && html`<${More} shop=${shop} t=${t} />`}
    ${session.token && html`<${Orders} shop=${shop} words=${words} now=${now} />`}
    ${signing && html`<${SignIn} client=${client} session=${session} words=${words} why=${t(signing.why)} again=${signing.again ?? false} kept=${signing.kept} onClose=${() => setSigning(null)} onSignedIn=${signedIn} />`}
    <${Starts} shop=${shop} now=${now} t=${t} />
    <${Urgent} shop=${shop} words=${words} now=${now} />
    <${Title} invited=${shop.places.open().some((p) => p.state === 'invited' && now < Date.parse(p.acceptBefore ?? ''))} words=${words} />
  `;

  /** Announces what has happened. @param {string} event @param {any} values */
  function notify(event, values) {
    if (event === 'place.invited') alertBuyer(t('title.invited'), t('tell.place.invited', values));
    if (event === 'refused') announce(values.message || t('note.refused'));
    else if (event === 'order') announce(t('tell.order', { state: t(`order.${values.status}`) }));
    else if (TEXTS[`tell.${event}`]) announce(t(`tell.${event}`, values));
  }
}

/** Shows the next page of vouchers. @param {any} props */
function More({ shop, t }) {
  const [busy, setBusy] = useState(false);
  const press = async () => {
    setBusy(true);
    await shop.showMore();
    setBusy(false);
    announce(t('more.shown', { n: shop.vouchers.length }));
  };
  return html`<p class="more"><button type="button" class="button quiet" data-act="more" aria-disabled=${String(busy)} onClick=${() => busy || press()}>
    ${busy && html`<span class="spinner" aria-hidden="true"></span>`}${t('more')}
  </button></p>`;
}

/** Says in the tab that a unit is kept: the buyer may look at another page meanwhile. @param {any} props */
function Title({ invited, words: { t, language } }) {
  useEffect(() => void (document.title = titled(t, invited ? `● ${t('title.invited')}` : t('title'))), [invited, language]);
  return null;
}

/** Announces that a sale has started, once. @param {any} props */
function Starts({ shop, now, t }) {
  const waiting = useMemo(() => new Set(), []);
  useEffect(() => {
    for (const v of shop.vouchers ?? []) {
      const state = stateOf(v, now, shop.liveOrder(v.id), shop.presses.get(v.id));
      if (state === 'not_started') waiting.add(v.id);
      else if (waiting.delete(v.id) && (state === 'grab' || state === 'try')) announce(t('tell.started', { title: v.title }));
    }
  });
  return null;
}

/** The button in the bar: who is signed in, and signing in and out. @param {any} props */
function Account({ words: { t } }) {
  const [, changed] = useState(0);
  account.changed = () => changed((/** @type {number} */ n) => n + 1);
  return html`
    ${session.token && html`<span class="who soft">${t('sign.user', { user: session.user })}</span>`}
    <button type="button" class="button quiet account" data-act="account" onClick=${() => account.open()}>${t(session.token ? 'sign.out' : 'sign.in')}</button>
  `;
}

show((words) => html`<${Page} words=${words} />`, { ...TEXTS, ...WHYS, ...WHY_TEXTS, ...PROVIDER_TEXTS }, {
  title: 'title',
  extra: (words) => html`<${Account} words=${words} />`,
});
