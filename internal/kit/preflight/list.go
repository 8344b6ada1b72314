package preflight

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

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
func List(f Facts, now time.Time) []Line {
	return slices.Concat(f.ofSale(now), f.ofRedis(), f.ofLedger(), f.ofInstances(), []Line{f.backlog()})
}

func (f *Facts) ofSale(now time.Time) []Line {
	switch {
	case f.SaleErr != nil:
		return []Line{Unknown("sale.window", No, f.SaleErr)}
	case f.Sale == nil:
		return nil
	}
	s := f.Sale
	return append([]Line{s.window(now), s.units(), s.price(), f.payment(), s.changed(now)}, s.More...)
}

func (f *Facts) ofLedger() []Line {
	switch {
	case f.LedgerErr != nil:
		return []Line{Unknown("ledger.answers", No, f.LedgerErr)}
	case f.Embedded: // SQLite flushes at each commit
		return []Line{f.Ledger.answers()}
	}
	return []Line{
		f.Ledger.answers(), f.Ledger.durable(), f.connections(), clock("ledger.clock", "MySQL", f.Ledger.Ahead),
	}
}

func (f *Facts) ofInstances() []Line {
	if f.Embedded || f.InstancesErr != nil || len(f.Instances) == 0 {
		return []Line{f.instances()}
	}
	return []Line{f.instances(), f.versions()}
}

// Stamp writes a time as the console does in each language.
func Stamp(t time.Time) words.Text {
	return text{t.Format("2 Jan 2006, 15:04:05 MST"), t.Format("2006年1月2日 MST 15:04:05")}
}

// window checks the sale's times by this machine's clock, which other lines compare with the stores' clocks.
func (s *Sale) window(now time.Time) Line {
	const name = "sale.window"
	switch {
	case s.Retired || !now.Before(s.End):
		return NewLine(name, No, Say("it ended at %s", "已于 %s 结束", Stamp(s.End)),
			Say("copy it to a new voucher, or set another endTime", "复制为新优惠券，或修改 endTime"))
	case s.OffShelf:
		return NewLine(name, No, Say("the voucher is off the shelf", "优惠券已下架"),
			Say("put it on the shelf again", "重新上架"))
	case s.Paused:
		return NewLine(name, No, Say("the sale is paused", "活动已暂停"), Say("resume it", "恢复活动"))
	case !now.Before(s.Begin):
		return NewLine(name, OK, Say("it runs since %s, until %s", "自 %s 起进行中，至 %s",
			Stamp(s.Begin), Stamp(s.End)), text{})
	}
	return NewLine(name, OK, Say("%s from %s, in %s, until %s", "共 %s 份，%s 开始（%s后），%s 结束",
		Counted(s.Issued, "unit", "units"), Stamp(s.Begin), Span(s.Begin.Sub(now)), Stamp(s.End)), text{})
}

// units checks that both stores account for all units.
func (s *Sale) units() Line {
	if s.Unbalanced == "" && s.Undecided != "" {
		return NewLine("sale.units", Warning, Say("not found out: %s", "未能查明：%s", s.Undecided),
			Say("check again in a moment; server reconcile -voucher %s shows the sums",
				"稍后再检查一次；server reconcile -voucher %s 可查看明细", s.id()))
	}
	what := Say("%s, all accounted for", "%s 份均已核对无误", Counted(s.Issued, "unit", "units"))
	if s.Unbalanced != "" {
		what = Say("%s", "%s", s.Unbalanced)
	}
	return NewLine("sale.units", Worse(s.Unbalanced != "", false), what,
		Say("server reconcile -voucher %s shows the sums", "server reconcile -voucher %s 可查看明细", s.id()))
}

// price warns if buyers pay more than the coupon is worth. A shop may mean it; neither can be changed.
func (s *Sale) price() Line {
	what := Say("it costs no more than it is worth", "售价不高于面值")
	if s.Price > s.Worth {
		what = Say("buyers pay %s for what is worth %s", "售价 %s 高于面值 %s", amount(s.Price), amount(s.Worth))
	}
	return NewLine("sale.price", Worse(false, s.Price > s.Worth), what,
		Say("if that is not meant, call it off and create it again: neither can be changed",
			"如非有意，请取消活动并重新创建：两者均不可修改"))
}

// amount returns cents as an amount without its currency.
func amount(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

func (f *Facts) payment() Line {
	what := Say("a payment provider is configured; it is not asked here", "已配置支付渠道（此处不向其查询）")
	switch {
	case f.Sale.Price == 0:
		what = Say("it costs nothing", "免费，无需支付")
	case !f.HasProvider:
		what = Say("it has a price, and nobody takes money", "有价格，但未配置支付渠道")
	}
	return NewLine("payment.provider", Worse(f.Sale.Price > 0 && !f.HasProvider, false), what,
		Say("set SECKILL_PAYMENT_PROVIDER on all instances", "在所有实例上设置 SECKILL_PAYMENT_PROVIDER"))
}

// changed lists the changes by admins since the voucher was created, and warns of those within the last day.
func (s *Sale) changed(now time.Time) Line {
	if len(s.Changes) == 0 {
		return NewLine("sale.changes", OK, Say("nothing since it was created", "创建后未作修改"), text{})
	}
	var all [languages][]string
	late := false
	for _, c := range s.Changes {
		late = late || now.Sub(c.At) < recent
		for language, says := range c.says() {
			all[language] = append(all[language], says)
		}
	}
	return NewLine("sale.changes", Worse(false, late),
		text{strings.Join(all[English], "; "), strings.Join(all[Chinese], "；")},
		Say("see whether that was meant; the console's audit trail has from what to what", "请确认修改无误；控制台的操作记录列出修改前后的值"))
}

// says returns a text with the change, its author and its time.
func (c Change) says() text {
	did, known := map[string]text{
		"change": {"changed", "修改了"}, "pause": {"paused it", "暂停了活动"}, "resume": {"resumed it", "恢复了活动"},
		"stock": {"changed the stock", "调整了库存"},
	}[c.Action]
	if !known {
		did = text{c.Action, c.Action}
	}
	var fields text
	if c.Action == "change" && len(c.Fields) > 0 {
		var names [languages][]string
		for _, field := range c.Fields {
			name, known := fieldNames[field]
			if !known {
				name = text{field, field}
			}
			for language, one := range name {
				names[language] = append(names[language], one)
			}
		}
		fields = text{" " + strings.Join(names[English], ", "), strings.Join(names[Chinese], "、")}
	}
	who := text{"the service", "服务"}
	if c.By != 0 {
		who = Say("admin %s", "管理员 %s", strconv.FormatInt(c.By, 10))
	}
	return Say("%s: %s %s%s", "%s：%s %s%s", Stamp(c.At), who, did, fields)
}

// fieldNames are the fields of a voucher that can be changed, as the console names them.
var fieldNames = map[string]text{
	"title": {"the title", "标题"}, "subTitle": {"the subtitle", "副标题"}, "rules": {"the rules", "使用规则"},
	"status": {"whether it is on the shelf", "上下架"}, "visibleFrom": {"from when it is visible", "可见时间"},
	"beginTime": {"when it begins", "开始时间"}, "endTime": {"when it ends", "结束时间"},
	"guards": {"the guards against bots", "防刷设置"}, "validUntil": {"how long coupons are valid", "券有效期"},
	"archiveTime": {"whether it is archived", "归档"}, "stock": {"the stock", "库存"},
	"paused": {"whether it is paused", "暂停"},
}

// id returns the voucher's id as text.
func (s *Sale) id() string { return strconv.FormatInt(s.VoucherID, 10) }

func (l Ledger) answers() Line {
	if l.ReadOnly {
		return NewLine("ledger.answers", No, Say("it is read-only", "处于只读状态"),
			Say("point SECKILL_MYSQL_DSN at the primary", "将 SECKILL_MYSQL_DSN 指向主库"))
	}
	slow := l.Answer > slowAnswer || l.Commit > slowCommit
	return NewLine("ledger.answers", Worse(l.Answer > hopelessAnswer || l.Commit > hopelessCommit, slow),
		Say("within %s, a transaction within %s", "查询 %s，事务 %s", Span(l.Answer), Span(l.Commit)),
		Say("see what else uses its disk; orders are recorded in batches, so this delays rows, not answers",
			"检查磁盘负载；订单批量入库，影响的是入库而不是应答"))
}

func (l Ledger) durable() Line {
	safe := l.FlushAtTrx == "1" && (l.SyncBinlog == "" || l.SyncBinlog == "1")
	binlog := text{"sync_binlog " + l.SyncBinlog, "sync_binlog " + l.SyncBinlog}
	if l.SyncBinlog == "" {
		binlog = text{"no binary log", "无 binlog"}
	}
	measured := Say("a transaction is on disk within %s", "事务 %s落盘", Span(l.Commit))
	if !safe {
		measured = Say("a transaction is done within %s, before it is on disk", "事务 %s完成，此时尚未落盘", Span(l.Commit))
	}
	return NewLine("ledger.durability", Worse(false, !safe),
		Say("innodb_flush_log_at_trx_commit %s, %s (measured: %s)", "innodb_flush_log_at_trx_commit %s，%s（实测：%s）",
			shown(l.FlushAtTrx), binlog, measured),
		Say("set both to 1: a crash of its machine would lose recorded orders", "均设为 1，否则宕机会丢失已入库的订单"))
}

// connections checks that the database allows as many connections as all instances' pools need.
func (f *Facts) connections() Line {
	const name = "ledger.connections"
	if f.InstancesErr != nil { // the number of instances decides
		return Unknown(name, Warning, f.InstancesErr)
	}
	need := len(f.Instances)*f.PoolSize + spareConnections
	return NewLine(name, Worse(need > f.Ledger.MaxConnected, false),
		Say("%d of %d in use; instances: %d, with up to %d each", "已用 %d，上限 %d；%d 个实例每个最多 %d",
			f.Ledger.Connections, f.Ledger.MaxConnected, len(f.Instances), f.PoolSize),
		Say("raise max_connections to %s, or lower SECKILL_MYSQL_POOL_SIZE",
			"将 max_connections 调到 %s，或调低 SECKILL_MYSQL_POOL_SIZE", strconv.Itoa(need)))
}

func clock(name, whose string, ahead time.Duration) Line {
	wrong := ahead.Abs()
	what := Say("%s is %s ahead of this machine", "%s 的时钟比本机快 %s", whose, Span(ahead))
	if ahead < 0 {
		what = Say("%s is %s behind this machine", "%s 的时钟比本机慢 %s", whose, Span(ahead))
	}
	return NewLine(name, Worse(wrong > hopelessClock, wrong > wrongClock), what,
		Say("synchronize the clocks (NTP); Redis's decides when the sale begins", "同步时钟（NTP）；活动开始时间以 Redis 的时钟为准"))
}

// instances counts the living instances: if one dies, another must be left.
func (f *Facts) instances() Line {
	const name = "instances"
	switch {
	case f.Embedded:
		return NewLine(name, Warning, Say("one process, with its stores inside", "单进程，存储内嵌"),
			Say("for trying out: while it restarts nobody can buy; for a real sale use Redis and MySQL "+
				"(docs/operations.md)", "仅供试用：重启期间无法购买；正式活动请使用 Redis 与 MySQL（docs/operations.md）"))
	case f.InstancesErr != nil:
		return Unknown(name, Warning, f.InstancesErr)
	}
	var names []string
	for _, i := range f.Instances {
		names = append(names, i.Name)
	}
	what := Say("%d: %s", "%d 个：%s", len(names), strings.Join(names, ", "))
	switch {
	case len(names) == 0:
		return NewLine(name, No, Say("none has sent a heartbeat lately", "近期没有实例上报心跳"), Say("start some", "启动实例"))
	case len(names) == 1:
		return NewLine(name, Warning, what, Say("start a second one: while this one restarts, nobody can buy",
			"再启动一个实例：仅有的实例重启时无法购买"))
	}
	return NewLine(name, OK, what, text{})
}

// versions warns if instances have different versions: that is fine during a deployment, but not during a sale.
func (f *Facts) versions() Line {
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
	do := Say("finish the upgrade, or go back: during the sale all should be of one version", "完成升级或回退：活动期间所有实例应为同一版本")
	if len(old) > 0 {
		do = Say("finish the upgrade: %s do not read all that this version writes", "完成升级：%s 无法读取本版本写入的全部格式",
			strings.Join(old, ", "))
	}
	return NewLine("instances.versions", Worse(false, len(by) > 1 || len(old) > 0),
		Say("%s", "%s", strings.Join(all, "; ")), do)
}

func (f *Facts) backlog() Line {
	const name = "orders.waiting"
	if f.BacklogErr != nil {
		return Unknown(name, Warning, f.BacklogErr)
	}
	return NewLine(name, Worse(f.Waiting > manyWaiting, f.DeadLetters > 0),
		Say("entries of orders that wait for their rows: %d; dead letters: %d", "%d 条订单消息等待入库，%d 条死信",
			f.Waiting, f.DeadLetters),
		Say("see why recording is slow; server deadletter list shows what could not be read",
			"检查入库缓慢的原因；server deadletter list 列出无法解析的消息"))
}

// shown returns a setting, or "?" if it is hidden.
func shown(v string) string { return cmp.Or(v, "?") }
