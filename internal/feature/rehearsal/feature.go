package rehearsal

import (
	"context"

	"seckill/internal/feature"
	"seckill/internal/kit/preflight"
	"seckill/internal/sqlstore/sqlkit"
)

// New returns the feature.
func New() feature.Feature {
	return feature.Feature{
		Name: "rehearsal", Rules: Rules(), Check: check, Ledger: inLedger, Open: open,
		Lock: emptierJob + ", which removes what is left of rehearsals",
		Commands: []feature.Command{
			{Name: "rehearse", Summary: "play a sale before its day, with a crowd, and forecast it", Run: rehearse},
		},
	}
}

// inLedger adds the row of a rehearsal to the transaction that creates its voucher, so that no rehearsal runs without
// a row.
func inLedger(*sqlkit.DB, sqlkit.Orders) feature.InLedger {
	return feature.InLedger{Hook: sqlkit.Hook{Created: create}}
}

func open(core feature.Core) (feature.Parts, error) {
	return feature.Parts{
		Routes: Routes(openRehearsals(core), core.Front),
		Jobs:   []func(context.Context) error{emptier(core.Ledger, core.TryLockFenced, core.Log)},
	}, nil
}

// openRehearsals wires rehearsals to the core.
func openRehearsals(core feature.Core) *Rehearsals {
	return NewRehearsals(Parts{
		SalesToKeep: core.Ledger.SalesToKeep, TimeIn: core.Redis.TimeIn, Find: core.Ledger.Voucher,
		CreateBeside: core.CreateBeside, ChangeVoucher: core.ChangeVoucher, TryLock: core.TryLock,
		Runs: NewLedger(core.DB), Memory: core.Memory, Alone: core.Embedded,
	})
}

// check returns the line about a sale's last rehearsal with a result, for the list before the sale.
func check(ctx context.Context, db *sqlkit.DB, sale *preflight.Sale) preflight.Line {
	last, err := Last(ctx, db, sale.VoucherID)
	if err != nil {
		return preflight.Unknown(checkName, preflight.Warning, err)
	}
	return lineOf(last, sale.Changes)
}
