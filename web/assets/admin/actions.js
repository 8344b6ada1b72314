// @ts-check
// The actions on a voucher. Those that stop or take something ask first and show what will happen.

import { html, useRef, useState } from '../vendor/htm-preact.js';
import { decided } from '../client.js';
import { newKey } from './admin-client.js';
import { CallOff } from './call-off.js';
import { VoucherForm, copyOf } from './form.js';
import { GuardsDialog } from './guards.js';
import { Ask, Field, announceChange, numberOf, tied, trouble } from './parts.js';
import { refusal } from './wrong.js';

/** @param {any} props left is how many units are left to sell, guards are those of the sale, undefined while they are not known */
export function Actions({ voucher, client, words, left, guards, onDone }) {
  const { t } = words;
  const [open, setOpen] = useState('');
  const close = () => setOpen('');
  const attempt = useRef(/** @type {any} */ ({ key: newKey(), delta: '' })); // it is kept when its dialog closes: after a lost answer the same request is sent again
  const now = client.clock.now();
  const phase = phaseOf(voucher, now);
  /** @param {string} act @param {string} method @param {string} path @param {any} [body] */
  const change = async (act, method, path, body) => {
    const answer = await client.insist(method, `/voucher/${voucher.id}${path}`, { body });
    if (!answer.success) return trouble(answer, t);
    announceChange(answer, t, t(`said.${act}`));
    onDone();
    return '';
  };
  const sells = voucher.type === 1 && !voucher.callOffTime && !voucher.archiveTime;
  const over = voucher.type !== 1 || phase === 'ended';
  const paused = voucher.saleState === 'paused';
  const off = voucher.status !== 1;
  /** @param {string} act @param {string} [kind] */
  const button = (act, kind = '') => html`<button type="button" class="button small ${kind}" data-act=${act} onClick=${() => setOpen(act)}>${t(`act.${act}`)}</button>`;
  /** @param {string} act @param {string} says in which case the sale is @param {() => Promise<string>} run @param {boolean} [danger] */
  const ask = (act, says, run, danger) => open === act && html`<${Ask} title=${t(`ask.${act}`, { title: voucher.title })} says=${t(`says.${act}.${says}`, { time: words.moment(voucher.beginTime ?? now) })} yes=${t(`act.${act}`)} danger=${danger} t=${t} run=${run} onClose=${close} />`;
  /** @param {string} act @param {string} path @param {string} [kind] */
  const link = (act, path, kind = '') => html`<a class="button small ${kind}" data-act=${act} href=${`#/${path}/${voucher.id}`}>${t(`act.${act}`)}</a>`;
  const shows = (/** @type {string} */ act, kind = '') => (act === 'before' || act === 'report' ? link(act, act, kind) : button(act, kind));
  const can = [...(sells ? [...(paused || voucher.stale ? ['resume'] : []), ...(phase !== 'ended' && (!paused || voucher.stale) ? ['pause'] : []), 'restock', ...(guards === undefined || phase === 'ended' ? [] : ['guards']), 'before'] : []), ...(voucher.archiveTime ? ['copy', 'report', 'restore'] : ['edit', 'copy', 'report', off ? 'shelve' : 'unshelve', ...(over ? ['archive'] : [])]), ...(sells ? ['calloff'] : [])];
  // They have a place of their own at the end, also before the sale: at its begin nothing else turns into Pause under a mouse. Both while it is not known how the sale is.
  const stops = off ? [] : ['resume', 'pause'].filter((act) => can.includes(act));
  const main = sells && voucher.stale && !off ? [] : [mainOf(voucher)].filter((act) => !stops.includes(act));
  const begun = voucher.type !== 1 || Date.parse(voucher.beginTime) <= client.clock.now();
  const beside = begun && !main.includes('report') ? ['report'] : []; // once there is something in it
  return html`<div class="row actions">
    ${main.map((act) => shows(act, 'primary'))}${beside.map((act) => shows(act))}
    <${Menu} label=${t('act.more')}>${can.filter((act) => ![...main, ...beside, ...stops].includes(act)).map((act) => shows(act, act === 'unshelve' || act === 'calloff' ? 'danger' : ''))}<//>
    ${stops.map((act) => shows(act, `stop ${act === 'resume' ? 'primary' : begun ? 'danger' : ''}`))}
    ${ask('pause', phase, () => change('pause', 'POST', '/pause'), true)}
    ${ask('resume', phaseOf({ ...voucher, saleState: '' }, now), () => change('resume', 'POST', '/resume'))}
    ${ask('unshelve', 'any', () => change('unshelve', 'PATCH', '', { status: 2 }), true)}
    ${ask('shelve', sells ? phaseOf({ ...voucher, status: 1 }, now) : 'any', () => change('shelve', 'PATCH', '', { status: 1 }))}
    ${ask('archive', 'any', () => change('archive', 'POST', '/archive'))}
    ${ask('restore', 'any', () => change('restore', 'POST', '/restore'))}
    ${open === 'guards' && html`<${GuardsDialog} voucher=${voucher} guards=${guards} client=${client} words=${words} onClose=${close} onDone=${onDone} />`}
    ${open === 'edit' && html`<${VoucherForm} client=${client} words=${words} voucher=${voucher} draft=${`edit.${voucher.id}`} onClose=${close} onDone=${onDone} />`}
    ${open === 'copy' && html`<${VoucherForm} client=${client} words=${words} from=${copyOf({ ...voucher, guards }, client.clock.now())} draft=${`copy.${voucher.id}`} onClose=${close}
      onDone=${(/** @type {any} */ v) => (location.hash = `#/voucher/${v.id}`)} />`}
    ${open === 'calloff' && html`<${CallOff} voucher=${voucher} client=${client} words=${words} left=${left} onClose=${close} onDone=${onDone} />`}
    ${open === 'restock' && html`<${Restock} voucher=${voucher} client=${client} words=${words} left=${left} attempt=${attempt} onClose=${close} onDone=${onDone} />`}
  </div>`;
}

/**
 * What decides about a sale what its dialogs say will happen: the first of what stands in its way. @param {any} voucher @param {number} now
 * @returns {'ended' | 'off_shelf' | 'unknown' | 'paused' | 'coming' | 'running'}
 */
export function phaseOf({ status, saleState, stale, beginTime, endTime }, now) {
  if (now >= Date.parse(endTime)) return 'ended';
  if (status !== 1) return 'off_shelf';
  if (stale) return 'unknown';
  if (saleState === 'paused') return 'paused';
  return now < Date.parse(beginTime) ? 'coming' : 'running';
}

/** The one action that a voucher's state calls for. @param {any} voucher */
function mainOf({ type, status, saleState, callOffTime, archiveTime }) {
  if (callOffTime || archiveTime) return 'report';
  if (status !== 1) return 'shelve';
  if (type !== 1) return 'edit';
  return /** @type {Record<string, string>} */ ({ not_started: 'before', paused: 'resume', sold_out: 'restock', ended: 'report' })[saleState] ?? 'pause';
}

/** What else can be done, folded. It closes with a choice, with Escape, and when the focus goes elsewhere. @param {any} props */
function Menu({ label, children }) {
  const place = useRef(/** @type {any} */ (null));
  const close = () => place.current.removeAttribute('open');
  /** @param {any} e */
  const onKeyDown = (e) => {
    if (e.key !== 'Escape' || !place.current.open) return;
    close();
    place.current.querySelector('summary').focus();
  };
  return html`<details class="menu" ref=${place} onKeyDown=${onKeyDown} onFocusOut=${(/** @type {any} */ e) => e.relatedTarget && !place.current.contains(e.relatedTarget) && close()}>
    <summary class="button small" data-act="menu">${label}</summary>
    <div class="menu-list" onClick=${close}>${children}</div>
  </details>`;
}

/**
 * Adds units, or takes some of what is left; once, however often it is sent, until the service has answered with the result.
 * @param {any} props
 */
function Restock({ voucher, client, words, left, attempt, onClose, onDone }) {
  const { t, number } = words;
  const [delta, setDelta] = useState('');
  const typed = numberOf(delta);
  const n = Number.isInteger(typed) ? typed : NaN;
  const phase = phaseOf(voucher, client.clock.now());
  const run = async () => {
    if (attempt.current.delta !== delta) attempt.current = { key: newKey(), delta }; // another change
    const body = { delta: Number.isNaN(n) ? delta : n };
    const answer = await client.insist('POST', `/voucher/${voucher.id}/stock`, { body, key: attempt.current.key });
    if (decided(answer)) attempt.current = { key: newKey(), delta: '' };
    if (answer.success) return announceChange(answer, t, t(n < 0 ? 'said.restock.taken' : 'said.restock.added', { n: number(Math.abs(n)) })), onDone(), '';
    if (answer.code === 'INSUFFICIENT_STOCK') return [{ delta: t('restock.few', { left: number(answer.data.left) }) }];
    return refusal(answer, t, trouble(answer, t));
  };
  const says = Number.isNaN(n) || n === 0 ? '' : n > 0
    ? `${t('restock.adds', { n: number(n), left: number(left + n) })}${t(`restock.${phase === 'running' && voucher.waitlistWindowSeconds ? 'listed' : phase}`)}`
    : t('restock.takes', { n: number(-n), left: number(Math.max(0, left + n)) });
  return html`<${Ask} title=${t('ask.restock', { title: voucher.title })} yes=${t(n < 0 ? 'restock.take' : 'restock.add')} danger=${n < 0} t=${t} run=${run} onClose=${onClose}>${(/** @type {Record<string, string>} */ wrong) => html`
    <${Field} name="delta" label=${t('field.delta')} hint=${t('hint.delta', { left: number(left) })} wrong=${wrong.delta}>
      <input ...${tied('delta', wrong.delta, true)} inputmode="text" autocomplete="off" value=${delta} onInput=${(/** @type {any} */ e) => setDelta(e.target.value)} />
    <//>
    <p class="note ${n < 0 ? 'warn' : ''}" role="status">${says || t('restock.says')}</p>`}
  <//>`;
}
