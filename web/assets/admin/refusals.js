// @ts-check
// Why a sale refuses requests, in the order shown: rows that change places each second cannot be read.
// Generated from internal/httpapi/shop/errors.go by make docs.

/** @type {({code: string} & Record<import('../words.js').Language, string>)[]} */
export const REFUSALS = [
  { code: "SOLD_OUT", en: "Sold out", zh: "已售罄" },
  { code: "ALREADY_BOUGHT", en: "Has bought already", zh: "已抢购过" },
  { code: "NOT_ENOUGH", en: "Not that many left", zh: "余量不足" },
  { code: "NOT_STARTED", en: "Not started", zh: "未开始" },
  { code: "ENDED", en: "Ended", zh: "已结束" },
  { code: "CALLED_OFF", en: "Called off", zh: "活动已取消" },
  { code: "PAUSED", en: "Paused", zh: "已暂停" },
  { code: "OFF_SHELF", en: "Off the shelf", zh: "已下架" },
  { code: "UNKNOWN_OUTCOME", en: "Outcome not known", zh: "结果未知" },
  { code: "UNAVAILABLE", en: "Busy", zh: "系统繁忙" },
];
