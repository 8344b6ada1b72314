// @ts-check
// Shops: what they are called, and what bounds their merchants.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { Face } from '../picture.js';
import { PICTURES } from '../site.js';
import { notify } from './notice.js';
import { Ask, Field, Foot, Table, Waiting, numberOf, tied, trouble, useAgain, usePages } from './parts.js';
import { refusal } from './wrong.js';

/** What a shop is called. @param {number} id @param {string | undefined} name @param {(key: string, values?: any) => string} t */
export const shopName = (id, name, t) => name || t('shop.unnamed', { id: String(id) });

/** The event of a shop that was changed here. */
export const NAMED = 'seckill-shop';

/** A shop as a link to its page, with its number. @param {any} props */
export function ShopLink({ id, name, t }) {
  return html`<a href=${`#/shop/${id}`} data-shop=${id}>${shopName(id, name, t)}</a>${name && html`<span class="soft"> #${id}</span>`}`;
}

/** Whose an order or a payment is, below its voucher; a merchant knows. @param {any} props */
export function OfShop({ of: { shopId, shopName: name }, client, t }) {
  return shopId && !client.shop ? html`<br /><a class="soft small-text" href=${`#/shop/${shopId}`}>${shopName(shopId, name, t)}</a>` : null;
}

/** A shop of which the page knows the number only. @param {any} props */
export function ShopNamed({ id, client, words: { t, language } }) {
  const [name, setName] = useState('');
  useEffect(() => {
    let here = true;
    client.ask('GET', `/shop/${id}`).then((/** @type {any} */ answer) => here && answer.success && setName(answer.data.name));
    return () => void (here = false);
  }, [id, language]);
  return html`<a href=${`#/shop/${id}`} data-shop=${id}>${shopName(id, name, t)}</a>`;
}

/** The shops of which something is set; to a merchant, theirs. @param {any} props */
export function Shops({ client, words }) {
  return client.shop ? html`<${Shop} id=${client.shop} client=${client} words=${words} />` : html`<${All} client=${client} words=${words} />`;
}

/** @param {any} props */
function All({ client, words }) {
  const { t, time } = words;
  const pages = usePages(client, '/admin/shop', { limit: '50' });
  const [sellers, setSellers] = useState(/** @type {any[]} */ ([]));
  useEffect(() => void client.list('/admin/voucher', { limit: '100' }).then((/** @type {any} */ a) => a.success && setSellers(a.data)), []);
  const most = bound(words), set = pages.rows ?? [], known = new Map([...sellers.map((v) => [v.shopId, { id: v.shopId, name: v.shopName }]), ...set.map((/** @type {any} */ s) => [s.id, s])]);
  // Those of which nothing is set stand below: of them only the number is known.
  const rows = pages.rows && !pages.next ? [...set, ...[...known.values()].filter((s) => !s.limits).sort((a, b) => a.id - b.id)] : set;
  /** @param {any} e */
  const open = (e) => {
    e.preventDefault();
    const id = numberOf(String(new FormData(e.target).get('id')));
    if (Number.isSafeInteger(id) && id > 0) location.hash = `#/shop/${id}`;
  };
  return html`
    <header class="head"><h1>${t('place.shops')}</h1>
      <form class="row" onSubmit=${open}><label class="unseen" for="shop-number">${t('shop.number')}</label>
        <input id="shop-number" name="id" class="small-input" inputmode="numeric" autocomplete="off" placeholder=${t('shop.number')} />
        <button class="button primary small" data-act="open-shop">${t('shop.open')}</button></form>
    </header>
    <p class="soft">${t('shops.intro')}</p>
    <${Table} label=${t('place.shops')} rows=${rows}
      columns=${[{ label: t('shop'), head: true }, { label: t('field.maxSales'), n: true }, { label: t('field.maxUnits'), n: true }, { label: t('shop.changed'), kind: 'figures nowrap' }]}
      row=${(/** @type {any} */ s) => ({ key: s.id, 'data-shop': s.id, cells: [
        html`<${ShopLink} id=${s.id} name=${s.name} t=${t} />`, ...(s.limits ? [most(s.maxSales, s.limits.maxSales), most(s.maxUnits, s.limits.maxUnits), time(s.updateTime)] : ['–', '–', '–']),
      ] })} />
    <${Foot} pages=${pages} t=${t} empty=${rows.length === 0 && t('shops.none')} />
  `;
}

/** What bounds a shop: its own bound, else the setting. @param {import('../words.js').Words} words */
const bound = ({ t, number }) => (/** @type {number | undefined} */ own, /** @type {number | undefined} */ setting) =>
  own ? number(Math.min(own, setting ?? own)) : html`<span class="soft">${setting ? number(setting) : t('shop.any.number')}</span>`;

/** One shop. @param {any} props */
export function Shop({ id, client, words }) {
  const { t, time } = words;
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  const [shop, setShop] = useState(/** @type {any} */ (null));
  const [editing, setEditing] = useState(false);
  const read = async () => {
    const got = await client.ask('GET', `/admin/shop/${id}`);
    setAnswer(got);
    if (got.success) setShop(got.data);
  };
  useEffect(() => void read(), [id]);
  useAgain(answer, read);
  const crumb = !client.shop && html`<p class="crumb"><a href="#/shops">${t('place.shops')}</a></p>`;
  if (!shop) return html`<header class="head"><div>${crumb}<h1>${shopName(id, '', t)}</h1></div></header>
    ${answer ? html`<p class="note warn" role="alert">${trouble(answer, t)}</p>` : html`<${Waiting} t=${t} />`}`;
  const most = bound(words);
  const facts = [
    ['field.name', shop.name ?? html`<span class="soft">${t('shop.no.name')}</span>`],
    ...(pictured(shop) ? [['field.picture', shop.picture ?? html`<span class="soft">${t('shop.no.picture')}</span>`]] : []),
    ['field.maxSales', most(shop.maxSales, shop.limits.maxSales)], ['field.maxUnits', most(shop.maxUnits, shop.limits.maxUnits)],
    ...(shop.updateTime ? [['shop.changed', time(shop.updateTime)]] : []),
  ];
  return html`
    <header class="head"><div class="row"><${Face} name=${shopName(id, shop.name, t)} picture=${shop.picture} /><div>${crumb}<h1>${shopName(id, shop.name, t)}${shop.name && html` <span class="soft">#${id}</span>`}</h1></div></div>
      <div class="row"><a class="button quiet small" href=${`#/vouchers?shopId=${id}`}>${t('place.vouchers')}</a>
        <a class="button quiet small" href=${client.shop ? '#/orders' : `#/orders?shopId=${id}`}>${t('place.orders')}</a>
        <button type="button" class="button primary small" data-act="edit-shop" onClick=${() => setEditing(true)}>${t('shop.edit')}</button></div>
    </header>
    <div class="panel flat"><table class="plain facts"><tbody>${facts.map(([name, value]) => html`<tr key=${name} data-fact=${name}><th scope="row" class="soft">${t(/** @type {string} */ (name))}</th><td class="wrap">${value}</td></tr>`)}</tbody></table></div>
    <p class="soft small-text">${t(client.shop ? 'shop.bounds.merchant' : 'shop.bounds.says')}</p>
    ${editing && html`<${Edit} shop=${shop} client=${client} words=${words} onClose=${() => setEditing(false)} onDone=${setShop} />`}
  `;
}

/** Whether a shop can have a picture here, or has one. @param {any} shop */
const pictured = (shop) => PICTURES.length > 0 || Boolean(shop.picture);

/** Changes a shop: a merchant its name and picture alone. @param {any} props */
function Edit({ shop, client, words, onClose, onDone }) {
  const { t, number } = words;
  /** @param {FormData} form */
  const run = async (form) => {
    const name = String(form.get('name')).trim();
    /** A bound, 0 for an empty field; what is no number goes as it is typed, for the service to refuse. @param {string} field */
    const bounded = (field) => {
      const typed = String(form.get(field) ?? '').trim(), n = numberOf(typed);
      return typed === '' ? 0 : Number.isFinite(n) ? n : typed;
    };
    const picture = String(form.get('picture') ?? '').trim();
    const given = { name, ...(pictured(shop) && { picture }), ...(!client.shop && { maxSales: bounded('maxSales'), maxUnits: bounded('maxUnits') }) };
    // Only what was changed: somebody else may have changed the rest since it was shown.
    const was = { name: shop.name ?? '', picture: shop.picture ?? '', maxSales: shop.maxSales ?? 0, maxUnits: shop.maxUnits ?? 0 };
    const changed = Object.fromEntries(Object.entries(given).filter(([field, value]) => value !== was[/** @type {'name'} */ (field)]));
    if (Object.keys(changed).length === 0) return '';
    const answer = await client.insist('PATCH', `/admin/shop/${shop.id}`, { body: changed });
    if (!answer.success) return refusal(answer, t, trouble(answer, t));
    notify(t('done'));
    window.dispatchEvent(new CustomEvent(NAMED, { detail: answer.data })); // the bar has the merchant's
    onDone(answer.data);
    return '';
  };
  /** @param {Record<string, string>} wrong @param {'maxSales' | 'maxUnits'} name */
  const field = (wrong, name) => {
    const setting = shop.limits[name];
    return html`<${Field} name=${name} label=${t(`field.${name}`)} hint=${t(setting ? 'shop.setting' : 'shop.no.setting', { n: number(setting ?? 0) })} wrong=${wrong[name]}>
      <input ...${tied(name, wrong[name], true)} inputmode="numeric" autocomplete="off" defaultValue=${shop[name] ?? ''} /><//>`;
  };
  return html`<${Ask} title=${t('shop.edit')} yes=${t('save')} t=${t} run=${run} onClose=${onClose}>${(/** @type {Record<string, string>} */ wrong) => html`
    <${Field} name="name" label=${t('field.name')} hint=${t('shop.name.hint')} wrong=${wrong.name}>
      <input ...${tied('name', wrong.name, true)} autocomplete="off" defaultValue=${shop.name ?? ''} /><//>
    ${pictured(shop) && html`<${Field} name="picture" label=${t('field.picture')} hint=${PICTURES.length > 0 && t('shop.picture.hint', { hosts: PICTURES })} wrong=${wrong.picture}>
      <input ...${tied('picture', wrong.picture, PICTURES.length > 0)} inputmode="url" autocomplete="off" defaultValue=${shop.picture ?? ''} /><//>`}
    ${!client.shop && [field(wrong, 'maxSales'), field(wrong, 'maxUnits')]}`}
  <//>`;
}
