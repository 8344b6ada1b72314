// Package features is the list of this program's features, and the only place that names them all. To remove a feature,
// delete its folder and its line here.
package features

import (
	"seckill/internal/feature"
	"seckill/internal/feature/guard"
	"seckill/internal/feature/identity"
	"seckill/internal/feature/redemption"
	"seckill/internal/feature/rehearsal"
	"seckill/internal/feature/report"
	"seckill/internal/feature/template"
	"seckill/internal/feature/waitlist"
	"seckill/internal/feature/webhook"
)

// List returns all features. A feature sees the members of the features before it: the report shows coupons, what
// guards did, the results of waiting lists, and who of a provider's users made a change.
func List() feature.List {
	return feature.List{
		template.New(),
		rehearsal.New(),
		redemption.New(),
		guard.New(),
		waitlist.New(),
		webhook.New(),
		identity.New(),
		report.New(),
	}
}
