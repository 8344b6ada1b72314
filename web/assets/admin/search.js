// @ts-check
// The form of the filter of a list's pages.

import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { clock, clockName } from './times.js';
import { Views } from './views.js';

/**
 * fields are those that are typed: {name, label, numeric, time}; of a time, the filter has 2026-01-02T20:00.
 * @param {any} props
 */
export function Search({ fields, filter, pages, t, onSearch, children }) {
  const [draft, setDraft] = useState(filter);
  const { wrong } = pages;
  useEffect(() => setDraft(filter), [JSON.stringify(filter)]);
  /** @param {any} e */
  const submit = (e) => {
    e.preventDefault();
    const given = new FormData(e.target);
    const typed = (/** @type {string} */ name) => String(given.get(name) ?? '').trim();
    /** A time without a time of day is midnight; the service says what is wrong with one that is none. @param {string} name */
    const value = (name) => {
      const day = typed(name), at = typed(clockName(name));
      return given.has(clockName(name)) && (day || at) ? `${day}T${clock(at) || at || '00:00'}` : day;
    };
    onSearch(Object.fromEntries(Object.keys(filter).map((name) => [name, value(name)])));
  };
  return html`<form class="row" role="search" onSubmit=${submit}>
    ${fields.map((/** @type {any} */ f) => {
      const [value = '', at = ''] = f.time ? (draft[f.name] ?? '').split('T') : [draft[f.name]];
      /** @param {string} name @param {string} shown @param {(value: string) => string} kept of what is typed @param {any} more */
      const input = (name, shown, kept, more) => html`<input id=${`q-${name}`} name=${name} autocomplete="off" value=${shown}
        onInput=${(/** @type {any} */ e) => (setDraft({ ...draft, [f.name]: kept(e.target.value) }), pages.changed(f.name))}
        aria-invalid=${wrong[f.name] ? 'true' : undefined} aria-describedby=${wrong[f.name] ? 'list-trouble' : undefined} ...${more} />`;
      return f.time ? html`<span class="labelled"><label class="soft small-text" for=${`q-${f.name}`}>${f.label}</label>
          ${input(f.name, value, (day) => `${day}T${at}`, { type: 'date', max: '9999-12-31', class: 'small-input' })}
          ${input(clockName(f.name), at, (typed) => `${value}T${typed}`, { class: 'small-input clock', inputmode: 'numeric', maxlength: 8, placeholder: '00:00', 'aria-label': t('form.clock', { label: f.label }) })}</span>`
        : html`<label class="unseen" for=${`q-${f.name}`}>${f.label}</label>
          ${input(f.name, value, (typed) => typed, { class: 'small-input', inputmode: f.numeric ? 'numeric' : 'search', placeholder: f.label })}`;
    })}
    ${children}
    <button class="button quiet small">${t('search')}</button>
    <${Views} t=${t} />
  </form>`;
}
