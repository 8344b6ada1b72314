// @ts-check
// The form of the filter of a list's pages.

import { html, useEffect, useRef, useState } from '../vendor/htm-preact.js';
import { trouble } from './parts.js';
import { clock, clockName } from './times.js';
import { Views } from './views.js';

/** How many vouchers are named of those that have a text in their title. */
const SOME = '6';

/**
 * The number of the one voucher that a text may be, its number or a part of its title, or what is to be said if it is none, or several.
 * @param {any} client @param {string} typed @param {any} t @returns {Promise<{id: string, says: string}>}
 */
async function voucherOf(client, typed, t) {
  const text = typed.replace(/^#/, '');
  if (text === '' || /^\d+$/.test(text)) return { id: text, says: '' };
  const answer = await client.list('/admin/voucher', { title: text, archived: 'true', limit: SOME });
  if (!answer.success) return { id: '', says: trouble(answer, t) };
  const all = answer.data, exact = answer.next ? [] : all.filter((/** @type {any} */ v) => v.title === text);
  if (all.length === 0) return { id: '', says: t('search.voucher.none', { text }) };
  if (exact.length === 1 || (all.length === 1 && !answer.next)) return { id: String((exact[0] ?? all[0]).id), says: '' };
  return { id: '', says: t('search.voucher.which', { text, some: all.map((/** @type {any} */ v) => `#${v.id} ${v.title}`).join(t('comma')) }) };
}

/**
 * fields are those that are typed: {name, label, numeric, time}; of a time, the filter has 2026-01-02T20:00.
 * @param {any} props
 */
export function Search({ client, fields, filter, pages, t, onSearch, children }) {
  const [draft, setDraft] = useState(filter);
  const [problem, setProblem] = useState('');
  const { wrong } = pages, asks = useRef(/** @type {any} */ (0)); // the one that counts
  useEffect(() => (setDraft(filter), setProblem('')), [JSON.stringify(filter)]);
  useEffect(() => () => void asks.current++, []); // who has gone elsewhere stays there
  /** @param {any} e */
  const submit = async (e) => {
    e.preventDefault();
    const given = new FormData(e.target);
    const typed = (/** @type {string} */ name) => String(given.get(name) ?? '').trim();
    /** A time without a time of day is midnight; the service says what is wrong with one that is none. @param {string} name */
    const value = (name) => {
      const day = typed(name), at = typed(clockName(name));
      return given.has(clockName(name)) && (day || at) ? `${day}T${clock(at) || at || '00:00'}` : day;
    };
    const asked = Object.fromEntries(Object.keys(filter).map((name) => [name, value(name)]));
    const mine = ++asks.current, { id, says } = await voucherOf(client, asked.voucherId ?? '', t);
    if (mine !== asks.current) return;
    setProblem(says);
    if (!says) onSearch({ ...asked, ...('voucherId' in asked && { voucherId: id }) });
  };
  return html`<form class="row" role="search" onSubmit=${submit}>
    ${fields.map((/** @type {any} */ f) => {
      const [value = '', at = ''] = f.time ? (draft[f.name] ?? '').split('T') : [draft[f.name]];
      /** @param {string} name @param {string} shown @param {(value: string) => string} kept of what is typed @param {any} more */
      const input = (name, shown, kept, more) => html`<input id=${`q-${name}`} name=${name} autocomplete="off" value=${shown}
        onInput=${(/** @type {any} */ e) => (setDraft({ ...draft, [f.name]: kept(e.target.value) }), pages.changed(f.name), f.name === 'voucherId' && setProblem(''))}
        aria-invalid=${wrong[f.name] || (problem && f.name === 'voucherId') ? 'true' : undefined} aria-describedby=${wrong[f.name] ? 'list-trouble' : problem && f.name === 'voucherId' ? 'search-problem' : undefined} ...${more} />`;
      return f.time ? html`<span class="labelled"><label class="soft small-text" for=${`q-${f.name}`}>${f.label}</label>
          ${input(f.name, value, (day) => `${day}T${at}`, { type: 'date', max: '9999-12-31', class: 'small-input' })}
          ${input(clockName(f.name), at, (typed) => `${value}T${typed}`, { class: 'small-input clock', inputmode: 'numeric', maxlength: 8, placeholder: '00:00', 'aria-label': t('form.clock', { label: f.label }) })}</span>`
        : html`<label class="unseen" for=${`q-${f.name}`}>${f.label}</label>
          ${input(f.name, value, (typed) => typed, { class: 'small-input', inputmode: f.numeric ? 'numeric' : 'search', placeholder: f.label })}`;
    })}
    ${children}
    <button class="button quiet small">${t('search')}</button>
    <${Views} t=${t} />
    ${problem && html`<p class="note warn" role="alert" id="search-problem" data-problem>${problem}</p>`}
  </form>`;
}
