// @ts-check
// Parts of several sections of the console: states, problems at fields, dialogs that ask first, pages of lists.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { Dialog, announce } from '../shell.js';
import { notify } from './notice.js';
import { Wrong, problems, useProblems } from './wrong.js';

/** The colour of a sale's state. @type {Record<string, string>} */
const TONES = { on_sale: 'good', paused: 'warn', preparing: 'warn', sold_out: '', not_started: '', ended: '', off_shelf: 'bad', called_off: 'bad', unknown: 'warn' };

/** The state of a sale of which no more is known than where it is in its window. @type {Record<string, string>} */
const BY_PHASE = { coming: 'not_started', running: 'unknown', ended: 'ended' };

/** The state of a voucher, or of a line of the list of sales; unknown while Redis does not say how its sale is, unless it was called off, which is for good. @param {any} v */
function stateOf({ callOffTime, stale, saleState, phase, status }) {
  if (callOffTime) return 'called_off';
  if (stale) return 'unknown';
  return saleState ?? BY_PHASE[phase] ?? (status === 1 ? 'on_shelf' : 'off_shelf');
}

/** A voucher's state as a tag. @param {any} props */
export function State({ voucher, t }) {
  const state = stateOf(voucher);
  return html`<span class="tag ${TONES[state] ?? ''}">${t(`state.${state}`)}</span>${voucher.archiveTime && html` <span class="tag" data-archived>${t('archived')}</span>`}`;
}

/** A link to a voucher, by its title where that is known. @param {any} props of: an order, a payment or an entry */
export function VoucherLink({ of: { voucherId, title } }) {
  return html`<a href=${`#/voucher/${voucherId}`} title=${`#${voucherId}`}>${title ?? `#${voucherId}`}</a>`;
}

/** A time as people say it, and exactly to whoever points at it. @param {any} props */
export function When({ at, words }) {
  return html`<time datetime=${at} title=${words.time(at)}>${words.said(at)}</time>`;
}

/** What went wrong, for people. @param {import('../client.js').Answer} answer @param {(key: string) => string} t */
export const trouble = (answer, t) => answer.errorMsg || t('no.answer');

/** What is typed as a number, NaN for anything else: with thousands as the pages write them, "1,000", and a decimal point or comma. @param {string} text */
export function numberOf(text) {
  const typed = text.normalize('NFKC').trim(); // digits of Chinese keyboards, too
  if (/^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$/.test(typed)) return Number(typed.replaceAll(',', ''));
  return /^[+-]?\d+([.,]\d+)?$/.test(typed) ? Number(typed.replace(',', '.')) : NaN;
}

/** Milliseconds after which what has not come is waited for in so many words, and after which what has failed is asked for again. */
const LATE = 2_000, AGAIN = 3_000;

/** Stands where something will be that has not come yet. @param {any} props */
export function Waiting({ t }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), LATE);
    return () => clearTimeout(timer);
  }, []);
  return html`<p class=${late ? 'note' : 'soft'} role="status" data-waiting=${late ? 'late' : 'soon'}>${t(late ? 'loading.late' : 'loading')}</p>`;
}

/** Calls again() a while after an answer that says nothing of the question: the service, or a store, was away. @param {any} answer @param {() => void} again */
export function useAgain(answer, again) {
  useEffect(() => {
    if (!answer || answer.success || (answer.status > 0 && answer.status < 500)) return undefined;
    let timer = 0;
    const look = () => (document.hidden ? wait() : again());
    const wait = () => void (timer = window.setTimeout(look, AGAIN));
    wait();
    return () => clearTimeout(timer);
  }, [answer]);
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
 * Asks before something is done, and shows what will happen. run does it and returns what went wrong: a text, "" for nothing, or what say of a
 * form's problems takes. children may be a function of what is wrong with its fields.
 * @param {any} props
 */
export function Ask({ id, title, says, yes, keep, danger, t, run, onClose, children }) {
  const problem = useProblems(t);
  const [doing, setDoing] = useState(false);
  /** @param {any} e */
  const submit = async (e) => {
    e.preventDefault();
    if (doing) return;
    setDoing(true);
    const wrong = await run(new FormData(e.target), e.target);
    setDoing(false);
    if (wrong === '') onClose();
    else if (typeof wrong === 'string') problem.say({}, wrong);
    else problem.say(wrong[0], wrong[1]);
  };
  return html`<${Dialog} id=${id} title=${title} closeLabel=${t('close')} onClose=${onClose}>
    <form ref=${problem.ref} class="stack" noValidate onInput=${problem.onInput} onSubmit=${submit}>
      ${says && html`<p>${says}</p>`}
      ${typeof children === 'function' ? children(problem.wrong) : children}
      <${Wrong} of=${problem} />
      <div class="row end">
        <button type="button" class="button quiet" onClick=${onClose}>${keep ?? t('keep')}</button>
        <button class="button ${danger ? 'danger' : 'primary'}" data-act="yes" aria-disabled=${String(doing)}>${yes}</button>
      </div>
    </form>
  <//>`;
}

/**
 * The filter of a list, which the address has, so that it stays on a reload and is shared with the address. set changes it there.
 * @template {string} N
 * @param {N[]} names @returns {[Record<N, string>, (next: Record<string, string>, typing?: boolean) => void]}
 */
export function useFilter(names) {
  const [filter, take] = useState(/** @type {any} */ (() => filterOf(names)));
  useEffect(() => {
    const moved = () => take(() => filterOf(names));
    window.addEventListener('hashchange', moved);
    if (JSON.stringify(filterOf(names)) !== JSON.stringify(filter)) moved(); // it changed before anybody listened
    return () => window.removeEventListener('hashchange', moved);
  }, []);
  /** @param {Record<string, string>} next @param {boolean} [typing] it takes the place of the one before in the history */
  const set = (next, typing) => {
    const given = new URLSearchParams(Object.entries(next).filter(([, value]) => value !== '')).toString();
    const to = `${location.hash.split('?')[0] || '#/vouchers'}${given && `?${given}`}`;
    if (typing) location.replace(to);
    else location.hash = to;
  };
  return [filter, set];
}

/** What the address says of each name, "" where it says nothing. @template {string} N @param {N[]} names @returns {Record<N, string>} */
function filterOf(names) {
  const given = new URLSearchParams(location.hash.split('?')[1] ?? '');
  return /** @type {any} */ (Object.fromEntries(names.map((name) => [name, given.get(name) ?? ''])));
}

/**
 * A table, which is a list of entries where the window is narrow. columns are {label, says: in place of a label that is no text, n: figures, head: of the row, kind: a class};
 * row returns the cells of an entry and the attributes of its line.
 * @param {any} props
 */
export function Table({ label, columns, rows, row }) {
  if (rows.length === 0) return null; // the foot of the list says that there are none
  return html`<div class="sheet" tabindex="0" role="region" aria-label=${label}>
    <table role="table">
      <thead role="rowgroup"><tr role="row">${columns.map((/** @type {any} */ c) => html`<th scope="col" role="columnheader" class=${c.n ? 'n' : ''}>${c.label}</th>`)}</tr></thead>
      <tbody role="rowgroup">${rows.map((/** @type {any} */ one) => {
        const { cells, ...line } = row(one);
        return html`<tr role="row" ...${line}>${columns.map((/** @type {any} */ c, /** @type {number} */ i) => (c.head
          ? html`<th scope="row" role="rowheader" class=${c.kind} data-label=${c.kind === 'figures' ? c.label : undefined}>${cells[i]}</th>`
          : html`<td role="cell" class=${`${c.n ? 'n' : ''} ${c.kind ?? ''}`} data-label=${c.says ?? c.label}><div>${cells[i]}</div></td>`))}</tr>`;
      })}</tbody>
    </table>
  </div>`;
}

/** How long something waits, in seconds. @param {number} ms @param {import('../words.js').Words} words */
export const lag = (ms, { t, tenths }) => t('seconds', { n: ms > 0 && ms < 10_000 ? tenths(ms / 1000) : Math.round(ms / 1000) });

/** How long an answer took. @param {number} ms @param {Pick<import('../words.js').Words, 't' | 'tenths'>} words */
export const took = (ms, { t, tenths }) => (ms < 1000 ? t('millis', { n: ms }) : t('seconds', { n: tenths(ms / 1000) }));

/** From when to when a sale is, and how long it is until then. @param {any} props */
export function Window({ begin, end, now, words: { t, span, away } }) {
  const from = Date.parse(begin), to = Date.parse(end);
  const says = now < from ? away(from, now) : now < to ? t('window.ends', { in: away(to, now) }) : t('window.ended', { ago: away(to, now) });
  return html`<span class="nowrap">${span(begin, end)}</span> <span class="soft small-text nowrap">${says}</span>`;
}

/**
 * Pages of a list: what it holds so far, more of it, and what went wrong. Rows of another filter are not shown. With every it is read
 * again at intervals: while the window is visible, no request is under way, and only the first page is shown.
 * @param {any} client @param {string} path @param {Record<string, string>} filter
 * @param {{cursor?: string, every?: number}} [options] cursor is the parameter of the next page; every is in milliseconds
 */
export function usePages(client, path, filter, { cursor = 'before', every = 0 } = {}) {
  const empty = { rows: null, next: '', total: undefined, answer: null };
  const [list, setList] = useState(/** @type {any} */ ({ ...empty, key: '' }));
  const reads = useRef(/** @type {any} */ ({ asked: 0, pending: false, further: false }));
  const key = JSON.stringify(filter);
  /** @param {any[]} before @param {string} from */
  const load = async (before, from) => {
    const read = reads.current;
    const mine = ++read.asked;
    read.pending = true;
    const answer = await client.list(path, { ...filter, ...(from && { [cursor]: from }) });
    if (mine !== read.asked) return; // another request was made since
    read.pending = false;
    if (answer.success) {
      read.further = from !== '';
      setList({ key, rows: [...before, ...answer.data], next: answer.next ?? '', total: answer.total, answer });
    } else setList((/** @type {any} */ l) => ({ ...(l.key === key ? l : empty), key, answer }));
  };
  useEffect(() => {
    reads.current.further = false; // that was of another filter
    void load([], '');
    if (!every) return undefined;
    const timer = setInterval(() => document.hidden || reads.current.pending || reads.current.further || load([], ''), every);
    return () => clearInterval(timer);
  }, [key, every]);
  useAgain(list.key === key && !list.rows ? list.answer : null, () => load([], ''));
  /** A field of the filter was changed: it is no longer called wrong. @param {string} field */
  const changed = (field) => {
    const errors = shown.answer?.errors?.filter((/** @type {any} */ e) => e.field !== field);
    if (errors && errors.length < shown.answer.errors.length) setList({ ...list, answer: { ...shown.answer, errors } });
  };
  const shown = list.key === key ? list : empty;
  return { ...shown, wrong: Object.fromEntries((shown.answer?.errors ?? []).map((/** @type {any} */ e) => [e.field, true])), changed, again: () => load([], ''), more: () => load(shown.rows, shown.next) };
}

/** What is below a list. @param {any} props names are of the fields of its filter; partly is said of pages without a row that are not the last; action is what to do about an empty list */
export function Foot({ pages, t, empty, partly, names = {}, action = null }) {
  const more = pages.rows && pages.next && html`<p><button type="button" class="button quiet small" data-act="more" onClick=${pages.more}>${t('more')}</button></p>`;
  if (pages.answer && !pages.answer.success) {
    const wrong = Object.entries(problems(pages.answer, t)).map(([f, p]) => t('search.wrong', { field: names[f] ?? f, problem: p }));
    if (pages.answer.errors?.length === 0) return more; // what was wrong was changed since
    return html`<p class="note warn" role="alert" id="list-trouble">${wrong.join(' ') || trouble(pages.answer, t)}</p>${more}`;
  }
  if (!pages.rows) return html`<${Waiting} t=${t} />`;
  if (pages.rows.length > 0) return more;
  return html`${(pages.next ? partly : empty) && html`<p class="note">${pages.next ? partly : empty}</p>`}${more}${!pages.next && action && html`<p>${action}</p>`}`;
}

/** A command with a button that copies it. @param {any} props */
export function Command({ text, t }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setCopied(true);
    announce(t('copied'));
    setTimeout(() => setCopied(false), 2_000);
  };
  return html`<span class="copied"><code class="wrap command">${text}</code>${navigator.clipboard && html` <button type="button" class="button quiet small" data-act="copy-command" onClick=${copy}>${t(copied ? 'copied' : 'copy')}</button>`}</span>`;
}

/** Says the result of a change: done, or applied later. @param {import('../client.js').Answer} answer @param {(key: string) => string} t @param {string} [says] what was done */
export function announceChange(answer, t, says = t('done')) {
  notify(answer.status === 202 ? t('done.later') : says);
}
