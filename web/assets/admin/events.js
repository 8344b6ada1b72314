// @ts-check
// Events: what happened to orders, payments, waiting lists and sales, newest first; of each what it says, and how the endpoints take it.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { Dialog } from '../shell.js';
import { Foot, Table, Waiting, When, trouble, usePages, useFilter } from './parts.js';
import { ShopLink } from './shops.js';
import { Act, Standing, TYPES, failed, typeName } from './webhooks.js';

/** Where to read about a subject. @type {Record<string, (id: string) => string>} */
const PLACES = { order: (id) => `#/orders?orderId=${id}`, sale: (id) => `#/voucher/${id}` };

/** What an event is about. @param {any} event @param {(key: string) => string} t */
const about = ({ body: { subject } }, t) => `${t(`subject.${subject.kind}`)} ${subject.id}`;

/** The same, with where to read about it. @param {any} props */
function About({ event, t }) {
  const { kind, id } = event.body.subject;
  return PLACES[kind] ? html`<a href=${PLACES[kind](id)}>${about(event, t)}</a>` : about(event, t);
}

/** @param {any} props */
export function Events({ client, words }) {
  const { t } = words;
  const [filter, setFilter] = useFilter(['type']);
  const [open, setOpen] = useState(/** @type {any} */ (null));
  const pages = usePages(client, '/admin/event', { before: 'end', limit: '30', ...filter });
  const off = pages.answer?.code === 'EVENTS_OFF';
  return html`
    <header class="head"><h1>${t('place.events')}</h1>
      <div class="row"><label class="unseen" for="type">${t('event.type')}</label>
        <select id="type" class="small-input" onChange=${(/** @type {any} */ e) => setFilter({ type: e.target.value })}>
          <option value="">${t('events.any')}</option>
          ${Object.entries(TYPES).map(([group, types]) => html`<optgroup label=${t(`events.${group}`)}>${types.map((type) => html`<option value=${type} selected=${type === filter.type}>${typeName(type, words)}</option>`)}</optgroup>`)}
        </select>
        <button type="button" class="button quiet small" data-act="reload" onClick=${pages.again}>${t('reload')}</button></div>
    </header>
    <p class="soft">${t('events.intro')}</p>
    <${Table} label=${t('place.events')} rows=${pages.rows ?? []}
      columns=${[{ label: t('when'), kind: 'figures nowrap' }, { label: t('event.type') }, { label: t('hook.subject'), kind: 'figures' }, ...(client.shop ? [] : [{ label: t('shop') }]), { label: t('event.says') }]}
      row=${(/** @type {any} */ e) => ({ key: e.eventId, 'data-event': e.eventId, cells: [
        html`<${When} at=${e.body.timestamp} words=${words} />`, typeName(e.body.type, words), html`<${About} event=${e} t=${t} />`, ...(client.shop ? [] : [e.shopId ? html`<${ShopLink} id=${e.shopId} name=${e.shopName} t=${t} />` : '–']),
        html`<button type="button" class="button small" data-act="open" onClick=${() => setOpen(e)}>${t('look')}</button>`,
      ] })} />
    ${off ? html`<p class="note" role="alert" data-off>${t(client.shop ? 'events.off.shop' : 'events.off')}</p><p><a class="button small" href="#/webhooks">${t('place.webhooks')}</a></p>`
      : html`<${Foot} pages=${pages} t=${t} names=${{ type: t('event.type') }} partly=${t('events.none.yet')} empty=${t(filter.type ? 'events.none.type' : 'events.none')}
        action=${filter.type && html`<a class="button small" href="#/events">${t('all.show')}</a>`} />`}
    ${open && html`<${One} key=${open.eventId} event=${open} client=${client} words=${words} onClose=${() => setOpen(null)} />`}
  `;
}

/** One event: which endpoints take it, what each has made of it, and what it says. @param {any} props */
function One({ event, client, words, onClose }) {
  const { t, time } = words;
  const { body } = event;
  const [read, setRead] = useState(/** @type {any} */ (null)); // {rows} or {wrong}
  const [again, setAgain] = useState(/** @type {any} */ (null)); // the endpoint to which it is to be sent
  const asked = useRef(/** @type {any} */ (0));
  const load = async () => {
    const mine = ++asked.current;
    const endpoints = await client.ask('GET', '/admin/webhook');
    const taking = (endpoints.data ?? []).filter((/** @type {any} */ e) => (e.shopId === 0 || e.shopId === event.shopId) && (!e.types || e.types.split(',').includes(body.type)));
    const answers = await Promise.all(taking.map((/** @type {any} */ e) => client.list(`/admin/webhook/${e.id}/delivery`, { eventId: event.eventId })));
    if (mine !== asked.current) return; // another request was made since
    const bad = [endpoints, ...answers].find((a) => !a.success && a.status !== 404); // one may be deleted meanwhile
    setRead(bad ? { wrong: trouble(bad, t) } : { rows: taking.flatMap((/** @type {any} */ endpoint, /** @type {number} */ i) => (answers[i].data?.[0] ? [{ endpoint, delivery: answers[i].data[0] }] : [])) });
  };
  useEffect(() => void load(), []);
  if (again) return html`<${Act} key="again" act="again" event=${event.eventId} endpoint=${again} client=${client} words=${words} onDone=${load} onClose=${() => setAgain(null)} />`;
  return html`<${Dialog} key="event" title=${`${about(event, t)} · ${typeName(body.type, words)}`} closeLabel=${t('close')} onClose=${onClose}>
    <div class="stack">
      <p><span class="figures">${time(body.timestamp)}</span> · <${About} event=${event} t=${t} /><br /><code class="soft wrap">${event.eventId}</code></p>
      <section><div class="head"><h3>${t('hook.delivery')}</h3>
          <button type="button" class="button quiet small" data-act="reload-event" onClick=${load}>${t('reload')}</button></div>
        ${!read && html`<${Waiting} t=${t} />`}
        ${read?.wrong && html`<p class="note warn" role="alert">${read.wrong}</p>`}
        ${read?.rows?.length === 0 && html`<p class="soft">${t('event.nobody')}</p>`}
        ${read?.rows?.length > 0 && html`<ul class="endpoints">${read.rows.map((/** @type {any} */ { endpoint: e, delivery: d }) => html`<li key=${e.id} data-endpoint=${e.id}>
          <p><a href=${`#/webhook/${e.id}`}><code class="wrap">${e.url}</code></a><br /><${Standing} delivery=${d} since=${e.createTime} words=${words} />${d.error && html`<br /><span class="small-text">${failed(d.failure, d.error, t)}</span>`}</p>
          ${d.state !== 'waiting' && html`<button type="button" class="button small" data-act="again" onClick=${() => setAgain(e)}>${t('hook.act.again')}</button>`}</li>`)}</ul>`}
      </section>
      <section><h3>${t('event.says')}</h3><pre class="note says"><code>${JSON.stringify(body, null, 2)}</code></pre></section>
    </div>
  <//>`;
}
