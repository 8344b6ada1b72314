// @ts-check
// Why something happened to an order: what its history has, English or a code, in the language of the page.

/** What is stored, and how it is said in English, "" for as it is, and in Chinese. @type {[string, string, string][]} */
const WHYS = [
  ['NO_STOCK', 'nothing was left', '库存不足'],
  ['DUPLICATE_BUYER', 'the buyer had another order', '买家已有其他订单'],
  ['ID_COLLISION', 'its number was taken', '订单号重复'],
  ['REJECTED', 'the database refused it', '数据库拒绝写入'],
  ['UNKNOWN_VOUCHER', 'there is no such sale', '活动不存在'],
  ['DISCARDED', 'an admin discarded it', '被管理员丢弃'],
  ['not paid in time', '', '超时未支付'],
  ['not redeemed in time', '', '逾期未使用'],
  ['reserved until (.*)', 'reserved until $1', '保留至 $1'],
  ['the reservation was released', '', '已取消保留'],
  ['there is nothing to pay', '', '无需支付'],
  ['there was nothing to pay back', '', '无需退款'],
  ['the money has gone back', '', '款项已退回'],
  ['the payment arrived after the order was cancelled', '', '订单取消后才收到付款'],
  ['a payment arrived that was not needed any more; the money goes back', '', '收到多余的付款，将退回'],
  ['a unit was taken again for the late payment', '', '付款逾期到账，已重新分配名额'],
  ['no unit could be taken again for the late payment; the money goes back', '', '付款逾期到账，已无名额，将退回'],
  ['there is no limit to this voucher', '', '该券不限购'],
  ['the buyer may have one more', '', '未超过限购数量'],
  ['the buyer has bought as many as one may have; the money goes back', '', '已达限购数量，将退回付款'],
  ['the sale is over for good; the money goes back', '', '活动已结束，将退回付款'],
  ['an offer of the waiting list was accepted', '', '已接受候补名额'],
];

const PATTERNS = WHYS.map(([stored, en, zh]) => /** @type {[RegExp, {en: string, zh: string}]} */ ([new RegExp(`^${stored}$`), { en: en || '$&', zh }]));

/** A reason in words; as it is where it is not known. @param {string} stored @param {import('./words.js').Words} words */
export function why(stored, { language, time }) {
  for (const [pattern, says] of PATTERNS) {
    if (pattern.test(stored)) return stored.replace(pattern, says[language]).replace(/\d{4}-\d\d-\d\dT\S+Z/, (at) => time(at));
  }
  return stored;
}
