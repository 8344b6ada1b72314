package waitlist

import (
	"net/http"

	"seckill/internal/httpapi/httpkit"
)

// Rules are the refusals of waiting lists.
func Rules() []httpkit.Rule {
	return []httpkit.Rule{
		{Matches: httpkit.Is(ErrNoList), Failure: httpkit.Failure{
			Code: "NO_WAITLIST", Status: http.StatusConflict, Title: "No waiting list",
			Detail:  "The sale has no waiting list: it was created without waitlistWindowSeconds.",
			English: "There is no waiting list for this.", Chinese: "该活动没有候补名单",
		}},
		{Matches: httpkit.Is(ErrOnSale), Failure: httpkit.Failure{
			Code: "STILL_ON_SALE", Status: http.StatusConflict, Title: "Still on sale",
			Detail: "There are units that anybody can buy: POST /voucher/seckill/:id does. A waiting list can be " +
				"joined once a sale has sold out.",
			English: "It is still on sale: buy it now.", Chinese: "仍有余量，请直接抢购",
		}},
		{Matches: httpkit.Is(ErrNoPlace), Failure: httpkit.Failure{
			Code: "NOT_FOUND", Status: http.StatusNotFound, Title: "Not found",
			Detail:  "This user has no place on the waiting list.",
			English: "You are not on the waiting list.", Chinese: "您不在候补名单中",
		}},
		{Matches: httpkit.Is(ErrNotInvited), Failure: httpkit.Failure{
			Code: "NOT_INVITED", Status: http.StatusConflict, Title: "Not invited",
			Detail: "The place is not invited: it waits, its window has passed, it has ended, or its user has " +
				"another order.",
			English: "It is not your turn, or your time is over.", Chinese: "尚未轮到您，或邀请已超时",
		}},
		{Matches: httpkit.Is(ErrAccepted), Failure: httpkit.Failure{
			Code: "INVITATION_ACCEPTED", Status: http.StatusConflict, Title: "The invitation is accepted",
			Detail:  "The invitation was accepted and becomes an order: POST /order/:id/cancel gives that up.",
			English: "You have accepted. Cancel the order instead.", Chinese: "您已接受邀请，请取消订单",
		}},
	}
}
