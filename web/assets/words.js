// @ts-check
// The languages of the pages, and how numbers, money and times are written in them.

/** @typedef {'en' | 'zh'} Language */

const CHOSEN = 'seckill.language';

/** That of all amounts, which the page says. */
const CURRENCY = document.querySelector('meta[name=currency]')?.getAttribute('content') || 'CNY';

/** How many decimals amounts have, which the page says: browsers take some currencies' for fewer. */
const DIGITS = Number(document.querySelector('meta[name=digits]')?.getAttribute('content') || 2);

/** How many of its least units the currency's unit has: a hundred cents, a thousand fils; amounts are whole numbers of those. */
export const PARTS = 10 ** DIGITS;

/** How amounts are marked: ¥, €, CHF. */
export const SIGN = new Intl.NumberFormat('en', { style: 'currency', currency: CURRENCY, currencyDisplay: 'narrowSymbol' }).formatToParts(0).find((part) => part.type === 'currency')?.value ?? CURRENCY;

/** Names of the languages in themselves. @type {Record<Language, string>} */
export const LANGUAGES = { en: 'English', zh: '中文' };

/** What was chosen on this browser, else the first that the browser prefers and that is supported, else English. @returns {Language} */
export function preferred() {
  const wanted = [localStorage.getItem(CHOSEN) ?? '', ...navigator.languages];
  for (const tag of wanted) {
    const language = tag.slice(0, 2).toLowerCase();
    if (language === 'en' || language === 'zh') return language;
  }
  return 'en';
}

/** Remembers a choice on this browser, also for the sandbox's page, which has no script. @param {Language} language */
export function choose(language) {
  localStorage.setItem(CHOSEN, language);
  document.cookie = `seckill-language=${language}; path=/sandbox/; max-age=31536000; samesite=lax`;
}

/**
 * Words of one language: t for texts, and the formats.
 * @typedef {ReturnType<typeof speak>} Words
 */

/**
 * Returns the words of a language. A table has a text in each language for each key; {name} in a text is replaced.
 * @param {Language} language @param {Record<string, Record<Language, string>>} table
 */
export function speak(language, table) {
  const locale = language === 'zh' ? 'zh-CN' : 'en-GB';
  const whole = new Intl.NumberFormat(locale);
  const tenths = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const at = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'long' });
  const minutes = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' };
  const moment = new Intl.DateTimeFormat(locale, /** @type {any} */ (minutes));
  const dated = new Intl.DateTimeFormat(locale, /** @type {any} */ ({ ...minutes, year: 'numeric' }));
  const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' });
  const exact = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 });
  const weekday = new Intl.DateTimeFormat(locale, { weekday: 'short', day: 'numeric', month: 'long', year: 'numeric' });
  /** From when to when. The browser writes ranges in Chinese with slashes, unlike every other date. @param {Date} from @param {Date} to */
  const ranged = (from, to) => {
    const form = formOf(from, to);
    if (language !== 'zh') return form.formatRange(from, to);
    return `${form.format(from)} – ${from.toDateString() === to.toDateString() ? clock.format(to) : form.format(to)}`;
  };
  /** The form for times of which some may be of another year than this. @param {Date[]} times */
  const formOf = (...times) => (times.every((t) => t.getFullYear() === new Date().getFullYear()) ? moment : dated);
  return {
    language,
    locale,
    /**
     * Numbers among the values are written as number does, dates as time does; an id is given as a text. {n:unit|units} in a text is the first
     * word where n is 1, else the second.
     * @param {string} key @param {Record<string, any>} [values]
     */
    t(key, values = {}) {
      const text = table[key]?.[language];
      if (text === undefined) { // of an instance that is newer than this page: better a bare word than no page
        console.error(`no text ${key} in ${language}`);
        return key;
      }
      const write = (/** @type {any} */ v) => (typeof v === 'number' ? whole.format(v) : v instanceof Date ? at.format(v) : Array.isArray(v) ? v.join(', ') : String(v));
      return text.replace(/\{(\w+)(?::([^|{}]*)\|([^|{}]*))?\}/g, (_, name, one, many) => (one === undefined ? write(values[name]) : String(values[name]) === '1' ? one : many));
    },
    /** Why something happened to an order, from its history; as the service says it for a code that is newer than this page. @param {{why?: string, whyCode?: string, until?: string}} event */
    why(event) {
      return event.whyCode && table[`why.${event.whyCode}`] ? this.t(`why.${event.whyCode}`, { until: new Date(event.until ?? 0) }) : event.why ?? '';
    },
    /** @param {string} key */
    has: (key) => table[key] !== undefined,
    /** A count: from a thousand on with a separator, which ids do not have. @param {number} n */
    number: (n) => whole.format(n),
    /** With one decimal. @param {number} n */
    tenths: (n) => tenths.format(n),
    /** Money, without decimals where they are noughts. @param {number} amount in the currency's least unit */
    money: (amount) => money(locale, amount),
    /** A time to the second, with its zone. @param {string | number} time */
    time: (time) => at.format(new Date(time)),
    /** A time to the second as people say it: "today, 20:00:12", "24 Nov, 20:00:12". When has the exact one. @param {string | number} time */
    said: (time) => said(language, locale, new Date(time)),
    /** A time to the minute, with its zone. @param {string | number} time */
    moment: (time) => formOf(new Date(time)).format(new Date(time)),
    /** A time of day to the millisecond. @param {string | number} time */
    exact: (time) => exact.format(new Date(time)),
    /** The day of a time, with its month in words. @param {string | number} time */
    day: (time) => weekday.format(new Date(time)),
    /** From when to when, to the minute, with the zone. @param {string | number} from @param {string | number} to */
    span: (from, to) => ranged(new Date(from), new Date(to)),
    /** The browser's zone, as times have it. */
    zone: () => at.formatToParts(new Date()).find((part) => part.type === 'timeZoneName')?.value ?? '',
    /** How far a time is from now: "in 3 h 12 min", "3 h 12 min ago". @param {string | number} time @param {number} now */
    away: (time, now) => away(language, new Date(time).getTime() - now),
  };
}

/** @param {string} locale @param {number} amount */
function money(locale, amount) {
  const digits = amount % PARTS === 0 ? 0 : DIGITS;
  return new Intl.NumberFormat(locale, {
    style: 'currency', currency: CURRENCY, currencyDisplay: 'narrowSymbol', minimumFractionDigits: digits, maximumFractionDigits: digits,
  }).format(amount / PARTS);
}

/** @param {Language} language @param {string} locale @param {Date} time */
function said(language, locale, time) {
  const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', second: '2-digit' }).format(time);
  const [day, today] = [time, new Date()].map((t) => Date.UTC(t.getFullYear(), t.getMonth(), t.getDate()) / 86_400_000);
  const near = Math.abs(day - today) <= 1;
  const name = near ? new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }).format(day - today, 'day')
    : new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', year: time.getFullYear() === new Date().getFullYear() ? undefined : 'numeric' }).format(time);
  return `${name}${language === 'zh' ? ' ' : ', '}${clock}`;
}

/** @type {Record<Language, {units: string[], join: string, ahead: string, ago: string}>} */
const AWAY = {
  en: { units: ['d', 'h', 'min', 's'], join: ' ', ahead: 'in {n}', ago: '{n} ago' },
  zh: { units: ['天', '小时', '分钟', '秒'], join: ' ', ahead: '{n}后', ago: '{n}前' },
};

/** Milliseconds from now in the two largest units; seconds only below a minute. @param {Language} language @param {number} ms */
function away(language, ms) {
  const { units, join, ahead, ago } = AWAY[language];
  const seconds = Math.floor(Math.abs(ms) / 1000);
  const counts = seconds < 60 ? [0, 0, 0, seconds] : [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, 0];
  const first = Math.max(0, counts.findIndex((n) => n > 0));
  const parts = counts.flatMap((n, i) => (n > 0 && i < first + 2 ? [`${n}${join}${units[i]}`] : []));
  return (ms >= 0 ? ahead : ago).replace('{n}', parts.join(' ') || `0${join}${units[3]}`);
}

/**
 * Milliseconds as days, a clock "04:05:06", and a short one without hours where there are none, "05:06". It counts down to
 * nought: a second that has begun counts.
 * @param {number} ms
 */
export function countdown(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const two = (/** @type {number} */ n) => String(n).padStart(2, '0');
  const clock = `${two(Math.floor(seconds / 3600) % 24)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return { days: Math.floor(seconds / 86_400), clock, short: seconds < 3600 ? clock.slice(3) : clock };
}
