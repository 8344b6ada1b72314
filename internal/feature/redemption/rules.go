package redemption

import (
	"net/http"

	"seckill/internal/httpapi/httpkit"
)

// Rules returns the answers to refused tills, and to refunds that a till's reservation prevents.
func Rules() []httpkit.Rule {
	// The coupon about which a till was refused.
	couponMembers := httpkit.DataOf(func(e *RefusalError) any { return refusedView(e) })
	return []httpkit.Rule{
		{Matches: httpkit.Is(ErrNotFound), Failure: httpkit.Failure{
			Code: "COUPON_NOT_FOUND", Status: http.StatusNotFound, Title: "No such coupon",
			Detail:  "No order of this shop has the code, or the order has none.",
			English: "There is no such coupon here.", Chinese: "本店没有此券码",
		}},
		{Matches: httpkit.Is(ErrRedeemed), Failure: httpkit.Failure{
			Code: "COUPON_REDEEMED", Status: http.StatusConflict, Title: "The coupon was redeemed",
			Detail:  "The coupon was redeemed before, by another request; data says when, and whether by this till.",
			English: "This coupon was redeemed before.", Chinese: "该券已核销",
			Members: couponMembers,
		}},
		{Matches: httpkit.Is(ErrReserved), Failure: httpkit.Failure{
			Code: "COUPON_RESERVED", Status: http.StatusConflict, Title: "The coupon is reserved",
			Detail: "A till has reserved the coupon, for two minutes at most, and this request does not " +
				"name the reservation.",
			English: "A till is about to redeem this coupon. Try again in two minutes.", Chinese: "该券正在核销中，请两分钟后再试",
			Members: couponMembers,
		}},
		{Matches: httpkit.Is(ErrReservationOver), Failure: httpkit.Failure{
			Code: "RESERVATION_OVER", Status: http.StatusConflict, Title: "The reservation is over",
			Detail: "The reservation was released, replaced, or its two minutes have passed. Nothing was " +
				"redeemed; reserve anew.",
			English: "The reservation is over. Nothing was redeemed.", Chinese: "预留已失效，未核销，请重新操作",
			Members: couponMembers,
		}},
		{Matches: httpkit.Is(ErrLapsed), Failure: httpkit.Failure{
			Code: "COUPON_LAPSED", Status: http.StatusConflict, Title: "The coupon has lapsed",
			Detail:  "The coupon was valid until a time that has passed.",
			English: "This coupon is past its date.", Chinese: "该券已过有效期",
			Members: couponMembers,
		}},
		{Matches: httpkit.Is(ErrVoid), Failure: httpkit.Failure{
			Code: "COUPON_VOID", Status: http.StatusConflict, Title: "The coupon is void",
			Detail:  "The order's money goes back or has gone back, or its sale was called off.",
			English: "This coupon is void: it was refunded, or its sale was called off.", Chinese: "该券已退款或活动已取消，不可使用",
			Members: couponMembers,
		}},
		{Matches: httpkit.Is(ErrDisputed), Failure: httpkit.Failure{
			Code: "COUPON_DISPUTED", Status: http.StatusConflict, Title: "The payment is disputed",
			Detail: "The buyer disputes the payment at its provider, or has got the money back that way. Nothing was " +
				"redeemed.",
			English: "The buyer disputes the payment of this coupon. Do not hand anything out.",
			Chinese: "买家已对该券的付款提出争议，请勿核销",
			Members: couponMembers,
		}},
		{Matches: httpkit.Is(ErrUndone), Failure: httpkit.Failure{
			Code: "REDEMPTION_UNDONE", Status: http.StatusConflict, Title: "The redemption was undone",
			Detail: "This request redeemed the coupon, and the shop has undone that since. Nothing was redeemed now; " +
				"redeem anew, with another key.",
			English: "This was redeemed, and the shop has undone it. Redeem it anew.", Chinese: "该核销已被撤销，请重新核销",
			Members: couponMembers,
		}},
		{Matches: httpkit.Is(ErrNotLater), Failure: httpkit.Failure{
			Code: "NOT_LATER", Status: http.StatusConflict, Title: "Not a later date",
			Detail: "The date is not after the one that the coupon has, or it has passed, or the coupon is valid for " +
				"ever. Nothing was changed.",
			English: "Choose a time that is later than the coupon's date, and still to come.",
			Chinese: "请选择晚于现有有效期且尚未到来的时间",
		}},
		{Matches: httpkit.Is(ErrWrongCodes), Failure: httpkit.Failure{
			Code: "TOO_MANY_WRONG_CODES", Status: http.StatusTooManyRequests, RetryAfter: "10",
			Title:   "Too many wrong codes",
			Detail:  "This till has sent too many wrong codes. Right ones are refused meanwhile too.",
			English: "Too many wrong codes. Please wait a little.", Chinese: "错误券码过多，请稍后再试",
		}},
	}
}
