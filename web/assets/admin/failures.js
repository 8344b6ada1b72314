// @ts-check
// Why an endpoint did not take an event, or is disabled: what is stored of it, which is English, in the language of the page.

import { html } from '../vendor/htm-preact.js';

/** What the sender reports, the first that fits. What is not listed stays English. @type {[string, string][]} */
const CHINESE = [
  ['answered 410 Gone', '接收方返回 410，表示该地址不再使用'],
  ['answered (\\d+): redirects are not followed', '接收方返回 $1，重定向不会跟随'],
  ['answered (\\d+)', '接收方返回 $1'],
  ['no answer in time: .*', '超时未应答'],
  ['the answer is not HTTP', '接收方的应答不是 HTTP'],
  ['(?:.*: )?(?:unexpected )?EOF', '接收方未应答即断开连接'],
  ['.*: connection reset by peer', '接收方断开了连接'],
  ['.*: broken pipe', '接收方断开了连接'],
  ['dial tcp (\\S+): connect: connection refused', '$1 拒绝连接'],
  ['dial tcp (\\S+): connect: (?:network is unreachable|no route to host)', '无法到达 $1'],
  ['dial tcp: lookup (\\S+?)(?: on \\S+)?: no such host', '找不到域名 $1'],
  ['dial tcp: lookup (\\S+?)(?: on \\S+)?: (.*)', '无法解析域名 $1（$2）'],
  ['(?:dial tcp \\S+: )?the address is not allowed: (\\S+) is not in SECKILL_WEBHOOK_ALLOW, so it needs https', '$1 未列入 SECKILL_WEBHOOK_ALLOW，须使用 https'],
  ['(?:dial tcp \\S+: )?the address is not allowed: (\\S+) is not on the public Internet, nor in SECKILL_WEBHOOK_ALLOW', '$1 不是公网地址，也未列入 SECKILL_WEBHOOK_ALLOW'],
  ['http: server gave HTTP response to HTTPS client', '接收方不支持 HTTPS'],
  ['tls: failed to verify certificate: x509: certificate signed by unknown authority.*', 'TLS 证书的签发机构不受信任'],
  ['tls: failed to verify certificate: x509: certificate has expired or is not yet valid: .*', 'TLS 证书已过期或尚未生效'],
  ['tls: failed to verify certificate: x509: certificate is valid for (.*), not (\\S+)', 'TLS 证书属于 $1，与 $2 不符'],
  ['tls: failed to verify certificate: (.*)', 'TLS 证书校验失败（$1）'],
  ['remote error: tls: (.*)', '接收方拒绝了 TLS 握手（$1）'],
  ['tls: (.*)', 'TLS 握手失败（$1）'],
  ['context canceled', '推送中断'],
  ['by an admin', '由管理员停用'],
];

const PATTERNS = CHINESE.map(([english, chinese]) => /** @type {[RegExp, string]} */ ([new RegExp(`^${english}$`, 's'), chinese]));

/** A failure in Chinese; as it is where that is not known. @param {string} english @returns {string} */
export function inChinese(english) {
  const days = /^it has failed for five days: (.*)$/s.exec(english);
  if (days) return `已连续失败五天：${inChinese(days[1])}`;
  for (const [pattern, chinese] of PATTERNS) if (pattern.test(english)) return english.replace(pattern, chinese);
  return english;
}

/** A failure, for people: as it is stored where the pointer rests on it. @param {{why: string, words: import('../words.js').Words}} props */
export function Failure({ why, words }) {
  const says = words.language === 'zh' ? inChinese(why) : why;
  return says === why ? html`<span lang="en">${why}</span>` : html`<span title=${why}>${says}</span>`;
}
