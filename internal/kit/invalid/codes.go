package invalid

import (
	"maps"

	"seckill/internal/kit/words"
)

// Reason is a code for a field's problem. Programs read it: the meaning of a published code never changes.
type Reason string

// Allowed is a code for the allowed values of a field.
type Allowed string

// The reasons.
const (
	AfterBegin      Reason = "AFTER_BEGIN"
	AlreadyVisible  Reason = "ALREADY_VISIBLE"
	BelowOther      Reason = "BELOW_OTHER"
	Beside          Reason = "BESIDE_OTHER"
	Blank           Reason = "BLANK"
	BothOrNeither   Reason = "BOTH_OR_NEITHER"
	Bytes           Reason = "BYTES"
	ChangedByRoute  Reason = "CHANGED_BY_ROUTE"
	Characters      Reason = "CHARACTERS"
	Closed          Reason = "CLOSED"
	CutOff          Reason = "CUT_OFF"
	DelayTooLong    Reason = "DELAY_TOO_LONG"
	Entry           Reason = "ENTRY"
	Fraction        Reason = "FRACTION"
	HostName        Reason = "HOST_NAME"
	Immutable       Reason = "IMMUTABLE"
	JSONType        Reason = "JSON_TYPE"
	Malformed       Reason = "MALFORMED"
	Missing         Reason = "MISSING"
	NeedsGuards     Reason = "NEEDS_GUARDS"
	NeedsRedemption Reason = "NEEDS_REDEMPTION"
	NeedsSetting    Reason = "NEEDS_SETTING"
	NoSale          Reason = "NO_SALE"
	NotAfterOther   Reason = "NOT_AFTER_OTHER"
	NotBeforeExpiry Reason = "NOT_BEFORE_EXPIRY"
	NotBeforeOther  Reason = "NOT_BEFORE_OTHER"
	NothingSet      Reason = "NOTHING_SET"
	NotJSON         Reason = "NOT_JSON"
	NotRedeemable   Reason = "NOT_REDEEMABLE"
	NotText         Reason = "NOT_TEXT"
	OutOfRange      Reason = "OUT_OF_RANGE"
	Past            Reason = "PAST"
	Port            Reason = "PORT"
	PrivateAddress  Reason = "PRIVATE_ADDRESS"
	RehearsalShop   Reason = "REHEARSAL_SHOP"
	Removed         Reason = "REMOVED"
	Repeated        Reason = "REPEATED"
	Scheme          Reason = "SCHEME"
	Skipped         Reason = "SKIPPED"
	TooFewRequests  Reason = "TOO_FEW_REQUESTS"
	TooMuchStock    Reason = "TOO_MUCH_STOCK"
	Unencrypted     Reason = "UNENCRYPTED"
	Unknown         Reason = "UNKNOWN"
	Unpayable       Reason = "UNPAYABLE"
	WithoutOther    Reason = "WITHOUT_OTHER"
	YearOutOfRange  Reason = "YEAR_OUT_OF_RANGE"
)

// reasons maps each reason to its text.
var reasons = map[Reason]words.Text{
	AfterBegin:      {"is after {other}: nobody could buy when the sale begins", "晚于{other}：活动开始时将无人可买"},
	AlreadyVisible:  {"is in the future, and buyers see the voucher already", "晚于现在，而买家已能看到该券"},
	BelowOther:      {"is below {other}", "小于{other}"},
	Beside:          {"is given together with {other}", "不可与{other}同时填写"},
	Blank:           {"is missing or blank", "不能为空"},
	BothOrNeither:   {"and {other} are both given, or neither is", "与{other}须且只能填写一项"},
	Bytes:           {"has {length} bytes", "共 {length} 字节"},
	ChangedByRoute:  {"is changed by {route}", "须通过 {route} 修改"},
	Characters:      {"has {length} characters, or one that cannot be shown", "共 {length} 个字符，或含有无法显示的字符"},
	Closed:          {"is {value}, which is closed", "分区 {value} 已关闭"},
	CutOff:          {"could not be read to its end", "未能完整读取"},
	DelayTooLong:    {"is {value}: some buyers could buy only after the sale's end", "当前为 {value}：部分买家的开抢时刻会晚于活动结束"},
	Entry:           {`has "{value}"`, "含有“{value}”"},
	Fraction:        {"is {value}, a fraction or a number with an exponent", "当前为 {value}，不是整数"},
	HostName:        {`names the host "{value}", which no host can have as its name`, "主机名“{value}”无效"},
	Immutable:       {"never changes", "不可修改"},
	JSONType:        {"is of the JSON type {type}", "JSON 类型为 {type}"},
	Malformed:       {`is "{value}"`, "当前为“{value}”"},
	Missing:         {"is missing", "缺失"},
	NeedsGuards:     {"needs guards, which this service was built without", "本服务的构建不含防刷功能"},
	NeedsRedemption: {"needs redemption, which this service was built without", "本服务的构建不含核销功能"},
	NeedsSetting:    {"needs the setting {setting}, which is not set", "需要设置 {setting}，本服务未设置"},
	NoSale:          {"needs a sale, and this voucher has none", "仅适用于秒杀券"},
	NotAfterOther:   {"is not after {other}", "不晚于{other}"},
	NotBeforeExpiry: {"is not before {other}: the last coupons sold could not be used", "不早于{other}：最后售出的券将无法使用"},
	NotBeforeOther:  {"is not before {other}", "不早于{other}"},
	NothingSet:      {"sets nothing", "未设任何内容"},
	NotJSON:         {"is not JSON in UTF-8: {detail}", "不是 UTF-8 编码的 JSON：{detail}"},
	NotRedeemable:   {"needs a coupon, and this voucher is not redeemable", "仅适用于凭券码核销的券"},
	NotText:         {"holds bytes that are not text", "含有非文本内容"},
	OutOfRange:      {"is {value}", "当前为 {value}"},
	Past:            {"is in the past", "已是过去的时间"},
	Port:            {"has the port {value}, which is none", "端口 {value} 无效"},
	PrivateAddress: {
		"leads to {value}, which is neither on the public Internet nor in SECKILL_WEBHOOK_ALLOW",
		"指向 {value}，既不在公网，也不在 SECKILL_WEBHOOK_ALLOW 中",
	},
	RehearsalShop: {"is the shop of rehearsals", "是演练专用的店铺"},
	Removed:       {"is {value}, which is removed", "分区 {value} 已移除"},
	Repeated:      {"is given several times", "重复出现"},
	Scheme:        {`begins with "{value}:"`, "协议为“{value}:”"},
	Skipped: {
		"is {value}, which clocks in {zone} never show: they are put forward then", "{zone} 因夏令时拨快时钟，不存在 {value} 这一时刻",
	},
	TooFewRequests: {
		"is {value}, and a buyer needs {min} requests with tickets", "当前为 {value}，而使用抢购凭证时每位买家需要 {min} 次请求",
	},
	TooMuchStock: {"is {value}, with which the sale would have issued {issued}", "当前为 {value}，发行总量将达到 {issued}"},
	Unencrypted: {
		"is not encrypted, and SECKILL_WEBHOOK_ALLOW does not list {value}", "未加密，且 SECKILL_WEBHOOK_ALLOW 未列出 {value}",
	},
	Unknown: {"is not known here", "此处没有该字段"},
	Unpayable: {
		"cannot be paid: no payment provider is configured, and {setting} is true", "无法支付：未配置支付渠道，且 {setting} 为 true",
	},
	WithoutOther:   {"is set without {other}", "未同时启用{other}"},
	YearOutOfRange: {"is missing or out of range", "缺失或超出范围"},
}

// The codes for allowed values.
const (
	AfterOther       Allowed = "AFTER_OTHER"
	AfterTime        Allowed = "AFTER_TIME"
	AtLeast          Allowed = "AT_LEAST"
	AtLeastOther     Allowed = "AT_LEAST_OTHER"
	BeforeOther      Allowed = "BEFORE_OTHER"
	BeforeTime       Allowed = "BEFORE_TIME"
	Boolean          Allowed = "BOOLEAN"
	CouponCode       Allowed = "COUPON_CODE"
	DelayBelow       Allowed = "DELAY_BELOW"
	Duration         Allowed = "DURATION"
	EachOnce         Allowed = "EACH_ONCE"
	EventID          Allowed = "EVENT_ID"
	EventOrTimes     Allowed = "EVENT_OR_TIMES"
	IdempotencyKey   Allowed = "IDEMPOTENCY_KEY"
	JSONObject       Allowed = "JSON_OBJECT"
	Length           Allowed = "LENGTH"
	More             Allowed = "MORE"
	Networks         Allowed = "NETWORKS"
	NotAfterTime     Allowed = "NOT_AFTER_TIME"
	Object           Allowed = "OBJECT"
	Omit             Allowed = "OMIT"
	OmitOrRedeemable Allowed = "OMIT_OR_REDEEMABLE"
	OmitOrShelf      Allowed = "OMIT_OR_SHELF"
	Once             Allowed = "ONCE"
	OneOf            Allowed = "ONE_OF"
	OneOfOrOmit      Allowed = "ONE_OF_OR_OMIT"
	OneOfTwo         Allowed = "ONE_OF_TWO"
	QueryPairs       Allowed = "QUERY_PAIRS"
	Range            Allowed = "RANGE"
	RangeNotShop     Allowed = "RANGE_NOT_SHOP"
	RangeNotZero     Allowed = "RANGE_NOT_ZERO"
	RangeOrOmit      Allowed = "RANGE_OR_OMIT"
	Seconds          Allowed = "SECONDS"
	ShopOrAll        Allowed = "SHOP_OR_ALL"
	SomeOf           Allowed = "SOME_OF"
	String           Allowed = "STRING"
	TogetherWith     Allowed = "TOGETHER_WITH"
	URL              Allowed = "URL"
	WholeNumber      Allowed = "WHOLE_NUMBER"
	Year             Allowed = "YEAR"
	ZeroOrProvider   Allowed = "ZERO_OR_PROVIDER"
	ZonedTime        Allowed = "ZONED_TIME"
)

// alloweds maps each of these codes to its text.
var alloweds = map[Allowed]words.Text{
	AfterOther:   {"a time after {other}", "晚于{other}"},
	AfterTime:    {"a time after {after}, before the year 10000", "晚于 {after}，早于 10000 年"},
	AtLeast:      {"{min} or more while {other} is on", "启用{other}时至少为 {min}"},
	AtLeastOther: {"{other} or more", "不小于{other}"},
	BeforeOther:  {"a time before {other}", "早于{other}"},
	BeforeTime:   {"a time before {before}", "早于 {before}"},
	Boolean:      {"true or false", "true 或 false"},
	CouponCode:   {"{length} letters and digits, with or without hyphens", "{length} 位字母或数字，连字符可省略"},
	DelayBelow:   {"less than the {window} milliseconds of the sale", "小于活动时长 {window} 毫秒"},
	Duration: {
		"a duration with its unit, such as 500ms or 2s, from 0s to {longest}", "带单位的时长，如 500ms 或 2s，0s 到 {longest}",
	},
	EachOnce: {"each once, of {values}", "以下各一次：{values}"},
	EventID: {
		"an event's webhook-id, such as order-123456789-2 or place-7-12-1",
		"事件的 webhook-id，如 order-123456789-2 或 place-7-12-1",
	},
	EventOrTimes: {"eventId, or from with or without to", "eventId，或 from（to 可选）"},
	IdempotencyKey: {
		"1 to {max} visible ASCII characters, once, new for each change", "1 到 {max} 个可见 ASCII 字符，只给一次，每次修改使用新的值",
	},
	JSONObject: {"one JSON object", "一个 JSON 对象"},
	Length:     {"{min} to {max} characters", "{min} 到 {max} 个字符"},
	More:       {"at most {max} more", "最多再增加 {max}"},
	Networks: {
		"addresses and networks such as 198.51.100.0/24, separated by commas", "地址或网段，如 198.51.100.0/24，以逗号分隔",
	},
	NotAfterTime:     {"a time not after {latest}", "不晚于 {latest}"},
	Object:           {"an object, or null", "对象或 null"},
	Omit:             {"leave it out", "请留空"},
	OmitOrRedeemable: {`leave it out, or "redeemable": true`, "请留空，或启用凭券码核销"},
	OmitOrShelf:      {`leave it out; "status": 2 takes it off the shelf`, "请留空；如需隐藏，可下架"},
	Once:             {"once", "一次"},
	OneOf:            {"{values}", "{values}"},
	OneOfOrOmit:      {"{values}; or leave it out", "{values}；或留空"},
	OneOfTwo:         {"one of the two", "二者择一"},
	QueryPairs:       {"name=value pairs joined by &, percent-encoded", "以 & 连接的 name=value，百分号编码"},
	Range:            {"a whole number from {min} to {max}", "{min} 到 {max} 的整数"},
	RangeNotShop:     {"any other whole number from {min} to {max}", "{min} 到 {max} 的其他整数"},
	RangeNotZero:     {"a whole number from {min} to {max}, but not 0", "{min} 到 {max} 的整数，0 除外"},
	RangeOrOmit: {
		"a whole number from {min} to {max}, or leave it out: no waiting list", "{min} 到 {max} 的整数，或不启用候补名单",
	},
	Seconds:   {"a whole number of seconds", "整秒数"},
	ShopOrAll: {"a shop's id, or 0 for all shops", "店铺编号，或 0 表示全部店铺"},
	SomeOf: {
		"at least one of {values} above 0; or null, which turns it off", "{values} 中至少一项大于 0；或设为 null 以关闭",
	},
	String:       {"a string", "字符串"},
	TogetherWith: {"together with {other}: a challenge is solved for a ticket", "须同时启用{other}"},
	URL: {"https://host/path, or http:// where SECKILL_WEBHOOK_ALLOW lists the address; without user, " +
		"password or fragment", "https:// 网址；SECKILL_WEBHOOK_ALLOW 列出的地址也可用 http://；不含用户名、密码与片段"},
	WholeNumber: {"a whole number", "整数"},
	Year: {
		"a time such as 2026-01-02T20:00:00Z, in the years 2000 to 9999", "如 2026-01-02T20:00:00Z 的时间，2000 到 9999 年",
	},
	ZeroOrProvider: {"0, or any price once {provider} names one", "0；或先用 {provider} 配置支付渠道"},
	ZonedTime: {
		"a time such as 2026-01-02T20:00:00Z, or 2026-01-02T20:00:00 in the time zone {zone}",
		"如 2026-01-02T20:00:00Z 的时间，或时区 {zone} 的 2026-01-02T20:00:00",
	},
}

// Reasons returns the texts of all reasons.
func Reasons() map[Reason]words.Text { return maps.Clone(reasons) }

// Alloweds returns the texts of all Allowed codes.
func Alloweds() map[Allowed]words.Text { return maps.Clone(alloweds) }
