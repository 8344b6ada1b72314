// @ts-check
// One act on several rows of a list, with one reason: each row is asked for by itself and in turn, and once, however often that is repeated. What is
// refused is listed with why, and only that is tried again.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { notify } from './notice.js';
import { Ask, Field, tied, trouble } from './parts.js';

/**
 * @typedef {object} SeveralAct
 * @property {string} act
 * @property {boolean} [danger]
 * @property {boolean} [asks] for a reason
 * @property {(row: any) => boolean} can
 * @property {(row: any) => string} path
 */

/** What is chosen of a list's rows: those that are no longer in it are not. @param {any[]} rows */
export function useChosen(rows) {
  const [ids, set] = useState(/** @type {Set<any>} */ (new Set()));
  const chosen = rows.filter((row) => ids.has(row.id));
  return { rows: chosen, has: (/** @type {any} */ id) => ids.has(id), set: (/** @type {any[]} */ next) => set(new Set(next)) };
}

/** The column with which rows are chosen, and its cell. @param {any} chosen @param {any[]} rows @param {any} t */
export const chooses = (chosen, rows, t) => ({
  column: { kind: 'choose', says: t('several.choose'), label: html`<input type="checkbox" aria-label=${t('several.all')} checked=${rows.length > 0 && chosen.rows.length === rows.length}
    onChange=${(/** @type {any} */ e) => chosen.set(e.target.checked ? rows.map((r) => r.id) : [])} />` },
  cell: (/** @type {any} */ row, /** @type {string} */ name) => html`<input type="checkbox" aria-label=${t('several.one', { name })} checked=${chosen.has(row.id)}
    onChange=${(/** @type {any} */ e) => chosen.set([...chosen.rows.map((/** @type {any} */ r) => r.id).filter((/** @type {any} */ id) => id !== row.id), ...(e.target.checked ? [row.id] : [])])} />`,
});

/** What can be done to the rows that are chosen. @param {any} props acts: SeveralAct[]; name is that of a row; onDone is called when one was done */
export function Several({ chosen, acts, name, client, words, onDone }) {
  const { t, number } = words;
  const [open, setOpen] = useState(/** @type {any} */ (null));
  if (open) return html`<${Doing} act=${open.act} rows=${open.rows} name=${name} client=${client} words=${words} onDone=${onDone} onAll=${() => chosen.set([])} onClose=${() => setOpen(null)} />`;
  if (chosen.rows.length === 0) return null;
  const can = acts.map((/** @type {SeveralAct} */ act) => ({ act, rows: chosen.rows.filter(act.can) })).filter((/** @type {any} */ one) => one.rows.length > 0);
  return html`<div class="row actions several" role="group" aria-label=${t('several')}>
    <span class="soft" role="status">${t('several.chosen', { n: chosen.rows.length })}</span>
    ${can.map((/** @type {any} */ one) => html`<button type="button" class=${`button small ${one.act.danger ? 'danger' : ''}`} data-several=${one.act.act} onClick=${() => setOpen(one)}>${t(`several.${one.act.act}`, { n: number(one.rows.length) })}</button>`)}
    ${can.length === 0 && html`<span class="soft small-text">${t('several.nothing')}</span>`}
    <button type="button" class="button quiet small" data-act="choose-none" onClick=${() => chosen.set([])}>${t('several.none')}</button>
  </div>`;
}

/** Asks before an act on several rows, and does it. @param {any} props */
function Doing({ act, rows, name, client, words, onClose, onDone, onAll }) {
  const { t } = words;
  const [left, setLeft] = useState(rows);
  const [done, setDone] = useState(0);
  const [refused, setRefused] = useState(/** @type {{row: any, why: string}[]} */ ([]));
  const [busy, setBusy] = useState(false);
  const gone = useRef(false);
  useEffect(() => () => void (gone.current = true), []); // who closes the dialog stops what has not begun
  /** @param {FormData} form */
  const run = async (form) => {
    const why = String(form.get('why') ?? '').trim();
    if (act.asks && !why) return [{ why: t('wrong.missing') }];
    setBusy(true);
    let [ended, unanswered] = [0, ''];
    const not = /** @type {{row: any, why: string}[]} */ ([]);
    for (const row of left) {
      if (gone.current) break;
      const answer = await client.create(act.path(row), act.asks ? { why } : undefined);
      if (answer.unknown || answer.status === 0) {
        unanswered = trouble(answer, t);
        break;
      }
      if (!answer.success) not.push({ row, why: answer.code === 'ORDER_STATE' ? t('staff.state', { state: t(`order.${answer.data.status}`) }) : trouble(answer, t) });
      ended++;
      setDone(done + ended - not.length);
      setRefused([...not]);
    }
    setBusy(false);
    if (ended > not.length) onDone();
    if (gone.current) return '';
    setLeft([...not.map((n) => n.row), ...left.slice(ended)]);
    if (unanswered) return [{}, t('several.unanswered', { why: unanswered })];
    if (not.length > 0) return [{}, t('several.refused', { n: not.length })];
    notify(t(`several.${act.act}.done`, { n: done + ended }));
    onAll();
    return '';
  };
  const n = left.length;
  return html`<${Ask} title=${t(`several.${act.act}.ask`, { n: rows.length })} says=${t(`several.${act.act}.says`)} yes=${t(done + refused.length > 0 ? 'several.again' : `several.${act.act}.yes`, { n })} danger=${act.danger} t=${t} run=${run} onClose=${onClose}>${(/** @type {Record<string, string>} */ wrong) => html`
    ${act.asks && html`<${Field} name="why" label=${t('field.why')} hint=${t('staff.why')} wrong=${wrong.why}><input ...${tied('why', wrong.why, true)} autocomplete="off" /><//>`}
    <p class="soft" role="status" data-progress>${(busy || done > 0) && t('several.progress', { done, n: rows.length })}</p>
    ${refused.length > 0 && html`<ul class="changes" data-refused>${refused.map((r) => html`<li key=${r.row.id}><b class="figures">${name(r.row)}</b> <span class="soft">${r.why}</span></li>`)}</ul>`}`}
  <//>`;
}
