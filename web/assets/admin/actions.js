// @ts-check
// The actions on a voucher. Those that stop or take something ask first and show what will happen.

import { html, useRef, useState } from '../vendor/htm-preact.js';
import { decided } from '../client.js';
import { newKey } from './admin-client.js';
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
  /** @param {string} method @param {string} path @param {any} [body] */
  const change = async (method, path, body) => {
    const answer = await client.insist(method, `/voucher/${voucher.id}${path}`, { body });
    if (!answer.success) return trouble(answer, t);
    announceChange(answer, t);
    onDone();
    return '';
  };
  const sells = voucher.type === 1;
  const paused = voucher.saleState === 'paused';
  const off = voucher.status !== 1;
  /** @param {string} act @param {string} [kind] */
  const button = (act, kind = '') => html`<button type="button" class="button small ${kind}" data-act=${act} onClick=${() => setOpen(act)}>${t(`act.${act}`)}</button>`;
  /** @param {string} act @param {() => Promise<string>} run @param {boolean} [danger] */
  const ask = (act, run, danger) => open === act && html`<${Ask} title=${t(`ask.${act}`, { title: voucher.title })} says=${t(`says.${act}`)} yes=${t(`act.${act}`)} danger=${danger} t=${t} run=${run} onClose=${close} />`;
  return html`<div class="row actions">
    ${sells && (paused || voucher.stale) && button('resume', 'primary')}
    ${sells && (!paused || voucher.stale) && button('pause', 'danger')}
    ${sells && button('restock')}
    ${sells && guards !== undefined && button('guards')}
    ${button('edit')}
    ${button('copy')}
    <a class="button small" data-act="report" href=${`#/report/${voucher.id}`}>${t('act.report')}</a>
    ${off ? button('shelve') : button('unshelve')}
    ${ask('pause', () => change('POST', '/pause'), true)}
    ${ask('resume', () => change('POST', '/resume'))}
    ${ask('unshelve', () => change('PATCH', '', { status: 2 }), true)}
    ${ask('shelve', () => change('PATCH', '', { status: 1 }))}
    ${open === 'guards' && html`<${GuardsDialog} voucher=${voucher} guards=${guards} client=${client} words=${words} onClose=${close} onDone=${onDone} />`}
    ${open === 'edit' && html`<${VoucherForm} client=${client} words=${words} voucher=${voucher} onClose=${close} onDone=${onDone} />`}
    ${open === 'copy' && html`<${VoucherForm} client=${client} words=${words} from=${copyOf({ ...voucher, guards }, client.clock.now())} onClose=${close}
      onDone=${(/** @type {any} */ v) => (location.hash = `#/voucher/${v.id}`)} />`}
    ${open === 'restock' && html`<${Restock} voucher=${voucher} client=${client} words=${words} left=${left} attempt=${attempt} onClose=${close} onDone=${onDone} />`}
  </div>`;
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
  const run = async () => {
    if (attempt.current.delta !== delta) attempt.current = { key: newKey(), delta }; // another change
    const body = { delta: Number.isNaN(n) ? delta : n };
    const answer = await client.insist('POST', `/voucher/${voucher.id}/stock`, { body, key: attempt.current.key });
    if (decided(answer)) attempt.current = { key: newKey(), delta: '' };
    if (answer.success) return announceChange(answer, t), onDone(), '';
    if (answer.code === 'INSUFFICIENT_STOCK') return [{ delta: t('restock.few', { left: number(answer.data.left) }) }];
    return refusal(answer, t, trouble(answer, t));
  };
  const says = Number.isNaN(n) || n === 0 ? '' : n > 0
    ? t('restock.adds', { n: number(n), left: number(left + n) })
    : t('restock.takes', { n: number(-n), left: number(Math.max(0, left + n)) });
  return html`<${Ask} title=${t('ask.restock', { title: voucher.title })} yes=${t(n < 0 ? 'restock.take' : 'restock.add')} danger=${n < 0} t=${t} run=${run} onClose=${onClose}>${(/** @type {Record<string, string>} */ wrong) => html`
    <${Field} name="delta" label=${t('field.delta')} hint=${t('hint.delta', { left: number(left) })} wrong=${wrong.delta}>
      <input ...${tied('delta', wrong.delta, true)} inputmode="text" autocomplete="off" value=${delta} onInput=${(/** @type {any} */ e) => setDelta(e.target.value)} />
    <//>
    <p class="note ${n < 0 ? 'warn' : ''}" role="status">${says || t('restock.says')}</p>`}
  <//>`;
}
