package rehearsal

import (
	"time"

	"seckill/internal/kit/check"
	"seckill/internal/kit/words"
)

// The limits for a "go".
const (
	maxP99 = 2 * time.Second
	// maxUnclear is the share of requests without a clear answer.
	maxUnclear = 0.01
	// maxMemory is the share of Redis's memory that may be used.
	maxMemory = 0.8
)

// Figures are the measurements of a rehearsal. They are kept as JSON, times in nanoseconds.
type Figures struct {
	Stock    int64 `json:"stock"`
	Buyers   int64 `json:"buyers"` // the planned size of the crowd
	Arrived  int64 `json:"arrived"`
	Requests int64 `json:"requests"` // answered requests
	Accepted int64 `json:"accepted"`
	Unclear  int64 `json:"unclear"` // requests whose answer was 429, 5xx, or none

	SoldOut    time.Duration `json:"soldOut"` // from the first buyer until no unit was left; 0: units are left
	P50        time.Duration `json:"p50"`     // the time of an answer, from when its request was due
	P99        time.Duration `json:"p99"`
	Findings   int64         `json:"findings"`   // orders that were lost, sold twice, and the like
	Early      bool          `json:"early"`      // the crowd was interrupted
	MemoryIdle int64         `json:"memoryIdle"` // bytes that Redis used before the crowd; 0: not known
	MemoryPeak int64         `json:"memoryPeak"` // the most bytes that Redis used at a report
	MemoryMax  int64         `json:"memoryMax"`  // Redis's maxmemory; 0: none
}

// Forecast judges the figures. It assumes that the sale has a crowd of the same size.
func Forecast(f Figures) []check.Line {
	return []check.Line{f.soldOut(), f.answers(), f.clear(), f.redis(), f.orders()}
}

func (f *Figures) soldOut() check.Line {
	const name = "rehearsal.soldOut"
	if f.SoldOut == 0 {
		do := check.Say("see what the others were answered, in the crowd's output", "查看模拟买家输出中其余应答的原因")
		if f.Buyers < f.Stock {
			do = check.Say("more -buyers: the rush on the last units was not rehearsed", "增加 -buyers：未演练最后若干份的抢购")
		}
		return check.NewLine(name, check.Worse(f.Buyers >= f.Stock && !f.Early, f.Buyers < f.Stock),
			check.Say("%d of %s went to %s, so it was not sold out", "%d / %s 份由 %s 位买家购得，未售罄",
				f.Accepted, units(f.Stock), buyers(f.Arrived)), do)
	}
	return check.NewLine(name, check.OK, check.Say("%s within %s of the first press, by %s",
		"%s 份在首次点击后 %s内售罄，共 %s 位买家",
		units(f.Stock), check.Span(f.SoldOut.Round(time.Millisecond)), buyers(f.Arrived)), words.Text{})
}

func units(n int64) words.Text  { return check.Counted(n, "unit", "units") }
func buyers(n int64) words.Text { return check.Counted(n, "buyer", "buyers") }

func (f *Figures) answers() check.Line {
	if f.Requests == 0 {
		return unmeasured("rehearsal.answers")
	}
	return check.NewLine("rehearsal.answers", check.Worse(f.P99 > maxP99, false),
		check.Say("p50 %s, p99 %s from when a buyer presses", "从点击算起 p50 %s，p99 %s", millis(f.P50), millis(f.P99)),
		check.Say("one buyer in a hundred waits for more than %s: more instances, or a machine of "+
			"its own for the crowd",
			"每百人有一人等待超过 %s：增加实例，或让模拟买家使用单独的机器", check.Span(maxP99)))
}

func (f *Figures) clear() check.Line {
	if f.Requests == 0 {
		return check.NewLine("rehearsal.clear", check.No, check.Say("no request was answered", "没有请求得到应答"),
			check.Say("see why, in the crowd's output, and rehearse again", "查看模拟买家的输出，然后重新演练"))
	}
	percent := 100 * float64(f.Unclear) / float64(max(1, f.Requests))
	return check.NewLine("rehearsal.clear", check.Worse(percent > 100*maxUnclear, false),
		check.Say("%.1f %% of %s had no clear answer", "%.1f %% 的请求（共 %s 个）未得到明确应答",
			percent, check.Counted(f.Requests, "request", "requests")),
		check.Say("see why, in the crowd's output: 429 are limits, 503 too much at once, none a lost connection",
			"查看模拟买家的输出：429 为限流，503 为过载，无应答为连接中断"))
}

func (f *Figures) redis() check.Line {
	const name, mib = "rehearsal.memory", 1 << 20
	if f.MemoryPeak == 0 {
		return unmeasured(name)
	}
	used := check.Say("%.1f MiB more at the peak, %.1f in all", "峰值增加 %.1f MiB，共 %.1f MiB",
		float64(f.MemoryPeak-f.MemoryIdle)/mib, float64(f.MemoryPeak)/mib)
	if f.MemoryIdle == 0 {
		used = check.Say("%.1f MiB at the peak", "峰值 %.1f MiB", float64(f.MemoryPeak)/mib)
	}
	if f.MemoryMax == 0 {
		return check.NewLine(name, check.Unmeasured,
			check.Say("%s; it has no maxmemory, so nothing says when it is full",
				"%s；未设 maxmemory，无从判断上限", used), words.Text{})
	}
	percent := 100 * float64(f.MemoryPeak) / float64(f.MemoryMax)
	return check.NewLine(name, check.Worse(percent > 100*maxMemory, false),
		check.Say("%s, of %.0f MiB (%.0f %%)", "%s，上限 %.0f MiB（%.0f %%）", used, float64(f.MemoryMax)/mib, percent),
		check.Say("raise maxmemory, or remove what is not needed", "调高 maxmemory 或清理无用数据"))
}

func (f *Figures) orders() check.Line {
	const name = "rehearsal.orders"
	switch {
	case f.Findings > 0:
		return check.NewLine(name, check.No,
			check.Say("%s: orders and answers contradict each other",
				"%s 项不一致：订单与应答相矛盾", check.Counted(f.Findings, "finding", "findings")),
			check.Say("do not hold the sale; the crowd's output has each, with its history",
				"请勿开始活动；模拟买家的输出列出各项及其经过"))
	case f.Early:
		return check.NewLine(name, check.No, check.Say("the rehearsal was ended early", "演练提前结束"),
			check.Say("rehearse again", "重新演练"))
	case f.Requests == 0:
		return unmeasured(name)
	}
	return check.NewLine(name, check.OK, check.Say("nothing lost, nothing sold twice", "无丢单，无超卖"),
		words.Text{})
}

// unmeasured returns the line for a figure that the rehearsal has not measured.
func unmeasured(name string) check.Line {
	return check.NewLine(name, check.Unmeasured, check.Say("not measured", "未测量"), words.Text{})
}

// millis returns a span in whole milliseconds, however long, so that people can compare several at a glance.
func millis(d time.Duration) words.Text {
	return check.Say("%d ms", "%d 毫秒", d.Round(time.Millisecond).Milliseconds())
}

// checkName is the name of the line in the list before a sale.
const checkName = "rehearsal"

// lineOf returns the line about a rehearsal; nil: the sale has none. A change of the sale after the rehearsal may have
// made it worthless; the last one was at changed.
func lineOf(r *Run, changed time.Time) check.Line {
	if r == nil {
		return check.NewLine(checkName, check.Warning, check.Say("it was not rehearsed", "尚未演练"),
			check.Say("rehearse it, up to an hour before a sale", "请演练一次（任何活动开始一小时前）"))
	}
	at := r.Begin
	stamp := check.Stamp(at)
	switch {
	case !check.Go(Forecast(r.Figures)):
		return check.NewLine(checkName, check.No, check.Say("that of %s was a no-go",
			"%s 的演练结论为不可开始", stamp),
			check.Say("see why on its page, and rehearse again", "查看原因并重新演练"))
	case changed.After(at):
		return check.NewLine(checkName, check.Warning, check.Say("go, at %s; the sale was changed since",
			"%s 的演练通过，但此后活动有修改", stamp),
			check.Say("rehearse again if the change matters", "如修改有影响，请重新演练"))
	}
	return check.NewLine(checkName, check.OK, check.Say("go, at %s", "%s 的演练通过", stamp), words.Text{})
}
