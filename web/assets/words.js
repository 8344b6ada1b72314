// @ts-check
// The languages of the pages, and how numbers, money and times are written in them.

/** @typedef {'en' | 'zh'} Language */

const CHOSEN = 'seckill.language';

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

/** Remembers a choice on this browser. @param {Language} language */
export function choose(language) {
  localStorage.setItem(CHOSEN, language);
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
  const at = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' });
  const moment = new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' });
  return {
    language,
    locale,
    /** @param {string} key @param {Record<string, string | number>} [values] */
    t(key, values = {}) {
      const text = table[key]?.[language];
      if (text === undefined) { // of an instance that is newer than this page: better a bare word than no page
        console.error(`no text ${key} in ${language}`);
        return key;
      }
      return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
    },
    /** @param {string} key */
    has: (key) => table[key] !== undefined,
    /** @param {number} n */
    number: (n) => whole.format(n),
    /** Cents as money, without cents where there are none. @param {number} cents */
    money: (cents) => money(locale, cents),
    /** A time to the second. @param {string | number} time */
    time: (time) => at.format(new Date(time)),
    /** A time to the minute, this year. @param {string | number} time */
    moment: (time) => moment.format(new Date(time)),
  };
}

/** @param {string} locale @param {number} cents */
function money(locale, cents) {
  const digits = cents % 100 === 0 ? 0 : 2;
  return new Intl.NumberFormat(locale, {
    style: 'currency', currency: 'CNY', currencyDisplay: 'narrowSymbol', minimumFractionDigits: digits, maximumFractionDigits: digits,
  }).format(cents / 100);
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
