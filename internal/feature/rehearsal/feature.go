package rehearsal

import (
	"context"
	"time"

	"seckill/internal/feature"
	"seckill/internal/kit/check"
	"seckill/internal/sqlstore/sqlkit"
)

// New returns the feature.
func New() feature.Feature {
	return feature.Feature{
		Name: "rehearsal", Rules: Rules(), Open: open,
		Lock: emptierJob + ", which removes what is left of rehearsals",
		Commands: []feature.Command{
			{Name: "rehearse", Summary: "play a sale before its day, with a crowd, and forecast it", Run: rehearse},
		},
	}
}

// open connects rehearsals to the core. The hook writes the row of a rehearsal in the transaction that creates its
// voucher, so that no rehearsal runs without a row.
func open(core feature.Core) (feature.Parts, error) {
	return feature.Parts{
		Hooks:   []sqlkit.Hook{{Created: create}},
		Routes:  Routes(openRehearsals(core), core.Front),
		Jobs:    []func(context.Context) error{emptier(core.Ledger, core.TryLock, core.Log)},
		Members: feature.Members{checkName: {Check: checkOf(core.DB)}},
	}, nil
}

// openRehearsals wires rehearsals to the core.
func openRehearsals(core feature.Core) *Rehearsals {
	return NewRehearsals(Parts{
		SalesToKeep: core.Ledger.SalesToKeep, TimeIn: core.Redis.TimeIn, Find: core.Ledger.Voucher,
		CreateBeside: core.Vouchers.CreateBeside, ChangeVoucher: core.Vouchers.Change, TryLock: core.TryLock,
		Runs: NewLedger(core.DB), Memory: core.Redis.Memory, Alone: core.Settings.Embedded(),
	})
}

// checkOf returns a function that returns the line about a sale's last rehearsal with a result.
func checkOf(db *sqlkit.DB) func(ctx context.Context, voucherID int64, changed time.Time) check.Line {
	return func(ctx context.Context, voucherID int64, changed time.Time) check.Line {
		last, err := Last(ctx, db, voucherID)
		if err != nil {
			return check.Unknown(checkName, check.Warning, err)
		}
		return lineOf(last, changed)
	}
}
