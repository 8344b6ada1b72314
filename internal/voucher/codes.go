package voucher

import "seckill/internal/kit/invalid"

// The reasons and allowed values that only this package uses.
var (
	afterBegin = invalid.NewReason("AFTER_BEGIN", "is after {other}: nobody could buy when the sale begins",
		"晚于{other}：活动开始时将无人可买")
	alreadyVisible = invalid.NewReason("ALREADY_VISIBLE", "is in the future, and buyers see the voucher already",
		"晚于现在，而买家已能看到该券")
	delayTooLong = invalid.NewReason("DELAY_TOO_LONG", "is {value}: some buyers could buy only after the sale's end",
		"当前为 {value}：部分买家的开抢时刻会晚于活动结束")
	needsSale       = invalid.NewReason("NO_SALE", "needs a sale, and this voucher has none", "仅适用于秒杀券")
	notBeforeExpiry = invalid.NewReason("NOT_BEFORE_EXPIRY",
		"is not before {other}: the last coupons sold could not be used",
		"不早于{other}：最后售出的券将无法使用")
	needsCoupon = invalid.NewReason("NOT_REDEEMABLE", "needs a coupon, and this voucher is not redeemable",
		"仅适用于凭券码核销的券")
	rehearsalShop = invalid.NewReason("REHEARSAL_SHOP", "is the shop of rehearsals", "是演练专用的店铺")
	tooMuchStock  = invalid.NewReason("TOO_MUCH_STOCK", "is {value}, with which the sale would have issued {issued}",
		"当前为 {value}，发行总量将达到 {issued}")
	beforeTickets = invalid.NewReason("BEFORE_TICKETS", "is before tickets are given out: nobody could enter",
		"早于抢购凭证开始发放的时间：将无人可参与抽签")
	hasWaitlist  = invalid.NewReason("WAITLIST", "needs a sale without a waiting list", "仅适用于未启用候补名单的活动")
	needsTickets = invalid.NewReason("NO_TICKETS_ON", "needs a sale with tickets", "仅适用于启用抢购凭证的活动")
	tooNearBegin = invalid.NewReason("NEAR_BEGIN", "is less than a minute before the sale begins",
		"距活动开始不足一分钟")
	delayBelow = invalid.NewAllowed("DELAY_BELOW", "less than the {window} milliseconds of the sale",
		"小于活动时长 {window} 毫秒")
	moreUnits        = invalid.NewAllowed("MORE", "at most {max} more", "最多再增加 {max}")
	omitOrRedeemable = invalid.NewAllowed("OMIT_OR_REDEEMABLE", `leave it out, or "redeemable": true`,
		"请留空，或启用凭券码核销")
	omitOrShelf = invalid.NewAllowed("OMIT_OR_SHELF", `leave it out; "status": 2 takes it off the shelf`,
		"请留空；如需隐藏，可下架")
	rangeNotShop = invalid.NewAllowed("RANGE_NOT_SHOP", "any other whole number from {min} to {max}",
		"{min} 到 {max} 的其他整数")
	rangeOrOmit = invalid.NewAllowed("RANGE_OR_OMIT",
		"a whole number from {min} to {max}, or leave it out: no waiting list",
		"{min} 到 {max} 的整数，或不启用候补名单")
	notAfterOther = invalid.NewReason("NOT_AFTER_OTHER", "is not after {other}", "不晚于{other}")
	inThePast     = invalid.NewReason("PAST", "is in the past", "已是过去的时间")
	afterOther    = invalid.NewAllowed("AFTER_OTHER", "a time after {other}", "晚于{other}")
	beforeTime    = invalid.NewAllowed("BEFORE_TIME", "a time before {before}", "早于 {before}")
	notAfterTime  = invalid.NewAllowed("NOT_AFTER_TIME", "a time not after {latest}", "不晚于 {latest}")
	rangeNotZero  = invalid.NewAllowed("RANGE_NOT_ZERO", "a whole number from {min} to {max}, but not 0",
		"{min} 到 {max} 的整数，0 除外")
)
