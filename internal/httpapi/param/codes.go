package param

import "seckill/internal/kit/invalid"

// The reasons and allowed values that only this package uses.
var (
	durationTo = invalid.NewAllowed("DURATION", "a duration with its unit, such as 500ms or 2s, from 0s to {longest}",
		"带单位的时长，如 500ms 或 2s，0s 到 {longest}")
	idempotencyKey = invalid.NewAllowed("IDEMPOTENCY_KEY",
		"1 to {max} visible ASCII characters, once, new for each change",
		"1 到 {max} 个可见 ASCII 字符，只给一次，每次修改使用新的值")
	queryPairs = invalid.NewAllowed("QUERY_PAIRS", "name=value pairs joined by &, percent-encoded",
		"以 & 连接的 name=value，百分号编码")
)
