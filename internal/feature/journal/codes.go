package journal

import "seckill/internal/kit/words"

// code is a final refusal: asking again the same way does not help.
type code struct {
	code string
	text words.Text
}

// codes are the final refusals. NOT_STARTED is none: the buyer may come again. The timeline counts it.
var codes = [...]code{
	{"SOLD_OUT", words.Text{"No unit was left when you asked.", "您下单时已无库存"}},
	{"NOT_ENOUGH", words.Text{"Fewer units were left than you asked for.", "剩余数量少于您要购买的数量"}},
	{"ENDED", words.Text{"The sale had ended when you asked.", "您下单时活动已结束"}},
	{"CALLED_OFF", words.Text{"The sale had been called off when you asked.", "您下单时活动已取消"}},
	{"SHARE_TAKEN", words.Text{
		"Buyers at your Internet address, or near it, had bought as many as go to one address.",
		"您所在网络地址的购买数量已达上限",
	}},
	{"NOT_ELIGIBLE", words.Text{"Your account did not meet the conditions of the sale.", "您的账号不符合本次活动的条件"}},
	{"COOL_DOWN", words.Text{
		"Orders of yours had expired unpaid shortly before, so you had to wait.",
		"您此前有订单超时未支付，需等待一段时间",
	}},
	{"RATE_LIMITED", words.Text{
		"There were too many requests of you, or from your Internet address, in a short time.",
		"您或您所在网络地址的请求过于频繁",
	}},
}

// codeOf returns the number of a code, and whether it is a final refusal.
func codeOf(text string) (n uint8, final bool) {
	for i := range codes {
		if codes[i].code == text {
			return uint8(i), true
		}
	}
	return 0, false
}

// textOf returns what a code means; the zero text for one that is not known.
func textOf(text string) words.Text {
	if n, known := codeOf(text); known {
		return codes[n].text
	}
	return words.Text{}
}
