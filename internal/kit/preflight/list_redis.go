package preflight

import (
	"errors"
	"slices"
	"strings"
)

var errNoInfo = errors.New("it shows no INFO")

// ofRedis judges each Redis server of the sale. A server that does not answer is a No; the others are still judged.
func (f *Facts) ofRedis() []Line {
	if len(f.Redis) == 0 {
		return []Line{Unknown("redis.answers", No, errors.New("no server was asked"))}
	}
	answering := slices.DeleteFunc(slices.Clone(f.Redis), func(r Redis) bool { return r.Err != nil })
	lines := []Line{joint(f.Redis, Redis.answers)}
	// The embedded Redis has no settings for operators, and every answer waits for its row.
	if f.Embedded || len(answering) == 0 {
		return lines
	}
	for _, judge := range []func(Redis) Line{Redis.durable, Redis.restarts, f.memory, f.replicas, Redis.clock} {
		lines = append(lines, joint(answering, judge))
	}
	return lines
}

// joint combines the lines of all servers into one with the worst level. It names the servers for each finding, and
// says what to do about the worst one.
func joint(servers []Redis, judge func(Redis) Line) Line {
	lines := make([]Line, len(servers))
	for i, r := range servers {
		lines[i] = judge(r)
	}
	if len(lines) == 1 {
		return lines[0]
	}
	has := func(level Level) bool {
		return slices.ContainsFunc(lines, func(l Line) bool { return l.Level == level })
	}
	all := Line{Name: lines[0].Name, Level: Worse(has(No), has(Warning))}
	for in := range all.what {
		var said, todo []string
		for i, l := range lines {
			if slices.Index(lines, l) == i { // equal lines are combined, with all their servers' names
				said = append(said, nodesThat(servers, lines, l)+": "+l.what[in])
			}
			if l.Level == all.Level && l.do[in] != "" && !slices.Contains(todo, l.do[in]) {
				todo = append(todo, l.do[in])
			}
		}
		all.what[in], all.do[in] = strings.Join(said, "; "), strings.Join(todo, "; ")
	}
	return all
}

// nodesThat names the servers with the given line.
func nodesThat(servers []Redis, lines []Line, said Line) string {
	var nodes []string
	for i, l := range lines {
		if l == said {
			nodes = append(nodes, servers[i].Node)
		}
	}
	return strings.Join(nodes, ", ")
}

func (r Redis) answers() Line {
	const name = "redis.answers"
	if r.Err != nil {
		return Unknown(name, No, r.Err)
	}
	return NewLine(name, Worse(r.Answer > hopelessAnswer, r.Answer > slowAnswer),
		Say("within %s, writes within %s", "读 %s，写 %s", Span(r.Answer), Span(r.Write)),
		Say("see what else uses its processor, disk or network", "检查占用其 CPU、磁盘或网络的其他任务"))
}

func (r Redis) durable() Line {
	const name = "redis.durability"
	what := Say("appendonly %s, appendfsync %s, maxmemory-policy %s (measured: %s)",
		"appendonly %s，appendfsync %s，maxmemory-policy %s（实测：%s）",
		shown(r.AppendOnly), shown(r.AppendFsync), shown(r.Eviction), r.measured())
	switch {
	case r.FailedWrites:
		return NewLine(name, No, Say("it cannot write its append-only file", "无法写入 AOF 文件"),
			Say("free or replace its disk", "清理或更换磁盘"))
	case r.Eviction != "" && r.Eviction != "noeviction":
		return NewLine(name, No, what, Say("CONFIG SET maxmemory-policy noeviction: it would delete sales and orders",
			"执行 CONFIG SET maxmemory-policy noeviction，否则会丢弃活动与订单"))
	case r.AppendOnly == "no" || r.AppendFsync == "no":
		return NewLine(name, No, what,
			Say("CONFIG SET appendonly yes, and appendfsync always or everysec: accepted orders would be lost",
				"执行 CONFIG SET appendonly yes，appendfsync 设为 always 或 everysec，否则已受理的订单会丢失"))
	case r.AppendFsync == "everysec":
		return NewLine(name, Warning, what,
			Say("a power loss can cost the last second or two of orders; always keeps them "+
				"(docs/operations.md#durability)",
				"断电可能丢失最后一两秒的订单；设为 always 可避免（docs/operations.md#durability）"))
	case r.AppendFsync == "" || r.AppendOnly == "" || r.Eviction == "":
		return NewLine(name, Warning, what, Say("look at what it does not show, in the console of its provider",
			"在托管商控制台中查看未显示的设置"))
	}
	return NewLine(name, OK, what, text{})
}

// measured tells where an answered write is: with appendfsync always, Redis answers once it is on disk.
func (r Redis) measured() text {
	switch {
	case r.AppendOnly == "no":
		return Say("a write is answered within %s, and in memory alone", "写入 %s应答，仅在内存中", Span(r.Write))
	case r.AppendOnly == "" || r.AppendFsync == "":
		return Say("a write is answered within %s", "写入 %s应答", Span(r.Write))
	case r.AppendFsync == "always":
		return Say("a write is on disk within %s, and then answered", "写入 %s落盘，之后才应答", Span(r.Write))
	}
	return Say("a write is answered within %s, before it is on disk", "写入 %s应答，此时尚未落盘", Span(r.Write))
}

// restarts checks that a restart and a failover are noticed.
func (r Redis) restarts() Line {
	what := Say("noticed, by its run id", "可察觉（依据 run id）")
	if r.NoInfo {
		what = Say("not noticed: it shows this user no INFO", "无法察觉：该用户无权执行 INFO")
	}
	return NewLine("redis.restarts", Worse(r.NoInfo, false), what,
		Say("ACL SETUSER <name> +info: buyers would be let in over orders that it lost (docs/operations.md)",
			"执行 ACL SETUSER <用户名> +info，否则丢失数据后仍会放行买家（docs/operations.md）"))
}

func (r Redis) clock() Line { return clock("redis.clock", "Redis", r.Ahead) }

// memory checks that a server has room for its data and all orders of the sale.
func (f *Facts) memory(r Redis) Line {
	const name, mib = "redis.memory", 1 << 20
	if r.NoInfo {
		return Unknown(name, Warning, errNoInfo)
	}
	used, limit := float64(r.Used+f.units()*orderBytes)/mib, float64(r.Limit)/mib
	if r.Limit == 0 {
		return NewLine(name, Warning, Say("%.0f MiB with all orders of the sale, and no maxmemory",
			"含全部订单约 %.0f MiB，未设 maxmemory", used),
			Say("set maxmemory below what the machine has, so that it refuses instead of being killed",
				"将 maxmemory 设为低于物理内存，使其拒绝写入而不是被系统终止"))
	}
	return NewLine(name, Worse(used > tooFullMemory*limit, used > fullMemory*limit),
		Say("%.0f of %.0f MiB with all orders of the sale", "含全部订单约 %.0f MiB，上限 %.0f MiB", used, limit),
		Say("raise maxmemory, or remove what is not needed", "调高 maxmemory 或清理无用数据"))
}

// units returns how many units the sale has.
func (f *Facts) units() int64 {
	if f.Sale == nil {
		return 0
	}
	return f.Sale.Issued
}

// replicas warns if a master has only as many replicas as must confirm: once a replica dies or is promoted, no purchase
// can be confirmed any more.
func (f *Facts) replicas(r Redis) Line {
	do := Say("connect more, or lower SECKILL_REDIS_REPLICAS: every purchase would be UNKNOWN_OUTCOME",
		"增加副本或调低 SECKILL_REDIS_REPLICAS，否则所有购买都会返回 UNKNOWN_OUTCOME")
	scarce := f.Confirming > 0 && r.Replicas == f.Confirming
	if scarce {
		do = Say("connect one more: one more failure stops the sale, as every purchase would be UNKNOWN_OUTCOME",
			"再增加一个副本：再有一次故障就会停售，所有购买都会返回 UNKNOWN_OUTCOME")
	}
	return NewLine("redis.replicas", Worse(r.Replicas < f.Confirming, scarce),
		Say("%d are connected, %d must confirm each order", "已连接 %d 个，每个订单需 %d 个确认", r.Replicas, f.Confirming),
		do)
}
