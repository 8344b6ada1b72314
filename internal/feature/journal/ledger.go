package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
)

// mostNotes bounds how many notes of one sale are read: one for each instance, and for each time that it forgot the
// sale.
const mostNotes = 1000

// Ledger keeps refusals and notes in the database.
type Ledger struct{ db *sqlkit.DB }

var _ Store = Ledger{}

// NewLedger returns the ledger.
func NewLedger(db *sqlkit.DB) Ledger { return Ledger{db} }

// refusalRow is a user's first refusal on one instance.
type refusalRow struct {
	VoucherID  int64     `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	UserID     int64     `gorm:"column:user_id;primaryKey;autoIncrement:false"`
	Run        int64     `gorm:"column:run;primaryKey;autoIncrement:false"`
	RefusedMS  int64     `gorm:"column:refused_ms"`
	WithinMS   int64     `gorm:"column:within_ms"`
	Code       string    `gorm:"column:code"`
	CreateTime time.Time `gorm:"column:create_time"`
}

// TableName implements gorm's schema.Tabler.
func (refusalRow) TableName() string { return "tb_refusal" }

// noteRow is what one instance noted of a sale.
type noteRow struct {
	VoucherID  int64     `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	Run        int64     `gorm:"column:run;primaryKey;autoIncrement:false"`
	Users      int64     `gorm:"column:users"`
	Written    int64     `gorm:"column:written"`
	Missed     int64     `gorm:"column:missed"`
	SoldOut    string    `gorm:"column:sold_out"` // JSON: [from, to] of each span in Unix milliseconds
	MoreSpans  int64     `gorm:"column:more_spans"`
	CreateTime time.Time `gorm:"column:create_time"`
	WriteTime  time.Time `gorm:"column:write_time"`
}

// TableName implements gorm's schema.Tabler.
func (noteRow) TableName() string { return "tb_sale_journal" }

// WriteRefusals implements Store. Refusals from before their user was forgotten are left out.
func (l Ledger) WriteRefusals(ctx context.Context, all []Refusal) error {
	err := l.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		forgotten, err := forgottenSince(tx, all)
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(all), func(r Refusal) bool { return !r.At.After(forgotten[r.UserID]) })
		if len(left) == 0 {
			return nil
		}
		rows := sqlkit.Map(left, func(r *Refusal) refusalRow {
			return refusalRow{
				r.VoucherID, r.UserID, r.Run, r.At.UnixMilli(), r.Within.Milliseconds(), r.Code, now,
			}
		})
		return tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&rows).Error
	})
	return sqlkit.ReadError("writing refusals", err)
}

// tokensLast is how long after somebody was forgotten instances may still take their tokens.
const tokensLast = 3 * time.Second

// forgottenSince returns, by user, the time up to which refusals must not be written. No table names who was forgotten:
// they are found by a void of their tokens that was written while somebody was being forgotten. Whoever is being
// forgotten now is named.
func forgottenSince(tx *gorm.DB, all []Refusal) (map[int64]time.Time, error) {
	var rows []struct {
		UserID int64
		At     time.Time
	}
	err := tx.Table("tb_session_void v").Select("v.first_user AS user_id, v.write_time AS at").
		Where("v.first_user IN ? AND v.last_user = v.first_user",
			sqlkit.Map(all, func(r *Refusal) int64 { return r.UserID })).
		Where("EXISTS (SELECT 1 FROM tb_forgotten f WHERE f.create_time <= v.write_time AND " +
			"(f.end_time IS NULL AND f.user_id = v.first_user OR f.end_time >= v.write_time))").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("looking for users who were forgotten: %w", err)
	}
	until := make(map[int64]time.Time, len(rows))
	for _, r := range rows {
		until[r.UserID] = r.At.Add(tokensLast)
	}
	return until, nil
}

// WriteNote implements Store.
func (l Ledger) WriteNote(ctx context.Context, n Note) error {
	spans := make([][2]int64, len(n.Spans))
	for i, s := range n.Spans {
		spans[i] = [2]int64{s.From.UnixMilli(), s.To.UnixMilli()}
	}
	text, err := json.Marshal(spans)
	if err != nil {
		return fmt.Errorf("rendering when a sale was sold out: %w", err)
	}
	err = l.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		return tx.Clauses(clause.OnConflict{
			Columns: []clause.Column{{Name: "voucher_id"}, {Name: "run"}},
			DoUpdates: clause.AssignmentColumns([]string{
				"users", "written", "missed", "sold_out", "more_spans", "write_time",
			}),
		}).Create(&noteRow{n.VoucherID, n.Run, n.Users, n.Written, n.Missed, string(text), n.MoreSpans, now, now}).Error
	})
	return sqlkit.ReadError(fmt.Sprintf("writing what was noted of the sale of voucher %d", n.VoucherID), err)
}

// refusal returns a user's earliest refusal in a sale, if there is one.
func (l Ledger) refusal(ctx context.Context, voucherID, userID int64) (r Refusal, found bool, err error) {
	var rows []refusalRow
	err = l.db.Read(ctx).Where("voucher_id = ? AND user_id = ?", voucherID, userID).Order("refused_ms").Limit(1).
		Find(&rows).Error
	if err != nil {
		return r, false, sqlkit.ReadError(fmt.Sprintf("reading a refusal of voucher %d", voucherID), err)
	}
	if len(rows) == 0 {
		return r, false, nil
	}
	row := &rows[0]
	return Refusal{
		VoucherID: voucherID, UserID: userID, Run: row.Run, At: time.UnixMilli(row.RefusedMS).UTC(),
		Within: time.Duration(row.WithinMS) * time.Millisecond, Code: row.Code,
	}, true, nil
}

// notes returns what all instances noted of a sale.
func (l Ledger) notes(ctx context.Context, voucherID int64) ([]Note, error) {
	return sqlkit.List(l.db.Read(ctx).Where("voucher_id = ?", voucherID).Order("run").Limit(mostNotes),
		fmt.Sprintf("reading what was noted of the sale of voucher %d", voucherID), noteOf)
}

// noteOf converts a row. Spans that cannot be read are left out.
func noteOf(r *noteRow) Note {
	n := Note{
		VoucherID: r.VoucherID, Run: r.Run, Made: r.CreateTime.UTC(), Users: r.Users, Written: r.Written,
		Missed: r.Missed, MoreSpans: r.MoreSpans,
	}
	var spans [][2]int64
	if json.Unmarshal([]byte(r.SoldOut), &spans) != nil {
		return n
	}
	for _, s := range spans {
		n.Spans = append(n.Spans, Span{time.UnixMilli(s[0]).UTC(), time.UnixMilli(s[1]).UTC()})
	}
	return n
}

// Tenth counts the users whose first refusal came within a tenth of a second.
type Tenth struct {
	At    time.Time
	Users int64
}

// tenths counts the users of a sale whose first refusal lies between two times, by tenths of a second. It reads the
// rows of that time, by an index.
func (l Ledger) tenths(ctx context.Context, voucherID int64, from, to time.Time) ([]Tenth, error) {
	db := l.db.Read(ctx)
	first := db.Session(&gorm.Session{NewDB: true}).Table("tb_refusal").
		Select("user_id, MIN(refused_ms) AS ms").
		Where("voucher_id = ? AND refused_ms >= ? AND refused_ms < ?", voucherID, from.UnixMilli(), to.UnixMilli()).
		Group("user_id")
	type row struct{ Tenth, Users int64 }
	return sqlkit.List(db.Table("(?) AS f", first).Select("ms - ms % 100 AS tenth, COUNT(*) AS users").
		Group("ms - ms % 100").Order("tenth"), fmt.Sprintf("counting refusals of voucher %d", voucherID),
		func(r *row) Tenth { return Tenth{time.UnixMilli(r.Tenth).UTC(), r.Users} })
}

// order returns the id and state of a user's recorded order in a sale: the live one, else the last; 0: there is none.
func (l Ledger) order(ctx context.Context, voucherID, userID int64) (id int64, status order.Status, err error) {
	var rows []struct {
		ID     int64
		Status order.Status
	}
	err = l.db.Read(ctx).Table("tb_voucher_order").Select("id", "status").
		Where("user_id = ? AND voucher_id = ?", userID, voucherID).
		Order("live IS NULL, id DESC").Limit(1).Find(&rows).Error
	if err != nil {
		return 0, 0, sqlkit.ReadError(fmt.Sprintf("reading a user's order of voucher %d", voucherID), err)
	}
	if len(rows) == 0 {
		return 0, 0, nil
	}
	return rows[0].ID, rows[0].Status, nil
}

// Forget deletes about n of the oldest refusals and notes that were last written before a time, and returns their
// number. The token is that of the job.
func (l Ledger) Forget(ctx context.Context, token int64, age time.Duration, n int) (deleted int, err error) {
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		deleted = 0
		if err := sqlkit.RaiseFence(tx, cleaner, token); err != nil {
			return err
		}
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		for _, old := range []struct{ table, column string }{
			{"tb_refusal", "create_time"}, {"tb_sale_journal", "write_time"},
		} {
			rows, err := forget(tx, old.table, old.column, now.Add(-age), n)
			if err != nil {
				return err
			}
			deleted += rows
		}
		return nil
	})
	return deleted, sqlkit.ReadError("deleting old refusals", err)
}

// forget deletes about n of the oldest rows of a table, by an index of the column.
func forget(tx *gorm.DB, table, column string, before time.Time, n int) (int, error) {
	var last []time.Time
	err := tx.Table(table).Where(column+" < ?", before).Order(column).Limit(n).Pluck(column, &last).Error
	if err != nil || len(last) == 0 {
		return 0, err
	}
	done := tx.Exec("DELETE FROM "+table+" WHERE "+column+" <= ?", slices.MaxFunc(last, time.Time.Compare).UTC())
	return int(done.RowsAffected), done.Error
}
