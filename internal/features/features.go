// Package features is the list of this program's features, and the only place that names them all. To remove a feature,
// delete its folder and its line here.
package features

import (
	"seckill/internal/feature"
	"seckill/internal/feature/checklist"
	"seckill/internal/feature/guard"
	"seckill/internal/feature/identity"
	"seckill/internal/feature/journal"
	"seckill/internal/feature/redemption"
	"seckill/internal/feature/rehearsal"
	"seckill/internal/feature/report"
	"seckill/internal/feature/retention"
	"seckill/internal/feature/shops"
	"seckill/internal/feature/template"
	"seckill/internal/feature/waitlist"
	"seckill/internal/feature/webhook"
)

// List returns all features. Their hooks run in this order, and waiting lists stand behind the guards, whose gatekeeper
// they ask.
func List() feature.List {
	return feature.List{
		template.New(),
		rehearsal.New(),
		redemption.New(),
		guard.New(),
		waitlist.New(),
		webhook.New(),
		identity.New(),
		journal.New(),
		report.New(),
		checklist.New(),
		retention.New(),
		shops.New(),
	}
}
