package webhook

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// subscribedFor is how long it is remembered which shops have an endpoint. A transaction that begins later than that
// after an endpoint was created writes its events. Who waits for their turn or for a connection looks afterwards;
// only what the database takes to answer that, and to begin the transaction, comes on top.
const subscribedFor = time.Second

// subscribedShops remembers which shops have a webhook endpoint, so that the others pay nothing. It is read anew
// before a transaction, and never within one, where others would wait for it behind locked rows.
type subscribedShops struct {
	now     func() time.Time
	reading sync.Mutex // of the one who reads, while the others go on with what is known

	mu    sync.Mutex
	shops map[int64]bool // 0: all
	from  time.Time      // when they were read; zero: they are to be read
}

// known returns the shops that have an endpoint, 0 for an endpoint of all shops. Nobody changes the result.
func (c *subscribedShops) known() map[int64]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shops
}

// prepare is refresh before a transaction.
func (c *subscribedShops) prepare(_ context.Context, db *gorm.DB) error { return c.refresh(db) }

// refresh reads the shops from db if they were read too long ago. One caller reads them once half of subscribedFor
// has passed, mostly the deliverer, which has time; all must when it has passed.
func (c *subscribedShops) refresh(db *gorm.DB) error {
	now := c.now()
	c.mu.Lock()
	age := now.Sub(c.from) // below 0 when the clock was set back
	c.mu.Unlock()
	if age >= 0 && age < subscribedFor/2 {
		return nil
	}
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

// learn notes the shops as they were read after the given time.
func (c *subscribedShops) learn(ids []int64, from time.Time) {
	shops := make(map[int64]bool, len(ids))
	for _, id := range ids {
		shops[id] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if from.Before(c.from) && !c.from.After(c.now()) {
		return // others have read them since; a transaction may rely on that
	}
	c.shops, c.from = shops, from
}

// forget has the shops read anew, after an endpoint was made or deleted here.
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
	events := make([]eventRow, len(changes))
	for i, c := range changes {
		e, err := eventOf(c)
		if err != nil {
			return err
		}
		events[i] = newEventRow(e)
	}
	if err := sqlkit.CreateAll(tx, events); err != nil {
		return fmt.Errorf("writing %d events: %w", len(events), err)
	}
	return nil
}

// announce writes the events of changes of orders.
func announce(tx *gorm.DB, changes []order.Change) error { return write(tx, changes, dispatch.EventOf) }

// wanted reports whether the shop's orders have an endpoint. Those of rehearsals never do.
func wanted(shops map[int64]bool, shopID int64) bool {
	return shopID != voucher.RehearsalShop && (shops[0] || shops[shopID])
}

// announceCallOff writes the event that a sale was called off, if an endpoint waits for it.
func (l *Ledger) announceCallOff(tx *gorm.DB, v voucher.Voucher) error {
	if !wanted(l.subscribed.known(), v.ShopID) {
		return nil
	}
	return write(tx, []voucher.Voucher{v}, dispatch.EventOfCallOff)
}

// announcePayment writes the event that a payment has changed, if an endpoint waits for it.
func (l *Ledger) announcePayment(tx *gorm.DB, c order.PaymentChange) error {
	if !wanted(l.subscribed.known(), c.Terms.ShopID) {
		return nil
	}
	return write(tx, []order.PaymentChange{c}, dispatch.EventOfPayment)
}

// announceTurns writes an event for each of the turns, if an endpoint waits for it. They are of one voucher.
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
	return write(tx, turns, func(t order.Turn) (dispatch.Event, error) { return dispatch.EventOfTurn(t, shopID) })
}
