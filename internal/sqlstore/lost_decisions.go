package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// lostDecisionRow is the evidence of a rebuild that found a decision in Redis which the ledger has lost.
type lostDecisionRow struct {
	VoucherID       int64          `gorm:"column:voucher_id;primaryKey;autoIncrement:false"`
	Epoch           int64          `gorm:"column:epoch;primaryKey;autoIncrement:false"` // of the rebuild
	Pause           int64          `gorm:"column:pause"`                                // the operation's number
	Applied         int64          `gorm:"column:applied"`                              // Redis's last operation
	Decided         int64          `gorm:"column:decided"`                              // 0: not known
	Kind            operation.Kind `gorm:"column:kind"`
	Mode            order.SaleMode `gorm:"column:mode"` // 0: not known
	BeginTime       *time.Time     `gorm:"column:begin_time"`
	EndTime         *time.Time     `gorm:"column:end_time"`
	Stock           int64          `gorm:"column:stock"`
	LedgerOperation int64          `gorm:"column:ledger_operation"`
	LedgerMode      order.SaleMode `gorm:"column:ledger_mode"`
	LedgerBegin     time.Time      `gorm:"column:ledger_begin"`
	LedgerEnd       time.Time      `gorm:"column:ledger_end"`
	LedgerStock     int64          `gorm:"column:ledger_stock"`
	CreateTime      time.Time      `gorm:"column:create_time"`
	ResolveTime     *time.Time     `gorm:"column:resolve_time"`
}

// TableName implements gorm's schema.Tabler.
func (lostDecisionRow) TableName() string { return "tb_lost_decision" }

// raise raises the epoch of the locked sale, and pauses the sale if Redis had applied a decision that the ledger has
// lost. Operations that follow get numbers above Redis's. A purged sale is none any more: voucher.ErrNotSeckill.
func (tx transaction) raise(sale *saleRow, above int64, seen order.SaleView) (raised order.Raised, err error) {
	v, err := findVoucher(tx.DB, sale.VoucherID)
	switch {
	case err != nil:
		return raised, err
	case v.Sale.Purged():
		return raised, voucher.ErrNotSeckill // nothing opens it again
	}
	tail, err := tx.tailOf(v, seen)
	if err != nil {
		return raised, err
	}
	raised = order.Raised{
		Epoch: max(sale.Epoch, above) + 1, Lost: seen.Lost(tail), Decision: seen.LostDecision(tail),
	}
	changes := map[string]any{"epoch": raised.Epoch, "sequence": 0}
	if sale.FirstEpoch == 0 {
		changes["first_epoch"] = raised.Epoch
	}
	if raised.Lost && seen.Applied > sale.LastOperation {
		changes["last_operation"], sale.LastOperation = seen.Applied, seen.Applied
	}
	if err := tx.Model(&saleRow{}).Where("voucher_id = ?", sale.VoucherID).Updates(changes).Error; err != nil {
		return raised, err
	}
	if !raised.Decision {
		return raised, nil
	}
	if found, err := tx.foundBefore(sale.VoucherID, seen); err != nil || found {
		return raised, err
	}
	err = tx.lostDecision(&raised, v, sale, seen, tail)
	return raised, err
}

// foundBefore reports whether a rebuild that did not end has found this lost decision, and nobody has decided since.
func (tx transaction) foundBefore(voucherID int64, seen order.SaleView) (bool, error) {
	var epochs []int64
	err := tx.Model(&lostDecisionRow{}).Where("voucher_id = ? AND applied = ? AND decided = ? AND resolve_time IS NULL",
		voucherID, seen.Applied, seen.Decided.Number).Limit(1).Pluck("epoch", &epochs).Error
	return len(epochs) > 0, sqlkit.Wrapf(err, "looking for the evidence of a lost decision")
}

// lostDecision pauses a sale whose last decision is lost, unless it can sell nothing anyway, and writes the evidence.
func (tx transaction) lostDecision(
	raised *order.Raised, v voucher.Voucher, sale *saleRow, seen order.SaleView, tail order.LedgerTail,
) error {
	now, err := tx.now()
	if err != nil {
		return err
	}
	row := lostDecisionRow{
		VoucherID: v.ID, Epoch: raised.Epoch, Applied: seen.Applied, Decided: seen.Decided.Number,
		Kind: operation.Kind(seen.Decided.Kind), BeginTime: sqlkit.Stamp(seen.Begin), EndTime: sqlkit.Stamp(seen.End),
		Stock: seen.Stock, LedgerOperation: tail.Last.Number, LedgerMode: tail.Mode, LedgerBegin: tail.Begin,
		LedgerEnd: tail.End, LedgerStock: v.Sale.Stock, CreateTime: now,
	}
	if seen.Mode != order.SaleRebuilding {
		row.Mode = seen.Mode
	}
	if raised.Paused, err = tx.pause(sale, v, now); err != nil {
		return err
	}
	if raised.Paused {
		row.Pause = sale.LastOperation
	} else if sale.CalledOff != nil || !now.Before(sale.EndTime) { // nothing is left to decide
		row.ResolveTime = &now
	}
	if err := tx.Create(&row).Error; err != nil {
		return fmt.Errorf("writing the evidence of a lost decision: %w", err)
	}
	return sqlkit.WriteAudit(tx.DB, now, voucher.Author{Request: string(order.ByRecovery)}, sqlkit.AuditRow{
		VoucherID: v.ID, Action: voucher.DecisionLost, Changes: row.lost().Changes(),
	})
}

// pause pauses a locked sale, and reports whether it did: not if the sale is paused, called off or over.
func (tx transaction) pause(sale *saleRow, v voucher.Voucher, now time.Time) (bool, error) {
	if sale.CalledOff != nil || sale.Paused || !now.Before(sale.EndTime) {
		return false, nil
	}
	sale.Paused = true
	if err := tx.Model(sale).Update("paused", true).Error; err != nil {
		return false, fmt.Errorf("pausing the sale: %w", err)
	}
	paused := *v.Sale
	paused.Paused = true
	begin, end := sale.BeginTime, sale.EndTime
	err := tx.appendOperations(sale, []operationRow{{
		Kind: operation.Pausing, Actor: order.ByRecovery, Mode: order.ModeOf(v.Status, paused),
		BeginTime: &begin, EndTime: &end,
	}}, now)
	if err != nil {
		return false, err
	}
	paused.LastOperation, v.Sale = sale.LastOperation, &paused
	return true, tx.voucherChanged(v)
}

// NoteRestored gives up what features can no longer trust in a ledger that was restored from a backup: sessions.
func (s Sales) NoteRestored(ctx context.Context, by voucher.Author) error {
	err := s.write(ctx, func(tx transaction) error {
		now, err := tx.now()
		if err != nil {
			return err
		}
		err = tx.each(func(h sqlkit.Hook) error {
			if h.Restored == nil {
				return nil
			}
			return h.Restored(tx.DB)
		})
		if err != nil {
			return err
		}
		return sqlkit.WriteAudit(tx.DB, now, by, sqlkit.AuditRow{Action: voucher.LedgerRestored})
	})
	return sqlkit.ReadError("noting that the ledger was restored", err)
}

// PauseRestored pauses a sale of a ledger that was restored from a backup, with numbers above Redis's, and reports
// whether it did. seen is the sale as Redis has it; the zero view if Redis does not have it.
func (s Sales) PauseRestored(
	ctx context.Context, id int64, seen order.SaleView, by voucher.Author,
) (paused bool, err error) {
	err = s.write(ctx, func(tx transaction) error {
		sale, err := lockSale(tx, id)
		if err != nil {
			return err
		}
		raised, err := tx.raise(&sale, seen.Mark.Epoch, seen)
		if err != nil || raised.Paused {
			paused = raised.Paused
			return err
		}
		v, err := findVoucher(tx.DB, id)
		if err != nil {
			return err
		}
		now, err := tx.now()
		if err != nil {
			return err
		}
		if paused, err = tx.pause(&sale, v, now); err != nil || !paused {
			return err
		}
		return sqlkit.WriteAudit(tx.DB, now, by, sqlkit.AuditRow{
			VoucherID: id, Action: voucher.Paused, Changes: []voucher.FieldChange{{Field: "paused", To: "true"}},
		})
	})
	return paused, sqlkit.ReadError(fmt.Sprintf("pausing the sale of voucher %d", id), err)
}

// tailOf reads what decides whether the ledger has lost operations of a sale that Redis has applied.
func (tx transaction) tailOf(v voucher.Voucher, seen order.SaleView) (order.LedgerTail, error) {
	t := order.LedgerTail{
		Last: order.OperationRef{Number: v.Sale.LastOperation, Identity: v.Sale.LastIdentity},
		Mode: order.ModeOf(v.Status, *v.Sale), Begin: v.Sale.Begin, End: v.Sale.End,
	}
	var rows []operationRow
	numbers := []int64{seen.Applied, seen.Decided.Number}
	err := tx.Where("voucher_id = ? AND number IN ?", v.ID, numbers).Find(&rows).Error
	if err != nil {
		return t, fmt.Errorf("reading operations: %w", err)
	}
	for _, row := range rows {
		if ref := row.operation().Ref(); row.Number == seen.Applied {
			t.Applied = ref
		}
		if row.Number == seen.Decided.Number {
			t.Decided = order.Decided{OperationRef: row.operation().Ref(), Kind: string(row.Kind)}
		}
	}
	var pending []int64
	err = tx.Model(&operationRow{}).Where("voucher_id = ? AND state = ?", v.ID, operationPending).Limit(1).
		Pluck("number", &pending).Error
	if err != nil {
		return t, fmt.Errorf("looking for pending operations: %w", err)
	}
	t.Pending = len(pending) > 0
	return t, nil
}

// recentOperations is among how many of a sale's last operations lastDecision looks.
const recentOperations = 10_000

// lastDecision returns the last of the sale's latest operations that a person decided and that took effect; the zero
// Decided if it may be an earlier one.
func lastDecision(tx transaction, id, last int64) (d order.Decided, err error) {
	var row operationRow
	err = tx.Where("voucher_id = ? AND number > ? AND kind IN ? AND state IN ?", id, last-recentOperations,
		operation.Decisions(), []operationState{operationApplied, operationAbsorbed}).
		Order("number DESC").Limit(1).Take(&row).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound) && last <= recentOperations:
		return order.Decided{Kind: order.NoDecision}, nil
	case errors.Is(err, gorm.ErrRecordNotFound):
		return d, nil
	case err != nil:
		return d, fmt.Errorf("looking for the last decision: %w", err)
	}
	return order.Decided{OperationRef: row.operation().Ref(), Kind: string(row.Kind)}, nil
}

// resolve marks the lost decisions of a sale as seen: a person has decided anew.
func (tx transaction) resolve(voucherID int64, now time.Time) error {
	err := tx.Model(&lostDecisionRow{}).Where("voucher_id = ? AND resolve_time IS NULL", voucherID).
		Update("resolve_time", now).Error
	return sqlkit.Wrapf(err, "resolving a lost decision")
}

// LostDecisions returns the lost decisions that nobody has resolved, the latest first: of one sale, or of all for 0.
func (s Sales) LostDecisions(ctx context.Context, voucherID int64) ([]voucher.LostDecision, error) {
	query := s.db.Read(ctx).Where("resolve_time IS NULL").Order("create_time DESC").Limit(sqlkit.BatchRows)
	if voucherID != 0 {
		query = query.Where("voucher_id = ?", voucherID)
	}
	domain := func(r *lostDecisionRow) voucher.LostDecision { return r.lost() }
	return sqlkit.List(query, "reading lost decisions", domain)
}

func (r lostDecisionRow) lost() voucher.LostDecision {
	return voucher.LostDecision{
		VoucherID: r.VoucherID, At: r.CreateTime, Paused: r.Pause > 0, Kind: string(r.Kind),
		Redis: voucher.SaleSide{
			Operation: r.Applied, Mode: r.Mode.Word(), Begin: sqlkit.At(r.BeginTime), End: sqlkit.At(r.EndTime),
			Stock: r.Stock,
		},
		Ledger: voucher.SaleSide{
			Operation: r.LedgerOperation, Mode: r.LedgerMode.Word(), Begin: r.LedgerBegin, End: r.LedgerEnd,
			Stock: r.LedgerStock,
		},
	}
}
