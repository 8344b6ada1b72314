package checklist

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"seckill/internal/kit/check"
	"seckill/internal/kit/currency"
	"seckill/internal/kit/words"
)

// Limits between ok, warning and no.
const (
	slowAnswer, hopelessAnswer = 10 * time.Millisecond, 100 * time.Millisecond
	slowCommit, hopelessCommit = 50 * time.Millisecond, 500 * time.Millisecond
	wrongClock, hopelessClock  = time.Second, 10 * time.Second
	// Fractions of Redis's memory limit that may be in use once all orders of the sale are in it.
	fullMemory, tooFullMemory = 0.6, 0.8
	orderBytes                = 400 // bytes in Redis for one order: its holder and its entry, until the row exists
	// spareConnections are the ledger's connections reserved for clients other than instances.
	spareConnections = 10
	manyWaiting      = 1000
	recent           = 24 * time.Hour
)

// List judges the facts at the time now. The most important lines come first.
func List(f Facts, now time.Time) []check.Line {
	return slices.Concat(f.ofSale(now), f.ofRedis(), f.ofLedger(), f.ofInstances(), []check.Line{f.backlog()},
		f.unset())
}

// unset has a line for each provider that is set no more and has refunds that wait; none as a rule.
func (f *Facts) unset() (lines []check.Line) {
	for _, p := range f.Unset {
		lines = append(lines, check.NewLine("payment.unset", check.Warning,
			check.Say("%s: refunds that wait for this provider, which is set no more: %d",
				"%s：该渠道已不在设置中，等待它处理的退款：%d", p.Name, p.Refunds),
			check.Say("set it again in SECKILL_PAYMENT_PROVIDERS, behind the default one",
				"在 SECKILL_PAYMENT_PROVIDERS 中重新加上（放在默认渠道之后）")))
	}
	return lines
}

func (f *Facts) ofSale(now time.Time) []check.Line {
	switch {
	case f.SaleErr != nil:
		return []check.Line{check.Unknown("sale.window", check.No, f.SaleErr)}
	case f.Sale == nil:
		return nil
	}
	s := f.Sale
	return append([]check.Line{s.window(now), s.units(), s.price(), f.payment(), s.changed(now)}, s.More...)
}

func (f *Facts) ofLedger() []check.Line {
	switch {
	case f.LedgerErr != nil:
		return []check.Line{check.Unknown("ledger.answers", check.No, f.LedgerErr)}
	case f.Embedded: // SQLite flushes at each commit
		return []check.Line{f.Ledger.answers()}
	}
	return []check.Line{
		f.Ledger.answers(), f.Ledger.durable(), f.connections(), clock("ledger.clock", "MySQL", f.Ledger.Ahead),
	}
}

func (f *Facts) ofInstances() []check.Line {
	if f.Embedded || f.InstancesErr != nil || len(f.Instances) == 0 {
		return []check.Line{f.instances()}
	}
	return []check.Line{f.instances(), f.versions()}
}

// window checks the sale's times by this machine's clock, which other lines compare with the stores' clocks.
func (s *Sale) window(now time.Time) check.Line {
	const name = "sale.window"
	switch {
	case s.Retired || !now.Before(s.End):
		return check.NewLine(name, check.No, check.Say("it ended at %s", "已于 %s 结束", check.Stamp(s.End)),
			check.Say("copy it to a new voucher, or set another endTime", "复制为新优惠券，或修改 endTime"))
	case s.OffShelf:
		return check.NewLine(name, check.No, check.Say("the voucher is off the shelf", "优惠券已下架"),
			check.Say("put it on the shelf again", "重新上架"))
	case s.Paused:
		return check.NewLine(name, check.No, check.Say("the sale is paused", "活动已暂停"), check.Say("resume it", "恢复活动"))
	case !now.Before(s.Begin):
		return check.NewLine(name, check.OK, check.Say("it runs since %s, until %s", "自 %s 起进行中，至 %s",
			check.Stamp(s.Begin), check.Stamp(s.End)), words.Text{})
	}
	return check.NewLine(name, check.OK, check.Say("%s from %s, in %s, until %s", "共 %s 份，%s 开始（%s后），%s 结束",
		check.Counted(s.Issued, "unit", "units"), check.Stamp(s.Begin), check.Span(s.Begin.Sub(now)),
		check.Stamp(s.End)), words.Text{})
}

// units checks that both stores account for all units.
func (s *Sale) units() check.Line {
	if s.Unbalanced == "" && s.Undecided != "" {
		return check.NewLine("sale.units", check.Warning, check.Say("not found out: %s", "未能查明：%s", s.Undecided),
			check.Say("check again in a moment; server reconcile -voucher %s shows the sums",
				"稍后再检查一次；server reconcile -voucher %s 可查看明细", s.id()))
	}
	what := check.Say("%s, all accounted for", "%s 份均已核对无误", check.Counted(s.Issued, "unit", "units"))
	if s.Unbalanced != "" {
		what = check.Say("%s", "%s", s.Unbalanced)
	}
	return check.NewLine("sale.units", check.Worse(s.Unbalanced != "", false), what,
		check.Say("server reconcile -voucher %s shows the sums", "server reconcile -voucher %s 可查看明细", s.id()))
}

// price warns if buyers pay more than the coupon is worth. A shop may mean it; neither can be changed.
func (s *Sale) price() check.Line {
	what := check.Say("it costs no more than it is worth", "售价不高于面值")
	if s.Price > s.Worth {
		what = check.Say("buyers pay %s for what is worth %s", "售价 %s 高于面值 %s",
			currency.Write(s.Price, s.Currency), currency.Write(s.Worth, s.Currency))
	}
	return check.NewLine("sale.price", check.Worse(false, s.Price > s.Worth), what,
		check.Say("if that is not meant, call it off and create it again: neither can be changed",
			"如非有意，请取消活动并重新创建：两者均不可修改"))
}

func (f *Facts) payment() check.Line {
	what := check.Say("a payment provider is configured; it is not asked here", "已配置支付渠道（此处不向其查询）")
	switch {
	case f.Sale.Price == 0:
		what = check.Say("it costs nothing", "免费，无需支付")
	case !f.HasProvider:
		what = check.Say("it has a price, and nobody takes money", "有价格，但未配置支付渠道")
	}
	return check.NewLine("payment.provider", check.Worse(f.Sale.Price > 0 && !f.HasProvider, false), what,
		check.Say("set SECKILL_PAYMENT_PROVIDERS on all instances", "在所有实例上设置 SECKILL_PAYMENT_PROVIDERS"))
}

// changed lists the changes by admins since the voucher was created, and warns of those within the last day.
func (s *Sale) changed(now time.Time) check.Line {
	if len(s.Changes) == 0 {
		return check.NewLine("sale.changes", check.OK, check.Say("nothing since it was created", "创建后未作修改"),
			words.Text{})
	}
	var all [words.Languages][]string
	late := false
	for _, c := range s.Changes {
		late = late || now.Sub(c.At) < recent
		for language, says := range c.says() {
			all[language] = append(all[language], says)
		}
	}
	return check.NewLine("sale.changes", check.Worse(false, late),
		words.Text{strings.Join(all[words.English], "; "), strings.Join(all[words.Chinese], "；")},
		check.Say("see whether that was meant; the console's audit trail has from what to what",
			"请确认修改无误；控制台的操作记录列出修改前后的值"))
}

// says returns a text with the change, its author and its time.
func (c Change) says() words.Text {
	did, known := map[string]words.Text{
		"change": {"changed", "修改了"}, "pause": {"paused it", "暂停了活动"}, "resume": {"resumed it", "恢复了活动"},
		"stock": {"changed the stock", "调整了库存"},
	}[c.Action]
	if !known {
		did = words.Text{c.Action, c.Action}
	}
	var fields words.Text
	if c.Action == "change" && len(c.Fields) > 0 {
		var names [words.Languages][]string
		for _, field := range c.Fields {
			name, known := fieldNames[field]
			if !known {
				name = words.Text{field, field}
			}
			for language, one := range name {
				names[language] = append(names[language], one)
			}
		}
		fields = words.Text{" " + strings.Join(names[words.English], ", "), strings.Join(names[words.Chinese], "、")}
	}
	who := words.Text{"the service", "服务"}
	if c.By != 0 {
		who = check.Say("admin %s", "管理员 %s", strconv.FormatInt(c.By, 10))
	}
	return check.Say("%s: %s %s%s", "%s：%s %s%s", check.Stamp(c.At), who, did, fields)
}

// fieldNames are the fields of a voucher that can be changed, as the console names them.
var fieldNames = map[string]words.Text{
	"title": {"the title", "标题"}, "subTitle": {"the subtitle", "副标题"}, "rules": {"the rules", "使用规则"},
	"status": {"whether it is on the shelf", "上下架"}, "visibleFrom": {"from when it is visible", "可见时间"},
	"beginTime": {"when it begins", "开始时间"}, "endTime": {"when it ends", "结束时间"},
	"guards": {"the guards against bots", "防刷设置"}, "validUntil": {"how long coupons are valid", "券有效期"},
	"archiveTime": {"whether it is archived", "归档"}, "stock": {"the stock", "库存"},
	"paused": {"whether it is paused", "暂停"},
}

// id returns the voucher's id as text.
func (s *Sale) id() string { return strconv.FormatInt(s.VoucherID, 10) }

func (l Ledger) answers() check.Line {
	if l.ReadOnly {
		return check.NewLine("ledger.answers", check.No, check.Say("it is read-only", "处于只读状态"),
			check.Say("point SECKILL_MYSQL_DSN at the primary", "将 SECKILL_MYSQL_DSN 指向主库"))
	}
	slow := l.Answer > slowAnswer || l.Commit > slowCommit
	return check.NewLine("ledger.answers", check.Worse(l.Answer > hopelessAnswer || l.Commit > hopelessCommit, slow),
		check.Say("within %s, a transaction within %s", "查询 %s，事务 %s", check.Span(l.Answer), check.Span(l.Commit)),
		check.Say("see what else uses its disk; orders are recorded in batches, so this delays rows, not answers",
			"检查磁盘负载；订单批量入库，影响的是入库而不是应答"))
}

func (l Ledger) durable() check.Line {
	safe := l.FlushAtTrx == "1" && (l.SyncBinlog == "" || l.SyncBinlog == "1")
	binlog := words.Text{"sync_binlog " + l.SyncBinlog, "sync_binlog " + l.SyncBinlog}
	if l.SyncBinlog == "" {
		binlog = words.Text{"no binary log", "无 binlog"}
	}
	measured := check.Say("a transaction is on disk within %s", "事务 %s落盘", check.Span(l.Commit))
	if !safe {
		measured = check.Say("a transaction is done within %s, before it is on disk", "事务 %s完成，此时尚未落盘",
			check.Span(l.Commit))
	}
	return check.NewLine("ledger.durability", check.Worse(false, !safe),
		check.Say("innodb_flush_log_at_trx_commit %s, %s (measured: %s)", "innodb_flush_log_at_trx_commit %s，%s（实测：%s）",
			shown(l.FlushAtTrx), binlog, measured),
		check.Say("set both to 1: a crash of its machine would lose recorded orders", "均设为 1，否则宕机会丢失已入库的订单"))
}

// connections checks that the database allows as many connections as all instances' pools need.
func (f *Facts) connections() check.Line {
	const name = "ledger.connections"
	if f.InstancesErr != nil { // the number of instances decides
		return check.Unknown(name, check.Warning, f.InstancesErr)
	}
	need := len(f.Instances)*f.PoolSize + spareConnections
	return check.NewLine(name, check.Worse(need > f.Ledger.MaxConnected, false),
		check.Say("%d of %d in use; instances: %d, with up to %d each", "已用 %d，上限 %d；%d 个实例每个最多 %d",
			f.Ledger.Connections, f.Ledger.MaxConnected, len(f.Instances), f.PoolSize),
		check.Say("raise max_connections to %s, or lower SECKILL_MYSQL_POOL_SIZE",
			"将 max_connections 调到 %s，或调低 SECKILL_MYSQL_POOL_SIZE", strconv.Itoa(need)))
}

func clock(name, whose string, ahead time.Duration) check.Line {
	wrong := ahead.Abs()
	what := check.Say("%s is %s ahead of this machine", "%s 的时钟比本机快 %s", whose, check.Span(ahead))
	if ahead < 0 {
		what = check.Say("%s is %s behind this machine", "%s 的时钟比本机慢 %s", whose, check.Span(ahead))
	}
	return check.NewLine(name, check.Worse(wrong > hopelessClock, wrong > wrongClock), what,
		check.Say("synchronize the clocks (NTP); Redis's decides when the sale begins",
			"同步时钟（NTP）；活动开始时间以 Redis 的时钟为准"))
}

// instances counts the living instances: if one dies, another must be left.
func (f *Facts) instances() check.Line {
	const name = "instances"
	switch {
	case f.Embedded:
		return check.NewLine(name, check.Warning, check.Say("one process, with its stores inside", "单进程，存储内嵌"),
			check.Say("for trying out: while it restarts nobody can buy; for a real sale use Redis and MySQL "+
				"(docs/operations.md)", "仅供试用：重启期间无法购买；正式活动请使用 Redis 与 MySQL（docs/operations.md）"))
	case f.InstancesErr != nil:
		return check.Unknown(name, check.Warning, f.InstancesErr)
	}
	var names []string
	for _, i := range f.Instances {
		names = append(names, i.Name)
	}
	what := check.Say("%d: %s", "%d 个：%s", len(names), strings.Join(names, ", "))
	switch {
	case len(names) == 0:
		return check.NewLine(name, check.No, check.Say("none has sent a heartbeat lately", "近期没有实例上报心跳"),
			check.Say("start some", "启动实例"))
	case len(names) == 1:
		return check.NewLine(name, check.Warning, what,
			check.Say("start a second one: while this one restarts, nobody can buy",
				"再启动一个实例：仅有的实例重启时无法购买"))
	}
	return check.NewLine(name, check.OK, what, words.Text{})
}

// versions warns if instances have different versions: that is fine during a deployment, but not during a sale.
func (f *Facts) versions() check.Line {
	var old, all []string
	by := map[string][]string{}
	for _, i := range f.Instances {
		by[shown(i.Version)] = append(by[shown(i.Version)], i.Name)
		if i.Old {
			old = append(old, i.Name)
		}
	}
	for _, version := range slices.Sorted(maps.Keys(by)) {
		all = append(all, fmt.Sprintf("%s: %s", version, strings.Join(by[version], ", ")))
	}
	do := check.Say("finish the upgrade, or go back: during the sale all should be of one version",
		"完成升级或回退：活动期间所有实例应为同一版本")
	if len(old) > 0 {
		do = check.Say("finish the upgrade: %s do not read all that this version writes", "完成升级：%s 无法读取本版本写入的全部格式",
			strings.Join(old, ", "))
	}
	return check.NewLine("instances.versions", check.Worse(false, len(by) > 1 || len(old) > 0),
		check.Say("%s", "%s", strings.Join(all, "; ")), do)
}

func (f *Facts) backlog() check.Line {
	const name = "orders.waiting"
	if f.BacklogErr != nil {
		return check.Unknown(name, check.Warning, f.BacklogErr)
	}
	return check.NewLine(name, check.Worse(f.Waiting > manyWaiting, f.DeadLetters > 0),
		check.Say("entries of orders that wait for their rows: %d; dead letters: %d", "%d 条订单消息等待入库，%d 条死信",
			f.Waiting, f.DeadLetters),
		check.Say("see why recording is slow; server deadletter list shows what could not be read",
			"检查入库缓慢的原因；server deadletter list 列出无法解析的消息"))
}

// shown returns a setting, or "?" if it is hidden.
func shown(v string) string { return cmp.Or(v, "?") }
