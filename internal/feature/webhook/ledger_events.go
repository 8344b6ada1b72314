package webhook

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

type eventRow struct {
	ID            int64         `gorm:"column:id;primaryKey"`
	Number        *int64        `gorm:"column:number"`
	ShopID        int64         `gorm:"column:shop_id"`
	Subject       order.Subject `gorm:"column:subject"`
	SubjectNumber int64         `gorm:"column:subject_number"`
	Type          dispatch.Type `gorm:"column:type"`
	Body          string        `gorm:"column:body"`
	CreateTime    time.Time     `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (*eventRow) TableName() string { return "tb_webhook_event" }

func (r *eventRow) event() dispatch.Event {
	e := dispatch.Event{
		ShopID: r.ShopID, Subject: r.Subject, SubjectNumber: r.SubjectNumber, Type: r.Type,
		Body: []byte(r.Body), At: r.CreateTime,
	}
	if r.Number != nil {
		e.Number = *r.Number
	}
	return e
}

type sequenceRow struct {
	ID     int   `gorm:"column:id;primaryKey;autoIncrement:false"`
	Number int64 `gorm:"column:number"`
}

// TableName implements gorm's schema.Tabler.
func (sequenceRow) TableName() string { return "tb_webhook_sequence" }

// EventsWritten reports whether events are written: there is an endpoint, or those of all shops are. It answers from
// memory for up to a second. Error: order.ErrUnavailable.
func (l *Ledger) EventsWritten(ctx context.Context) (bool, error) {
	if err := l.subscribed.refresh(l.db.Read(ctx)); err != nil {
		return false, sqlkit.ReadError("looking for webhook endpoints", err)
	}
	return len(l.subscribed.known()) > 0, nil
}

// NumberEvents numbers up to n committed events, and returns how many it has numbered: 0 if there were none, or while
// another instance does it. It locks the row of the sequence before it reads the events, so a reader that sees a number
// sees all lower ones. It reads only committed events and waits for no others. Events of one subject
// are numbered in the order in which they were written, because each was written under the subject's lock.
func (l *Ledger) NumberEvents(ctx context.Context, n int) (numbered int, err error) {
	waiting, err := l.anyUnnumbered(ctx)
	if err != nil || !waiting {
		return 0, err
	}
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		numbered = 0
		var sequence []sequenceRow
		skip := clause.Locking{Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked}
		if err := tx.Clauses(skip).Where("id = 1").Find(&sequence).Error; err != nil {
			return fmt.Errorf("locking the sequence: %w", err)
		}
		if len(sequence) == 0 {
			return nil // another instance has the lock
		}
		var ids []int64
		err := tx.Model(&eventRow{}).Where("number IS NULL").Order("id").Limit(n).Pluck("id", &ids).Error
		if err != nil {
			return fmt.Errorf("reading events without a number: %w", err)
		}
		for part := range sqlkit.Chunks(ids) {
			if err := tx.Exec(l.numberStatement(part, sequence[0].Number+int64(numbered))).Error; err != nil {
				return fmt.Errorf("numbering %d events: %w", len(part), err)
			}
			numbered += len(part)
		}
		return tx.Model(&sequenceRow{}).Where("id = 1").Update("number",
			sequence[0].Number+int64(numbered)).Error
	})
	return numbered, sqlkit.ReadError("numbering events", err)
}

func (l *Ledger) anyUnnumbered(ctx context.Context) (bool, error) {
	var ids []int64
	if err := l.db.Read(ctx).Model(&eventRow{}).Where("number IS NULL").Limit(1).Pluck("id",
		&ids).Error; err != nil {
		return false, sqlkit.ReadError("looking for events without a number", err)
	}
	return len(ids) > 0, nil
}

// numberStatement gives the events the numbers after last. MySQL looks each row up by its key (FORCE INDEX): a scan
// would wait for events that are not committed.
func (l *Ledger) numberStatement(ids []int64, last int64) string {
	row := " UNION ALL SELECT %d,%d"
	if l.db.Dialect() == sqlkit.SQLite {
		row = " WHEN %d THEN %d"
	}
	var rows, all []byte
	for i, id := range ids {
		rows, all = fmt.Appendf(rows, row, id, last+int64(i)+1), fmt.Appendf(all, ",%d", id)
	}
	if l.db.Dialect() == sqlkit.SQLite {
		return fmt.Sprintf("UPDATE tb_webhook_event SET number = CASE id%s END WHERE id IN (0%s)", rows, all)
	}
	return fmt.Sprintf("UPDATE (SELECT 0 AS id, 0 AS number%s) AS given STRAIGHT_JOIN tb_webhook_event AS e "+
		"FORCE INDEX (PRIMARY) ON e.id = given.id SET e.number = given.number", rows)
}
