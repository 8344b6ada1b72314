package shops

import (
	"time"

	"seckill/internal/feature"
)

// New returns the feature.
func New() feature.Feature { return feature.Feature{Name: "shops", Open: open} }

func open(core feature.Core) (feature.Parts, error) {
	ledger := NewLedger(core.DB)
	names := NewNames(ledger.Faces, time.Now)
	most := Most(core.Settings.Merchants.Sales, core.Settings.Merchants.Units)
	return feature.Parts{
		Routes:  Routes(ledger, names, most, core.Front),
		Members: feature.Members{"shop": {Shops: names.Known, SearchShops: ledger.Search}},
		Bounds:  ledger.Bounds,
	}, nil
}
