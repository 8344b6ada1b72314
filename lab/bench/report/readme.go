package report

import (
	"fmt"
	"strings"

	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
)

// wording has the words of a README around the figures.
type wording struct {
	file    string
	line    string // accepted, times the stream's; recorded, times the stream's; refused
	source  string // date, file, rounds
	head    []string
	stages  []string // plain Gin, database, stream, service, service with appendfsync always
	comment string   // sold out / plain Gin, always / everysec
}

// wordings returns the wordings of the READMEs.
func wordings() []wording {
	return []wording{
		{
			file: "README.md",
			line: "**Measured** on two cores that everything shares, load generator included: " +
				"**%s** orders accepted a second, %.1f times as many " +
				"as the way that tutorials teach; a backlog is recorded at **%s** a second, %.0f times as fast; " +
				"**%s** answers a second once it is sold out. Ratios are medians of rounds. `make -C lab bench` " +
				"[measures it again](#benchmarks).",
			source: "Medians of %d rounds of [%s](lab/results/%s.md), every request another user's:",
			head:   []string{"", "Accepted/s", "Recorded/s meanwhile", "Draining a backlog, orders/s"},
			stages: []string{
				"Gin with a constant answer, which checks no token", "the database only",
				"a script call per request, an order per transaction, as tutorials teach it", "this service",
				"this service with `appendfsync always`",
			},
			comment: "Late buyers are refused at %.2f of the rate of plain Gin. With every acceptance flushed " +
				"to the disk, the rate of acceptances is %.2f of that without.",
		},
		{
			file: "README.zh-CN.md",
			line: "**实测**（两个核心由所有进程共用，压测程序也在内）：每秒接受 **%s** 笔订单，是教程做法的 %.1f 倍；积压以每秒 **%s** 笔记录，是其 %.0f 倍；" +
				"售罄后每秒答复 **%s** 次。倍数是各轮比值的中位数。`make -C lab bench` [重新测量](#性能)。",
			source: "%d 轮的中位数（[%s](lab/results/%s.md)），每个请求来自不同的用户：",
			head:   []string{"", "接受/秒", "同时记录/秒", "清空积压，订单/秒"},
			stages: []string{
				"Gin 直接返回固定内容，不检查令牌", "只用数据库", "每个请求一次脚本，每笔订单一个事务，如教程所教", "本服务", "本服务，`appendfsync always`",
			},
			comment: "拒绝迟到买家的速率是裸 Gin 的 %.2f 倍；每次接受都刷到磁盘时，速率是不刷时的 %.2f。",
		},
	}
}

// readme returns a README's sections.
func (c comparison) readme(name string, w wording) map[string]string {
	median := func(id, what string) float64 {
		for _, t := range c.Targets {
			if t.ID == id && strings.HasPrefix(t.What, what) {
				return over(t.Samples).median
			}
		}
		return 0
	}
	rows := [][]string{w.head}
	for i, stage := range []string{
		candidate.Gin, candidate.Update, candidate.Stream, candidate.Service, candidate.Always,
	} {
		drained := map[string]string{
			candidate.Stream: candidate.StreamHeld, candidate.Service: candidate.ServiceHeld,
		}[stage]
		rows = append(rows, []string{
			w.stages[i], c.spread(stage, result.Rate).whole(), c.spread(stage, result.RecordedMeanwhile).whole(),
			c.spread(drained, result.RecordedDraining).whole(),
		})
	}
	var table strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&table, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			table.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	return map[string]string{
		"line": fmt.Sprintf(w.line, c.spread(candidate.Service, result.Rate).whole(),
			median("P3", "accepted / as the tutorials do, recorders"),
			c.spread(candidate.ServiceHeld, result.RecordedDraining).whole(), median("P6", ""),
			c.spread(candidate.SoldOut, result.Rate).whole()) + "\n",
		"figures": fmt.Sprintf(w.source, c.plan.Rounds, day(c.machine), name) + "\n\n" + table.String() + "\n" +
			fmt.Sprintf(w.comment, median("P1", ""), median("P4", "")) + "\n",
	}
}
