package shops

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

type row struct {
	ID         int64     `gorm:"column:id;primaryKey;autoIncrement:false"`
	Name       string    `gorm:"column:name"`
	Picture    string    `gorm:"column:picture"`
	MaxSales   int64     `gorm:"column:max_sales"`
	MaxUnits   int64     `gorm:"column:max_units"`
	CreateTime time.Time `gorm:"column:create_time"`
	UpdateTime time.Time `gorm:"column:update_time"`
}

// TableName implements gorm's schema.Tabler.
func (*row) TableName() string { return "tb_shop" }

func (r *row) shop() Shop {
	return Shop{
		ID: r.ID, Face: Face{r.Name, r.Picture}, Bounds: voucher.Bounds{Sales: r.MaxSales, Units: r.MaxUnits},
		UpdatedAt: r.UpdateTime,
	}
}

// Ledger reads and changes shops in the ledger's database. Every method may return order.ErrUnavailable.
type Ledger struct{ db *sqlkit.DB }

// NewLedger returns the shops in a database.
func NewLedger(db *sqlkit.DB) *Ledger { return &Ledger{db} }

// Find implements Service.
func (l *Ledger) Find(ctx context.Context, id int64) (Shop, error) {
	var rows []row
	if err := l.db.Read(ctx).Where("id = ?", id).Find(&rows).Error; err != nil {
		return Shop{}, sqlkit.ReadError("reading a shop", err)
	}
	if len(rows) == 0 {
		return Shop{ID: id}, nil
	}
	return rows[0].shop(), nil
}

// Bounds returns the bounds that are set for a shop.
func (l *Ledger) Bounds(ctx context.Context, id int64) (voucher.Bounds, error) {
	s, err := l.Find(ctx, id)
	return s.Bounds, err
}

// Page implements Service.
func (l *Ledger) Page(ctx context.Context, before int64, n int) ([]Shop, error) {
	return sqlkit.List(l.db.Read(ctx).Where("id < ?", before).Order("id DESC").Limit(n), "listing shops", (*row).shop)
}

// Faces returns the names and pictures of shops, in one query. Shops without either are left out.
func (l *Ledger) Faces(ctx context.Context, ids []int64) (map[int64]Face, error) {
	var rows []row
	err := l.db.Read(ctx).Select("id", "name", "picture").Where("id IN ? AND (name <> '' OR picture <> '')", ids).
		Find(&rows).Error
	if err != nil {
		return nil, sqlkit.ReadError("reading the names of shops", err)
	}
	faces := make(map[int64]Face, len(rows))
	for _, r := range rows {
		faces[r.ID] = Face{r.Name, r.Picture}
	}
	return faces, nil
}

// mostCompared is how many names a search compares: no index finds a part of a name.
const mostCompared = 400

// Search returns the shop with a number, if it has a row or a voucher, and those with a part of a name, of the
// mostCompared with the highest numbers.
func (l *Ledger) Search(ctx context.Context, q voucher.ShopSearch) (found []voucher.FoundShop, more bool, err error) {
	const what = "searching shops"
	if n := q.Number; n != 0 && n != voucher.RehearsalShop && (q.Only == 0 || q.Only == n) {
		is, err := l.isShop(ctx, n)
		if err != nil {
			return nil, false, sqlkit.ReadError(what, err)
		}
		if is {
			found = append(found, voucher.FoundShop{ID: n})
		}
	}
	if q.Part == "" {
		return found, false, nil
	}
	query := l.db.Read(ctx).Select("id", "name").Order("id DESC").Limit(mostCompared)
	if q.Only != 0 {
		query = query.Where("id = ?", q.Only)
	}
	var rows []row
	if err := query.Find(&rows).Error; err != nil {
		return nil, false, sqlkit.ReadError(what, err)
	}
	named, part := 0, strings.ToLower(q.Part)
	for _, r := range rows {
		if r.ID == q.Number || !strings.Contains(strings.ToLower(r.Name), part) {
			continue
		}
		if named++; named > q.Limit {
			break
		}
		found = append(found, voucher.FoundShop{ID: r.ID, ByName: true})
	}
	return found, named > q.Limit || len(rows) == mostCompared, nil
}

// isShop reports whether a number is a shop's: any could be, but there is something to see only of those that have a
// row or a voucher.
func (l *Ledger) isShop(ctx context.Context, id int64) (bool, error) {
	for _, has := range [][2]string{{(&row{}).TableName(), "id"}, {"tb_voucher", "shop_id"}} {
		var ids []int64
		if err := l.db.Read(ctx).Table(has[0]).Where(has[1]+" = ?", id).Limit(1).Pluck("id", &ids).Error; err != nil {
			return false, err
		}
		if len(ids) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// Change implements Service. It adds an entry to the audit trail; a change that was done before changes nothing.
func (l *Ledger) Change(ctx context.Context, by voucher.Author, id int64, c Change) (Shop, error) {
	var shop Shop
	err := l.db.WriteAt(ctx, func(tx *gorm.DB, now time.Time) error {
		// An insert alone locks a row that is not there yet, so that two first changes follow each other.
		r := row{ID: id, CreateTime: now, UpdateTime: now}
		if err := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&r).Error; err != nil {
			return fmt.Errorf("adding a shop: %w", err)
		}
		if err := sqlkit.Locking(tx).Where("id = ?", id).Take(&r).Error; err != nil {
			return fmt.Errorf("locking a shop: %w", err)
		}
		after, changes, err := r.shop().changed(c)
		if shop = after; err != nil || len(changes) == 0 {
			return err
		}
		shop.UpdatedAt = now
		err = tx.Model(&r).Updates(map[string]any{
			"name": shop.Name, "picture": shop.Picture, "max_sales": shop.Bounds.Sales,
			"max_units": shop.Bounds.Units, "update_time": now,
		}).Error
		if err != nil {
			return fmt.Errorf("changing a shop: %w", err)
		}
		return sqlkit.WriteAudit(tx, now, by, sqlkit.AuditRow{ShopID: id, Action: voucher.Changed, Changes: changes})
	})
	return shop, sqlkit.ReadError("changing a shop", err)
}
