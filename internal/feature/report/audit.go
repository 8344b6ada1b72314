package report

import (
	"context"
	"fmt"
	"math"

	"seckill/internal/order"
	"seckill/internal/voucher"
)

// AuditRow is one entry of the audit trail, with whose account its author is; the zero Account is nobody's.
type AuditRow struct {
	Entry  voucher.Entry
	Author voucher.Account
}

// Audit calls yield with all entries of the audit trail that the filter selects, newest first, a page at a time, until
// yield fails. Error: order.ErrUnavailable.
func (r *Reports) Audit(ctx context.Context, f voucher.AuditFilter, yield func([]AuditRow) error) error {
	for before := int64(math.MaxInt64); ; {
		page, err := r.auditPage(ctx, f, before)
		if err != nil {
			return order.OrUnavailable(fmt.Errorf("exporting the audit trail: %w", err))
		}
		if err := yield(page); err != nil {
			return err
		}
		if len(page) < exportPage {
			return nil
		}
		before = page[len(page)-1].Entry.ID
	}
}

func (r *Reports) auditPage(ctx context.Context, f voucher.AuditFilter, before int64) ([]AuditRow, error) {
	ctx, cancel := context.WithTimeout(ctx, exportTimeout)
	defer cancel()
	entries, err := r.core.Entries(ctx, f, before, exportPage)
	if err != nil {
		return nil, err
	}
	var accounts map[int64]voucher.Account
	if r.members.Accounts != nil {
		ids := make([]int64, len(entries))
		for i, e := range entries {
			ids[i] = e.By.AdminID
		}
		if accounts, err = r.members.Accounts(ctx, ids); err != nil {
			return nil, err
		}
	}
	rows := make([]AuditRow, len(entries))
	for i, e := range entries {
		rows[i] = AuditRow{e, accounts[e.By.AdminID]}
	}
	return rows, nil
}
