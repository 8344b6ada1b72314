package webhook

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/kit/trace"
	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// subscribedFor is how long the shops with an endpoint are cached. A transaction that begins after this time writes the
// events for a new endpoint. The cache is checked after waiting for a turn and a connection, so only the time that the
// database takes to answer and to begin the transaction is added.
const subscribedFor = time.Second

// subscribedShops caches which shops have a webhook endpoint, so that other shops cost nothing. It is refreshed before
// a transaction, never within it: others would wait longer for the transaction's locks.
type subscribedShops struct {
	now     func() time.Time
	reading sync.Mutex // held by the caller that reads, while others go on with the cached shops

	mu    sync.Mutex
	shops map[int64]bool // 0: all
	from  time.Time      // when they were read; zero: they must be read
}

// known returns the shops that have an endpoint; shop 0 stands for an endpoint of all shops. Do not change the result.
func (c *subscribedShops) known() map[int64]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shops
}

// prepare calls refresh before a transaction.
func (c *subscribedShops) prepare(_ context.Context, db *gorm.DB) error { return c.refresh(db) }

// refresh reads the shops from db if they were read too long ago. After half of subscribedFor one caller reads them,
// mostly the deliverer, which has time; after subscribedFor, every caller reads them itself.
func (c *subscribedShops) refresh(db *gorm.DB) error {
	now := c.now()
	c.mu.Lock()
	age := now.Sub(c.from) // below 0 when the clock was set back
	c.mu.Unlock()
	if age >= 0 && age < subscribedFor/2 {
		return nil
	}
	return c.read(db, now, age)
}

// read reads the shops, which are that old, unless another caller does and they are young enough.
func (c *subscribedShops) read(db *gorm.DB, now time.Time, age time.Duration) error {
	if first := c.reading.TryLock(); first {
		defer c.reading.Unlock()
	} else if age >= 0 && age < subscribedFor {
		return nil
	}
	var ids []int64
	if err := db.Model(&endpointRow{}).Distinct().Pluck("shop_id", &ids).Error; err != nil {
		return fmt.Errorf("reading which shops have webhooks: %w", err)
	}
	c.learn(ids, now)
	return nil
}

// learn stores the shops, which were read after the time from.
func (c *subscribedShops) learn(ids []int64, from time.Time) {
	shops := make(map[int64]bool, len(ids))
	for _, id := range ids {
		shops[id] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if from.Before(c.from) && !c.from.After(c.now()) {
		return // newer shops are stored already, and a transaction may rely on them
	}
	c.shops, c.from = shops, from
}

// forget makes the next refresh read the shops, after an endpoint was made or deleted here.
func (c *subscribedShops) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from = time.Time{}
}

// Hook writes the events of orders and waiting lists, in the transactions that change them.
func (l *Ledger) Hook() sqlkit.Hook {
	return sqlkit.Hook{
		Prepare: l.subscribed.prepare, Changed: announce, Turned: l.announceTurns,
		CalledOff: l.announceCallOff, PaymentChanged: l.announcePayment,
		Wants: func(t order.Terms, _ order.Status) bool { return wanted(l.subscribed.known(), t.ShopID) },
	}
}

// write writes the event of each of the changes.
func write[T any](tx *gorm.DB, changes []T, eventOf func(T) (dispatch.Event, error)) error {
	events := make([]dispatch.Event, len(changes))
	for i, c := range changes {
		e, err := eventOf(c)
		if err != nil {
			return err
		}
		events[i] = e
	}
	return writeEvents(tx, events...)
}

func writeEvents(tx *gorm.DB, events ...dispatch.Event) error {
	rows := make([]eventRow, len(events))
	for i, e := range events {
		rows[i] = newEventRow(e)
	}
	if err := sqlkit.CreateAll(tx, rows); err != nil {
		return fmt.Errorf("writing %d events: %w", len(rows), err)
	}
	return nil
}

// announce writes the events of changes of orders.
func announce(tx *gorm.DB, changes []order.Change) error {
	return write(tx, changes, func(c order.Change) (dispatch.Event, error) {
		return dispatch.EventOf(c, trace.Of(tx.Statement.Context, c.Order.ID))
	})
}

// wanted reports whether an endpoint gets events of the shop's orders. No endpoint gets those of rehearsals.
func wanted(shops map[int64]bool, shopID int64) bool {
	return shopID != voucher.RehearsalShop && (shops[0] || shops[shopID])
}

// announceCallOff writes the event that a sale was called off, if an endpoint waits for it.
func (l *Ledger) announceCallOff(tx *gorm.DB, v voucher.Voucher) error {
	if !wanted(l.subscribed.known(), v.ShopID) {
		return nil
	}
	e, err := dispatch.EventOfCallOff(v, trace.From(tx.Statement.Context))
	if err != nil {
		return err
	}
	return writeEvents(tx, e)
}

// announcePayment writes the event that a payment has changed, if an endpoint waits for it.
func (l *Ledger) announcePayment(tx *gorm.DB, c order.PaymentChange) error {
	if !wanted(l.subscribed.known(), c.Terms.ShopID) {
		return nil
	}
	e, err := dispatch.EventOfPayment(c, trace.From(tx.Statement.Context))
	if err != nil {
		return err
	}
	return writeEvents(tx, e)
}

// announceTurns writes an event for each of the turns, if an endpoint waits for it. The turns are all of one voucher.
func (l *Ledger) announceTurns(tx *gorm.DB, turns []order.Turn) error {
	shops := l.subscribed.known()
	if len(shops) == 0 {
		return nil
	}
	voucherID := turns[0].ID.VoucherID
	terms, err := l.orders.Terms(tx, []int64{voucherID})
	if err != nil {
		return err
	}
	shopID := terms[voucherID].ShopID
	if !wanted(shops, shopID) {
		return nil
	}
	by := trace.From(tx.Statement.Context)
	return write(tx, turns, func(t order.Turn) (dispatch.Event, error) { return dispatch.EventOfTurn(t, shopID, by) })
}
