package jsonbody

import "seckill/internal/kit/invalid"

// The reasons and allowed values that only this package uses.
var (
	cutOff   = invalid.NewReason("CUT_OFF", "could not be read to its end", "未能完整读取")
	notWhole = invalid.NewReason("FRACTION", "is {value}, a fraction or a number with an exponent",
		"当前为 {value}，不是整数")
	jsonType     = invalid.NewReason("JSON_TYPE", "is of the JSON type {type}", "JSON 类型为 {type}")
	notJSON      = invalid.NewReason("NOT_JSON", "is not JSON in UTF-8: {detail}", "不是 UTF-8 编码的 JSON：{detail}")
	jsonObject   = invalid.NewAllowed("JSON_OBJECT", "one JSON object", "一个 JSON 对象")
	objectOrNull = invalid.NewAllowed("OBJECT", "an object, or null", "对象或 null")
	pictureOn    = invalid.NewAllowed("PICTURE",
		"an address by https on {hosts}, of up to {max} characters, or nothing",
		"{hosts} 上的 https 地址，最多 {max} 个字符；或留空")
	wholeSeconds = invalid.NewAllowed("SECONDS", "a whole number of seconds", "整秒数")
	aString      = invalid.NewAllowed("STRING", "a string", "字符串")
)
