package httpapi

import "net/http"

// The refusals of waiting lists, which the error table names.

// noWaitlist answers who asks for the waiting list of a sale without one.
func noWaitlist() failure {
	return failure{
		code: "NO_WAITLIST", status: http.StatusConflict, title: "No waiting list",
		detail:  "The sale has no waiting list: it was created without waitlistOfferSeconds.",
		english: "There is no waiting list for this.", chinese: "该活动没有候补名单",
	}
}

// stillOnSale answers who would wait while there are units to buy.
func stillOnSale() failure {
	return failure{
		code: "STILL_ON_SALE", status: http.StatusConflict, title: "Still on sale",
		detail:  "There are units that anybody can buy: POST /voucher/seckill/:id does. A waiting list can be joined once a sale has sold out.",
		english: "It is still on sale: buy it now.", chinese: "仍有余量，请直接抢购",
	}
}

// noPlace answers who does not wait.
func noPlace() failure {
	return failure{
		code: "NOT_FOUND", status: http.StatusNotFound, title: "Not found",
		detail:  "This user has no place on the waiting list.",
		english: "You are not on the waiting list.", chinese: "您不在候补名单中",
	}
}

// noOffer answers who accepts without an open offer.
func noOffer() failure {
	return failure{
		code: "NO_OFFER", status: http.StatusConflict, title: "No offer",
		detail:  "The place has no offer that could be accepted: it waits, its deadline has passed, or its user has another order.",
		english: "There is no offer for you, or its time is over.", chinese: "暂无可接受的候补名额，或已超时",
	}
}

// offerAccepted answers who leaves the list with an accepted offer.
func offerAccepted() failure {
	return failure{
		code: "OFFER_ACCEPTED", status: http.StatusConflict, title: "The offer is accepted",
		detail:  "The offer was accepted and becomes an order: POST /order/:id/cancel gives that up.",
		english: "You have accepted the offer. Cancel the order instead.", chinese: "您已接受该名额，请取消订单",
	}
}
