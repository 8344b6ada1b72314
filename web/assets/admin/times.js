// @ts-check
// A moment as two fields: a day, and a time of day that is typed with 24 hours whatever the browser's language is.

import { html, useRef, useState } from '../vendor/htm-preact.js';
import { tied } from './parts.js';

/** The name of the field of the time of day, beside that of the day. @param {string} name */
export const clockName = (name) => `${name}.clock`;

/** The moment that a field is of. @param {string} field */
export const momentOf = (field) => field.replace(/\.clock$/, '');

/** A time of day as it may be typed, "20:00", "8.30", "2000", "8" or "20:00:15", as HH:MM or HH:MM:SS; "" for anything else. @param {string} typed */
export function clock(typed) {
  const parts = /^(\d{1,2})(?:[:.]?([0-5]\d)(?:[:.]?([0-5]\d))?)?$/.exec(typed.normalize('NFKC').trim());
  if (!parts || Number(parts[1]) > 23) return '';
  const [, hours, minutes = '00', seconds = '00'] = parts;
  return `${hours.padStart(2, '0')}:${minutes}${seconds === '00' ? '' : `:${seconds}`}`;
}

/** The local time in a form, as 2026-01-02T20:00: "" if nothing is typed, undefined if it is not complete. @param {any} form @param {string} name */
export function typedTime(form, name) {
  const day = form.elements[name], typed = form.elements[clockName(name)].value.trim();
  if (day.value === '' && typed === '' && !day.validity.badInput) return ''; // a day that is half typed has the value "", too
  const at = clock(typed);
  return day.value && at ? `${day.value}T${at}` : undefined;
}

/** Puts a local time, 2026-01-02T20:00:00, into a form, and has its day said in words. @param {any} form @param {string} name @param {string} time */
export function putTime(form, name, time) {
  form.elements[name].value = time.slice(0, 10);
  form.elements[name].dispatchEvent(new Event('input')); // it does not bubble: nobody typed
  form.elements[clockName(name)].value = clock(time.slice(11));
}

/** How many milliseconds lie between two moments in a form, NaN if one is not known. @param {any} form @param {string} from @param {string} to */
export function between(form, from, to) {
  if (!form?.elements[from]) return NaN;
  return Date.parse(typedTime(form, to) ?? '') - Date.parse(typedTime(form, from) ?? '');
}

/** The draft of a form that keeps none. */
const UNKEPT = { of: (/** @type {string} */ _, /** @type {any} */ otherwise) => otherwise };

/**
 * The two fields, and the day in words: in which order the field of the day shows day and month is up to the browser. time is the local time that
 * they begin with, or ""; draft has what was typed before.
 * @param {any} props
 */
export function TimeFields({ name, label, time, draft = UNKEPT, wrong, hint = '', words: { t, day } }) {
  const at = clockName(name), first = draft.of(name, time.slice(0, 10));
  const field = useRef(/** @type {any} */ (null));
  const [, typed] = useState(0);
  const chosen = field.current ? field.current.value : first;
  return html`
    <div class="moment">
      <input type="date" max="9999-12-31" ...${tied(name, wrong, Boolean(hint))} ref=${field} defaultValue=${first} onInput=${() => typed((n) => n + 1)} />
      <input name=${at} id=${`f-${at}`} class="clock" inputmode="numeric" autocomplete="off" maxlength="8" placeholder="20:00" aria-label=${t('form.clock', { label })}
        aria-invalid=${wrong ? 'true' : undefined} aria-describedby=${tied(name, wrong, Boolean(hint))['aria-describedby']} defaultValue=${draft.of(at, clock(time.slice(11)))}
        onChange=${(/** @type {any} */ e) => (e.target.value = clock(e.target.value) || e.target.value)} />
      ${chosen && html`<p class="field-hint day" data-day=${name}>${day(`${chosen}T12:00`)}</p>`}
    </div>`;
}
