// @ts-check
// Parts of several sections of the console: states, problems at fields, dialogs that ask first, pages of lists.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { Dialog, announce } from '../shell.js';

/** The colour of a sale's state. @type {Record<string, string>} */
const TONES = { on_sale: 'good', paused: 'warn', preparing: 'warn', sold_out: '', not_started: '', ended: '', off_shelf: 'bad' };

/** A voucher's state as a tag. @param {any} props */
export function State({ voucher, t }) {
  const state = voucher.saleState ?? (voucher.status === 1 ? 'on_shelf' : 'off_shelf');
  return html`<span class="tag ${TONES[state] ?? ''}">${t(`state.${state}`)}</span>`;
}

/** What went wrong, for people. @param {import('../client.js').Answer} answer @param {(key: string) => string} t */
export const trouble = (answer, t) => answer.errorMsg || t('no.answer');

/** What is wrong with the fields of a request, by field, from an INVALID. @param {import('../client.js').Answer} answer */
export function problems(answer) {
  /** @type {Record<string, string>} */
  const found = {};
  for (const p of answer.errors ?? []) found[p.field] = `${p.reason} (${p.allowed})`;
  return found;
}

/** A labelled control with its hint and what is wrong with it. @param {any} props */
export function Field({ name, label, hint, wrong, children, class: kind = '' }) {
  return html`<div class="field ${kind}">
    <label for="f-${name}">${label}</label>
    ${children}
    ${hint && html`<p class="field-hint" id="f-${name}-hint">${hint}</p>`}
    ${wrong && html`<p class="field-problem" id="f-${name}-wrong">${wrong}</p>`}
  </div>`;
}

/** The attributes that tie a control to its field. @param {string} name @param {string | undefined} wrong @param {boolean} [hint] */
export const tied = (name, wrong, hint) => ({
  id: `f-${name}`, name, 'aria-invalid': wrong ? 'true' : undefined,
  'aria-describedby': [hint && `f-${name}-hint`, wrong && `f-${name}-wrong`].filter(Boolean).join(' ') || undefined,
});

/**
 * Asks before something is done, and shows what will happen. run does it and returns what went wrong, "" for nothing.
 * @param {any} props
 */
export function Ask({ title, says, yes, danger, t, run, onClose, children }) {
  const [problem, setProblem] = useState('');
  const [doing, setDoing] = useState(false);
  /** @param {any} e */
  const submit = async (e) => {
    e.preventDefault();
    if (doing) return;
    setDoing(true);
    const wrong = await run(new FormData(e.target));
    setDoing(false);
    if (wrong) setProblem(wrong);
    else onClose();
  };
  return html`<${Dialog} title=${title} closeLabel=${t('close')} onClose=${onClose}>
    <form class="stack" onSubmit=${submit}>
      ${says && html`<p>${says}</p>`}
      ${children}
      <p class="field-problem" role="alert">${problem}</p>
      <div class="row end">
        <button type="button" class="button quiet" onClick=${onClose}>${t('keep')}</button>
        <button class="button ${danger ? 'danger' : 'primary'}" data-act="yes" aria-disabled=${String(doing)}>${yes}</button>
      </div>
    </form>
  <//>`;
}

/**
 * Pages of a list: what it holds so far, more of it, and what went wrong.
 * @param {any} client @param {string} path @param {Record<string, string>} filter @param {string} [cursor] the parameter of the next page
 */
export function usePages(client, path, filter, cursor = 'before') {
  const [list, setList] = useState(/** @type {any} */ ({ rows: null, next: '', total: undefined, answer: null }));
  const asked = useRef(/** @type {any} */ (0));
  const key = JSON.stringify(filter);
  /** @param {any[]} before @param {string} from */
  const load = async (before, from) => {
    const mine = ++asked.current;
    const answer = await client.list(path, { ...filter, ...(from && { [cursor]: from }) });
    if (mine !== asked.current) return; // another request was made since
    if (answer.success) setList({ rows: [...before, ...answer.data], next: answer.next ?? '', total: answer.total, answer });
    else setList((/** @type {any} */ l) => ({ ...l, answer }));
  };
  useEffect(() => void load([], ''), [key]);
  return { ...list, again: () => load([], ''), more: () => load(list.rows, list.next) };
}

/** What is below a list. @param {any} props */
export function Foot({ pages, t, empty }) {
  if (pages.answer && !pages.answer.success) return html`<p class="note warn" role="alert">${pages.answer.errors ? Object.entries(problems(pages.answer)).map(([f, p]) => `${f} ${p}`).join('; ') : trouble(pages.answer, t)}</p>`;
  if (!pages.rows) return html`<p class="soft">${t('loading')}</p>`;
  if (pages.rows.length === 0) return html`<p class="note">${empty}</p>`;
  return pages.next && html`<p><button type="button" class="button quiet small" onClick=${pages.more}>${t('more')}</button></p>`;
}

/** Announces the result of a change: done, or applied later. @param {import('../client.js').Answer} answer @param {(key: string) => string} t */
export function announceChange(answer, t) {
  announce(t(answer.status === 202 ? 'done.later' : 'done'));
}
