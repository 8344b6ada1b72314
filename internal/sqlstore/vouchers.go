package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/installation"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// Vouchers has the vouchers, and what admins do to them and to their sales. It implements voucher.Ledger,
// voucher.Changes and listing.Ledger.
type Vouchers struct{ *ledger }

// CreateVoucher implements voucher.Ledger. A PayWithin of 0 is voucher.DefaultPayWithin. It returns
// order.ErrUnavailable when the database is away and certainly nothing was written. When the reply to COMMIT was lost,
// the voucher may exist, and repeating the call with the author's key returns it. It returns voucher.ErrNoPartition
// when the sale's partition is no longer open.
func (s Vouchers) CreateVoucher(ctx context.Context, v *voucher.Voucher, by voucher.Author) error {
	var c voucherRows
	committing := false
	err := s.write(ctx, func(tx transaction) (err error) {
		committing = false
		c, err = tx.createVoucher(v, by)
		committing = err == nil
		return err
	})
	const what = "creating a voucher"
	switch {
	case err != nil && committing, errors.Is(err, voucher.ErrNoPartition):
		return fmt.Errorf("%s: %w", what, err)
	case err != nil:
		return sqlkit.ReadError(what, err)
	}
	*v = c.voucher()
	return nil
}

// createVoucher writes the rows of a voucher, those of features and the line of the audit trail.
func (tx transaction) createVoucher(v *voucher.Voucher, by voucher.Author) (voucherRows, error) {
	now, err := tx.now()
	if err != nil {
		return voucherRows{}, err
	}
	if err := sqlkit.ClaimKey(tx.DB, now, by.Key, ""); err != nil {
		return voucherRows{}, err
	}
	c, err := insertVoucher(tx, now, v)
	if err != nil {
		return voucherRows{}, err
	}
	if err := sqlkit.MadeByKey(tx.DB, by.Key, strconv.FormatInt(c.row.ID, 10)); err != nil {
		return voucherRows{}, err
	}
	created := c.voucher()
	created.Rehearses = v.Rehearses
	err = tx.each(func(h sqlkit.Hook) error {
		if h.Created == nil {
			return nil
		}
		return h.Created(tx.DB, created, by)
	})
	if err != nil {
		return voucherRows{}, err
	}
	about := sqlkit.AuditRow{
		VoucherID: c.row.ID, ShopID: c.row.ShopID, Action: voucher.Created,
		Changes: voucher.Differences(voucher.Voucher{}, created),
	}
	if v.Rehearses != 0 { // the audit entry of a rehearsal belongs to the shop whose sale is rehearsed
		if about.ShopID, err = sqlkit.ShopOf(tx.DB, v.Rehearses); err != nil {
			return voucherRows{}, err
		}
	}
	return c, sqlkit.WriteAudit(tx.DB, now, by, about)
}

// insertVoucher writes the row of a voucher and that of its sale, and holds the sale's partition.
func insertVoucher(tx transaction, now time.Time, v *voucher.Voucher) (voucherRows, error) {
	if v.Sale != nil {
		if err := installation.LockPartition(tx.DB, v.Sale.Partition); err != nil {
			return voucherRows{}, err
		}
	}
	c := voucherRows{row: newVoucherRow(v, now)}
	if err := tx.Create(&c.row).Error; err != nil {
		return voucherRows{}, fmt.Errorf("voucher: %w", err)
	}
	if v.Sale == nil {
		return c, nil
	}
	sale := newSaleRow(c.row.ID, *v.Sale)
	if err := tx.Create(&sale).Error; err != nil {
		return voucherRows{}, fmt.Errorf("sale: %w", err)
	}
	c.sale = &sale
	return c, nil
}

func newVoucherRow(v *voucher.Voucher, now time.Time) voucherRow {
	row := voucherRow{
		ShopID: v.ShopID, Title: v.Title, SubTitle: v.SubTitle, Rules: v.Rules,
		PayValue: v.PayValue, ActualValue: v.ActualValue, Kind: v.Kind, Status: v.Status,
		Version: 1, PayWithin: int64(cmp.Or(v.PayWithin, voucher.DefaultPayWithin) / time.Second),
		Redeemable: v.Redemption.ByCode, ValidUntil: sqlkit.Stamp(v.Redemption.ValidUntil),
		ValidDays: v.Redemption.ValidDays, VisibleFrom: sqlkit.Stamp(v.VisibleFrom),
		Picture: sqlkit.OrNull(v.Picture), PerUser: v.PerUser, CreateTime: now, UpdateTime: now,
		Processing: sqlkit.OrNull(int64(v.ProcessingWithin / time.Second)),
	}
	if v.Sale != nil {
		row.Guards = v.Sale.Guards.Text()
	}
	return row
}

// newSaleRow is the row of a new sale. Epoch 0: no rebuild has opened it in Redis yet.
func newSaleRow(voucherID int64, sale voucher.Sale) saleRow {
	return saleRow{
		VoucherID: voucherID, Stock: sale.Stock, Issued: sale.Issued,
		BeginTime: sale.Begin.UTC(), EndTime: sale.End.UTC(),
		InviteWindow: int64(sale.InviteWindow / time.Second),
		PartitionNo:  sale.Partition,
	}
}

// Voucher implements voucher.Ledger.
func (s Vouchers) Voucher(ctx context.Context, id int64) (voucher.Voucher, error) {
	v, err := findVoucher(s.db.Read(ctx), id)
	switch {
	case errors.Is(err, voucher.ErrNotFound):
		return voucher.Voucher{}, fmt.Errorf("voucher %d: %w", id, err)
	case err != nil:
		return voucher.Voucher{}, sqlkit.ReadError(fmt.Sprintf("reading voucher %d", id), err)
	}
	return v, nil
}

// VouchersOfShop implements listing.Ledger. Pass math.MaxInt64 as before for the beginning of the list.
func (s Vouchers) VouchersOfShop(
	ctx context.Context, shopID, before int64, limit int,
) ([]voucher.Voucher, int64, error) {
	const where = "v.shop_id = ? AND v.status = ? AND v.archived IS NULL AND " +
		"(v.visible_from IS NULL OR v.visible_from <= ?)"
	now := s.db.LedgerClock()
	what := fmt.Sprintf("listing the vouchers of shop %d", shopID)
	vs, err := scanVouchers(joined(s.db.Read(ctx)).Where(where, shopID, voucher.OnShelf,
		now).Where("v.id < ?", before).Order("v.id DESC").Limit(limit))
	if err != nil {
		return nil, 0, sqlkit.ReadError(what, err)
	}
	if before == math.MaxInt64 && len(vs) < limit {
		return vs, int64(len(vs)), nil
	}
	var total int64
	if err := s.db.Read(ctx).Table("tb_voucher v").Where(where, shopID, voucher.OnShelf,
		now).Count(&total).Error; err != nil {
		return nil, 0, sqlkit.ReadError(what, err)
	}
	return vs, total, nil
}

// VoucherIDs implements listing.Ledger.
func (s Vouchers) VoucherIDs(
	ctx context.Context, above int64,
) (ids, shops []int64, hidden map[int64]time.Time, err error) {
	const what = "reading the ids of vouchers"
	var rows []struct{ ID, ShopID int64 }
	// The columns are those of an index, so that no row is read.
	if err := s.db.Read(ctx).Table("tb_voucher").Select("id, shop_id").Where("id > ?",
		above).Order("id").Find(&rows).Error; err != nil {
		return nil, nil, nil, sqlkit.ReadError(what, err)
	}
	// Read after the ids, so that a voucher that is created in between is only missing from these for a moment.
	var later []struct {
		ID          int64
		VisibleFrom time.Time
	}
	if err := s.db.Read(ctx).Table("tb_voucher").Select("id, visible_from").Where("visible_from > ?",
		s.db.LedgerClock()).Find(&later).Error; err != nil {
		return nil, nil, nil, sqlkit.ReadError(what, err)
	}
	hidden = make(map[int64]time.Time, len(later))
	for _, row := range later {
		hidden[row.ID] = row.VisibleFrom
	}
	ids = make([]int64, len(rows))
	of := make(map[int64]struct{})
	for i, row := range rows {
		ids[i] = row.ID
		of[row.ShopID] = struct{}{}
	}
	return ids, slices.Collect(maps.Keys(of)), hidden, nil
}

// vouchersPerSearch is how many vouchers one search compares: no index finds a part of a title, nor the archived ones
// by their ids, so the rows are read.
const vouchersPerSearch = 10_000

// Vouchers implements voucher.Ledger. A search by title, or for only archived or only other vouchers, ends after
// vouchersPerSearch vouchers, so its page may be short or empty. next is where the following search goes on.
func (s Vouchers) Vouchers(ctx context.Context, q voucher.Search) (vs []voucher.Voucher, next int64, err error) {
	const what = "listing vouchers"
	// One more shows whether a page follows.
	query := ofShop(joined(s.db.Read(ctx)), q.ShopID).Where("v.id < ?", q.Before).Order("v.id DESC").Limit(q.Limit + 1)
	switch q.Archived {
	case voucher.NoArchived:
		query = query.Where("v.archived IS NULL")
	case voucher.OnlyArchived:
		query = query.Where("v.archived IS NOT NULL")
	case voucher.WithArchived:
	}
	if q.Title != "" || q.Archived != voucher.WithArchived {
		if next, err = s.lowestOf(ctx, q); err != nil {
			return nil, 0, sqlkit.ReadError(what, err)
		}
		query = query.Where("v.id >= ?", next)
	}
	if q.Title != "" {
		part := likePart(q.Title)
		query = query.Where("(v.title LIKE ? ESCAPE '!' OR LOWER(v.title) LIKE ? ESCAPE '!')",
			part, strings.ToLower(part))
	}
	if vs, err = scanVouchers(query); err != nil {
		return nil, 0, sqlkit.ReadError(what, err)
	}
	if len(vs) > q.Limit {
		vs = vs[:q.Limit]
		next = vs[q.Limit-1].ID
	}
	return vs, next, nil
}

// likePart returns a LIKE pattern for texts that contain s, with ! as the escape character.
func likePart(s string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(s) + "%"
}

// lowestOf returns the lowest id that a search compares; 0 when no more vouchers than that are left.
func (s Vouchers) lowestOf(ctx context.Context, q voucher.Search) (int64, error) {
	var ids []int64
	err := ofShop(s.db.Read(ctx).Table("tb_voucher v"), q.ShopID).Where("v.id < ?", q.Before).
		Order("v.id DESC").Offset(cmp.Or(q.Compared, vouchersPerSearch)-1).Limit(1).Pluck("v.id", &ids).Error
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[0], nil
}

// ofShop selects the vouchers of a shop, or for shop 0, the vouchers of all shops but that of rehearsals.
func ofShop(query *gorm.DB, shopID int64) *gorm.DB {
	if shopID != 0 {
		return query.Where("v.shop_id = ?", shopID)
	}
	return query.Where("v.shop_id <> ?", voucher.RehearsalShop)
}

// OpenSales is voucher.Parts.OpenSales.
func (s Vouchers) OpenSales(ctx context.Context, shopID int64) (n int64, err error) {
	err = s.db.Read(ctx).Table("tb_seckill_voucher s").Joins("JOIN tb_voucher v ON v.id = s.voucher_id").
		Where("v.shop_id = ? AND s.end_time > ?", shopID, s.db.LedgerClock()).Count(&n).Error
	return n, sqlkit.ReadError(fmt.Sprintf("counting the sales of shop %d", shopID), err)
}
