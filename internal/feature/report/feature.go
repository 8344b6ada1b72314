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
	}, core.Members)
	return feature.Parts{Routes: Routes(reports, HTTP{
		Note: core.Ledger.Note, Streams: core.Front.Streams, Now: core.Front.Now,
		ShopOf: core.Front.ShopOf, Zone: core.Front.Zone, Currency: core.Front.Currency,
	})}, nil
}
