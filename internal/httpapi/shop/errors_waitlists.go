package shop

import (
	"net/http"

	"seckill/internal/httpapi/httpkit"
)

// The refusals of waiting lists, which the error table names.

// noWaitlist answers who asks for the waiting list of a sale without one.
func noWaitlist() httpkit.Failure {
	return httpkit.Failure{
		Code: "NO_WAITLIST", Status: http.StatusConflict, Title: "No waiting list",
		Detail:  "The sale has no waiting list: it was created without waitlistOfferSeconds.",
		English: "There is no waiting list for this.", Chinese: "该活动没有候补名单",
	}
}

// stillOnSale answers who would wait while there are units to buy.
func stillOnSale() httpkit.Failure {
	return httpkit.Failure{
		Code: "STILL_ON_SALE", Status: http.StatusConflict, Title: "Still on sale",
		Detail: "There are units that anybody can buy: POST /voucher/seckill/:id does. A waiting list can be joined " +
			"once a sale has sold out.",
		English: "It is still on sale: buy it now.", Chinese: "仍有余量，请直接抢购",
	}
}

// noPlace answers who does not wait.
func noPlace() httpkit.Failure {
	return httpkit.Failure{
		Code: "NOT_FOUND", Status: http.StatusNotFound, Title: "Not found",
		Detail:  "This user has no place on the waiting list.",
		English: "You are not on the waiting list.", Chinese: "您不在候补名单中",
	}
}

// noOffer answers who accepts without an open offer.
func noOffer() httpkit.Failure {
	return httpkit.Failure{
		Code: "NO_OFFER", Status: http.StatusConflict, Title: "No offer",
		Detail: "The place has no offer that could be accepted: it waits, its deadline has passed, or its " +
			"user has another order.",
		English: "There is no offer for you, or its time is over.", Chinese: "暂无可接受的候补名额，或已超时",
	}
}

// offerAccepted answers who leaves the list with an accepted offer.
func offerAccepted() httpkit.Failure {
	return httpkit.Failure{
		Code: "OFFER_ACCEPTED", Status: http.StatusConflict, Title: "The offer is accepted",
		Detail:  "The offer was accepted and becomes an order: POST /order/:id/cancel gives that up.",
		English: "You have accepted the offer. Cancel the order instead.", Chinese: "您已接受该名额，请取消订单",
	}
}
