// @ts-check
// Why something happened to an order, by code.
// Generated from the tables of the service by make docs.

/** @type {Record<string, Record<'en' | 'zh', string>>} */
export const WHYS = {
  'why.BUYER_AT_LIMIT': { en: "the buyer has bought as many as one may have; the money goes back", zh: "已达限购数量，将退回付款" },
  'why.BUYER_BELOW_LIMIT': { en: "the buyer may have one more", zh: "未超过限购数量" },
  'why.DISCARDED': { en: "an admin discarded it", zh: "被管理员丢弃" },
  'why.DISPUTE_LOST': { en: "the dispute was decided for the buyer", zh: "争议裁定买家胜诉" },
  'why.DISPUTE_OPENED': { en: "the buyer disputes the payment", zh: "买家对付款提出争议" },
  'why.DISPUTE_WON': { en: "the dispute was decided for the shop", zh: "争议裁定商家胜诉" },
  'why.DUPLICATE_BUYER': { en: "the buyer had another order", zh: "买家已有其他订单" },
  'why.EXTENDED': { en: "valid until {until} from now on", zh: "有效期延至 {until}" },
  'why.ID_COLLISION': { en: "its number was taken", zh: "订单号重复" },
  'why.INVITATION_ACCEPTED': { en: "an invitation of the waiting list was accepted", zh: "已接受候补邀请" },
  'why.MONEY_BACK': { en: "the money has gone back", zh: "款项已退回" },
  'why.MONEY_RETURNED': { en: "all of the money was sent back at the payment provider", zh: "款项已由支付机构全额退回" },
  'why.MONEY_RETURNED_IN_PART': { en: "part of the money was sent back at the payment provider", zh: "款项已由支付机构部分退回" },
  'why.NOTHING_TO_PAY': { en: "there is nothing to pay", zh: "无需支付" },
  'why.NOTHING_TO_PAY_BACK': { en: "there was nothing to pay back", zh: "无需退款" },
  'why.NOT_PAID_IN_TIME': { en: "not paid in time", zh: "超时未支付" },
  'why.NOT_REDEEMED_IN_TIME': { en: "not redeemed in time", zh: "逾期未使用" },
  'why.NO_LIMIT': { en: "there is no limit to this voucher", zh: "该券不限购" },
  'why.NO_STOCK': { en: "nothing was left", zh: "库存不足" },
  'why.NO_UNIT_FOR_LATE_PAYMENT': { en: "no unit could be taken again for the late payment; the money goes back", zh: "付款逾期到账，已无名额，将退回" },
  'why.PAID_LATE': { en: "the payment arrived after the order was cancelled", zh: "订单取消后才收到付款" },
  'why.PAID_TWICE': { en: "a payment arrived that was not needed any more; the money goes back", zh: "收到多余的付款，将退回" },
  'why.REDEMPTION_UNDONE': { en: "the redemption was undone", zh: "核销已撤销" },
  'why.REJECTED': { en: "the database refused it", zh: "数据库拒绝写入" },
  'why.RELEASED': { en: "the reservation was released", zh: "已取消保留" },
  'why.RESERVED': { en: "reserved until {until}", zh: "保留至 {until}" },
  'why.SALE_CALLED_OFF': { en: "the sale was called off", zh: "活动已取消" },
  'why.SALE_OVER': { en: "the sale is over for good; the money goes back", zh: "活动已结束，将退回付款" },
  'why.STAFF_DECIDED': { en: "the shop decided so", zh: "商家处理" },
  'why.UNIT_FOR_LATE_PAYMENT': { en: "a unit was taken again for the late payment", zh: "付款逾期到账，已重新分配名额" },
  'why.UNKNOWN_VOUCHER': { en: "there is no such sale", zh: "活动不存在" },
};
