// @ts-check
// The draw of a sale with tickets: announcing it, what to publish, and its beacon. docs/guards.md says what a draw proves.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { BASE } from '../client.js';
import { announce } from '../shell.js';
import { Ask, Field, announceChange, tied, trouble } from './parts.js';
import { instant, local, wrongTime } from './rules.js';
import { TimeFields, typedTime } from './times.js';
import { refusal } from './wrong.js';

/** Milliseconds between two looks at a draw. */
const EVERY = 5_000;

/** How long before its sale a draw closes: at least, and at most where it is proposed. */
const LEAD = 60_000, PROPOSED = 900_000;

/** The colour of a state. @type {Record<string, string>} */
const TONES = { open: 'good', closed: 'warn', drawn: 'good', void: 'bad' };

/** The draw of a sale, or the offer to announce one. It stands nowhere without either. @param {any} props */
export function Draw({ voucher, client, words, version, onDone }) {
  const { t, time, has } = words;
  const [draw, setDraw] = useState(/** @type {any} */ (undefined)); // null: none
  const [open, setOpen] = useState('');
  useEffect(() => {
    let here = true, timer = 0;
    const look = async () => {
      const answer = document.hidden ? null : await client.ask('GET', `/voucher/${voucher.id}/draw?limit=1`);
      if (!here) return;
      if (answer?.success) setDraw(answer.data);
      else if (answer?.status === 404) setDraw(null);
      timer = window.setTimeout(look, EVERY);
    };
    void look();
    return () => ((here = false), clearTimeout(timer));
  }, [voucher.id, version]);
  if (draw === undefined || (!draw && (!voucher.ticketsFrom || voucher.waitlistWindowSeconds))) return null;
  const now = client.clock.now(), begin = Date.parse(voucher.beginTime);
  const able = voucher.ticketsFrom && !voucher.archiveTime && !voucher.callOffTime && now < begin - LEAD;
  const late = draw?.state === 'closed' && draw.source && now >= begin;
  const says = !draw ? (able ? 'none' : 'late') : draw.voidReason === 'off' ? 'says.off' : late ? 'says.late' : draw.state === 'closed' && !draw.root ? 'says.closing' : `says.${draw.state}`;
  const reason = (/** @type {any} */ d) => (has(`draw.why.${d.voidReason}`) ? t(`draw.why.${d.voidReason}`) : d.voidReason);
  const lines = draw && draw.state !== 'void' && publish(draw, voucher, words);
  const copy = async () => (await navigator.clipboard.writeText(lines), announce(t('copied')));
  const done = (/** @type {any} */ d) => (setDraw(d), onDone());
  return html`<section class="panel flat stack" data-draw=${draw?.state ?? 'none'}><h2>${t('draw')}${draw && html` <span class="soft">${draw.drawNumber}</span> <span class="tag ${TONES[draw.state] ?? ''}">${has(`draw.${draw.state}`) ? t(`draw.${draw.state}`) : draw.state}</span>`}</h2>
    <p class=${(draw?.state === 'void' && draw.voidReason !== 'off') || late || (draw?.state === 'closed' && draw.root) ? 'note warn' : ''}>${t(`draw.${says}`, { ...draw, close: new Date(draw?.closeTime), begin: new Date(begin), time: new Date(draw?.voidTime), reason: draw && reason(draw) })}</p>
    ${lines && html`<pre class="publish" tabindex="0" aria-label=${t('draw.copy')}>${lines}</pre>`}
    <div class="row">
      ${draw?.state === 'closed' && draw.root && draw.source && !late && html`<button type="button" class="button small primary" data-act="beacon" onClick=${() => setOpen('beacon')}>${t('draw.beacon')}</button>`}
      ${lines && navigator.clipboard && html`<button type="button" class="button small" data-act="copy-draw" onClick=${copy}>${t('draw.copy')}</button>`}
      ${draw && html`<a class="button small" href=${pageOf(voucher)} target="_blank">${t('draw.page')}</a>`}
      ${able && html`<button type="button" class="button small ${draw && draw.state !== 'void' ? 'quiet' : 'primary'}" data-act="announce-draw" onClick=${() => setOpen('announce')}>${t(draw ? 'draw.another' : 'draw.announce')}</button>`}
    </div>
    ${draw?.earlier && html`<ul class="small-text soft">${draw.earlier.map((/** @type {any} */ e) => html`<li key=${e.drawNumber}>${t('draw.earlier', { n: e.drawNumber, time: time(e.voidTime), reason: reason(e) })}</li>`)}</ul>`}
    ${open === 'announce' && html`<${Announce} voucher=${voucher} draw=${draw} client=${client} words=${words} onClose=${() => setOpen('')} onDone=${done} />`}
    ${open === 'beacon' && html`<${Beacon} voucher=${voucher} draw=${draw} client=${client} t=${t} onClose=${() => setOpen('')} onDone=${done} />`}
  </section>`;
}

/** The address at which everybody checks a sale's draw. @param {any} voucher */
const pageOf = ({ id }) => `${location.origin}${BASE}/draw?voucher=${id}`;

/** What a shop publishes of a draw, a line for each thing that is fixed. @param {any} d @param {any} voucher @param {import('../words.js').Words} words */
function publish(d, voucher, { t, time, number, tenths }) {
  return [
    t('publish.title', { title: voucher.title, n: d.drawNumber }),
    t('publish.begin', { time: time(d.beginTime), n: d.delayMs % 1000 ? tenths(d.delayMs / 1000) : number(d.delayMs / 1000) }),
    t('publish.close', { time: time(d.closeTime) }),
    t('publish.key', { hash: d.keyHash }),
    d.source && t('publish.source', d),
    d.root && t('publish.root', { n: d.entries, root: d.root }),
    d.beacon && t('publish.beacon', d),
    t('publish.check', { address: pageOf(voucher) }),
  ].filter(Boolean).join('\n');
}

/** Announces a draw, or another one. @param {any} props */
function Announce({ voucher, draw, client, words, onClose, onDone }) {
  const { t, zone, moment } = words;
  const begin = Date.parse(voucher.beginTime), from = Math.max(client.clock.now(), Date.parse(voucher.ticketsFrom));
  const proposed = begin - Math.min(PROPOSED, Math.max(LEAD, (begin - from) / 4));
  const was = Date.parse(draw?.closeTime);
  const [first] = useState(() => local(was > from && was <= begin - LEAD ? was : Math.floor(proposed / 1000) * 1000));
  /** @param {FormData} given @param {any} form */
  const run = async (given, form) => {
    const wrong = wrongTime(form, 'closeTime', t);
    if (wrong) return [{ closeTime: wrong }];
    const [source, round] = ['source', 'round'].map((name) => String(given.get(name)).trim());
    const body = { closeTime: instant(typedTime(form, 'closeTime') ?? ''), ...(source && { source }), ...(round && { round }) };
    const answer = await client.insist('PUT', `/admin/voucher/${voucher.id}/draw`, { body });
    if (!answer.success) return refusal(answer, t, trouble(answer, t));
    announceChange(answer, t, t('said.draw'));
    onDone(answer.data);
    return '';
  };
  const label = t('form.zone', { label: t('field.closeTime'), zone: zone() });
  const hint = t('draw.close.hint', { half: moment(from + (begin - from) / 2) });
  const input = (/** @type {string} */ name, /** @type {Record<string, string>} */ wrong) => html`<${Field} name=${name} label=${t('form.optional', { label: t(`field.${name}`) })} hint=${t(`draw.${name}.hint`)} wrong=${wrong[name]}>
    <input ...${tied(name, wrong[name], true)} autocomplete="off" defaultValue=${name === 'source' ? draw?.source : undefined} /><//>`;
  return html`<${Ask} title=${t('draw.ask', { title: voucher.title })} says=${t('draw.ask.says')} yes=${t('draw.announce')} keep=${t('cancel')} t=${t} run=${run} onClose=${onClose}>${(/** @type {Record<string, string>} */ wrong) => html`
    ${draw && draw.state !== 'void' && html`<p class="note warn">${t('draw.ask.another', { n: draw.drawNumber })}</p>`}
    <${Field} name="closeTime" label=${label} hint=${hint} wrong=${wrong.closeTime}>
      <${TimeFields} name="closeTime" label=${label} time=${first} wrong=${wrong.closeTime} hint=${hint} words=${words} /><//>
    ${input('source', wrong)}${input('round', wrong)}`}
  <//>`;
}

/** Enters the beacon, once, when what was typed has been shown. @param {any} props */
function Beacon({ voucher, draw, client, t, onClose, onDone }) {
  const [typed, setTyped] = useState('');
  const [sure, setSure] = useState(''); // what was shown
  const beacon = typed.trim();
  const run = async () => {
    if (!beacon) return [{ beacon: t('wrong.missing') }];
    if (beacon !== sure) return setSure(beacon), [{}];
    const answer = await client.insist('PUT', `/admin/voucher/${voucher.id}/draw/beacon`, { body: { beacon } });
    if (!answer.success) setSure('');
    if (answer.status === 409) return [{ beacon: answer.errorMsg }];
    if (!answer.success) return refusal(answer, t, trouble(answer, t));
    announceChange(answer, t, t('said.beacon'));
    onDone(answer.data);
    return '';
  };
  const shown = sure !== '' && beacon === sure;
  return html`<${Ask} title=${t('draw.beacon.ask', { n: draw.drawNumber })} says=${t('draw.beacon.says', draw)} yes=${t(shown ? 'draw.beacon.yes' : 'draw.beacon.next')} keep=${t('cancel')} t=${t} run=${run} onClose=${onClose}>${(/** @type {Record<string, string>} */ wrong) => html`
    <${Field} name="beacon" label=${t('field.beacon')} wrong=${wrong.beacon}>
      <input ...${tied('beacon', wrong.beacon)} autocomplete="off" autocapitalize="off" spellcheck="false" value=${typed} onInput=${(/** @type {any} */ e) => setTyped(e.target.value)} />
    <//>
    <div role="status">${shown && html`<div class="note warn stack" data-sure><p>${t('draw.beacon.sure', { n: sure.length })}</p><code class="wrap">${sure}</code></div>`}</div>`}
  <//>`;
}
