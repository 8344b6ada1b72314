package partition

import "seckill/internal/kit/invalid"

// The reasons and allowed values that only this package uses.
var (
	partitionClosed  = invalid.NewReason("CLOSED", "is {value}, which is closed", "分区 {value} 已关闭")
	partitionRemoved = invalid.NewReason("REMOVED", "is {value}, which is removed", "分区 {value} 已移除")
	oneOfOrOmit      = invalid.NewAllowed("ONE_OF_OR_OMIT", "{values}; or leave it out", "{values}；或留空")
)
