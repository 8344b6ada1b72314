package dispatch

import "seckill/internal/kit/invalid"

// The reasons and allowed values that only this package uses.
var (
	privateAddress = invalid.NewReason("PRIVATE_ADDRESS",
		"leads to {value}, which is neither on the public Internet nor in SECKILL_WEBHOOK_ALLOW",
		"指向 {value}，既不在公网，也不在 SECKILL_WEBHOOK_ALLOW 中")
	unencrypted = invalid.NewReason("UNENCRYPTED",
		"is not encrypted, and SECKILL_WEBHOOK_ALLOW does not list {value}",
		"未加密，且 SECKILL_WEBHOOK_ALLOW 未列出 {value}")
	webhookID = invalid.NewAllowed("EVENT_ID", "an event's webhook-id, such as order-123456789-2 or place-7-12-1",
		"事件的 webhook-id，如 order-123456789-2 或 place-7-12-1")
	shopOrAll   = invalid.NewAllowed("SHOP_OR_ALL", "a shop's id, or 0 for all shops", "店铺编号，或 0 表示全部店铺")
	endpointURL = invalid.NewAllowed("URL",
		"https://host/path, or http:// where SECKILL_WEBHOOK_ALLOW lists the address; without user, "+
			"password or fragment",
		"https:// 网址；SECKILL_WEBHOOK_ALLOW 列出的地址也可用 http://；不含用户名、密码与片段")
	badHostName = invalid.NewReason("HOST_NAME", `names the host "{value}", which no host can have as its name`,
		"主机名“{value}”无效")
	badPort    = invalid.NewReason("PORT", "has the port {value}, which is none", "端口 {value} 无效")
	badScheme  = invalid.NewReason("SCHEME", `begins with "{value}:"`, "协议为“{value}:”")
	cursorText = invalid.NewAllowed("CURSOR", "next of an earlier answer, or end; left out: from the oldest event on",
		"此前答复中的 next，或 end；省略则从最早的事件开始")
	eachOnce = invalid.NewAllowed("EACH_ONCE", "each once, of {values}", "以下各一次：{values}")
)
