package reason

import (
	"maps"
	"strings"
	"time"

	"seckill/internal/kit/moment"
	"seckill/internal/kit/words"
)

// Why says why something happened to an order: a code and, for Reserved and Extended, a space and a time. It is stored,
// and programs read it: a code that exists keeps its meaning. The reasons of failed orders are also codes.
type Why string

// The reasons why an order's state has changed, or has not.
const (
	BuyerAtLimit     Why = "BUYER_AT_LIMIT"
	BuyerBelowLimit  Why = "BUYER_BELOW_LIMIT"
	DisputeDecided   Why = "DISPUTE_WON"
	DisputeGone      Why = "DISPUTE_LOST"
	DisputeOpened    Why = "DISPUTE_OPENED"
	Extended         Why = "EXTENDED"
	InvitedToBuy     Why = "INVITATION_ACCEPTED"
	MoneyBack        Why = "MONEY_BACK"
	MoneyReturned    Why = "MONEY_RETURNED"
	NotPaidInTime    Why = "NOT_PAID_IN_TIME"
	NotRedeemed      Why = "NOT_REDEEMED_IN_TIME"
	NothingToPay     Why = "NOTHING_TO_PAY"
	NothingToPayBack Why = "NOTHING_TO_PAY_BACK"
	NoLimit          Why = "NO_LIMIT"
	NoUnitForLate    Why = "NO_UNIT_FOR_LATE_PAYMENT"
	PaidLate         Why = "PAID_LATE"
	PartReturned     Why = "MONEY_RETURNED_IN_PART"
	PaidTwice        Why = "PAID_TWICE"
	PaymentCancelled Why = "PAYMENT_CANCELLED"
	PaymentFailed    Why = "PAYMENT_FAILED"

	PaymentProcessing Why = "PAYMENT_PROCESSING"

	PartAsked     Why = "REFUND_OF_A_PART"
	RefundClosed  Why = "REFUND_CLOSED"
	RefundFailed  Why = "REFUND_FAILED"
	RefundPending Why = "REFUND_PENDING"
	RefundRefused Why = "REFUND_REFUSED"
	RefundRetried Why = "REFUND_RETRIED"
	Released      Why = "RELEASED"
	Reserved      Why = "RESERVED"
	CalledOffSale Why = "SALE_CALLED_OFF"
	SaleOver      Why = "SALE_OVER"
	StaffDecided  Why = "STAFF_DECIDED"
	UnitForLate   Why = "UNIT_FOR_LATE_PAYMENT"
	Unredeemed    Why = "REDEMPTION_UNDONE"
)

// whys has the words of each code.
var whys = map[Why]words.Text{
	BuyerAtLimit:     {"the buyer has bought as many as one may have; the money goes back", "已达限购数量，将退回付款"},
	BuyerBelowLimit:  {"the buyer may have one more", "未超过限购数量"},
	DisputeDecided:   {"the dispute was decided for the shop", "争议裁定商家胜诉"},
	DisputeGone:      {"the dispute was decided for the buyer", "争议裁定买家胜诉"},
	DisputeOpened:    {"the buyer disputes the payment", "买家对付款提出争议"},
	Extended:         {"valid until {until} from now on", "有效期延至 {until}"},
	InvitedToBuy:     {"an invitation of the waiting list was accepted", "已接受候补邀请"},
	MoneyBack:        {"the money has gone back", "款项已退回"},
	MoneyReturned:    {"all of the money was sent back at the payment provider", "款项已由支付渠道全额退回"},
	NotPaidInTime:    {"not paid in time", "超时未支付"},
	NotRedeemed:      {"not redeemed in time", "逾期未使用"},
	NothingToPay:     {"there is nothing to pay", "无需支付"},
	NothingToPayBack: {"there was nothing to pay back", "无需退款"},
	NoLimit:          {"there is no limit to this voucher", "该券不限购"},
	NoUnitForLate:    {"no unit could be taken again for the late payment; the money goes back", "付款逾期到账，已无名额，将退回"},
	PaidLate:         {"the payment arrived after the order was cancelled", "订单取消后才收到付款"},
	PartReturned:     {"part of the money was sent back at the payment provider", "款项已由支付渠道部分退回"},
	PaidTwice:        {"a payment arrived that was not needed any more; the money goes back", "收到多余的付款，将退回"},
	PaymentCancelled: {"the payment has ended without money", "支付已取消，未收到款项"},
	PaymentFailed:    {"the payment has failed", "支付失败"},

	PaymentProcessing: {"the money is under way; the unit is held meanwhile", "款项处理中，名额暂时保留"},

	PartAsked:     {"the shop sends a part of the money back", "商家退回部分款项"},
	RefundFailed:  {"the bank has refused the refund; the shop has to see to it", "银行拒绝退款，等待商家处理"},
	RefundPending: {"the money is on its way back", "款项正在退回途中"},
	RefundClosed:  {"the shop has closed the refund", "商家已关闭退款"},
	RefundRefused: {
		"the payment provider refuses to send the money back; the shop has to see to it", "支付渠道拒绝退款，等待商家处理",
	},
	RefundRetried: {"the shop has the payment provider asked once more", "商家已再次请求支付渠道退款"},
	Released:      {"the reservation was released", "已取消保留"},
	Reserved:      {"reserved until {until}", "保留至 {until}"},
	CalledOffSale: {"the sale was called off", "活动已取消"},
	SaleOver:      {"the sale is over for good; the money goes back", "活动已结束，将退回付款"},
	StaffDecided:  {"the shop decided so", "商家处理"},
	UnitForLate:   {"a unit was taken again for the late payment", "付款逾期到账，已重新分配名额"},
	Unredeemed:    {"the redemption was undone", "核销已撤销"},

	Why(DuplicateBuyer):   {"the buyer had another order", "买家已有其他订单"},
	Why(Discarded):        {"an admin discarded it", "被管理员丢弃"},
	Why(IDCollision):      {"its number was taken", "订单号重复"},
	Why(NoStock):          {"nothing was left", "库存不足"},
	Why(RejectedByLedger): {"the database refused it", "数据库拒绝写入"},
	Why(UnknownVoucher):   {"there is no such sale", "活动不存在"},
}

// All returns all codes with their words.
func All() map[Why]words.Text { return maps.Clone(whys) }

// ReservedUntil says that a till has reserved the coupon until a time.
func ReservedUntil(t time.Time) Why { return Reserved + Why(" "+moment.Of(t).String()) }

// ExtendedUntil says that staff have given the coupon another date.
func ExtendedUntil(t time.Time) Why { return Extended + Why(" "+moment.Of(t).String()) }

// Code returns the code without data.
func (w Why) Code() Why {
	code, _, _ := strings.Cut(string(w), " ")
	return Why(code)
}

// Until returns the time in the data, as the API writes it; "" for none.
func (w Why) Until() string {
	_, data, _ := strings.Cut(string(w), " ")
	return data
}

// In returns the words in a language; "" for no code.
func (w Why) In(l words.Language) string { return whys[w.Code()].In(l, words.Data{"until": w.Until()}) }
