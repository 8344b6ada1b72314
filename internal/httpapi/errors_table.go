package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"seckill/internal/guard"
	"seckill/internal/guard/challenge"
	"seckill/internal/guard/ticket"
	"seckill/internal/invalid"
	"seckill/internal/order"
	"seckill/internal/order/recorder"
	"seckill/internal/order/redemption"
	"seckill/internal/order/rehearsal"
	"seckill/internal/order/service"
	"seckill/internal/order/waitlist"
	"seckill/internal/voucher"
	"seckill/internal/voucher/listing"
	"seckill/internal/webhook"
	"seckill/internal/words"
)

// Codes that other files of this package ask about.
const (
	codeInternal    = "INTERNAL"
	codePaused      = "PAUSED"
	codeUnavailable = "UNAVAILABLE"
	codeUnknown     = "UNKNOWN_OUTCOME"
	codeRateLimited = "RATE_LIMITED"
)

// What this package refuses by itself.
var (
	errNoToken   = errors.New("no token")
	errBadToken  = errors.New("token is not valid")
	errForbidden = errors.New("the admin role is required")
	errNotTill   = errors.New("the role till and a shop are required")
	errTooLarge  = errors.New("request body is too large")
	errNoRoute   = errors.New("no such route")
	errMethod    = errors.New("method is not allowed here")
	// errOverloaded: too many requests are in flight at this instance.
	errOverloaded = errors.New("too many requests in flight")
	// errRateLimited: this user asks too often.
	errRateLimited = errors.New("too many requests of this user")
	// errUnkeyedOutcome: whether a purchase of an ordinary voucher without a key took place is not known, and repeating it
	// may buy once more.
	errUnkeyedOutcome = errors.New("outcome of a purchase without a key is unknown")
)

// codeOf is the code of an admission's answer.
func codeOf(a order.Answer) string { return strings.ToUpper(string(a)) }

// failure is one way in which a request can fail, as its caller sees it.
type failure struct {
	code       string // stable, for programs
	status     int
	retryAfter string // seconds until asking again makes sense; "" for no header
	// wait returns them where they depend on the error, "" for retryAfter; nil: they never do.
	wait      func(err error) string
	challenge string // WWW-Authenticate; "" for no header
	title     string // the same for every occurrence of the code
	detail    string // for developers
	english   string // errorMsg
	chinese   string // errorMsg
	// label is what the console calls this refusal of a sale, by language. Only answers of admission have one.
	label words.Text
	// members appends JSON members that depend on the error, each with a leading comma; nil for none.
	members func(body []byte, l words.Language, err error) []byte
}

// rule maps the errors that it matches to a failure.
type rule struct {
	matches func(error) bool
	failure failure
}

// rules is the table from errors to answers. The first rule that matches decides: what a sale answers most often comes
// first, and an unknown outcome before an unavailable store, which would promise that nothing was changed.
// docs/http.md and the console's list of refusals are written from it (make docs).
var rules = []rule{
	{is(order.ErrSoldOut), failure{
		code: "SOLD_OUT", status: http.StatusConflict, title: "Sold out",
		detail:  "No unit of this voucher was left.",
		english: "Sold out.", chinese: "已售罄",
		label: words.Text{"Sold out", "已售罄"},
	}},
	{as[*order.AlreadyBoughtError], failure{
		code: "ALREADY_BOUGHT", status: http.StatusConflict, title: "Already bought",
		detail:  "This user has a live order for this voucher; data says which. One order to a person.",
		english: "You have bought this already.", chinese: "您已经抢购过了，不能重复下单",
		label:   words.Text{"Has bought already", "已抢购过"},
		members: alreadyBoughtMembers,
	}},
	{as[*order.NotEnoughError], failure{
		code: "NOT_ENOUGH", status: http.StatusConflict, title: "Not enough left",
		detail:  "Fewer units are left than the request asks for; data says how many were. Nothing was bought; ask for fewer.",
		english: "There are not that many left. Choose fewer.", chinese: "剩余数量不足，请减少购买数量",
		label:   words.Text{"Not that many left", "余量不足"},
		members: notEnoughMembers,
	}},
	{is(order.ErrNotStarted), failure{
		code: "NOT_STARTED", status: http.StatusForbidden, title: "The sale has not started",
		detail:  "The sale's beginTime lies ahead, by the server's clock.",
		english: "The sale has not started yet.", chinese: "秒杀尚未开始",
		label: words.Text{"Not started", "未开始"},
	}},
	{is(order.ErrEnded), failure{
		code: "ENDED", status: http.StatusForbidden, title: "The sale has ended",
		detail:  "The sale's endTime has passed, by the server's clock.",
		english: "The sale has ended.", chinese: "秒杀已经结束",
		label: words.Text{"Ended", "已结束"},
	}},
	{is(order.ErrPaused), failure{
		code: codePaused, status: http.StatusServiceUnavailable, retryAfter: "3", title: "The sale is paused",
		detail:  "The sale was paused, or is being prepared. Nothing was bought by this request.",
		english: "The sale is paused. Please try again shortly.", chinese: "活动暂停中，请稍后再试",
		label: words.Text{"Paused", "已暂停"},
	}},
	{is(errOverloaded), failure{
		code: codeUnavailable, status: http.StatusServiceUnavailable, retryAfter: "2", title: "Temporarily unavailable",
		detail:  "As many requests are being worked on as this instance takes. Nothing was done, and repeating the request is harmless.",
		english: "The service is busy. Please try again shortly.", chinese: "系统繁忙，请稍后再试",
	}},
	{is(errRateLimited), failure{ // a second later a bucket has a token: the lowest rate is one a second
		code: codeRateLimited, status: http.StatusTooManyRequests, retryAfter: "1", title: "Too many requests",
		detail:  "This user asks more often than a user may. Nothing was done; requests after the Retry-After are answered.",
		english: "You are asking too often. Please wait a moment.", chinese: "操作过于频繁，请稍后再试",
	}},
	{as[*guard.RateError], failure{
		code: codeRateLimited, status: http.StatusTooManyRequests, retryAfter: "1", wait: retryAfter, title: "Too many requests for this sale",
		detail:  "The sale limits how often an address, a network or a user may ask; data says which. Nothing was done, and nothing is said of an order that the user may have: GET /order tells.",
		english: "Too many requests from here. Please wait a moment.", chinese: "请求过于频繁，请稍后再试",
		members: stoppedMembers,
	}},
	{as[*guard.CoolDownError], failure{
		code: "COOL_DOWN", status: http.StatusTooManyRequests, retryAfter: "60", wait: retryAfter, title: "Orders expired unpaid",
		detail:  "Orders of this user expired unpaid too often, and the sale has them wait for as long as Retry-After says. orderKnown is false where it was not looked up whether the user has an order: GET /order tells.",
		english: "You have let orders expire without paying. Please come back later.", chinese: "您有多笔订单超时未支付，请稍后再来抢购",
		members: stoppedMembers,
	}},
	{as[*guard.NotEligibleError], failure{
		code: "NOT_ELIGIBLE", status: http.StatusForbidden, title: "Not eligible",
		detail:  "The sale is for accounts of a level or an age that this one's token does not say it has; data says which. orderKnown is false where it was not looked up whether the user has an order: GET /order tells.",
		english: "This sale is for other accounts: yours is not old enough, or of another level.", chinese: "您的账号等级或注册时间不符合本次活动的要求",
		members: stoppedMembers,
	}},
	{as[*ticket.EarlyError], failure{
		code: "NOT_STARTED", status: http.StatusForbidden, title: "Not your moment yet",
		detail:  "The ticket is good, and usable from the moment in data on: each buyer has their own, drawn from the first seconds of the sale.",
		english: "Your moment has not come yet. It is a little later than the start.", chinese: "还没轮到您，请在您的开抢时刻再试",
		members: stoppedMembers,
	}},
	{is(ticket.ErrRequired), failure{
		code: "TICKET_REQUIRED", status: http.StatusForbidden, title: "A ticket is required",
		detail:  "The sale needs a ticket in the header X-Seckill-Ticket: POST /voucher/seckill/:id/ticket gives one. orderKnown is false where it was not looked up whether the user has an order: GET /order tells.",
		english: "This sale needs a ticket. Please use the page of the shop.", chinese: "本次活动需要抢购资格，请在活动页面参与",
		members: stoppedMembers,
	}},
	{is(ticket.ErrInvalid), failure{
		code: "TICKET_INVALID", status: http.StatusForbidden, title: "The ticket is not valid",
		detail:  "The ticket is not of this user for this sale, or it has expired. Fetch another: POST /voucher/seckill/:id/ticket.",
		english: "Your ticket is no longer valid. Please try again.", chinese: "抢购资格已失效，请重试",
		members: stoppedMembers,
	}},
	{as[*service.ChallengeError], failure{
		code: "CHALLENGE_REQUIRED", status: http.StatusForbidden, title: "A challenge must be solved",
		detail:  "Solve the challenge in data, a proof of work in ALTCHA's format, and repeat the request with the solution in the header X-Seckill-Altcha.",
		english: "Your device has a little work to do first. Please use the page of the shop.", chinese: "设备需先完成一次验证，请在活动页面参与",
		members: challengeMembers,
	}},
	{as[*service.TicketsLaterError], failure{
		code: "NOT_STARTED", status: http.StatusForbidden, title: "Tickets are not given out yet",
		detail:  "Tickets of this sale are given out from the time in data on.",
		english: "It is too early for a ticket.", chinese: "尚未开始发放抢购资格",
		members: laterMembers,
	}},
	{is(service.ErrNoTickets), failure{
		code: "NO_TICKETS", status: http.StatusConflict, title: "The sale has no tickets",
		detail:  "The sale needs no tickets: buy without one.",
		english: "This sale needs no ticket.", chinese: "本次活动无需抢购资格",
	}},
	{anyOf(ticket.ErrTryAgain, challenge.ErrTryAgain, challenge.ErrBusy), failure{
		code: codeUnavailable, status: http.StatusServiceUnavailable, retryAfter: "1", title: "Temporarily unavailable",
		detail:  "The key of the ticket is being looked for, or many ask for challenges. Nothing was bought; repeat the request after the Retry-After.",
		english: "The service is busy. Please try again shortly.", chinese: "系统繁忙，请稍后再试",
	}},
	{is(errManyDemoBuyers), manyDemoBuyers()},
	{is(errUserStreams), failure{ // by then a stream whose caller has silently gone has been noticed and closed
		code: codeRateLimited, status: http.StatusTooManyRequests, retryAfter: "30", title: "Too many event streams",
		detail:  "This user has as many event streams open as a user may. Close one first, or ask GET /order/:id instead.",
		english: "You are following too many orders at once.", chinese: "同时关注的订单过多，请稍后再试",
	}},
	{is(voucher.ErrNotFound), failure{
		code: "NOT_FOUND", status: http.StatusNotFound, title: "Not found",
		detail:  "There is no voucher with this id.",
		english: "There is no such voucher.", chinese: "优惠券不存在",
	}},
	{is(order.ErrNotFound), failure{
		code: "NOT_FOUND", status: http.StatusNotFound, title: "Not found",
		detail:  "This user has no order with this id.",
		english: "There is no such order.", chinese: "订单不存在",
	}},
	{is(voucher.ErrNotSeckill), failure{
		code: "NOT_SECKILL", status: http.StatusConflict, title: "Not a seckill voucher",
		detail:  "The voucher is an ordinary one, which has no sale.",
		english: "This voucher is not part of a flash sale.", chinese: "该优惠券不是秒杀券",
	}},
	{is(voucher.ErrOffShelf), failure{
		code: "OFF_SHELF", status: http.StatusConflict, title: "Off the shelf",
		detail:  "The voucher was taken off the shelf.",
		english: "This voucher is no longer offered.", chinese: "优惠券已下架",
		label: words.Text{"Off the shelf", "已下架"},
	}},
	{as[*orderFailedError], failure{
		code: "ORDER_FAILED", status: http.StatusConflict, title: "The order failed",
		detail:  "The order was accepted but could not be recorded; data says which and why. Nothing is owed.",
		english: "Your order could not be completed. Nothing was charged.", chinese: "下单失败，未产生任何费用",
		members: orderFailedMembers,
	}},
	{is(voucher.ErrRetired), failure{
		code: "ENDED", status: http.StatusForbidden, title: "The sale has ended",
		detail:  "The sale is over for good: its stock and window can no longer be changed.",
		english: "The sale has ended and can no longer be changed.", chinese: "活动已结束，无法再修改",
	}},
	{as[*order.StateError], failure{
		code: "ORDER_STATE", status: http.StatusConflict, title: "Not possible in this state",
		detail:  "The order is in a state in which this cannot be done; data says which.",
		english: "This is not possible any more, or not yet.", chinese: "当前订单状态不支持此操作",
		members: orderStateMembers,
	}},
	{is(waitlist.ErrNoList), noWaitlist()},
	{is(waitlist.ErrOnSale), stillOnSale()},
	{is(waitlist.ErrNoPlace), noPlace()},
	{is(waitlist.ErrNoOffer), noOffer()},
	{is(waitlist.ErrAccepted), offerAccepted()},
	{is(redemption.ErrNotFound), failure{
		code: "COUPON_NOT_FOUND", status: http.StatusNotFound, title: "No such coupon",
		detail:  "No order of this shop has the code, or the order has none.",
		english: "There is no such coupon here.", chinese: "本店没有此券码",
	}},
	{is(redemption.ErrRedeemed), failure{
		code: "COUPON_REDEEMED", status: http.StatusConflict, title: "The coupon was redeemed",
		detail:  "The coupon was redeemed before, by another request; data says when, and whether by this till.",
		english: "This coupon was redeemed before.", chinese: "该券已核销",
		members: couponMembers,
	}},
	{anyOf(redemption.ErrReserved, order.ErrReserved), failure{
		code: "COUPON_RESERVED", status: http.StatusConflict, title: "The coupon is reserved",
		detail:  "A till has reserved the coupon, for two minutes at most, and this request does not name the reservation.",
		english: "A till is about to redeem this coupon. Try again in two minutes.", chinese: "该券正在核销中，请两分钟后再试",
		members: couponMembers,
	}},
	{is(redemption.ErrReservationOver), failure{
		code: "RESERVATION_OVER", status: http.StatusConflict, title: "The reservation is over",
		detail:  "The reservation was released, replaced, or its two minutes have passed. Nothing was redeemed; reserve anew.",
		english: "The reservation is over. Nothing was redeemed.", chinese: "预留已失效，未核销，请重新操作",
		members: couponMembers,
	}},
	{is(redemption.ErrLapsed), failure{
		code: "COUPON_LAPSED", status: http.StatusConflict, title: "The coupon has lapsed",
		detail:  "The coupon was valid until a time that has passed.",
		english: "This coupon is past its date.", chinese: "该券已过有效期",
		members: couponMembers,
	}},
	{is(redemption.ErrVoid), failure{
		code: "COUPON_VOID", status: http.StatusConflict, title: "The coupon is void",
		detail:  "The order's money goes back or has gone back.",
		english: "This coupon is void: it was refunded.", chinese: "该券已退款，不可使用",
		members: couponMembers,
	}},
	{is(redemption.ErrWrongCodes), failure{
		code: "TOO_MANY_WRONG_CODES", status: http.StatusTooManyRequests, retryAfter: "10", title: "Too many wrong codes",
		detail:  "This till has sent too many wrong codes. Right ones are refused meanwhile too.",
		english: "Too many wrong codes. Please wait a little.", chinese: "错误券码过多，请稍后再试",
	}},
	{is(errNotTill), failure{
		code: "FORBIDDEN", status: http.StatusForbidden, title: "Forbidden",
		detail:  "This route is for tokens with the role till and the shop that it stands in.",
		english: "You may not do this.", chinese: "没有权限",
	}},
	{as[*order.LimitError], limitReached()},
	{is(rehearsal.ErrNone), noRehearsal()},
	{is(rehearsal.ErrOver), rehearsalOver()},
	{as[*rehearsal.NearSaleError], nearSale()},
	{is(errStarting), rehearsalRuns()},
	{as[*rehearsal.RunningError], rehearsalRuns()},
	{is(voucher.ErrNoTemplate), noTemplate()},
	{is(voucher.ErrTemplateName), templateExists()},
	{is(voucher.ErrTemplates), manyTemplates()},
	{is(order.ErrSeckill), failure{
		code: "SECKILL_ONLY", status: http.StatusConflict, title: "Sold in its sale only",
		detail:  "The voucher is a seckill voucher: POST /voucher/seckill/:id buys it.",
		english: "This voucher is only sold in its flash sale.", chinese: "该优惠券仅限秒杀活动购买",
	}},
	{anyOf(order.ErrKeyReused, voucher.ErrKeyReused), failure{
		code: "KEY_REUSED", status: http.StatusConflict, title: "Idempotency key used before",
		detail:  "The Idempotency-Key was used before, for another request. Send a new one with a new request.",
		english: "This request was sent before with other values.", chinese: "该幂等键已用于其他请求",
	}},
	{as[*voucher.InsufficientStockError], failure{
		code: "INSUFFICIENT_STOCK", status: http.StatusConflict, title: "Not as many units are left",
		detail:  "Fewer units are left than were to be taken; data says how many. Nothing was taken.",
		english: "Not as many units are left.", chinese: "剩余库存不足",
		members: insufficientStockMembers,
	}},
	{is(order.ErrNoProvider), failure{
		code: "NO_PROVIDER", status: http.StatusNotImplemented, title: "No payment provider",
		detail:  "This service has no payment provider configured, so that only free orders can be paid.",
		english: "Paying is not possible here.", chinese: "暂不支持支付",
	}},
	{is(order.ErrNoPayment), failure{
		code: "NOT_FOUND", status: http.StatusNotFound, title: "Not found",
		detail:  "There is no payment with this id.",
		english: "There is no such payment.", chinese: "支付单不存在",
	}},
	{is(order.ErrWrongAmount), failure{
		code: "PAYMENT_MISMATCH", status: http.StatusConflict, title: "Another amount",
		detail:  "The amount is not the payment's. Nothing was recorded.",
		english: "The amount does not match.", chinese: "支付金额不一致",
	}},
	{is(order.ErrBadNotice), failure{
		code: "BAD_NOTICE", status: http.StatusUnauthorized, title: "Not a notice of the payment provider",
		challenge: "Signature",
		detail:    "The message is not signed by the payment provider, or cannot be read.",
		english:   "The message was refused.", chinese: "支付通知无效",
	}},
	{is(order.ErrNoDeadLetter), failure{
		code: "NOT_FOUND", status: http.StatusNotFound, title: "Not found",
		detail:  "There is no dead letter with this id: it was replayed or discarded before.",
		english: "There is no such dead letter any more.", chinese: "该死信不存在或已处理",
	}},
	{is(recorder.ErrNotReplayable), failure{
		code: "NOT_REPLAYABLE", status: http.StatusConflict, title: "The dead letter cannot be replayed",
		detail:  "No accepted order is known to wait because of this dead letter. It can only be discarded.",
		english: "This dead letter cannot be replayed, only discarded.", chinese: "该死信无法重放，只能丢弃",
	}},
	{anyOf(webhook.ErrNoEndpoint, webhook.ErrNoEvent), noWebhook()},
	{is(webhook.ErrEndpoints), manyWebhooks()},
	{is(webhook.ErrRotating), secretRotating()},
	{is(errUnkeyedOutcome), failure{
		code: codeUnknown, status: http.StatusGatewayTimeout, title: "The outcome is not known",
		detail:  "Whether the purchase took place is not known. GET /order tells; with an Idempotency-Key, repeating the POST does too.",
		english: "We could not see whether this worked. Please look at your orders before you try again.", chinese: "暂时无法确认是否购买成功，请先查看订单再重试",
	}},
	{is(order.ErrUnknownOutcome), failure{
		code: codeUnknown, status: http.StatusGatewayTimeout, title: "The outcome is not known",
		detail:  "Whether the purchase took place is not known. Repeat the POST: it is the definitive question.",
		english: "We could not see whether you got one. Please press again to find out.", chinese: "暂时无法确认是否抢购成功，请再点一次查询结果",
		label: words.Text{"Outcome not known", "结果未知"},
	}},
	{is(voucher.ErrOldInstances), failure{
		code: "UPGRADING", status: http.StatusServiceUnavailable, retryAfter: "10", title: "An upgrade is under way",
		detail:  "perUser above 1, or a rehearsal: an instance of an older version is running, which does not know it. Nothing was created; try again once all are replaced.",
		english: "An upgrade is under way. Please try again once it is done.", chinese: "系统正在升级，请稍后再试",
	}},
	{is(voucher.ErrNoPartition), failure{
		code: codeUnavailable, status: http.StatusServiceUnavailable, retryAfter: "5", title: "Temporarily unavailable",
		detail:  "No partition takes the sale just now: all are closed, or an instance that is alive does not work there yet. Nothing was created.",
		english: "The service is busy. Please try again shortly.", chinese: "系统繁忙，请稍后再试",
	}},
	{is(voucher.ErrUndecided), failure{
		code: codeUnavailable, status: http.StatusServiceUnavailable, retryAfter: "2", title: "Temporarily unavailable",
		detail:  "What became of the change of stock is not known yet. Repeat the request with the same Idempotency-Key: it tells.",
		english: "The service is busy. Please try again shortly.", chinese: "系统繁忙，请稍后再试",
	}},
	{anyOf(order.ErrUnavailable, listing.ErrUnavailable), failure{
		code: codeUnavailable, status: http.StatusServiceUnavailable, retryAfter: "2", title: "Temporarily unavailable",
		detail:  "A store cannot be reached or too much is waiting. Nothing was bought by this request, and repeating it is harmless.",
		english: "The service is busy. Please try again shortly.", chinese: "系统繁忙，请稍后再试",
		label: words.Text{"Busy", "系统繁忙"},
	}},
	{as[*invalid.Error], failure{
		code: "INVALID", status: http.StatusBadRequest, title: "Invalid request",
		detail:  "The request breaks the rules that errors lists: which field, why, and what is allowed.",
		english: "The request is not valid.", chinese: "请求参数有误",
		members: invalidMembers,
	}},
	{is(errNoToken), failure{
		code: "UNAUTHENTICATED", status: http.StatusUnauthorized, title: "Not signed in",
		challenge: "Bearer",
		detail:    "Send a token in the Authorization header, with or without the word Bearer before it.",
		english:   "Please sign in.", chinese: "请先登录",
	}},
	{is(errBadToken), failure{
		code: "UNAUTHENTICATED", status: http.StatusUnauthorized, title: "Not signed in",
		challenge: `Bearer error="invalid_token"`,
		detail:    "The token is malformed, expired, or not signed for this service.",
		english:   "Please sign in again.", chinese: "登录已失效，请重新登录",
	}},
	{is(errUsedLink), usedLink()},
	{is(errNotLocal), notLocal()},
	{is(errForbidden), failure{
		code: "FORBIDDEN", status: http.StatusForbidden, title: "Forbidden",
		detail:  "This route is for tokens with the role admin.",
		english: "You may not do this.", chinese: "没有权限",
	}},
	{is(errTooLarge), failure{
		code: "TOO_LARGE", status: http.StatusRequestEntityTooLarge, title: "Request too large",
		detail:  "The request body is larger than this service reads.",
		english: "The request is too large.", chinese: "请求内容过大",
	}},
	{is(errNoRoute), failure{
		code: "NOT_FOUND", status: http.StatusNotFound, title: "Not found",
		detail:  "There is nothing at this path.",
		english: "There is nothing here.", chinese: "请求的地址不存在",
	}},
	{is(errMethod), failure{
		code: "METHOD", status: http.StatusMethodNotAllowed, title: "Method not allowed",
		detail:  "This path answers other methods; the Allow header lists them.",
		english: "This is not possible here.", chinese: "不支持该请求方法",
	}},
}

// internalFailure is the answer to an error that no rule matches. It tells nothing of the error.
func internalFailure() failure {
	return failure{
		code: codeInternal, status: http.StatusInternalServerError, title: "Internal error",
		detail:  "Something failed that should not. The log has it under the id in the X-Request-Id header.",
		english: "Something went wrong. Please try again later.", chinese: "服务器内部错误，请稍后再试",
	}
}

// cancelledFailure is for callers who have hung up. Nobody reads it; its status is the customary one, and keeps these
// requests out of the failures that are counted and logged.
func cancelledFailure() failure {
	return failure{
		code: "CANCELLED", status: 499, title: "Request cancelled",
		detail:  "The request was cancelled before it was answered. A purchase may have taken place: repeating it is the definitive question.",
		english: "The request was cancelled.", chinese: "请求已取消",
	}
}
