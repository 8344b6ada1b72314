package invalid

import "seckill/internal/kit/words"

// Reason is a code for a field's problem, and its text. Programs read the code: the meaning of a published one never
// changes. The zero value is no problem.
type Reason struct {
	Code string
	Text words.Text
}

// Allowed is a code for the allowed values of a field, and its text.
type Allowed struct {
	Code string
	Text words.Text
}

// NewReason returns a reason. Declare it beside the rule that it is for, with literals: make docs looks for them.
func NewReason(code, english, chinese string) Reason {
	return Reason{Code: code, Text: words.Text{english, chinese}}
}

// NewAllowed is [NewReason] for allowed values.
func NewAllowed(code, english, chinese string) Allowed {
	return Allowed{Code: code, Text: words.Text{english, chinese}}
}

// The reasons that any input may have.
var (
	BesideOther = NewReason("BESIDE_OTHER", "is given together with {other}", "不可与{other}同时填写")
	Blank       = NewReason("BLANK", "is missing or blank", "不能为空")
	Bytes       = NewReason("BYTES", "has {length} bytes", "共 {length} 字节")
	Characters  = NewReason("CHARACTERS", "has {length} characters, or one that cannot be shown",
		"共 {length} 个字符，或含有无法显示的字符")
	Entry        = NewReason("ENTRY", `has "{value}"`, "含有“{value}”")
	Immutable    = NewReason("IMMUTABLE", "never changes", "不可修改")
	Malformed    = NewReason("MALFORMED", `is "{value}"`, "当前为“{value}”")
	Missing      = NewReason("MISSING", "is missing", "缺失")
	NeedsSetting = NewReason("NEEDS_SETTING", "needs the setting {setting}, which is not set",
		"需要设置 {setting}，本服务未设置")
	NotBeforeOther = NewReason("NOT_BEFORE_OTHER", "is not before {other}", "不早于{other}")
	NotText        = NewReason("NOT_TEXT", "holds bytes that are not text", "含有非文本内容")
	OutOfRange     = NewReason("OUT_OF_RANGE", "is {value}", "当前为 {value}")
	Repeated       = NewReason("REPEATED", "is given several times", "重复出现")
	Skipped        = NewReason("SKIPPED", "is {value}, which clocks in {zone} never show: they are put forward then",
		"{zone} 因夏令时拨快时钟，不存在 {value} 这一时刻")
	Unknown        = NewReason("UNKNOWN", "is not known here", "此处没有该字段")
	YearOutOfRange = NewReason("YEAR_OUT_OF_RANGE", "is missing or out of range", "缺失或超出范围")
)

// The allowed values that any input may have.
var (
	AfterTime   = NewAllowed("AFTER_TIME", "a time after {after}, before the year 10000", "晚于 {after}，早于 10000 年")
	BeforeOther = NewAllowed("BEFORE_OTHER", "a time before {other}", "早于{other}")
	Boolean     = NewAllowed("BOOLEAN", "true or false", "true 或 false")
	Length      = NewAllowed("LENGTH", "{min} to {max} characters", "{min} 到 {max} 个字符")
	Omit        = NewAllowed("OMIT", "leave it out", "请留空")
	Once        = NewAllowed("ONCE", "once", "一次")
	OneOf       = NewAllowed("ONE_OF", "{values}", "{values}")
	OneOfTwo    = NewAllowed("ONE_OF_TWO", "one of the two", "二者择一")
	Range       = NewAllowed("RANGE", "a whole number from {min} to {max}", "{min} 到 {max} 的整数")
	WholeNumber = NewAllowed("WHOLE_NUMBER", "a whole number", "整数")
	Year        = NewAllowed("YEAR", "a time such as 2026-01-02T20:00:00Z, in the years 2000 to 9999",
		"如 2026-01-02T20:00:00Z 的时间，2000 到 9999 年")
	ZonedTime = NewAllowed("ZONED_TIME",
		"a time such as 2026-01-02T20:00:00Z, or 2026-01-02T20:00:00 in the time zone {zone}",
		"如 2026-01-02T20:00:00Z 的时间，或时区 {zone} 的 2026-01-02T20:00:00")
)
