package webhook

import (
	"errors"
	"net/http"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/words"
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
		{Matches: httpkit.As[*dispatch.GoneError], Failure: httpkit.Failure{
			Code: "EVENTS_GONE", Status: http.StatusGone, Title: "Events are gone",
			Detail: "Events behind this cursor were deleted by their age or by a purge, or were not written for a " +
				"while, or the database was restored from a backup. A copy begins again with a new snapshot; without " +
				"one, begin again at data.begin, the oldest that there is.",
			English: "Events since then are gone. Begin again with a new snapshot.",
			Chinese: "此后的部分事件已被删除，请重新获取快照后再继续",
			Members: begin,
		}},
		{Matches: httpkit.Is(dispatch.ErrNotWritten), Failure: httpkit.Failure{
			Code: "EVENTS_OFF", Status: http.StatusConflict, Title: "Events are not written",
			Detail: "Events are written for shops with a webhook endpoint, and for all shops where " +
				"SECKILL_EVENT_KEEP is set. An admin's token needs an endpoint of all shops, or the setting. " +
				"Before either has been used to read events, a merchant's token reads none.",
			English: "Events are not kept here. Add a webhook, or ask whoever runs the service to keep them.",
			Chinese: "此处未保存事件。请添加回调地址，或联系管理员开启事件保存",
		}},
		{Matches: httpkit.Is(dispatch.ErrSettling), Failure: httpkit.Failure{
			Code: "EVENTS_STARTING", Status: http.StatusServiceUnavailable, RetryAfter: "10",
			Title: "Events are just beginning",
			Detail: "Events have been written for less than ten seconds: until all instances know it, some may be " +
				"missing. Ask again.",
			English: "Events are just beginning to be kept. Please try again shortly.",
			Chinese: "事件保存刚刚开启，请稍后再试",
		}},
		{Matches: httpkit.Is(dispatch.ErrRotating), Failure: httpkit.Failure{
			Code: "SECRET_ROTATING", Status: http.StatusConflict, Title: "The secret was changed lately",
			Detail: "The secret before the present one still signs. Wait until it ends, or send " +
				"atOnce, which ends it now.",
			English: "The secret was changed less than a day ago.", Chinese: "密钥刚刚更换过，旧密钥仍在有效期内",
		}},
	}
}

// beginJSON says where to begin again.
type beginJSON struct {
	Begin string `json:"begin"`
}

// begin adds where to begin again.
func begin(body []byte, _ words.Language, err error) []byte {
	e, _ := errors.AsType[*dispatch.GoneError](err)
	return httpkit.AppendJSON(append(body, `,"data":`...), beginJSON{e.Begin.String()})
}
