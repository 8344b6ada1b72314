package life

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"seckill/internal/order"
	"seckill/internal/order/audit"
	"seckill/internal/order/payment"
)

// The names of a ledger's copies begin with these.
const (
	blank  = "blank_"  // as it was before the first sale
	backup = "backup_" // as it was at some moment of a history
)

// backModel drives one world whose ledger goes back, as in a failover to a server that lagged behind.
type backModel struct {
	*model
	tables  tables
	kept    bool // there is a backup
	decided bool // something was decided since, in vain or not
	lost    bool // the ledger has gone back by something that was decided
	back    *int // how often ledgers have gone back, in all histories
}

// TestLedgerGoesBack checks a part of the model while the ledger goes back to earlier moments: nothing that was taken
// off sale is sold until somebody puts it on sale again, lost cancellations pause no sale, and the core of the
// invariants holds at every moment.
func TestLedgerGoesBack(t *testing.T) {
	t.Parallel()
	s := newEnv(t)
	s.stores.sql.NameOperations()
	kept := newTables(t, s.db)
	must(t, kept.copyInto(t.Context(), blank, ""))
	back, paused := 0, int64(0)
	rapid.Check(t, func(rt *rapid.T) {
		must(t, kept.copyInto(t.Context(), "", blank)) // copies of one sale are small
		w := s.newWorld(t, rt)
		defer w.end()
		m := &backModel{model: newModel(w), tables: kept, back: &back}
		rt.Repeat(map[string]func(*rapid.T){
			"buy":        m.buy,
			"buy more":   m.buy, // so that it is drawn more often
			"sell":       m.sell,
			"record":     func(*rapid.T) { w.record() },
			"pay":        m.pay,
			"confirm":    m.confirm,
			"cancel":     m.cancel,
			"cancel too": m.cancel,
			"expire":     m.expire,
			"refund":     m.refund,
			"restock":    m.decide(m.restock),
			"pause":      m.decide(m.pause),
			"shelf":      m.decide(m.shelf),
			"call off":   m.decide(m.callOff),
			"work":       func(*rapid.T) { w.work() },
			"fault":      m.fault,
			"crash":      func(*rapid.T) { w.crash() },
			"rebuild":    func(*rapid.T) { w.rebuild() },
			"keep":       m.keep,
			"keep too":   m.keep,
			"go back":    m.goBack,
			"go back on": m.goBack,
			"quiesce":    m.quiesce,
			"":           m.holds,
		})
		m.quiesce(rt)
		paused += w.count("SELECT COUNT(*) FROM tb_lost_decision WHERE voucher_id = ?", w.voucher)
	})
	t.Logf("ledgers have gone back %d times; %d lost decisions were found at the end", back, paused)
}

// decide has a person decide something. Its call is not cut off, so it is done or not done by its end.
func (m *backModel) decide(do func(*rapid.T)) func(*rapid.T) {
	return func(t *rapid.T) {
		m.w.calm = true
		defer func() { m.w.calm = false }()
		m.decided, m.w.off.closed = true, false // it may be put on sale by this
		do(t)
	}
}

// keep makes a backup of the ledger.
func (m *backModel) keep(t *rapid.T) {
	m.w.must(t, m.tables.copyInto(m.w.ctx, backup, ""))
	m.kept, m.decided = true, false
}

// goBack puts the ledger back to the backup, while an instance runs.
func (m *backModel) goBack(t *rapid.T) {
	if !m.kept {
		t.Skip("there is no backup")
	}
	m.w.must(t, m.tables.copyInto(m.w.ctx, "", backup))
	m.lost = m.lost || m.decided
	m.w.off.known = m.w.view(t).sale.calledOff
	*m.back++
}

func (m *backModel) sell(t *rapid.T) {
	m.buy(t)
	m.w.record()
	m.pay(t)
	m.confirm(t)
}

// confirm is model.confirm for payments that may be lost.
func (m *backModel) confirm(t *rapid.T) {
	if len(m.payments) == 0 {
		t.Skip("nothing to pay")
	}
	p := rapid.SampledFrom(m.payments).Draw(t, "payment")
	n := payment.Notice{PaymentID: p.ID, Amount: p.Amount, Provider: p.Provider}
	if err := m.w.confirm(n); err != nil {
		m.w.expected(t, err, payment.ErrNotFound)
	}
}

// holds must hold at every moment (I1, I2), whatever the ledger has lost.
func (m *backModel) holds(t *rapid.T) {
	v := m.w.view(t)
	v.oneLiveOrderEach(t)
	if r, live := v.sale, v.live(); r.stock < 0 || r.stock+r.kept+live != r.issued {
		t.Fatalf("the ledger has %d units, %d kept, and %d units of live orders, of %d issued",
			r.stock, r.kept, live, r.issued)
	}
	m.w.off.known = v.sale.calledOff
	if m.w.off.closed && v.mode == "open" {
		t.Fatalf("the sale was taken off, and nobody has put it on sale again; it is %s", m.w.inRedis())
	}
	off := m.w.count("SELECT COUNT(*) FROM tb_seckill_voucher s JOIN tb_voucher v ON v.id = s.voucher_id WHERE "+
		"voucher_id = ? AND (paused OR status <> 1 OR called_off IS NOT NULL)", m.w.voucher) > 0
	if off && v.pending == 0 && v.mode != "open" && v.mode != "rebuild" {
		m.w.off.closed = true // both stores have it
	}
}

// quiesce waits until nothing is under way, and checks what must then hold in a ledger that has gone back.
func (m *backModel) quiesce(t *rapid.T) {
	w := m.w
	w.alive().faults.clear()
	w.calm = true
	defer func() { w.calm = false }()
	w.quiesce()
	for tries := 0; tries < 10 && m.repairable(t); tries++ {
		w.rebuild()
		w.quiesce()
	}
	m.holds(t)
	v := w.view(t)
	if v.waiting != 0 || v.pending != 0 || v.redis.stock != v.sale.stock || v.redis.last != v.sale.last {
		t.Fatalf("quiescent: %d entries wait, %d operations are pending; Redis has %+v, the ledger %+v; "+
			"the auditor finds %+v", v.waiting, v.pending, v.redis, v.sale, w.balance(t))
	}
	live, holders := map[int64]int64{}, map[int64]string{}
	for _, o := range v.orders {
		if o.status.Live() {
			live[o.user], holders[o.user] = o.id, w.text(o.id)
		}
	}
	if !maps.Equal(holders, v.holders) {
		t.Fatalf("quiescent: live orders of users %v, holders in Redis %v", holders, v.holders)
	}
	// A ledger that has gone back has live orders again that were cancelled. A rebuild with Reports, which this process
	// has not, waits until the sold-out caches that do not know their buyers have expired.
	m.winnersGetTheirOrder(t, live, order.SoldOutTTL)
	if b := w.balance(t); b.Finding != audit.Balanced || !b.Complete {
		t.Fatalf("quiescent: the auditor finds %s (%s); redis %+v, ledger %+v", b.Finding, b.Why, b.Redis, b.Ledger)
	}
	found := w.count("SELECT COUNT(*) FROM tb_lost_decision WHERE voucher_id = ?", w.voucher)
	if found > 0 && !m.lost {
		t.Fatalf("%d decisions are said to be lost, and none is", found)
	}
}

// repairable reports whether the auditor would have the sale rebuilt: nobody else notices that a ledger has lost
// orders, and no operation.
func (m *backModel) repairable(t *rapid.T) bool {
	b := m.w.balance(t)
	return b.Repairable()
}

// tables copies the tables of a ledger within its database.
type tables struct {
	db      *sql.DB
	columns map[string]string // that are stored, by table
}

// newTables makes empty copies of each kind.
func newTables(t *testing.T, db *sql.DB) tables {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT table_name, column_name FROM information_schema.columns "+
		"WHERE table_schema = DATABASE() AND extra NOT LIKE '% GENERATED%' ORDER BY table_name, ordinal_position")
	must(t, err)
	defer func() { _ = rows.Close() }() // read to its end below
	columns := map[string][]string{}
	for rows.Next() {
		var table, column string
		must(t, rows.Scan(&table, &column))
		columns[table] = append(columns[table], "`"+column+"`")
	}
	must(t, rows.Err())
	c := tables{db, map[string]string{}}
	for table, names := range columns {
		c.columns[table] = strings.Join(names, ", ")
		for _, prefix := range []string{blank, backup} {
			_, err := db.ExecContext(t.Context(),
				fmt.Sprintf("CREATE TABLE %s%s AS SELECT %s FROM %[2]s LIMIT 0", prefix, table, c.columns[table]))
			must(t, err)
		}
	}
	return c
}

// copyInto makes the tables whose names begin with to what those that begin with from are; "" are the ledger's own.
// What others write meanwhile is before it or after it.
func (c tables) copyInto(ctx context.Context, to, from string) (err error) {
	for range 10 { // it may be the victim of a deadlock
		if err = c.tryCopy(ctx, to, from); err == nil {
			return nil
		}
	}
	return fmt.Errorf("copying the ledger: %w", err)
}

func (c tables) tryCopy(ctx context.Context, to, from string) error {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // unless it is committed
	for _, table := range sortedKeys(c.columns) {
		columns := c.columns[table]
		for _, query := range []string{
			fmt.Sprintf("DELETE FROM %s%s", to, table),
			fmt.Sprintf("INSERT INTO %s%s (%s) SELECT %[3]s FROM %s%[2]s", to, table, columns, from),
		} {
			if _, err := tx.ExecContext(ctx, query); err != nil {
				return fmt.Errorf("%s: %w", query, err)
			}
		}
	}
	return tx.Commit()
}
