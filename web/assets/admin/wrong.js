// @ts-check
// What is wrong with a form: at its fields, how many there are, and what is not about a field. It is the service that judges, once it is asked;
// until then a field that was changed is no longer called wrong.

import { html, useRef, useState } from '../vendor/htm-preact.js';
import { CODES } from './codes.js';
import { momentOf } from './times.js';

/** Fields that may be wrong because of others, or go with them: what is said of them goes when one of those is changed, too. @type {Record<string, string[]>} */
const BECAUSE = {
  endTime: ['beginTime'], visibleFrom: ['beginTime', 'endTime'], validUntil: ['beginTime', 'endTime', 'validDays', 'redeemable'], validDays: ['validUntil', 'redeemable'],
  inviteWindow: ['waitlist'], perUser: ['stock'], to: ['from'], source: ['round'], round: ['source'],
  'guards.tickets.delayMs': ['beginTime', 'endTime'], 'guards.challenge': ['guards.tickets'], 'guards.challenge.maxDifficulty': ['guards.challenge.difficulty'],
  'guards.limits.perUser.requests': ['guards.tickets', 'guards.challenge'],
};

/** Whether a change of a field may have put another right. @param {string} field @param {string} by the field that was changed */
export function concerns(field, by) {
  const changed = momentOf(by);
  const pair = /^guards\.limits\.\w+\./.exec(field)?.[0]; // requests, in so many seconds
  return field === changed || field.startsWith(`${changed}.`) || (pair && changed.startsWith(pair)) || changed.startsWith(`${field}.`) || (BECAUSE[field] ?? []).includes(changed);
}

/**
 * The problems of a form, which has to have ref and onInput. say shows them: found has those of fields, and text is about the whole request;
 * the first field that is wrong gets the focus.
 * @param {(key: string, values?: any) => string} t
 */
export function useProblems(t) {
  const ref = useRef(/** @type {any} */ (null));
  const [{ wrong, rest, text, asked }, set] = useState(/** @type {{wrong: Record<string, string>, rest: string[], text: string, asked: number}} */ ({ wrong: {}, rest: [], text: '', asked: 0 }));
  /** @param {Record<string, string>} found @param {string} [about] */
  const say = (found, about = '') => {
    const here = (/** @type {string} */ name) => Boolean(ref.current?.elements[name]);
    const all = Object.entries(found);
    set((before) => ({
      wrong: Object.fromEntries(all.filter(([name]) => here(name))), rest: all.filter(([name]) => !here(name)).map(([name, p]) => `${name}: ${p}`),
      text: about, asked: before.asked + 1,
    }));
    setTimeout(() => {
      const fields = [...(ref.current?.querySelectorAll('[aria-invalid=true]') ?? [])];
      for (const field of fields) unfold(field);
      fields[0]?.focus();
    });
  };
  /** @param {any} e */
  const onInput = (e) => {
    const left = Object.entries(wrong).filter(([name]) => !concerns(name, e.target.name));
    if (left.length < Object.keys(wrong).length) set((before) => ({ ...before, wrong: Object.fromEntries(left) }));
  };
  const n = Object.keys(wrong).length + rest.length;
  return { ref, onInput, say, wrong, asked, sum: n > 0 ? [t('form.wrong', { n }), ...rest].join(' ') : '', text };
}

/** Opens what a field is folded into. @param {Element} field */
function unfold(field) {
  for (let at = field.closest('details'); at; at = at.parentElement?.closest('details') ?? null) at.open = true;
}

/** Data of codes that are times. */
const TIMES = ['after', 'before', 'latest'];

/** Data of a code for t: times as such, and the other field by its label. @param {Record<string, any>} data @param {(key: string) => string} t */
const gaps = (data, t) => Object.fromEntries(Object.entries(data).map(([name, value]) => [name, TIMES.includes(name) ? new Date(value)
  : name === 'other' ? `“${t(value.startsWith('guards.') ? `guard.${value.slice(7)}` : `field.${value}`)}”` : value]));

/**
 * What is wrong with the fields of a request, by field, from an INVALID: in the words of its codes, and in those of the service for codes that are
 * newer than this page. change returns an error with another field, data or code of what is allowed.
 * @param {import('../client.js').Answer} answer @param {(key: string, values?: any) => string} t @param {(error: any) => any} [change]
 */
export function problems(answer, t, change = (error) => error) {
  return Object.fromEntries((answer.errors ?? []).map((error) => {
    if (!CODES[`reason.${error.code}`] || !CODES[`allowed.${error.allowedCode}`]) return [change(error).field, t('wrong.allowed', error)];
    const changed = change(error);
    return [changed.field, worded(changed, t)];
  }));
}

/** Codes that one sentence says, with what is allowed. */
const PLAIN = ['NOT_AFTER_OTHER'];

/** The key of what is wrong: a text is too long, or has a character that cannot be shown. @param {string} code @param {Record<string, any>} data */
const reason = (code, { length, min, max }) => (code === 'CHARACTERS' ? `wrong.${length < min || length > max ? 'long' : 'shown'}` : `reason.${code}`);

/** An error in words. @param {{code: string, allowedCode: string, data?: Record<string, any>}} error @param {(key: string, values?: any) => string} t */
export const worded = ({ code, allowedCode, data = {} }, t) => (PLAIN.includes(code) ? t(`wrong.${code}`, gaps(data, t)) : t('wrong.allowed', { reason: t(reason(code, data), gaps(data, t)), allowed: t(`allowed.${allowedCode}`, gaps(data, t)) }));

/** What the service says of a form, for say. other is shown where it says nothing of fields. @param {import('../client.js').Answer} answer @param {(key: string) => string} t @param {string} other @returns {[Record<string, string>, string]} */
export const refusal = (answer, t, other) => (answer.errors ? [problems(answer, t), ''] : [{}, other]);

/**
 * The lines below a form: how many fields are wrong, each of which leads to its field, and what is not about a field. They are made anew with each
 * answer, so that screen readers say again what is still wrong. @param {any} props
 */
export function Wrong({ of: { sum, text, asked, wrong, ref } }) {
  /** @param {string} name */
  const label = (name) => ref.current?.querySelector(`label[for="f-${name}"]`)?.textContent ?? name;
  /** @param {string} name */
  const go = (name) => {
    const field = ref.current.elements[name];
    unfold(field);
    field.focus();
  };
  return html`<p class="field-problem wide" role="status">${sum && html`<span key=${asked}>${sum} ${Object.keys(wrong).map((name) => html`<button key=${name} type="button" class="link jump" data-field=${name} onClick=${() => go(name)}>${label(name)}</button> `)}</span>`}</p>
    <p class="field-problem wide" role="alert">${text && html`<span key=${asked}>${text}</span>`}</p>`;
}
