package webhook

import (
	"net/http"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/httpapi/httpkit"
)

// Rules returns the refusals of webhooks.
func Rules() []httpkit.Rule {
	return []httpkit.Rule{
		{Matches: httpkit.AnyOf(dispatch.ErrNoEndpoint, dispatch.ErrNoEvent), Failure: httpkit.Failure{
			Code: "NOT_FOUND", Status: http.StatusNotFound, Title: "Not found",
			Detail:  "There is no webhook endpoint with this id, or no event that it has come to and wants.",
			English: "There is no such webhook or event.", Chinese: "该回调地址或事件不存在",
		}},
		{Matches: httpkit.Is(dispatch.ErrEndpoints), Failure: httpkit.Failure{
			Code: "TOO_MANY_WEBHOOKS", Status: http.StatusConflict, Title: "Too many webhook endpoints",
			Detail: "There are 200 endpoints, or as many of a merchant's shop as SECKILL_MERCHANT_WEBHOOKS says, " +
				"which is the limit. Delete one first.",
			English: "There are too many webhooks. Delete one first.", Chinese: "回调地址数量已达上限，请先删除",
		}},
		{Matches: httpkit.Is(dispatch.ErrRotating), Failure: httpkit.Failure{
			Code: "SECRET_ROTATING", Status: http.StatusConflict, Title: "The secret was changed lately",
			Detail: "The secret before the present one still signs. Wait until it ends, or send " +
				"atOnce, which ends it now.",
			English: "The secret was changed less than a day ago.", Chinese: "密钥刚刚更换过，旧密钥仍在有效期内",
		}},
	}
}
