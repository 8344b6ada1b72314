package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"seckill/bench/chart"
)

// tongue is the words in which a README tells the figures.
type tongue struct {
	file    string
	line    string // accepted, times the stream's; recorded, times the stream's; refused
	source  string // date, file, rounds
	head    []string
	stages  []string // bare handler, database, stream, service, service with appendfsync always
	comment string   // sold out / bare handler, always / everysec
}

// tongues are those of the READMEs. They lie two levels above the reports' directory.
func tongues() []tongue {
	return []tongue{
		{
			file: "README.md",
			line: "**Measured** on two cores that everything shares, load generator included: **%s** orders accepted a second, %.1f times as many " +
				"as the way that tutorials teach; **%s** recorded a second, %.0f times as many; **%s** answers a second once it is sold out. " +
				"`make bench` [measures it again](#benchmarks).",
			source: "Medians of %d rounds of [%s](docs/benchmarks/%s.md), every request another user's:",
			head:   []string{"", "Accepted/s", "Recorded/s meanwhile", "Draining a backlog, orders/s"},
			stages: []string{
				"a handler that does nothing but check the token", "the database only",
				"a script call per request, an order per transaction, as tutorials teach it", "this service", "this service with `appendfsync always`",
			},
			comment: "Who comes too late is answered at %.2f of the rate of the bare handler, and with every acceptance flushed to the disk at %.2f of the " +
				"rate without.",
		},
		{
			file: "README.zh-CN.md",
			line: "**实测**（两个核心由所有进程共用，压测程序也在内）：每秒接受 **%s** 笔订单，是教程做法的 %.1f 倍；每秒记录 **%s** 笔，是其 %.0f 倍；" +
				"售罄后每秒答复 **%s** 次。`make bench` [重新测量](#性能)。",
			source: "%d 轮的中位数（[%s](docs/benchmarks/%s.md)），每个请求来自不同的用户：",
			head:   []string{"", "接受/秒", "同时记录/秒", "清空积压，订单/秒"},
			stages: []string{
				"只检查令牌、什么也不做", "只用数据库", "每个请求一次脚本，每笔订单一个事务，如教程所教", "本服务", "本服务，`appendfsync always`",
			},
			comment: "来晚了的人，以空处理器 %.2f 的速率得到答复；每次接受都刷到磁盘时，速率是不刷时的 %.2f。",
		},
	}
}

// updateReadmes puts the figures into the READMEs; those that are not there are left alone.
func (r *report) updateReadmes(dir, name string, log func(path string)) error {
	for _, t := range tongues() {
		if err := updatePage(filepath.Join(dir, "..", "..", t.file), r.readme(name, t), log); err != nil {
			return err
		}
	}
	return nil
}

// readme is a README's parts.
func (r *report) readme(name string, t tongue) map[string]string {
	whole := func(s spread) string {
		if s == (spread{}) {
			return ""
		}
		return chart.Number(s.Median)
	}
	median := func(id, what string) float64 {
		for _, q := range r.Ratios {
			if q.ID == id && strings.HasPrefix(q.What, what) {
				return q.Median
			}
		}
		return 0
	}
	rows := [][]string{t.head}
	for i, contestant := range []string{bareName, updateName, streamName, serviceName, alwaysName} {
		drained := map[string]string{streamName: streamHeldName, serviceName: serviceHeldName}[contestant]
		l := r.line(contestant)
		rows = append(rows, []string{t.stages[i], whole(l.Rate), whole(l.Meanwhile), whole(r.line(drained).Draining)})
	}
	var table strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&table, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			table.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	date, _, _ := strings.Cut(r.Machine.Date, "T")
	return map[string]string{
		"line": fmt.Sprintf(t.line, whole(r.line(serviceName).Rate), median("P3", "accepted / as the tutorials do, recorders"),
			whole(r.line(serviceHeldName).Draining), median("P6", ""), whole(r.line(soldOutName).Rate)) + "\n",
		"figures": fmt.Sprintf(t.source, r.Plan.Rounds, date, name) + "\n\n" + table.String() + "\n" +
			fmt.Sprintf(t.comment, median("P1", ""), median("P4", "")) + "\n",
	}
}
