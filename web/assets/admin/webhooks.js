// @ts-check
// Webhook endpoints: where changes of orders and waiting lists are sent, how each takes them, what was sent to it, and what it did not take.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { Dialog } from '../shell.js';
import { notify } from './notice.js';
import { CODES } from './codes.js';
import { Ask, Command, Field, Foot, Table, Waiting, tied, trouble, usePages, useFilter } from './parts.js';
import { instant, wrongTime } from './rules.js';
import { ShopLink, ShopNamed } from './shops.js';
import { TimeFields, typedTime } from './times.js';
import { refusal } from './wrong.js';

/** The types of events, in the service's order, by what they are about. @type {Record<string, string[]>} */
export const TYPES = Object.fromEntries(Object.entries({
  order: ['unpaid', 'paid', 'redeemed', 'cancelled', 'refunding', 'refunded', 'failed', 'lapsed', 'extended', 'restored'],
  waitlist: ['invited', 'accepted', 'declined', 'missed', 'ended', 'released'],
  sale: ['created', 'changed', 'started', 'sold_out', 'ended', 'called_off'],
  payment: ['returned', 'disputed', 'dispute_won', 'dispute_lost', 'stuck', 'retried', 'closed', 'processing', 'failed', 'cancelled', 'refund', 'received'],
}).map(([what, all]) => [what, all.map((of) => `${what}.${of}`)]));

/** The types to choose from for an endpoint: also those among its own that are newer than this page. @param {string[]} chosen */
export const typesFor = (chosen) => [...new Set([...Object.values(TYPES).flat(), ...chosen])];

/** A type of events. Those of payments have names of their own, which are not those of states. @param {string} type @param {import('../words.js').Words} words */
export const typeName = (type, { t, has }) => t(has(`event.${type}`) ? `event.${type}` : type);

/** Why an event was not taken, or an endpoint is disabled; as the service says it for a code that is newer than this page. @param {any} failure @param {string} said @param {(key: string, values?: any) => string} t */
export const failed = (failure, said, t) => (CODES[`failure.${failure.code}`] ? t(`failure.${failure.code}`, failure) : said);

/** How an endpoint takes events, as a tag. @param {any} props */
function Health({ endpoint: e, t, time, number }) {
  if (e.disabled) return html`<span class="tag bad">${t('hook.disabled')}</span>`;
  if (e.failures > 0) return html`<span class="tag warn" title=${e.retryTime ? t('hook.again', { at: time(e.retryTime) }) : ''}>${t('hook.failing', { n: number(e.failures) })}</span>`;
  if (e.replaying) return html`<span class="tag warn">${t('hook.replaying')}</span>`;
  return html`<span class="tag ${e.successTime ? 'good' : ''}">${t(e.successTime ? 'hook.taking' : 'hook.new')}</span>`;
}

/** All endpoints. @param {any} props */
export function Webhooks({ client, words }) {
  const { t, time, number } = words;
  const [open, setOpen] = useState(false);
  const [secret, setSecret] = useState(/** @type {any} */ (null));
  const [{ shop }, setFilter] = useFilter(['shop']);
  const pages = usePages(client, '/admin/webhook', {});
  const shown = (pages.rows ?? []).filter((/** @type {any} */ e) => shop === '' || String(e.shopId) === shop || e.shopId === 0);
  return html`
    <header class="head"><h1>${t('place.webhooks')}</h1>
      <div class="row"><label class="unseen" for="hook-shop">${t('shop')}</label>
        <input id="hook-shop" class="small-input" inputmode="numeric" placeholder=${t('shop.any')} value=${shop} onInput=${(/** @type {any} */ e) => setFilter({ shop: e.target.value.trim() }, true)} />
        <button type="button" class="button quiet small" onClick=${pages.again}>${t('reload')}</button>
        <button type="button" class="button primary small" data-act="create" onClick=${() => setOpen(true)}>${t('hook.create')}</button></div>
    </header>
    <p class="soft">${t('hooks.intro')}</p>
    <${Table} label=${t('place.webhooks')} rows=${shown}
      columns=${[{ label: t('field.url'), kind: 'address' }, { label: t('shop'), kind: 'figures' }, { label: t('state') }, { label: t('hook.success'), kind: 'figures nowrap' }, { label: t('field.types'), kind: 'small-text' }]}
      row=${(/** @type {any} */ e) => ({ key: e.id, 'data-webhook': e.id, cells: [
        html`<a href=${`#/webhook/${e.id}`}><code class="wrap">${e.url}</code></a>${e.description && html`<br /><span class="soft small-text">${e.description}</span>`}`,
        e.shopId === 0 ? t('shop.any') : html`<${ShopLink} id=${e.shopId} name=${e.shopName} t=${t} />`,
        html`<${Health} endpoint=${e} t=${t} time=${time} number=${number} />`,
        e.successTime ? time(e.successTime) : '–', e.types ? named(e.types, words) : t('hook.all'),
      ] })} />
    <${Foot} pages=${{ ...pages, rows: pages.rows && shown }} t=${t} empty=${t(shop === '' ? 'hooks.none' : 'hooks.no.match')}
      action=${shop === '' ? html`<button type="button" class="button small" data-act="create-first" onClick=${() => setOpen(true)}>${t('hook.create')}</button>` : html`<a class="button small" href="#/webhooks">${t('all.show')}</a>`} />
    ${open && html`<${EndpointForm} client=${client} words=${words} onClose=${() => setOpen(false)} onDone=${(/** @type {any} */ e) => (setSecret(e), pages.again())} />`}
    ${secret && html`<${Secret} endpoint=${secret} t=${t} onClose=${() => setSecret(null)} />`}
  `;
}

/** The names of types of events. @param {string} types @param {import('../words.js').Words} words */
const named = (types, words) => types.split(',').map((type) => typeName(type, words)).join(words.t('comma'));

/** The secret of an endpoint, which is shown this once. @param {any} props */
function Secret({ endpoint, t, onClose }) {
  return html`<${Dialog} title=${t('hook.secret')} closeLabel=${t('close')} onClose=${onClose}>
    ${!endpoint.secret && html`<p class="note warn">${t('hook.lost')}</p>`}
    ${endpoint.secret && html`<div class="stack"><p>${t('hook.secret.says')}</p>
      <p class="note"><span data-secret><${Command} text=${endpoint.secret} t=${t} /></span></p>
      ${endpoint.oldSecretUntil && html`<p>${t('hook.secret.old')}</p>`}
      <div class="row end"><button type="button" class="button primary" data-act="close" onClick=${onClose}>${t('hook.secret.kept')}</button></div></div>`}
  <//>`;
}

/** What an admin decides about an endpoint: a new one, or one that there is. @param {any} props */
function EndpointForm({ client, words, endpoint, onClose, onDone }) {
  const { t } = words;
  const chosen = endpoint?.types ? endpoint.types.split(',') : [];
  /** @param {FormData} form */
  const run = async (form) => {
    const shop = String(form.get('shopId') ?? '').trim();
    const body = {
      url: String(form.get('url')).trim(), description: String(form.get('description')).trim(), types: form.getAll('types').join(','),
      ...(!endpoint && { shopId: /^\d+$/.test(shop) ? Number(shop) : shop }),
    };
    // Only what was changed: another admin may have changed the rest since it was shown.
    const changed = endpoint && Object.fromEntries(Object.entries(body).filter(([name, value]) => value !== (endpoint[name] ?? '')));
    if (changed && Object.keys(changed).length === 0) return onDone(), '';
    const answer = endpoint ? await client.ask('PATCH', `/admin/webhook/${endpoint.id}`, { body: changed }) : await client.create('/admin/webhook', body);
    if (!answer.success) return refusal(answer, t, answer.status === 0 && !endpoint ? t('hook.unknown') : trouble(answer, t));
    notify(t('done'));
    onDone(answer.data);
    return '';
  };
  /** @param {Record<string, string>} wrong @param {string} name @param {string} value @param {any} [more] */
  const input = (wrong, name, value, more = {}) => html`<${Field} name=${name} label=${t(`field.${name}`)} hint=${more.hint} wrong=${wrong[name]}>
    <input ...${tied(name, wrong[name], Boolean(more.hint))} defaultValue=${value} autocomplete="off" inputmode=${more.mode ?? 'text'} /><//>`;
  return html`<${Ask} title=${t(endpoint ? 'hook.edit' : 'hook.create')} yes=${t(endpoint ? 'save' : 'create.it')} t=${t} run=${run} onClose=${onClose}>${(/** @type {Record<string, string>} */ wrong) => html`
    ${input(wrong, 'url', endpoint?.url ?? '', { hint: t('hint.url'), mode: 'url' })}
    ${!endpoint && input(wrong, 'shopId', client.shop ? String(client.shop) : '', { hint: t('hint.shop'), mode: 'numeric' })}
    ${input(wrong, 'description', endpoint?.description ?? '')}
    <fieldset class="kinds row types"><legend>${t('field.types')} <span class="soft small-text">${t('hint.types')}</span></legend>
      ${typesFor(chosen).map((type) => html`<label class="pick"><input type="checkbox" name="types" value=${type} defaultChecked=${chosen.includes(type)} /> ${typeName(type, words)}</label>`)}
      ${wrong.types && html`<p class="field-problem">${wrong.types}</p>`}
    </fieldset>`}
  <//>`;
}

/** One endpoint: how it does, what was sent to it, what it did not take. @param {any} props */
export function Webhook({ id, client, words }) {
  const { t, time, number } = words;
  const [page, setPage] = useState(/** @type {any} */ ({ endpoint: null, answer: null }));
  const [version, setVersion] = useState(0);
  const [list, setList] = useState('delivery');
  const [open, setOpen] = useState(/** @type {any} */ (null));
  const [secret, setSecret] = useState(/** @type {any} */ (null)); // not in open: a dialog that closes clears that a moment later
  const asked = useRef(/** @type {any} */ (0));
  const load = async () => {
    const mine = ++asked.current;
    const answer = await client.ask('GET', `/admin/webhook/${id}`);
    if (mine !== asked.current) return; // another request was made since
    setPage((/** @type {any} */ p) => ({ endpoint: answer.success ? answer.data : answer.status !== 404 && p.endpoint, answer }));
  };
  useEffect(() => void load(), [version]);
  const again = () => setVersion((n) => n + 1);
  const e = page.endpoint;
  if (!e && !page.answer) return html`<${Waiting} t=${t} />`;
  if (!e) return html`<p class="note warn" role="alert">${page.answer.status === 404 ? t('hook.gone') : trouble(page.answer, t)}</p>`;
  /** @param {string} act @param {string} [kind] */
  const button = (act, kind = '') => html`<button type="button" class="button small ${kind}" data-act=${act} onClick=${() => setOpen({ act })}>${t(`hook.act.${act}`)}</button>`;
  return html`
    <p class="crumb"><a href="#/webhooks">${t('place.webhooks')}</a></p>
    <header class="head"><h1><code class="wrap">${e.url}</code> <${Health} endpoint=${e} t=${t} time=${time} number=${number} /></h1>
      <button type="button" class="button quiet small" data-act="reload" onClick=${again}>${t('reload')}</button></header>
    <${Facts} endpoint=${e} client=${client} words=${words} />
    <div class="row actions spaced">${button('test', 'primary')}${button('edit')}${e.disabled ? button('enable') : button('disable', 'danger')}${button('rotate')}${button('replay')}${button('delete', 'danger')}</div>
    <section>
      <div class="head"><div class="row" role="group" aria-label=${t('hook.lists')}>
        ${['delivery', 'deadletter'].map((name) => html`<button type="button" class="button small ${name === list ? 'primary' : 'quiet'}" data-list=${name} aria-pressed=${String(name === list)} onClick=${() => setList(name)}>${t(`hook.${name}`)}</button>`)}
      </div></div>
      <${Events} key=${list} id=${id} since=${e.createTime} list=${list} version=${version} client=${client} words=${words} onReplay=${(/** @type {any} */ d) => setOpen({ act: 'again', event: d.eventId })} />
    </section>
    ${open && html`<${Act} ...${open} endpoint=${e} client=${client} words=${words} onClose=${() => setOpen(null)} onDone=${again} onSecret=${setSecret} />`}
    ${secret && html`<${Secret} endpoint=${secret} t=${t} onClose=${() => setSecret(null)} />`}
  `;
}

/** @param {any} props */
function Facts({ endpoint: e, client, words }) {
  const { t, time } = words;
  const facts = [
    ['shop', e.shopId === 0 ? t('shop.any') : html`<${ShopNamed} id=${e.shopId} client=${client} words=${words} />`], ['field.description', e.description], ['field.types', e.types ? named(e.types, words) : t('hook.all')],
    ['hook.success', e.successTime && time(e.successTime)], ['hook.since', e.failingSince && time(e.failingSince)], ['hook.next', e.retryTime && time(e.retryTime)],
    ['hook.error', e.lastError && failed(e.lastFailure, e.lastError, t)], ['hook.why', e.disabledWhy && failed({ code: e.disabledCode }, e.disabledWhy, t)], ['hook.old', e.oldSecretUntil && time(e.oldSecretUntil)],
  ].filter(([, value]) => value);
  return html`<div class="panel flat"><table class="plain facts"><tbody>${facts.map(([name, value]) => html`<tr key=${name}><th scope="row" class="soft">${t(name)}</th><td class="wrap">${value}</td></tr>`)}</tbody></table></div>`;
}

/** The colour of the state of a delivery. @type {Record<string, string>} */
const STATES = { delivered: 'good', retrying: 'warn', dead: 'bad' };

/** How far an event has got to an endpoint that there is since a time. @param {any} props */
export function Standing({ delivery: d, since, words: { t, time, number } }) {
  const never = d.state === 'delivered' && Date.parse(d.at) < Date.parse(since); // unless it was sent again
  return html`<span class="tag ${never ? '' : (STATES[d.state] ?? '')}">${t(never ? 'delivery.before' : `delivery.${d.state}`)}</span>${d.attempts ? html` <span class="soft small-text">${t('hook.attempts', { n: number(d.attempts) })}</span>` : ''}${d.dueTime && html`<br /><span class="soft small-text">${t('hook.again', { at: time(d.dueTime) })}</span>`}`;
}

/** Events for an endpoint, newest first. @param {any} props */
function Events({ id, since, list, version, client, words, onReplay }) {
  const { t, time } = words;
  const pages = usePages(client, `/admin/webhook/${id}/${list}`, { limit: '30' });
  useEffect(() => void (version && pages.again()), [version]);
  return html`
    <${Table} label=${t(`hook.${list}`)} rows=${pages.rows ?? []}
      columns=${[{ label: t('when'), kind: 'figures nowrap' }, { label: t('what'), kind: 'nowrap' }, { label: t('hook.subject'), kind: 'figures' }, { label: t('state') }, { label: t('hook.error'), kind: 'small-text' }, { label: t('hook.act.again') }]}
      row=${(/** @type {any} */ d) => ({ key: d.eventId, 'data-event': d.eventId, cells: [
        time(d.at), typeName(d.type, words), `${t(`subject.${d.subject.kind}`)} ${d.subject.id}`,
        html`<${Standing} delivery=${d} since=${since} words=${words} />`,
        d.error ? failed(d.failure, d.error, t) : '–',
        d.state !== 'waiting' && html`<button type="button" class="button small" data-act="again" onClick=${() => onReplay(d)}>${t('hook.act.again')}</button>`,
      ] })} />
    <${Foot} pages=${pages} t=${t} partly=${t('hook.delivery.none.yet')} empty=${t(`hook.${list}.none`)} />
  `;
}

/** The dialog of one action. @param {any} props */
export function Act({ act, event, endpoint: e, client, words, onClose, onDone, onSecret }) {
  const { t } = words;
  /** Sends a change and returns what went wrong. @param {string} path @param {any} body @param {string} [method] */
  const send = async (path, body, method = 'POST') => {
    const answer = await client.ask(method, `/admin/webhook/${e.id}${path}`, { body });
    if (!answer.success) return refusal(answer, t, act === 'replay' && answer.status === 404 ? t('hook.period.none') : trouble(answer, t));
    notify(t('done'));
    onDone();
    return '';
  };
  const asks = { t, onClose, title: t(`hook.ask.${act}`), yes: t(`hook.act.${act}`), says: t(`hook.says.${act}`, { event }) };
  switch (act) {
    case 'test': return html`<${Tried} endpoint=${e} client=${client} words=${words} onClose=${onClose} />`;
    case 'edit': return html`<${EndpointForm} client=${client} words=${words} endpoint=${e} onClose=${onClose} onDone=${onDone} />`;
    case 'enable': return html`<${Ask} ...${asks} run=${() => send('', { disabled: false }, 'PATCH')} />`;
    case 'disable': return html`<${Ask} ...${asks} danger=${true} run=${() => send('', { disabled: true }, 'PATCH')} />`;
    case 'again': return html`<${Ask} ...${asks} run=${() => send('/replay', { eventId: event })} />`;
    case 'delete': return html`<${Ask} ...${asks} danger=${true} run=${async () => {
      const problem = await send('', undefined, 'DELETE');
      if (problem === '') location.hash = '#/webhooks';
      return problem;
    }} />`;
    case 'rotate': return html`<${Ask} ...${asks} run=${async (/** @type {FormData} */ form) => {
      const answer = await client.ask('POST', `/admin/webhook/${e.id}/rotate`, { body: { atOnce: form.get('atOnce') !== null } });
      if (!answer.success) return answer.status === 0 ? t('hook.rotate.unknown') : trouble(answer, t);
      onDone();
      onSecret(answer.data);
      return '';
    }}><label class="pick"><input type="checkbox" name="atOnce" /> ${t('hook.at.once')}</label><//>`;
    default: return html`<${Ask} ...${asks} run=${(/** @type {FormData} */ _, /** @type {any} */ form) => {
      const wrong = ['from', 'to'].map((name) => [name, wrongTime(form, name, t, name === 'from')]).filter(([, says]) => says);
      if (wrong.length > 0) return [Object.fromEntries(wrong)];
      /** @param {string} name */
      const moment = (name) => (typedTime(form, name) ? { [name]: instant(typedTime(form, name) ?? '') } : {});
      return send('/replay', { ...moment('from'), ...moment('to') });
    }}>${(/** @type {Record<string, string>} */ wrong) => ['from', 'to'].map((name) => {
      const label = t('form.zone', { label: t(`field.${name}`), zone: words.zone() });
      return html`<${Field} name=${name} label=${label} wrong=${wrong[name]}><${TimeFields} name=${name} label=${label} time="" wrong=${wrong[name]} words=${words} /><//>`;
    })}<//>`;
  }
}

/** Sends a test event and says what the endpoint made of it. @param {any} props */
function Tried({ endpoint: e, client, words, onClose }) {
  const { t, number } = words;
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  useEffect(() => void client.ask('POST', `/admin/webhook/${e.id}/test`, { body: {} }).then(setAnswer), []);
  const result = answer?.data;
  const says = !answer ? t('hook.trying') : !answer.success ? trouble(answer, t)
    : result.taken ? t('hook.taken', { ms: number(result.tookMs) }) : `${t('hook.not.taken')} ${failed(result.failure, result.error, t)}`;
  return html`<${Dialog} title=${t('hook.act.test')} closeLabel=${t('close')} onClose=${onClose}>
    <div class="stack"><p class="note ${!answer ? '' : result?.taken ? 'good' : 'bad'}" role="status" data-tried=${answer ? 'yes' : undefined}>${says}</p>
      <div class="row end"><button type="button" class="button primary" onClick=${onClose}>${t('close')}</button></div></div>
  <//>`;
}
