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
	"seckill/internal/order/payment"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// subscribedFor is how long the shops with an endpoint are cached. A transaction that begins after this time writes the
// events for a new endpoint. The cache is checked after waiting for a turn and a connection, so only the time that the
// database takes to answer and to begin the transaction is added.
const subscribedFor = time.Second

// subscribedShops caches whose events are written: those of shops with a webhook endpoint, or of all shops. Other shops
// cost nothing. It is refreshed before a transaction, never within it: others would wait longer for its locks.
type subscribedShops struct {
	now     func() time.Time
	all     bool       // this instance writes events of all shops, whether others do or not
	reading sync.Mutex // held by the caller that reads, while others go on with the cached shops

	mu    sync.Mutex
	shops map[int64]bool // 0: all
	from  time.Time      // when they were read; zero: they must be read
	stale int            // calls of forget
}

// known returns the shops whose events are written; shop 0 stands for all shops. Do not change the result.
func (c *subscribedShops) known() map[int64]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shops
}

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

// shopsWritten selects the shops whose events are written; shop 0 stands for all shops.
const shopsWritten = `SELECT shop_id FROM tb_webhook_endpoint
UNION SELECT 0 FROM tb_event_stream WHERE all_since IS NOT NULL`

// read reads the shops, which are that old, unless another caller does and they are young enough.
func (c *subscribedShops) read(db *gorm.DB, now time.Time, age time.Duration) error {
	if first := c.reading.TryLock(); first {
		defer c.reading.Unlock()
	} else if age >= 0 && age < subscribedFor {
		return nil
	}
	c.mu.Lock()
	stale := c.stale
	c.mu.Unlock()
	var ids []int64
	if err := db.Raw(shopsWritten).Find(&ids).Error; err != nil {
		return fmt.Errorf("reading of which shops events are written: %w", err)
	}
	if c.all {
		ids = append(ids, 0)
	}
	c.learn(ids, now, stale)
	return nil
}

// learn stores the shops, which were read after the time from and after so many calls of forget. If there was another
// one, they must be read again.
func (c *subscribedShops) learn(ids []int64, from time.Time, stale int) {
	shops := make(map[int64]bool, len(ids))
	for _, id := range ids {
		shops[id] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if from.Before(c.from) && !c.from.After(c.now()) {
		return // newer shops are stored already, and a transaction may rely on them
	}
	c.shops = shops
	if stale == c.stale {
		c.from = from
	}
}

// forget makes the next refresh read the shops, after an endpoint was made or deleted here.
func (c *subscribedShops) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from = time.Time{}
	c.stale++
}

// Hook writes the events of orders and waiting lists, in the transactions that change them.
func (l *Ledger) Hook() sqlkit.Hook {
	about := func(t dispatch.Type) func(*gorm.DB, voucher.Voucher) error {
		return func(tx *gorm.DB, v voucher.Voucher) error { return l.announceSale(tx, v, t) }
	}
	created := about(dispatch.SaleCreated)
	return sqlkit.Hook{
		Prepare: func(_ context.Context, db *gorm.DB) error { return l.subscribed.refresh(db) },
		Wants:   func(t order.Terms, _ order.Status) bool { return wanted(l.subscribed.known(), t.ShopID) },
		Changed: l.announce, Turned: l.announceTurns, PaymentChanged: l.announcePayment,
		Created:        func(tx *gorm.DB, v voucher.Voucher, _ voucher.Author) error { return created(tx, v) },
		VoucherChanged: about(dispatch.SaleChanged), CalledOff: about(dispatch.SaleCalledOff), Restored: endStream,
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
	rows := sqlkit.Map(events, func(e *dispatch.Event) eventRow {
		return eventRow{
			ShopID: e.ShopID, Subject: e.Subject, SubjectNumber: e.SubjectNumber, Type: e.Type,
			Body: string(e.Body), CreateTime: e.At,
		}
	})
	if err := sqlkit.CreateAll(tx, rows); err != nil {
		return fmt.Errorf("writing %d events: %w", len(rows), err)
	}
	return nil
}

// announce writes the events of changes of orders, with their payments.
func (l *Ledger) announce(tx *gorm.DB, changes []order.Change) error {
	paid, err := l.paid(tx, changes)
	if err != nil {
		return err
	}
	return write(tx, changes, func(c order.Change) (dispatch.Event, error) {
		return dispatch.EventOf(c, paid[c.Order.ID], trace.Of(tx.Statement.Context, c.Order.ID))
	})
}

// paid returns the payments of the changed orders. An order that was just recorded, or costs nothing, has none.
func (l *Ledger) paid(tx *gorm.DB, changes []order.Change) (map[int64][]payment.Account, error) {
	var ids []int64
	for _, c := range changes {
		if !c.Recorded && c.Order.Amount > 0 {
			ids = append(ids, c.Order.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return l.orders.Accounts(tx, ids)
}

// wanted reports whether an endpoint gets events of the shop's orders. No endpoint gets those of rehearsals.
func wanted(shops map[int64]bool, shopID int64) bool {
	return shopID != voucher.RehearsalShop && (shops[0] || shops[shopID])
}

// announcePayment writes the event that a payment has changed, if an endpoint waits for it.
func (l *Ledger) announcePayment(tx *gorm.DB, c order.PaymentChange) error {
	if !wanted(l.subscribed.known(), c.Terms.ShopID) {
		return nil
	}
	paid, err := l.orders.Accounts(tx, []int64{c.Order.ID})
	if err != nil {
		return err
	}
	var refunds []payment.Refund
	for _, a := range paid[c.Order.ID] {
		if a.ID == c.Payment.ID {
			refunds = a.Refunds
		}
	}
	e, err := dispatch.EventOfPayment(c, refunds, trace.From(tx.Statement.Context))
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
	for i := range turns {
		if turns[i].Kind == order.TurnReleased { // an event of the sale
			row, err := numberSale(tx, l.db.Dialect(), voucherID, turns[i].Number)
			if err != nil {
				return err
			}
			turns[i].Number = row.Number
		}
	}
	by := trace.From(tx.Statement.Context)
	return write(tx, turns, func(t order.Turn) (dispatch.Event, error) { return dispatch.EventOfTurn(t, shopID, by) })
}
