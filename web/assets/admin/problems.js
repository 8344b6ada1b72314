// @ts-check
// What is wrong with the fields of a request: what the service says of each, which is English, in the language of the page.

import { TEXTS } from './texts.js';

/** A number as the service or the form writes it, and a text that the service repeats. */
const N = '(-?[\\d.,]+)', TEXT = '"(.*)"';

/** Reasons, and what is allowed. What is not listed stays English. @type {[string, string][]} */
const CHINESE = [
  ['is missing', '缺失'],
  ['is missing or blank', '不能为空'],
  ['is missing or out of range', '缺失或超出范围'],
  ['is out of range', '超出范围'],
  ['is in the past', '已是过去的时间'],
  ['is in the past or out of range', '已是过去的时间，或超出范围'],
  ['holds bytes that are not text', '含有非文本内容'],
  [`has ${N} characters`, '共 $1 个字符'],
  [`has ${N} characters, which is too long`, '共 $1 个字符，过长'],
  [`has ${N} characters, or one that cannot be shown`, '共 $1 个字符，或含有无法显示的字符'],
  [`has ${N} bytes, more than ${N}`, '共 $1 字节，超过 $2'],
  [`has ${TEXT}`, '含有“$1”'],
  [`begins with ${TEXT}`, '以“$1”开头'],
  [`is ${N}`, '当前为 $1'],
  [`is ${TEXT}`, '当前为“$1”'],
  [`is ${N}, a fraction or a number with an exponent`, '当前为 $1，不是整数'],
  [`is ${N}, which is out of range`, '当前为 $1，超出范围'],
  [`is ${TEXT}, which is not an id`, '“$1”不是编号'],
  [`is ${TEXT}, which is no URL`, '“$1”不是网址'],
  ['is not known here', '此处没有该字段'],
  ['is given several times', '重复出现'],
  ['is that of rehearsals', '是演练专用的店铺'],
  [`is ${N}, which is closed`, '分区 $1 已关闭'],
  [`is ${N}, which is removed`, '分区 $1 已移除'],
  ['is not after beginTime', '不晚于开始时间'],
  ['is after beginTime: nobody could buy when the sale begins', '晚于开始时间：活动开始时将无人可买'],
  ['is in the future, and buyers see the voucher already', '晚于现在，而买家已能看到该券'],
  ['is not before to', '不早于结束时间'],
  ['and from are both given, or neither is', '与起始时间须且只能填写一项'],
  ['(?:is|are) of a sale, and this voucher has none', '仅适用于秒杀券'],
  ['is of a coupon, and this voucher is not redeemable', '仅适用于凭券码核销的券'],
  ['is given beside validUntil', '不可与截止时间同时填写'],
  ['is not before validUntil: the last ones sold could not be used', '不早于券的截止时间：最后售出的将无法使用'],
  [`is ${N}, with which the sale would have issued ${N}`, '当前为 $1，发行总量将达到 $2'],
  [`is ${N}: some buyers could buy only after endTime`, '当前为 $1：部分买家的开抢时刻会晚于结束时间'],
  ['bounds nothing', '未设任何限制'],
  ['asks for nothing', '未设任何条件'],
  ['is below difficulty', '低于“最多尝试次数”'],
  ['is set without tickets', '未同时启用抢购凭证'],
  [`is ${N}, and a buyer needs ${N} requests with tickets`, '当前为 $1，而使用抢购凭证时每位买家需要 $2 次请求'],
  ['cannot be paid: no payment provider is configured, and SECKILL_REQUIRE_PROVIDER is true', '无法支付：未配置支付渠道，且 SECKILL_REQUIRE_PROVIDER 为 true'],

  ['a whole number', '整数'],
  ['a whole number of seconds', '整秒数'],
  ['minutes that come to whole seconds', '折合整秒的分钟数'],
  ['an amount', '金额，最多两位小数'],
  [`a whole number from ${N} to ${N}`, '$1 到 $2 的整数'],
  [`a number from ${N} to ${N}`, '$1 到 $2'],
  [`an amount from ${N} to ${N}`, '$1 到 $2 的金额'],
  [`a whole number from ${N} to ${N}, but not 0`, '$1 到 $2 的整数，0 除外'],
  [`a whole number from 1 to ${N}, the stock`, '1 到 $1（库存数量）的整数'],
  [`(?:a|any other) (?:whole )?number from ${N} to ${N}, or leave it out: no waiting list`, '$1 到 $2，或不启用候补名单'],
  [`any other whole number from 1 to ${N}`, '1 到 $1 的其他整数'],
  [`${N} to ${N} characters(?: of valid UTF-8)?`, '$1 到 $2 个字符'],
  [`up to ${N} characters`, '最多 $1 个字符'],
  [`a part of a title, 1 to ${N} characters of UTF-8`, '标题的一部分，1 到 $1 个字符'],
  ['leave it out', '请留空'],
  ['leave it out, or "redeemable": true', '请留空，或启用凭券码核销'],
  ['leave it out; "status": 2 takes it off the shelf', '请留空；如需隐藏，可下架'],
  [`(.*); or leave it out`, '$1；或留空'],
  ['a time such as (.*), in the years 2000 to 9999', '如 $1 的时间，2000 到 9999 年'],
  ['a time after beginTime', '晚于开始时间'],
  ['a time before to', '早于结束时间'],
  ['a time after (.*), before the year 10000', '晚于 $1，早于 10000 年'],
  ['a time after (\\S+)', '晚于 $1'],
  ['a time not after (\\S+)', '不晚于 $1'],
  ['a time before (\\d\\S*)', '早于 $1'],
  [`less than the ${N} milliseconds between beginTime and endTime`, '小于活动时长 $1 毫秒'],
  [`at most ${N} more`, '最多再增加 $1'],
  ['one of the two', '二者择一'],
  ['once', '一次'],
  ['at least one of perAddress, perNetwork, perUser; or null, which turns the limits off', '至少设置一组，或关闭频率限制'],
  ['minLevel or minAgeDays above 0; or null, which turns the conditions off', '至少一项大于 0，或关闭参与条件'],
  ['difficulty or more', '不低于“最多尝试次数”'],
  ['together with guards.tickets: a challenge is solved for a ticket', '须同时启用抢购凭证'],
  [`${N} or more while guards.tickets is on`, '使用抢购凭证时至少为 $1'],
  ["a shop's id, or 0 for all shops", '店铺编号，或 0 表示全部店铺'],
  ['https://host/path, or http:// where SECKILL_WEBHOOK_ALLOW lists the address; without user, password or fragment', 'https:// 网址；SECKILL_WEBHOOK_ALLOW 列出的地址也可用 http://；不含用户名、密码与片段'],
  ['each once, of (.*)', '以下各一次：$1'],
  ["an event's webhook-id, such as (\\S+) or (\\S+)", '事件的 webhook-id，如 $1 或 $2'],
  ['event, or from with or without to', '事件，或起始时间（结束时间可选）'],
  ['0, or any price once SECKILL_PAYMENT_PROVIDER names one', '0；或先用 SECKILL_PAYMENT_PROVIDER 配置支付渠道'],
];

const PATTERNS = CHINESE.map(([english, chinese]) => /** @type {[RegExp, string]} */ ([new RegExp(`^${english}$`, 's'), chinese]));

/** A reason, or what is allowed, in Chinese; as it is where that is not known. @param {string} english */
export function inChinese(english) {
  for (const [pattern, chinese] of PATTERNS) if (pattern.test(english)) return english.replace(pattern, chinese);
  return english;
}

/** In a text of the service: what somebody typed, years, times, ids with a hyphen, names of fields, and numbers. */
const PARTS = /"[^"]*"|“[^”]*”|years? \d+(?: to \d+)?|\d+(?: 到 \d+)? 年|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(?:\.\d+)?(?:Z| UTC)|[\w:.]+-\S+|\b[a-z]+[A-Z]\w*\b|\d{4,}/g;

/**
 * A text of the service as the page writes: times in the browser's zone, fields as their forms call them, and with counts all numbers with
 * separators: those of lists before a sale have them, but for ids.
 * @param {string} text @param {boolean} [counts]
 */
export function asShown(text, counts = false) {
  const language = document.documentElement.lang.startsWith('zh') ? 'zh' : 'en';
  return text.replace(PARTS, (part, seconds) => {
    if (/^\d+$/.test(part)) return counts ? BigInt(part).toLocaleString('en') : part;
    if (/^\d{4}-/.test(part)) return new Date(part.replace(' UTC', 'Z').replace(' ', 'T')).toLocaleString(language === 'zh' ? 'zh-CN' : 'en-GB', TIME[seconds ? 1 : 0]);
    const name = TEXTS[`field.${part}`]?.[language];
    return name ? `“${name}”` : part;
  });
}

/** How times are written that have minutes, and seconds, as words.js does. @type {Intl.DateTimeFormatOptions[]} */
const TIME = [{ year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' }, { dateStyle: 'medium', timeStyle: 'long' }];

/**
 * What is wrong with the fields of a request, by field, from an INVALID. Fields of the form have other units than the service: change
 * makes its text that of the form.
 * @param {import('../client.js').Answer} answer @param {(field: string, english: string) => string} [change]
 */
export function problems(answer, change = (_, english) => english) {
  const chinese = document.documentElement.lang.startsWith('zh');
  /** @type {Record<string, string>} */
  const found = {};
  for (const { field, reason, allowed } of answer.errors ?? []) {
    const [why, what] = [change(field, reason), change(field, allowed)].map((english) => asShown(chinese ? inChinese(english) : english, true));
    found[field] = chinese ? `${why}（${what}）` : `${why} (${what})`;
  }
  return found;
}
