package shop

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/idempotency"
	"seckill/internal/kit/words"
	"seckill/internal/order"
	"seckill/internal/order/gate"
	"seckill/internal/order/payment"
	"seckill/internal/order/recorder"
	"seckill/internal/voucher"
	"seckill/internal/voucher/listing"
)

// ErrUnkeyedOutcome says that it is not known whether a purchase of an ordinary voucher without a key took place.
// Repeating it may buy once more.
var ErrUnkeyedOutcome = errors.New("outcome of a purchase without a key is unknown")

// Rules returns the table that maps the domain's errors to answers. The first rule that matches decides. A sale's most
// frequent answers come first. An unknown outcome comes before an unavailable store, whose answer would promise that
// nothing was changed. make docs generates the codes in web/openapi.yaml and the console's list of refusals from it.
func Rules() []httpkit.Rule { return slices.Concat(saleRules, coreRules) }

// saleRules are the most frequent answers of a sale: thousands a second in a rush.
var saleRules = []httpkit.Rule{
	{Early: true, Matches: httpkit.Is(gate.ErrSoldOut), Failure: httpkit.Failure{
		Code: "SOLD_OUT", Status: http.StatusConflict, Title: "Sold out",
		Detail:  "No unit of this voucher was left.",
		English: "Sold out.", Chinese: "已售罄",
		Label: words.Text{"Sold out", "已售罄"},
	}},
	{Early: true, Matches: httpkit.As[*gate.AlreadyBoughtError], Failure: httpkit.Failure{
		Code: "ALREADY_BOUGHT", Status: http.StatusConflict, Title: "Already bought",
		Detail:  "This user has a live order for this voucher; data says which. One order to a person.",
		English: "You have bought this already.", Chinese: "您已经抢购过了，不能重复下单",
		Label:   words.Text{"Has bought already", "已抢购过"},
		Members: alreadyBoughtMembers,
	}},
	{Early: true, Matches: httpkit.As[*gate.NotEnoughError], Failure: httpkit.Failure{
		Code: "NOT_ENOUGH", Status: http.StatusConflict, Title: "Not enough left",
		Detail: "Fewer units are left than the request asks for; data says how many were. Nothing was " +
			"bought; ask for fewer.",
		English: "There are not that many left. Choose fewer.", Chinese: "剩余数量不足，请减少购买数量",
		Label:   words.Text{"Not that many left", "余量不足"},
		Members: notEnoughMembers,
	}},
	{Early: true, Matches: httpkit.Is(gate.ErrNotStarted), Failure: httpkit.Failure{
		Code: "NOT_STARTED", Status: http.StatusForbidden, Title: "The sale has not started",
		Detail:  "The sale's beginTime lies ahead, by the server's clock.",
		English: "The sale has not started yet.", Chinese: "秒杀尚未开始",
		Label: words.Text{"Not started", "未开始"},
	}},
	{Early: true, Matches: httpkit.Is(gate.ErrEnded), Failure: httpkit.Failure{
		Code: "ENDED", Status: http.StatusForbidden, Title: "The sale has ended",
		Detail:  "The sale's endTime has passed, by the server's clock.",
		English: "The sale has ended.", Chinese: "秒杀已经结束",
		Label: words.Text{"Ended", "已结束"},
	}},
	{Early: true, Matches: httpkit.Is(voucher.ErrCalledOff), Failure: httpkit.Failure{
		Code: "CALLED_OFF", Status: http.StatusForbidden, Title: "The sale was called off",
		Detail:  "The shop has called the sale off, for good. Its orders are cancelled, or their money goes back.",
		English: "The shop has called this sale off. If you have an order, it is cancelled and your money goes back.",
		Chinese: "商家已取消本次活动。已有订单将被取消，已付款项将原路退回",
		Label:   words.Text{"Called off", "活动已取消"},
	}},
	{Early: true, Matches: httpkit.Is(gate.ErrPaused), Failure: httpkit.Failure{
		Code: httpkit.CodePaused, Status: http.StatusServiceUnavailable, RetryAfter: "3", Title: "The sale is paused",
		Detail:  "The sale was paused, or is being prepared. Nothing was bought by this request.",
		English: "The sale is paused. Please try again shortly.", Chinese: "活动暂停中，请稍后再试",
		Label: words.Text{"Paused", "已暂停"},
	}},
}

// coreRules are all other rules of the core.
var coreRules = []httpkit.Rule{
	{Matches: httpkit.Is(voucher.ErrNotFound), Failure: httpkit.Failure{
		Code: "NOT_FOUND", Status: http.StatusNotFound, Title: "Not found",
		Detail:  "There is no voucher with this id.",
		English: "There is no such voucher.", Chinese: "优惠券不存在",
	}},
	{Matches: httpkit.Is(order.ErrNotFound), Failure: httpkit.Failure{
		Code: "NOT_FOUND", Status: http.StatusNotFound, Title: "Not found",
		Detail:  "This user has no order with this id.",
		English: "There is no such order.", Chinese: "订单不存在",
	}},
	{Matches: httpkit.Is(voucher.ErrNotSeckill), Failure: httpkit.Failure{
		Code: "NOT_SECKILL", Status: http.StatusConflict, Title: "Not a seckill voucher",
		Detail:  "The voucher is an ordinary one, which has no sale.",
		English: "This voucher is not part of a flash sale.", Chinese: "该优惠券不是秒杀券",
	}},
	{Matches: httpkit.Is(voucher.ErrOffShelf), Failure: httpkit.Failure{
		Code: "OFF_SHELF", Status: http.StatusConflict, Title: "Off the shelf",
		Detail:  "The voucher was taken off the shelf.",
		English: "This voucher is no longer offered.", Chinese: "优惠券已下架",
		Label: words.Text{"Off the shelf", "已下架"},
	}},
	{Matches: httpkit.Is(voucher.ErrArchived), Failure: httpkit.Failure{
		Code: "ARCHIVED", Status: http.StatusConflict, Title: "The voucher is archived",
		Detail:  "An archived voucher is not changed and not sold. Restore it first: POST /voucher/:id/restore.",
		English: "This voucher is archived. Restore it first.", Chinese: "该优惠券已归档，请先取消归档",
	}},
	{Matches: httpkit.Is(voucher.ErrSaleNotOver), Failure: httpkit.Failure{
		Code: "SALE_NOT_OVER", Status: http.StatusConflict, Title: "The sale is not over",
		Detail: "The voucher's sale runs or is still to come. The voucher can be archived once its endTime has " +
			"passed; calling the sale off ends it now.",
		English: "The sale runs or is still to come. Archive it once it has ended.",
		Chinese: "活动正在进行或尚未开始，结束后才能归档",
	}},
	{Matches: httpkit.Is(voucher.ErrOrdersWait), Failure: httpkit.Failure{
		Code: "ORDERS_WAIT", Status: http.StatusConflict, Title: "Orders are not decided yet",
		Detail: "Orders of the voucher are queued or unpaid, or a unit is on its way back; or the sale is just being " +
			"restored in Redis, so that it is not known. The voucher can be archived once each is paid or over.",
		English: "Orders are not decided yet: queued, or still to be paid. Archive it once they are.",
		Chinese: "仍有订单排队中或待支付，处理完后才能归档",
	}},
	{Matches: httpkit.As[*OrderFailedError], Failure: httpkit.Failure{
		Code: "ORDER_FAILED", Status: http.StatusConflict, Title: "The order failed",
		Detail:  "The order was accepted but could not be recorded; data says which and why. Nothing is owed.",
		English: "Your order could not be completed. Nothing was charged.", Chinese: "下单失败，未产生任何费用",
		Members: httpkit.DataOf(func(e *OrderFailedError) any {
			ref := orderRefJSON{
				OrderID: strconv.FormatInt(e.Order.ID, 10), Status: order.Failed.String(), Reason: &e.Order.Reason,
			}
			if e.Order.Quantity != order.OneUnit {
				ref.Quantity = e.Order.Quantity.Units()
			}
			return ref
		}),
	}},
	{Matches: httpkit.Is(voucher.ErrRetired), Failure: httpkit.Failure{
		Code: "ENDED", Status: http.StatusForbidden, Title: "The sale has ended",
		Detail:  "The sale is over for good: its stock and window can no longer be changed.",
		English: "The sale has ended and can no longer be changed.", Chinese: "活动已结束，无法再修改",
	}},
	{Matches: httpkit.As[*order.StateError], Failure: httpkit.Failure{
		Code: "ORDER_STATE", Status: http.StatusConflict, Title: "Not possible in this state",
		Detail:  "The order is in a state in which this cannot be done; data says which.",
		English: "This is not possible any more, or not yet.", Chinese: "当前订单状态不支持此操作",
		Members: httpkit.DataOf(func(e *order.StateError) any {
			return orderRefJSON{OrderID: strconv.FormatInt(e.OrderID, 10), Status: shownStatus(e.Status)}
		}),
	}},
	{Matches: httpkit.As[*order.LimitError], Failure: httpkit.Failure{
		Code: "LIMIT_REACHED", Status: http.StatusConflict, Title: "As many as one may have",
		Detail: "The user has as many live orders of this ordinary voucher as its perUser allows; data says how " +
			"many. Nothing was bought. A cancelled or refunded order does not count.",
		English: "You have as many of these as one person may buy.", Chinese: "您已达到每人限购数量",
		Members: httpkit.DataOf(func(e *order.LimitError) any { return map[string]int64{"perUser": e.PerUser} }),
	}},
	{Matches: httpkit.Is(order.ErrSeckill), Failure: httpkit.Failure{
		Code: "SECKILL_ONLY", Status: http.StatusConflict, Title: "Sold in its sale only",
		Detail:  "The voucher is a seckill voucher: POST /voucher/seckill/:id buys it.",
		English: "This voucher is only sold in its flash sale.", Chinese: "该优惠券仅限秒杀活动购买",
	}},
	{Matches: httpkit.Is(idempotency.ErrReused), Failure: httpkit.Failure{
		Code: "KEY_REUSED", Status: http.StatusConflict, Title: "Idempotency key used before",
		Detail:  "The Idempotency-Key was used before, for another request. Send a new one with a new request.",
		English: "This request was sent before with other values.", Chinese: "该幂等键已用于其他请求",
	}},
	{Matches: httpkit.Is(idempotency.ErrGone), Failure: httpkit.Failure{
		Code: "GONE", Status: http.StatusGone, Title: "Gone",
		Detail: "This request was done before, with this Idempotency-Key, and what it made has been deleted since. " +
			"Nothing was done now; send a new key to make another.",
		English: "This was created before, and has been deleted since.", Chinese: "此前创建的内容已被删除",
	}},
	{Matches: httpkit.As[*voucher.InsufficientStockError], Failure: httpkit.Failure{
		Code: "INSUFFICIENT_STOCK", Status: http.StatusConflict, Title: "Not as many units are left",
		Detail:  "Fewer units are left than were to be taken; data says how many. Nothing was taken.",
		English: "Not as many units are left.", Chinese: "剩余库存不足",
		Members: httpkit.DataOf(func(e *voucher.InsufficientStockError) any {
			return map[string]int64{"left": e.Left}
		}),
	}},
	{Matches: httpkit.As[*voucher.BoundError], Failure: httpkit.Failure{
		Code: "SHOP_LIMIT", Status: http.StatusConflict, Title: "The shop has as much as it may",
		Detail: "The token is a merchant's, whose shop may have SECKILL_MERCHANT_SALES sales that have not ended, of " +
			"SECKILL_MERCHANT_UNITS units each, or fewer if an admin has set that for the shop. Nothing was done.",
		English: "Your shop may have no more sales, or this sale no more units. Ask whoever runs the service.",
		Chinese: "您的店铺的活动数量或此活动的库存已达上限，请联系管理员",
	}},
	{Matches: httpkit.Is(payment.ErrNoProvider), Failure: httpkit.Failure{
		Code: "NO_PROVIDER", Status: http.StatusNotImplemented, Title: "No payment provider",
		Detail:  "This service has no payment provider configured, so that only free orders can be paid.",
		English: "Paying is not possible here.", Chinese: "暂不支持支付",
	}},
	{Matches: httpkit.Is(payment.ErrNotFound), Failure: httpkit.Failure{
		Code: "NOT_FOUND", Status: http.StatusNotFound, Title: "Not found",
		Detail:  "There is no payment with this id.",
		English: "There is no such payment.", Chinese: "支付单不存在",
	}},
	{Matches: httpkit.Is(payment.ErrDisputed), Failure: httpkit.Failure{
		Code: "PAYMENT_DISPUTED", Status: http.StatusConflict, Title: "The payment is disputed",
		Detail: "The buyer disputes the payment at its provider, so its money cannot be sent back now: it could go " +
			"back twice. The dispute decides.",
		English: "The payment is disputed at its provider. Nothing goes back until that is decided.",
		Chinese: "该付款正处于争议中，裁定前无法退款",
	}},
	{Matches: httpkit.As[*payment.StateError], Failure: httpkit.Failure{
		Code: "PAYMENT_STATE", Status: http.StatusConflict, Title: "The refund is not stuck",
		Detail: "Only a payment that is stuck is retried or closed; data says in which state it is. Nothing was " +
			"changed.",
		English: "This payment is not stuck any more, or never was.", Chinese: "该付款当前不处于退款受阻状态",
		Members: httpkit.DataOf(func(e *payment.StateError) any {
			return paymentRefJSON{e.PaymentID, e.State.String()}
		}),
	}},
	{Matches: httpkit.As[*payment.NotReceivedError], Failure: httpkit.Failure{
		Code: "PAYMENT_NOT_RECEIVED", Status: http.StatusConflict, Title: "The payment is not received",
		Detail: "A part is sent back only of a payment that is received, and whose money is not going back as a " +
			"whole; data says in which state it is. Nothing was changed.",
		English: "Of this payment nothing can be sent back now.", Chinese: "该付款当前无法部分退款",
		Members: httpkit.DataOf(func(e *payment.NotReceivedError) any {
			return paymentRefJSON{e.PaymentID, e.State.String()}
		}),
	}},
	{Matches: httpkit.As[*payment.LeftError], Failure: httpkit.Failure{
		Code: "REFUND_TOO_LARGE", Status: http.StatusConflict, Title: "Not so much is left",
		Detail: "Less of the payment is left than was to be sent back: the rest has gone back, was lost, or is on " +
			"its way; data says how much is left. Nothing was changed.",
		English: "Not so much of this payment is left.", Chinese: "可退金额不足",
		Members: httpkit.DataOf(func(e *payment.LeftError) any { return leftAmountJSON{e.Left, e.Currency} }),
	}},
	{Matches: httpkit.Is(payment.ErrWrongAmount), Failure: httpkit.Failure{
		Code: "PAYMENT_MISMATCH", Status: http.StatusConflict, Title: "Another amount",
		Detail: "The amount is not the payment's, or cannot be what has gone back or is disputed of it. " +
			"Nothing was recorded.",
		English: "The amount does not match.", Chinese: "支付金额不一致",
	}},
	// A *payment.BadNoticeError is one.
	{Matches: httpkit.Is(payment.ErrBadNotice), Failure: httpkit.Failure{
		Code: "BAD_NOTICE", Status: http.StatusUnauthorized, Title: "Not a notice of the payment provider",
		Challenge: "Signature",
		Detail:    "The message is not signed by the payment provider, or cannot be read.",
		English:   "The message was refused.", Chinese: "支付通知无效",
	}},
	{Matches: httpkit.Is(order.ErrNoDeadLetter), Failure: httpkit.Failure{
		Code: "NOT_FOUND", Status: http.StatusNotFound, Title: "Not found",
		Detail:  "There is no dead letter with this id: it was replayed or discarded before.",
		English: "There is no such dead letter any more.", Chinese: "该死信不存在或已处理",
	}},
	{Matches: httpkit.Is(recorder.ErrNotReplayable), Failure: httpkit.Failure{
		Code: "NOT_REPLAYABLE", Status: http.StatusConflict, Title: "The dead letter cannot be replayed",
		Detail:  "No accepted order is known to wait because of this dead letter. It can only be discarded.",
		English: "This dead letter cannot be replayed, only discarded.", Chinese: "该死信无法重放，只能丢弃",
	}},
	{Matches: httpkit.Is(ErrUnkeyedOutcome), Failure: httpkit.Failure{
		Code: httpkit.CodeUnknown, Status: http.StatusGatewayTimeout, Title: "The outcome is not known",
		Detail: "Whether the purchase took place is not known. GET /order tells; with an Idempotency-Key, " +
			"repeating the POST does too.",
		English: "We could not see whether this worked. Please look at your orders before you try again.",
		Chinese: "暂时无法确认是否购买成功，请先查看订单再重试",
	}},
	{Matches: httpkit.Is(order.ErrUnknownOutcome), Failure: httpkit.Failure{
		Code: httpkit.CodeUnknown, Status: http.StatusGatewayTimeout, Title: "The outcome is not known",
		Detail:  "Whether the purchase took place is not known. Repeat the POST: it is the definitive question.",
		English: "We could not see whether you got one. Please press again to find out.",
		Chinese: "暂时无法确认是否抢购成功，请再点一次查询结果", Label: words.Text{"Outcome not known", "结果未知"},
	}},
	{Matches: httpkit.Is(voucher.ErrOtherData), Failure: httpkit.Failure{
		Code: "OTHER_DATA", Status: http.StatusConflict, Title: "The partition has other data",
		Detail: "What Redis has in the partition is of another format or of another installation, so it is left " +
			"alone. Nothing was created; docs/runbook.md says what to do.",
		English: "Redis has other data there. Nothing was created.", Chinese: "该分区的 Redis 中存有其他数据，未创建任何内容",
	}},
	{Matches: httpkit.Is(voucher.ErrNoPartition), Failure: httpkit.Failure{
		Code: httpkit.CodeUnavailable, Status: http.StatusServiceUnavailable, RetryAfter: "5",
		Title: "Temporarily unavailable",
		Detail: "No partition takes the sale just now: all are closed, or an instance that is alive does not work " +
			"there yet. Nothing was created.",
		English: "The service is busy. Please try again shortly.", Chinese: "系统繁忙，请稍后再试",
	}},
	{Matches: httpkit.Is(order.ErrUpgrading), Failure: httpkit.Failure{
		// A stopped instance counts as alive for ten seconds.
		Code: "UPGRADING", Status: http.StatusServiceUnavailable, RetryAfter: "10", Title: "An upgrade is under way",
		Detail: "An instance of an earlier version is alive, which would misread what the request writes. Nothing " +
			"was written; repeat it when all instances are of this version.",
		English: "The service is being upgraded. Please try again when that is done.",
		Chinese: "服务正在升级，请在升级完成后重试",
	}},
	{Matches: httpkit.Is(voucher.ErrUndecided), Failure: httpkit.Failure{
		Code: httpkit.CodeUnknown, Status: http.StatusGatewayTimeout, Title: "The outcome is not known",
		Detail: "Whether the stock was changed is not known yet. Repeat the request with the " +
			"same Idempotency-Key: it tells, and never changes the stock twice.",
		English: "We could not see whether the stock was changed. Please repeat this to find out.",
		Chinese: "暂时无法确认库存是否已调整，请重试以查询结果",
	}},
	{Matches: httpkit.Is(order.ErrUnknownChange), Failure: httpkit.Failure{
		Code: httpkit.CodeUnknown, Status: http.StatusGatewayTimeout, Title: "The outcome is not known",
		Detail: "Whether this was done is not known: the database's answer was lost. Read what was to be changed " +
			"before you repeat the request, or repeat it with the same Idempotency-Key if it had one.",
		English: "We could not see whether this worked. Please look before you try again.",
		Chinese: "暂时无法确认操作是否成功，请先查看结果再重试",
	}},
	{Matches: httpkit.Is(payment.ErrNoCheckout), Failure: httpkit.Failure{
		Code: httpkit.CodeUnavailable, Status: http.StatusServiceUnavailable, RetryAfter: "2",
		Title: "Temporarily unavailable",
		Detail: "The payment provider gave no page to pay on. The order is as it was, and repeating the request is " +
			"harmless. GET /admin/provider tells staff why.",
		English: "The payment page cannot be opened just now. Your order is kept; please try again shortly.",
		Chinese: "暂时无法打开支付页面，您的订单已保留，请稍后再试",
	}},
	{Matches: httpkit.AnyOf(order.ErrUnavailable, listing.ErrUnavailable), Failure: httpkit.Failure{
		Code: httpkit.CodeUnavailable, Status: http.StatusServiceUnavailable, RetryAfter: "2",
		Title: "Temporarily unavailable",
		Detail: "A store cannot be reached or too much is waiting. Nothing was bought by this request, and " +
			"repeating it is harmless.",
		English: "The service is busy. Please try again shortly.", Chinese: "系统繁忙，请稍后再试",
		Label: words.Text{"Busy", "系统繁忙"},
	}},
}
