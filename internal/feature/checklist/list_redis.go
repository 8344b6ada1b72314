package checklist

import (
	"errors"

	"seckill/internal/kit/check"
	"seckill/internal/kit/words"
)

var errNoInfo = errors.New("it shows no INFO")

func (f *Facts) ofRedis() []check.Line {
	switch {
	case f.RedisErr != nil:
		return []check.Line{check.Unknown("redis.answers", check.No, f.RedisErr)}
	case f.Embedded: // no settings for operators, and every answer waits for its row
		return []check.Line{f.Redis.answers()}
	}
	return []check.Line{
		f.Redis.answers(), f.Redis.durable(), f.Redis.restarts(), f.memory(), f.replicas(),
		clock("redis.clock", "Redis", f.Redis.Ahead),
	}
}

func (r Redis) answers() check.Line {
	return check.NewLine("redis.answers", check.Worse(r.Answer > hopelessAnswer, r.Answer > slowAnswer),
		check.Say("within %s, writes within %s", "读 %s，写 %s", check.Span(r.Answer), check.Span(r.Write)),
		check.Say("see what else uses its processor, disk or network", "检查占用其 CPU、磁盘或网络的其他任务"))
}

func (r Redis) durable() check.Line {
	const name = "redis.durability"
	what := check.Say("appendonly %s, appendfsync %s, maxmemory-policy %s (measured: %s)",
		"appendonly %s，appendfsync %s，maxmemory-policy %s（实测：%s）",
		shown(r.AppendOnly), shown(r.AppendFsync), shown(r.Eviction), r.measured())
	switch {
	case r.FailedWrites:
		return check.NewLine(name, check.No, check.Say("it cannot write its append-only file", "无法写入 AOF 文件"),
			check.Say("free or replace its disk", "清理或更换磁盘"))
	case r.Eviction != "" && r.Eviction != "noeviction":
		return check.NewLine(name, check.No, what,
			check.Say("CONFIG SET maxmemory-policy noeviction: it would delete sales and orders",
				"执行 CONFIG SET maxmemory-policy noeviction，否则会丢弃活动与订单"))
	case r.AppendOnly == "no" || r.AppendFsync == "no":
		return check.NewLine(name, check.No, what,
			check.Say("CONFIG SET appendonly yes, and appendfsync always or everysec: accepted orders would be lost",
				"执行 CONFIG SET appendonly yes，appendfsync 设为 always 或 everysec，否则已受理的订单会丢失"))
	case r.AppendFsync == "everysec":
		return check.NewLine(name, check.Warning, what,
			check.Say("a power loss can cost the last second or two of orders; always keeps them "+
				"(docs/operations.md#durability)",
				"断电可能丢失最后一两秒的订单；设为 always 可避免（docs/operations.md#durability）"))
	case r.AppendFsync == "" || r.AppendOnly == "" || r.Eviction == "":
		return check.NewLine(name, check.Warning, what,
			check.Say("look at what it does not show, in the console of its provider",
				"在托管商控制台中查看未显示的设置"))
	}
	return check.NewLine(name, check.OK, what, words.Text{})
}

// measured tells where an answered write is: with appendfsync always, Redis answers once it is on disk.
func (r Redis) measured() words.Text {
	switch {
	case r.AppendOnly == "no":
		return check.Say("a write is answered within %s, and in memory alone", "写入 %s应答，仅在内存中", check.Span(r.Write))
	case r.AppendOnly == "" || r.AppendFsync == "":
		return check.Say("a write is answered within %s", "写入 %s应答", check.Span(r.Write))
	case r.AppendFsync == "always":
		return check.Say("a write is on disk within %s, and then answered", "写入 %s落盘，之后才应答", check.Span(r.Write))
	}
	return check.Say("a write is answered within %s, before it is on disk", "写入 %s应答，此时尚未落盘", check.Span(r.Write))
}

// restarts checks that a restart and a failover are noticed.
func (r Redis) restarts() check.Line {
	what := check.Say("noticed, by its run id", "可察觉（依据 run id）")
	if r.NoInfo {
		what = check.Say("not noticed: it shows this user no INFO", "无法察觉：该用户无权执行 INFO")
	}
	return check.NewLine("redis.restarts", check.Worse(r.NoInfo, false), what,
		check.Say("ACL SETUSER <name> +info: buyers would be let in over orders that it lost (docs/operations.md)",
			"执行 ACL SETUSER <用户名> +info，否则丢失数据后仍会放行买家（docs/operations.md）"))
}

// memory checks that Redis has room for its data and all orders of the sale.
func (f *Facts) memory() check.Line {
	const name, mib = "redis.memory", 1 << 20
	r := f.Redis
	if r.NoInfo {
		return check.Unknown(name, check.Warning, errNoInfo)
	}
	used, limit := float64(r.Used+f.units()*orderBytes)/mib, float64(r.Limit)/mib
	if r.Limit == 0 {
		return check.NewLine(name, check.Warning, check.Say("%.0f MiB with all orders of the sale, and no maxmemory",
			"含全部订单约 %.0f MiB，未设 maxmemory", used),
			check.Say("set maxmemory below what the machine has, so that it refuses instead of being killed",
				"将 maxmemory 设为低于物理内存，使其拒绝写入而不是被系统终止"))
	}
	return check.NewLine(name, check.Worse(used > tooFullMemory*limit, used > fullMemory*limit),
		check.Say("%.0f of %.0f MiB with all orders of the sale", "含全部订单约 %.0f MiB，上限 %.0f MiB", used, limit),
		check.Say("raise maxmemory, or remove what is not needed", "调高 maxmemory 或清理无用数据"))
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
func (f *Facts) replicas() check.Line {
	do := check.Say("connect more, or lower SECKILL_REDIS_REPLICAS: every purchase would be UNKNOWN_OUTCOME",
		"增加副本或调低 SECKILL_REDIS_REPLICAS，否则所有购买都会返回 UNKNOWN_OUTCOME")
	scarce := f.Confirming > 0 && f.Redis.Replicas == f.Confirming
	if scarce {
		do = check.Say("connect one more: one more failure stops the sale, as every purchase would be UNKNOWN_OUTCOME",
			"再增加一个副本：再有一次故障就会停售，所有购买都会返回 UNKNOWN_OUTCOME")
	}
	return check.NewLine("redis.replicas", check.Worse(f.Redis.Replicas < f.Confirming, scarce),
		check.Say("%d are connected, %d must confirm each order", "已连接 %d 个，每个订单需 %d 个确认",
			f.Redis.Replicas, f.Confirming),
		do)
}
