package report

import "seckill/internal/feature"

// New returns the feature.
func New() feature.Feature {
	return feature.Feature{Name: "report", Open: open}
}

func open(core feature.Core) (feature.Parts, error) {
	reports := NewReports(core.DB, Core{
		Find: core.Ledger.Voucher, Orders: core.Ledger.OrdersAfter, Payments: core.Ledger.PaymentsAfter,
		Entries: core.Ledger.Entries,
	}, core.Front.Members)
	return feature.Parts{Routes: Routes(reports, core.Front, core.Ledger.Note)}, nil
}
