package template

import "seckill/internal/feature"

// New returns the feature.
func New() feature.Feature {
	return feature.Feature{Name: "template", Rules: Rules(), Open: open}
}

func open(core feature.Core) (feature.Parts, error) {
	return feature.Parts{Routes: Routes(NewTemplates(core.DB, core.Ledger.Voucher), core.Front)}, nil
}
