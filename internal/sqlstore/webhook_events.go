package sqlstore

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
	"seckill/internal/webhook"
)

type webhookEventRow struct {
	ID          int64        `gorm:"column:id;primaryKey"`
	Number      *int64       `gorm:"column:number"`
	ShopID      int64        `gorm:"column:shop_id"`
	OrderID     int64        `gorm:"column:order_id"`
	OrderNumber int64        `gorm:"column:order_number"`
	Type        webhook.Type `gorm:"column:type"`
	Body        string       `gorm:"column:body"`
	CreateTime  time.Time    `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (*webhookEventRow) TableName() string { return "tb_webhook_event" }

func (r *webhookEventRow) event() webhook.Event {
	e := webhook.Event{
		ShopID: r.ShopID, OrderID: r.OrderID, OrderNumber: r.OrderNumber, Type: r.Type,
		Body: []byte(r.Body), At: r.CreateTime,
	}
	if r.Number != nil {
		e.Number = *r.Number
	}
	return e
}

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
	if err := db.Model(&webhookEndpointRow{}).Distinct().Pluck("shop_id", &ids).Error; err != nil {
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

// webhookHook writes the events of orders and offers.
func (s *Store) webhookHook() sqlkit.Hook {
	return sqlkit.Hook{
		Feature: "webhook", Prepare: s.subscribed.prepare, Changed: announce, Offered: s.announceOffers,
		Wants: func(t order.Terms, _ order.Status) bool { return wanted(s.subscribed.known(), t.ShopID) },
	}
}

// announce writes an event for each of the changes.
func announce(tx *gorm.DB, changes []order.Change) error {
	events := make([]webhookEventRow, len(changes))
	for i, c := range changes {
		e, err := webhook.EventOf(c.Order, webhook.OfferID(c.Offer), c.Terms.ShopID, c.At, c.Why)
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

// wanted reports whether an endpoint is told of the shop's orders. Nobody is told of those of a rehearsal.
func wanted(shops map[int64]bool, shopID int64) bool {
	return shopID != voucher.RehearsalShop && (shops[0] || shops[shopID])
}

func newEventRow(e webhook.Event) webhookEventRow {
	return webhookEventRow{
		ShopID: e.ShopID, OrderID: e.OrderID, OrderNumber: e.OrderNumber, Type: e.Type,
		Body: string(e.Body), CreateTime: e.At,
	}
}

type webhookSequenceRow struct {
	ID     int   `gorm:"column:id;primaryKey;autoIncrement:false"`
	Number int64 `gorm:"column:number"`
}

// TableName implements gorm's schema.Tabler.
func (webhookSequenceRow) TableName() string { return "tb_webhook_sequence" }

// AnyEndpoint implements webhook.Numberer.
func (s *Store) AnyEndpoint(ctx context.Context) (bool, error) {
	if err := s.subscribed.refresh(s.db.Read(ctx)); err != nil {
		return false, sqlkit.ReadError("looking for webhook endpoints", err)
	}
	return len(s.subscribed.known()) > 0, nil
}

// NumberEvents implements webhook.Numberer. The row of the sequence is locked from before the events are read until
// the commit, so a reader that sees a number sees all lower ones. Only committed events are read, and none is waited
// for; one order's are numbered as they were written, because each was written under the order's lock.
func (s *Store) NumberEvents(ctx context.Context, n int) (numbered int, err error) {
	waiting, err := s.anyUnnumbered(ctx)
	if err != nil || !waiting {
		return 0, err
	}
	err = s.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		numbered = 0
		var sequence []webhookSequenceRow
		skip := clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked}
		if err := tx.Clauses(skip).Where("id = 1").Find(&sequence).Error; err != nil {
			return fmt.Errorf("locking the sequence: %w", err)
		}
		if len(sequence) == 0 {
			return nil // another instance is at it
		}
		var ids []int64
		err := tx.Model(&webhookEventRow{}).Where("number IS NULL").Order("id").Limit(n).Pluck("id", &ids).Error
		if err != nil {
			return fmt.Errorf("reading events without a number: %w", err)
		}
		for part := range sqlkit.Chunks(ids) {
			if err := tx.Exec(s.numberStatement(part, sequence[0].Number+int64(numbered))).Error; err != nil {
				return fmt.Errorf("numbering %d events: %w", len(part), err)
			}
			numbered += len(part)
		}
		return tx.Model(&webhookSequenceRow{}).Where("id = 1").Update("number",
			sequence[0].Number+int64(numbered)).Error
	})
	if err != nil {
		return 0, sqlkit.ReadError("numbering events", err)
	}
	return numbered, nil
}

func (s *Store) anyUnnumbered(ctx context.Context) (bool, error) {
	var ids []int64
	if err := s.db.Read(ctx).Model(&webhookEventRow{}).Where("number IS NULL").Limit(1).Pluck("id",
		&ids).Error; err != nil {
		return false, sqlkit.ReadError("looking for events without a number", err)
	}
	return len(ids) > 0, nil
}

// numberStatement gives the events the numbers after last. MySQL looks each row up by its key (FORCE INDEX): a scan
// would wait for events that are not committed.
func (s *Store) numberStatement(ids []int64, last int64) string {
	const head, longest = 256, 48 // bytes, about
	text := make([]byte, 0, head+longest*len(ids))
	between, numbered, behind := " WHEN ", " THEN ", " END WHERE id IN ("
	if s.db.Dialect() == sqlkit.SQLite {
		text = append(text, "UPDATE tb_webhook_event SET number = CASE id"...)
	} else {
		text = append(text, "UPDATE (SELECT 0 AS id, 0 AS number"...)
		between, numbered = " UNION ALL SELECT ", ","
		behind = ") AS given STRAIGHT_JOIN tb_webhook_event AS e FORCE INDEX (PRIMARY) ON e.id = given.id SET " +
			"e.number = given.number"
	}
	for i, id := range ids {
		text = strconv.AppendInt(append(text, between...), id, 10)
		text = strconv.AppendInt(append(text, numbered...), last+int64(i)+1, 10)
	}
	text = append(text, behind...)
	if s.db.Dialect() != sqlkit.SQLite {
		return string(text)
	}
	for i, id := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, id, 10)
	}
	return string(append(text, ')'))
}
