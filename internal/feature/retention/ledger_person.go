package retention

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/order"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
	"seckill/migrations"
)

var _ Forgetting = (*Ledger)(nil)

// forgottenRow is somebody who was forgotten, or is being.
type forgottenRow struct {
	Pseudonym  int64      `gorm:"column:pseudonym;primaryKey;autoIncrement:false"`
	UserID     *int64     `gorm:"column:user_id"`
	CreateTime time.Time  `gorm:"column:create_time"`
	EndTime    *time.Time `gorm:"column:end_time"`
}

// TableName implements gorm's schema.Tabler.
func (forgottenRow) TableName() string { return "tb_forgotten" }

// voidRow makes a user's tokens void that were signed in before a time, as a sign-out does.
type voidRow struct {
	First     int64     `gorm:"column:first_user;primaryKey;autoIncrement:false"`
	Last      int64     `gorm:"column:last_user;primaryKey;autoIncrement:false"`
	Before    time.Time `gorm:"column:before_time"`
	WriteTime time.Time `gorm:"column:write_time"`
}

// TableName implements gorm's schema.Tabler.
func (voidRow) TableName() string { return "tb_session_void" }

// BeginForgetting implements Forgetting.
func (l *Ledger) BeginForgetting(ctx context.Context, user int64, by Trail) (pseudonym int64, err error) {
	err = l.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		known, fresh, err := l.pseudonym(tx, user, now)
		if err != nil {
			return err
		}
		pseudonym = known
		ids, err := l.ordersOf(tx, user, 0) // also if it has begun: the user may have bought since
		if err != nil {
			return err
		}
		if _, err := l.settled(tx, user, ids, now); err != nil {
			return err
		}
		if err := signOut(tx, user, now); err != nil {
			return err
		}
		if !fresh {
			return nil
		}
		return sqlkit.WriteAudit(tx, now, by.Author, sqlkit.AuditRow{
			Action:  voucher.Forgotten,
			Changes: []voucher.FieldChange{{Field: "by", To: by.By}, {Field: "why", To: by.Why}},
		})
	})
	return pseudonym, sqlkit.ReadError("beginning to forget a user", err)
}

// drawn returns a number with which nobody signs in.
func drawn() (int64, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(voucher.MaxID-voucher.FirstForgotten+1))
	if err != nil {
		return 0, fmt.Errorf("drawing a pseudonym: %w", err)
	}
	return voucher.FirstForgotten + n.Int64(), nil
}

// pseudonym returns the user's pseudonym. fresh: it was drawn now. It draws again if somebody has that number.
func (l *Ledger) pseudonym(tx *gorm.DB, user int64, now time.Time) (pseudonym int64, fresh bool, err error) {
	const most = 10
	for range most {
		row := forgottenRow{UserID: &user, CreateTime: now}
		if row.Pseudonym, err = l.draw(); err != nil {
			return 0, false, err
		}
		made := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
		if made.Error != nil {
			return 0, false, fmt.Errorf("noting the pseudonym: %w", made.Error)
		}
		var known []forgottenRow
		if err := tx.Where("user_id = ?", user).Find(&known).Error; err != nil {
			return 0, false, fmt.Errorf("reading the pseudonym: %w", err)
		}
		if len(known) > 0 {
			return known[0].Pseudonym, made.RowsAffected > 0, nil
		}
	}
	return 0, false, fmt.Errorf("%d pseudonyms are others'", most)
}

// settled locks and returns orders of a user. It returns an *OwedError if any sale of theirs is not retired, or if one
// of these orders owes something.
func (l *Ledger) settled(tx *gorm.DB, user int64, ids []int64, now time.Time) ([]order.Order, error) {
	var (
		owed = Debts{}
		all  []order.Order
	)
	for _, of := range []string{"tb_voucher_order", "tb_place"} {
		var n int64
		err := tx.Table(of+" o").Joins("JOIN tb_seckill_voucher s ON s.voucher_id = o.voucher_id").
			Where("o.user_id = ? AND s.retired = ?", user, false).Distinct("o.voucher_id").Count(&n).Error
		if err != nil {
			return nil, fmt.Errorf("looking for sales of a user: %w", err)
		}
		if n > 0 {
			owed[NotRetired] = max(owed[NotRetired], n)
		}
	}
	for part := range sqlkit.Chunks(ids) {
		locked, err := l.orders.Lock(tx, part)
		if err != nil {
			return nil, err
		}
		found, err := l.owedBy(tx, locked, now)
		if err != nil {
			return nil, err
		}
		for _, why := range found.orders {
			owed[why]++
		}
		all = slices.AppendSeq(all, maps.Values(locked))
	}
	if len(owed) > 0 {
		return nil, &OwedError{owed}
	}
	return all, nil
}

// ordersOf returns ids of a user's orders, at most n; 0: all.
func (*Ledger) ordersOf(tx *gorm.DB, user int64, n int) (ids []int64, err error) {
	query := tx.Table("tb_voucher_order").Where("user_id = ?", user).Order("id")
	if n > 0 {
		query = query.Limit(n)
	}
	if err := query.Pluck("id", &ids).Error; err != nil {
		return nil, fmt.Errorf("reading a user's orders: %w", err)
	}
	return ids, nil
}

// signOut makes the user's tokens void, and deletes the rows that say who they are.
func signOut(tx *gorm.DB, user int64, now time.Time) error {
	err := tx.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "first_user"}, {Name: "last_user"}},
		DoUpdates: clause.AssignmentColumns([]string{"before_time", "write_time"}),
	}).Create(&voidRow{user, user, now.Truncate(time.Second), now}).Error
	if err != nil {
		return fmt.Errorf("making tokens void: %w", err)
	}
	return deleteOf(tx, user)
}

// deleteOf deletes the user's rows that name no pseudonym.
func deleteOf(tx *gorm.DB, user int64) error {
	for _, table := range migrations.Tables() {
		if table.Forget.By != migrations.ByUser || table.Number != "" {
			continue
		}
		if err := deleteBy(tx, table.Name, table.Forget.Column, []int64{user}); err != nil {
			return err
		}
	}
	return nil
}

// person is whose rows become whose, and what they belong to.
type person struct {
	from, to int64
	orders   []int64
	sales    []int64
	subjects []order.Subject
}

// Rewrite implements Forgetting. The orders come last, so that whatever dies in between is found by them again.
func (l *Ledger) Rewrite(
	ctx context.Context, user, pseudonym int64, n int,
) (f Forgotten, done bool, err error) {
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		f, done = Forgotten{}, false
		p := person{from: user, to: pseudonym}
		ids, err := l.ordersOf(tx, user, n)
		if err != nil {
			return err
		}
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		locked, err := l.settled(tx, user, ids, now)
		if err != nil {
			return err
		}
		sales := map[int64]bool{}
		for _, o := range locked {
			p.orders, sales[o.VoucherID] = append(p.orders, o.ID), true
			p.subjects = append(p.subjects, order.SubjectOfOrder(o.ID))
		}
		slices.Sort(p.orders)
		var places []order.PlaceID
		if err := tx.Table("tb_place").Select("voucher_id", "position").Where("user_id = ?", user).
			Order("voucher_id, position").Limit(n).Find(&places).Error; err != nil {
			return fmt.Errorf("reading a user's places: %w", err)
		}
		for _, place := range places {
			sales[place.VoucherID] = true
			p.subjects = append(p.subjects, order.SubjectOfPlace(place))
		}
		p.sales = slices.Sorted(maps.Keys(sales))
		f.Orders, f.Places = int64(len(p.orders)), int64(len(places))
		done = len(p.orders) < n && len(places) < n
		if err := p.rewrite(tx); err != nil {
			return err
		}
		for _, place := range places {
			if err := tx.Exec("UPDATE tb_place SET user_id = ? WHERE voucher_id = ? AND position = ?", pseudonym,
				place.VoucherID, place.Position).Error; err != nil {
				return fmt.Errorf("rewriting a place: %w", err)
			}
		}
		err = tx.Exec("UPDATE tb_draw_entry SET user_id = ? WHERE user_id = ?", pseudonym, user).Error
		if err != nil {
			return fmt.Errorf("rewriting entries of draws: %w", err)
		}
		return p.update(tx, "tb_voucher_order", "user_id", "id IN ?", p.orders)
	})
	return f, done, sqlkit.ReadError("forgetting a user", err)
}

// rewrite rewrites what belongs to the person's orders and places, as migrations.Tables says.
func (p *person) rewrite(tx *gorm.DB) error {
	for _, table := range migrations.Tables() {
		var err error
		switch rows := table.Forget; {
		case rows.By == migrations.ByOrder && table.Number == "":
			err = deleteBy(tx, table.Name, rows.Column, p.orders)
		case rows.By == migrations.ByOrder:
			err = p.update(tx, table.Name, table.Number, rows.Column+" IN ?", p.orders)
		case rows.By == migrations.BySale:
			err = p.update(tx, table.Name, table.Number, rows.Column+" IN ?", p.sales)
		case rows.By == migrations.BySubject:
			err = p.bodies(tx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// update gives rows of the person to the pseudonym.
func (p *person) update(tx *gorm.DB, table, column, where string, of []int64) error {
	for part := range sqlkit.Chunks(of) {
		err := tx.Exec("UPDATE "+table+" SET "+column+" = ? WHERE "+where+" AND "+column+" = ?", p.to, part,
			p.from).Error
		if err != nil {
			return fmt.Errorf("rewriting %s: %w", table, err)
		}
	}
	return nil
}

// bodies rewrites the number in the bodies of events.
func (p *person) bodies(tx *gorm.DB) error {
	from, to := `"userId":`+digits(p.from), `"userId":`+digits(p.to)
	for part := range sqlkit.Chunks(p.subjects) {
		var rows []struct {
			ID   int64
			Body string
		}
		err := tx.Table("tb_webhook_event").Select("id", "body").Where("subject IN ?", part).Find(&rows).Error
		if err != nil {
			return fmt.Errorf("reading events: %w", err)
		}
		for _, r := range rows { // a number ends at what is no digit
			body := strings.ReplaceAll(strings.ReplaceAll(r.Body, from+",", to+","), from+"}", to+"}")
			if body == r.Body {
				continue
			}
			if err := tx.Exec("UPDATE tb_webhook_event SET body = ? WHERE id = ?", body, r.ID).Error; err != nil {
				return fmt.Errorf("rewriting an event: %w", err)
			}
		}
	}
	return nil
}

// EndForgetting implements Forgetting.
func (l *Ledger) EndForgetting(ctx context.Context, user, pseudonym int64) (done bool, err error) {
	err = l.db.WriteRetry(ctx, func(tx *gorm.DB) error {
		p := person{from: user, to: pseudonym}
		done = false
		for _, table := range []string{"tb_voucher_order", "tb_place"} {
			var n int64
			if err := tx.Table(table).Where("user_id = ?", user).Count(&n).Error; err != nil || n > 0 {
				return err
			}
		}
		done = true
		if err := deleteOf(tx, user); err != nil { // what an instance wrote while forgetting began
			return err
		}
		if err := p.buyers(tx); err != nil {
			return err
		}
		if err := p.entries(tx); err != nil {
			return err
		}
		now, err := l.db.LedgerTime(tx)
		if err != nil {
			return err
		}
		return tx.Exec("UPDATE tb_forgotten SET user_id = NULL, end_time = ? WHERE pseudonym = ?", now, pseudonym).Error
	})
	return done && err == nil, sqlkit.ReadError("ending to forget a user", err)
}

// buyers deletes the rows that say which ordinary vouchers the person has bought. They may be of a voucher whose limit
// is gone, or whose orders are purged.
func (p *person) buyers(tx *gorm.DB) error {
	ids, err := ordinaries(tx)
	if err != nil {
		return err
	}
	for _, table := range migrations.Tables() {
		if table.Forget.By != migrations.ByBuyer {
			continue
		}
		of := table.Forget.Column + " = " + digits(p.from) + " AND voucher_id"
		if err := deleteBy(tx, table.Name, of, ids); err != nil {
			return err
		}
	}
	return nil
}

// ordinaries returns the ids of all ordinary vouchers.
func ordinaries(tx *gorm.DB) (ids []int64, err error) {
	if err := tx.Table("tb_voucher").Where("type = ?", voucher.Ordinary).Pluck("id", &ids).Error; err != nil {
		return nil, fmt.Errorf("reading ordinary vouchers: %w", err)
	}
	return ids, nil
}

// entries rewrites entries of the audit trail about the person's tokens and data.
func (p *person) entries(tx *gorm.DB) error {
	var rows []sqlkit.AuditRow
	err := tx.Where("action IN ?", []voucher.Action{voucher.Revoked, voucher.UserExported}).Find(&rows).Error
	if err != nil {
		return fmt.Errorf("reading the audit trail: %w", err)
	}
	for i := range rows {
		named := false
		for j := range rows[i].Changes {
			if c := &rows[i].Changes[j]; c.Field == "user" && c.To == digits(p.from) {
				c.To, named = digits(p.to), true
			}
		}
		if !named {
			continue
		}
		if err := tx.Model(&rows[i]).Select("changes").Updates(&rows[i]).Error; err != nil {
			return fmt.Errorf("rewriting the audit trail: %w", err)
		}
	}
	return nil
}
