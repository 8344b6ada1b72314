package guards

import "seckill/internal/kit/invalid"

// The reasons and allowed values that only this package uses.
var (
	tooFewRequests = invalid.NewReason("TOO_FEW_REQUESTS",
		"is {value}, and a buyer needs {min} requests with tickets",
		"当前为 {value}，而使用抢购凭证时每位买家需要 {min} 次请求")
	togetherWith = invalid.NewAllowed("TOGETHER_WITH", "together with {other}: a challenge is solved for a ticket",
		"须同时启用{other}")
	dryDraw = invalid.NewReason("DRY_DRAW", "is true, and the tickets' moments are drawn so that anybody can check it",
		"已启用可核验的抽签，不能只试运行")
	togetherWithOther = invalid.NewAllowed("TOGETHER_WITH_OTHER", "together with {other}, or neither",
		"与{other}同时填写，或都不填")
	belowOther   = invalid.NewReason("BELOW_OTHER", "is below {other}", "小于{other}")
	nothingSet   = invalid.NewReason("NOTHING_SET", "sets nothing", "未设任何内容")
	withoutOther = invalid.NewReason("WITHOUT_OTHER", "is set without {other}", "未同时启用{other}")
	atLeast      = invalid.NewAllowed("AT_LEAST", "{min} or more while {other} is on", "启用{other}时至少为 {min}")
	atLeastOther = invalid.NewAllowed("AT_LEAST_OTHER", "{other} or more", "不小于{other}")
	networksText = invalid.NewAllowed("NETWORKS", "addresses and networks such as 198.51.100.0/24, separated by commas",
		"地址或网段，如 198.51.100.0/24，以逗号分隔")
	someOf = invalid.NewAllowed("SOME_OF", "at least one of {values} above 0; or null, which turns it off",
		"{values} 中至少一项大于 0；或设为 null 以关闭")
)
