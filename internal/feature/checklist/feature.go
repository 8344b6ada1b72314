package checklist

import "seckill/internal/feature"

// New returns the feature.
func New() feature.Feature {
	return feature.Feature{
		Name: "checklist", Open: open,
		Commands: []feature.Command{
			{Name: "check", Summary: "make the checks before a sale: go or no-go", Run: checkSale},
		},
	}
}

func open(core feature.Core) (feature.Parts, error) {
	return feature.Parts{Routes: Routes(newChecklist(core, nil).Facts, core.Front)}, nil
}
