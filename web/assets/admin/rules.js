// @ts-check
// What a page can say of a voucher's form before the service is asked, all of it at once and in the service's words. The service
// has the last word: it knows what else is wrong.

import { PARTS } from '../words.js';
import { numberOf } from './parts.js';
import { typedTime } from './times.js';
import { worded } from './wrong.js';

/** Whether money that is typed can be read in two ways: of a thousand parts, "1,234" is that many, or as many parts. @param {string} name @param {string} typed */
const twofold = (name, typed) => PARTS === 1000 && NUMBERS[name]?.unit === 'AMOUNT' && /^[+-]?\d{1,3},\d{3}$/.test(typed.normalize('NFKC'));

/** Money as it is typed, in the currency's least unit; a fraction for more decimals than it has. @param {string} text */
export const least = (text) => Math.round(numberOf(text) * PARTS * 100) / 100;

/** A local time as it is typed, with the browser's zone, or a time in milliseconds. @param {string | number} at */
export const instant = (at) => new Date(at).toISOString();

/** A time as the local one, 2026-01-02T20:00:00. @param {string | number} time */
export function local(time) {
  const at = new Date(time);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Whether the clocks here never show a local time, because they are put forward then. @param {string} text */
const skipped = (text) => local(text).slice(0, text.length) !== text;

/** Whether the clocks here show a local time twice, because they are put back soon after its first one. @param {string} text */
function twice(text) {
  const first = Date.parse(text);
  const back = (new Date(first + 1.08e7).getTimezoneOffset() - new Date(first).getTimezoneOffset()) * 60_000;
  return back > 0 && local(first + back) === local(first);
}

/** Whether a form has a time as it was before. @param {string} typed @param {string | undefined} before */
const unchanged = (typed, before) => before !== undefined && local(typed) === local(before);

/**
 * What is wrong with a moment in a form, "" if nothing is. before is the time that it has without a change.
 * @param {any} form @param {string} name @param {(key: string) => string} t @param {boolean} [needed] @param {string} [before]
 */
export function wrongTime(form, name, t, needed = true, before) {
  const typed = typedTime(form, name);
  if (typed === undefined) return t('wrong.time');
  if (typed === '') return needed ? t('wrong.missing') : '';
  return skipped(typed) ? t('wrong.skipped') : twice(typed) && !unchanged(typed, before) ? t('wrong.twice') : '';
}

/** Fields that may be left out. */
export const OPTIONAL = ['payWithin', 'processingWithin', 'validDays', 'partition', 'visibleFrom', 'validUntil', 'subTitle', 'rules', 'picture', 'template'];

/** The most characters of texts. @type {Record<string, number>} */
const LONGEST = { title: 255, subTitle: 255, rules: 1024 };

/** The least and the most of numbers in the form's units, and what they are of. @type {Record<string, {min: number, max: number, unit?: string, allowed?: string}>} */
const NUMBERS = {
  payValue: { min: 0, max: 1e11 / PARTS, unit: 'AMOUNT' }, actualValue: { min: 1 / PARTS, max: 1e11 / PARTS, unit: 'AMOUNT' }, shopId: { min: 1, max: Number.MAX_SAFE_INTEGER },
  stock: { min: 1, max: 1e8 }, perUser: { min: 1, max: 20 }, validDays: { min: 1, max: 3650 },
  payWithin: { min: 1 / 60, max: 43_200, unit: 'MINUTES' }, processingWithin: { min: 1 / 60, max: 4_320, unit: 'MINUTES' }, inviteWindow: { min: 0.5, max: 10_080, unit: 'MINUTES', allowed: 'MINUTES_RANGE_OR_OMIT' },
};

/** In how many parts of a unit an amount must be whole. @type {Record<string, number>} */
const WHOLE = { AMOUNT: PARTS, MINUTES: 60 };

/** @typedef {{code: string, allowedCode: string, data?: Record<string, any>}} Problem */

/** What is wrong with a number. @param {string} name @param {number} value @param {boolean} sale @returns {Problem | undefined} */
function ofNumber(name, value, sale) {
  const { min, max, unit = '', allowed = unit ? `${unit}_RANGE` : 'RANGE' } = NUMBERS[name];
  const from = name === 'perUser' && !sale ? 0 : min; // no limit
  if (value < from || value > max) return { code: 'OUT_OF_RANGE', allowedCode: allowed, data: { value, min: from, max } };
  const whole = value * (WHOLE[unit] ?? 1);
  return Math.abs(whole - Math.round(whole)) < 1e-6 ? undefined : { code: 'FRACTION', allowedCode: unit || 'WHOLE_NUMBER', data: { value } };
}

/** The number that is typed into a field, undefined where none can be read, or it is none that the field takes. @param {string} name @param {string} typed @param {boolean} sale */
export function valueOf(name, typed, sale) {
  const value = typed === '' ? NaN : numberOf(typed);
  return Number.isNaN(value) || twofold(name, typed) || ofNumber(name, value, sale) ? undefined : value;
}

/**
 * What is wrong with times, which are known unless they are NaN.
 * @param {Record<string, number>} at by field @param {number} now @param {boolean} made whether it is of a new voucher
 */
function ofTimes({ beginTime: begin, endTime: end, visibleFrom: visible, validUntil: valid }, now, made) {
  /** @type {Record<string, Problem>} */
  const found = {};
  if (end <= begin) found.endTime = { code: 'NOT_AFTER_OTHER', allowedCode: 'AFTER_OTHER', data: { other: 'beginTime' } };
  else if (made && end <= now) found.endTime = { code: 'PAST', allowedCode: 'AFTER_TIME', data: { after: now } };
  else if (valid <= end) found.endTime = { code: 'NOT_BEFORE_EXPIRY', allowedCode: 'BEFORE_TIME', data: { other: 'validUntil', before: valid } };
  if (visible > begin) found.visibleFrom = { code: 'AFTER_BEGIN', allowedCode: 'NOT_AFTER_TIME', data: { other: 'beginTime', latest: begin } };
  if (valid <= now) found.validUntil = { code: 'PAST', allowedCode: 'AFTER_TIME', data: { after: now } };
  return found;
}

/**
 * What is wrong with the fields of a voucher's form, by field.
 * @param {any} form @param {(key: string, values?: any) => string} t @param {number} now @param {any} voucher the one that is changed, if any
 */
export function wrongIn(form, t, now, voucher) {
  /** @type {Record<string, string>} */
  const found = {};
  /** @type {Record<string, number>} */
  const times = {};
  const sale = Boolean(form.elements.beginTime);
  for (const field of form.elements) {
    const { name, value = '' } = field; // a fieldset has none
    if (field.type === 'date') {
      const before = voucher?.[name], at = typedTime(form, name) ?? '';
      const problem = wrongTime(form, name, t, !OPTIONAL.includes(name), before);
      if (problem) found[name] = problem;
      else times[name] = Date.parse(at && unchanged(at, before) ? before : at);
      continue;
    }
    const typed = value.trim();
    if (name in LONGEST && [...typed].length > LONGEST[name]) found[name] = worded({ code: 'CHARACTERS', allowedCode: 'LENGTH', data: { length: [...typed].length, min: name === 'title' ? 1 : 0, max: LONGEST[name] } }, t);
    if (!(name in NUMBERS) && !['title', 'partition'].includes(name)) continue;
    if (typed === '') {
      if (!OPTIONAL.includes(name) && (name !== 'perUser' || sale)) found[name] = t('wrong.missing');
    } else if (field.inputMode && Number.isNaN(numberOf(typed))) found[name] = t('wrong.number');
    else if (twofold(name, typed)) found[name] = t('wrong.twofold', { whole: typed.replace(',', ''), parts: typed.replace(',', '.') });
    else if (name in NUMBERS) {
      const problem = ofNumber(name, numberOf(typed), sale);
      if (problem) found[name] = worded(problem, t);
    }
  }
  for (const [name, problem] of Object.entries(ofTimes(times, now, !voucher))) found[name] ??= worded(problem, t);
  if (form.elements.validDays?.value.trim() && times.validUntil) found.validDays ??= worded({ code: 'BESIDE_OTHER', allowedCode: 'ONE_OF_TWO', data: { other: 'validUntil' } }, t);
  return found;
}
