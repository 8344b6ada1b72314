package guard

import (
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/feature/guard/challenge"
	"seckill/internal/feature/guard/cooldown"
	"seckill/internal/feature/guard/store"
	"seckill/internal/feature/guard/ticket"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/words"
)

// Rules are the refusals of guards. They are matched early: a sale with guards may refuse most requests of a rush.
func Rules() []httpkit.Rule { return slices.Concat(purchaseRules(), ticketRules(), drawRules()) }

// purchaseRules are the refusals of requests for units.
func purchaseRules() []httpkit.Rule {
	return []httpkit.Rule{
		{Early: true, Matches: httpkit.As[*budget.RateError], Failure: httpkit.Failure{
			Code: "RATE_LIMITED", Status: http.StatusTooManyRequests, RetryAfter: "1", Wait: retryAfter,
			Title: "Too many requests for this sale",
			Detail: "The sale limits how often an address, a network or a user may ask; data says which. Nothing was " +
				"done, and nothing is said of an order that the user may have: GET /order tells.",
			English: "Too many requests from here. Please wait a moment.", Chinese: "请求过于频繁，请稍后再试",
			Members: stoppedMembers,
		}},
		{Early: true, Matches: shareIsBusy, Failure: httpkit.Failure{
			Code: "SHARE_BUSY", Status: http.StatusTooManyRequests, RetryAfter: "1",
			Title: "Others are buying at the address",
			Detail: "The units that the sale gives this address, or its network, are being asked for by others, who " +
				"may not get them; data says which. Nothing was bought: repeat the request after the Retry-After. " +
				"orderKnown is false where it was not looked up whether the user has an order: GET /order tells.",
			English: "Others on your connection are buying right now. Please try again shortly.",
			Chinese: "您所在网络有其他人正在抢购，请稍后再试", Members: stoppedMembers,
		}},
		{Early: true, Matches: httpkit.As[*budget.ShareError], Failure: httpkit.Failure{
			Code: "SHARE_TAKEN", Status: http.StatusForbidden, Title: "The address has its share",
			Detail: "So many units have gone to this address, or to its network, that the sale gives it no more; " +
				"data says which. orderKnown is false where it was not " +
				"looked up whether the user has an order: GET /order tells.",
			English: "As much as one connection may get was sold to yours. Another one may still buy.",
			Chinese: "您所在网络的购买数量已达本次活动上限，换一个网络仍可购买", Members: stoppedMembers,
		}},
		{Early: true, Matches: httpkit.As[*cooldown.Error], Failure: httpkit.Failure{
			Code: "COOL_DOWN", Status: http.StatusTooManyRequests, RetryAfter: "60", Wait: retryAfter,
			Title: "Orders expired unpaid", Detail: "Orders of this user expired unpaid too often, and the " +
				"sale has them wait for as long as Retry-After says. orderKnown is false where it was not " +
				"looked up whether the user has an order: GET /order tells.",
			English: "You have let orders expire without paying. Please come back later.",
			Chinese: "您有多笔订单超时未支付，请稍后再来抢购", Members: stoppedMembers,
		}},
		{Early: true, Matches: httpkit.As[*NotEligibleError], Failure: httpkit.Failure{
			Code: "NOT_ELIGIBLE", Status: http.StatusForbidden, Title: "Not eligible",
			Detail: "The sale is for accounts of a level or an age that this one's token does not say it " +
				"has; data says which. orderKnown is false where it was not looked up whether the user has an " +
				"order: GET /order tells.",
			English: "This sale is for other accounts: yours is not old enough, or of another level.",
			Chinese: "您的账号等级或注册时间不符合本次活动的要求", Members: stoppedMembers,
		}},
	}
}

// shareIsBusy reports whether a share is full of units that are only reserved.
func shareIsBusy(err error) bool {
	share, is := errors.AsType[*budget.ShareError](err)
	return is && share.Busy
}

// ticketRules are the refusals of requests for tickets.
func ticketRules() []httpkit.Rule {
	return []httpkit.Rule{
		{Early: true, Matches: httpkit.As[*ticket.EarlyError], Failure: httpkit.Failure{
			Code: "NOT_STARTED", Status: http.StatusForbidden, Title: "Not your moment yet",
			Detail: "The ticket is good, and usable from the moment in data on: each buyer has their own, " +
				"drawn from the first seconds of the sale.",
			English: "Your moment has not come yet. It is a little later than the start.", Chinese: "还没轮到您，请在您的开抢时刻再试",
			Members: stoppedMembers,
		}},
		{Early: true, Matches: httpkit.Is(ticket.ErrRequired), Failure: httpkit.Failure{
			Code: "TICKET_REQUIRED", Status: http.StatusForbidden, Title: "A ticket is required",
			Detail: "The sale needs a ticket in the header X-Seckill-Ticket: POST " +
				"/voucher/seckill/:id/ticket gives one. orderKnown is false where it was not looked up whether the " +
				"user has an order: GET /order tells.",
			English: "This sale needs a ticket. Please use the page of the shop.", Chinese: "本次活动需要抢购资格，请在活动页面参与",
			Members: stoppedMembers,
		}},
		{Early: true, Matches: httpkit.Is(ticket.ErrInvalid), Failure: httpkit.Failure{
			Code: "TICKET_INVALID", Status: http.StatusForbidden, Title: "The ticket is not valid",
			Detail: "The ticket is not of this user for this sale, or it has expired. Fetch another: POST " +
				"/voucher/seckill/:id/ticket.",
			English: "Your ticket is no longer valid. Please try again.", Chinese: "抢购资格已失效，请重试",
			Members: stoppedMembers,
		}},
		{Early: true, Matches: httpkit.As[*ChallengeError], Failure: httpkit.Failure{
			Code: "CHALLENGE_REQUIRED", Status: http.StatusForbidden, Title: "A challenge must be solved",
			Detail: "Solve the challenge in data, a proof of work in ALTCHA's format, and repeat the " +
				"request with the solution in the header X-Seckill-Altcha.",
			English: "Your device has a little work to do first. Please use the page of the shop.",
			Chinese: "设备需先完成一次验证，请在活动页面参与", Members: httpkit.DataOf(func(e *ChallengeError) any {
				return map[string]challenge.Challenge{"challenge": e.Challenge}
			}),
		}},
		{Early: true, Matches: httpkit.As[*TicketsLaterError], Failure: httpkit.Failure{
			Code: "NOT_STARTED", Status: http.StatusForbidden, Title: "Tickets are not given out yet",
			Detail:  "Tickets of this sale are given out from the time in data on.",
			English: "It is too early for a ticket.", Chinese: "尚未开始发放抢购资格",
			Members: httpkit.DataOf(func(e *TicketsLaterError) any {
				return map[string]httpkit.Time{"ticketsFrom": httpkit.ShownTime(e.From)}
			}),
		}},
		{Early: true, Matches: httpkit.Is(ErrNoTickets), Failure: httpkit.Failure{
			Code: "NO_TICKETS", Status: http.StatusConflict, Title: "The sale has no tickets",
			Detail:  "The sale needs no tickets: buy without one.",
			English: "This sale needs no ticket.", Chinese: "本次活动无需抢购资格",
		}},
		{
			Early: true, Matches: httpkit.AnyOf(ticket.ErrTryAgain, challenge.ErrTryAgain, challenge.ErrBusy),
			Failure: httpkit.Failure{
				Code: "UNAVAILABLE", Status: http.StatusServiceUnavailable, RetryAfter: "1",
				Title: "Temporarily unavailable",
				Detail: "The key of the ticket is being looked for, or many ask for challenges. Nothing " +
					"was bought; repeat the request after the Retry-After.",
				English: "The service is busy. Please try again shortly.", Chinese: "系统繁忙，请稍后再试",
			},
		},
	}
}

// drawRules are the refusals of requests about draws.
func drawRules() []httpkit.Rule {
	conflict := func(err error, code, title, detail, english, chinese string) httpkit.Rule {
		return httpkit.Rule{Matches: httpkit.Is(err), Failure: httpkit.Failure{
			Code: code, Status: http.StatusConflict, Title: title, Detail: detail, English: english, Chinese: chinese,
		}}
	}
	return []httpkit.Rule{
		{Matches: httpkit.Is(store.ErrNoDraw), Failure: httpkit.Failure{
			Code: "NOT_FOUND", Status: http.StatusNotFound, Title: "Not found",
			Detail:  "The sale has no draw, or its draw counts no more.",
			English: "This sale has no draw.", Chinese: "本次活动没有抽签",
		}},
		conflict(store.ErrNoBeacon, "NO_BEACON", "The draw has no beacon",
			"No source and round were named for the draw, so that it takes no beacon.",
			"No beacon was named for this draw.", "本次抽签未指定信标"),
		conflict(store.ErrBeaconEarly, "BEACON_EARLY", "The draw is not closed yet",
			"A beacon is entered once the number of entries and their root are published.",
			"The draw is not closed yet.", "抽签尚未截止"),
		conflict(store.ErrBeaconLate, "BEACON_LATE", "The sale's start has passed",
			"The beacon was not entered before the sale's start. Move the start and announce another draw.",
			"It is too late for the beacon: the start has passed.", "活动开始时间已过，不能再录入信标"),
		conflict(store.ErrBeaconEntered, "BEACON_ENTERED", "Another beacon was entered",
			"The draw has its beacon, which cannot be changed.",
			"This draw has its beacon already.", "信标已录入，不能修改"),
	}
}

// stoppedMembers adds the guard that stopped the request, and the guard's own members; orderKnown is true if the user
// has no order in the sale, and false if that could not be determined.
func stoppedMembers(body []byte, _ words.Language, err error) []byte {
	e, is := errors.AsType[*StoppedError](err)
	if !is {
		return body
	}
	body = append(body, `,"data":{"guard":"`...)
	body = append(body, e.Guard...)
	body = append(body, `","orderKnown":`...)
	body = strconv.AppendBool(body, e.OrderKnown)
	if rate, is := errors.AsType[*budget.RateError](e.Why); is {
		body = append(body, `,"of":"`...)
		body = append(body, rate.Of...)
		body = append(body, '"')
	}
	if share, is := errors.AsType[*budget.ShareError](e.Why); is {
		body = append(body, `,"of":"`...)
		body = append(body, share.Of...)
		body = append(body, '"')
	}
	if eligible, is := errors.AsType[*NotEligibleError](e.Why); is {
		body = append(body, `,"condition":"`...)
		body = append(body, eligible.Condition...)
		body = append(body, `","wanted":`...)
		body = strconv.AppendInt(body, eligible.Wanted, 10)
	}
	if early, is := errors.AsType[*ticket.EarlyError](e.Why); is && !early.UsableFrom.IsZero() {
		body = append(body, `,"usableFrom":`...)
		body = httpkit.AppendJSON(body, usableFrom(early.UsableFrom))
	}
	return append(body, '}')
}

// retryAfter returns the seconds after which a guard lets the caller ask again; "" if the error has no such time.
func retryAfter(err error) string {
	var wait time.Duration
	if rate, is := errors.AsType[*budget.RateError](err); is {
		wait = rate.Retry
	}
	if cooling, is := errors.AsType[*cooldown.Error](err); is {
		wait = cooling.Retry
	}
	if wait <= 0 {
		return ""
	}
	return strconv.FormatInt(int64(math.Ceil(wait.Seconds())), 10)
}
