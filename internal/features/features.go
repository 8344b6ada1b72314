// Package features is the list of this program's features, and the only place that names them all. A feature leaves
// with its folder and its line here.
package features

import (
	"seckill/internal/feature"
	"seckill/internal/feature/rehearsal"
	"seckill/internal/feature/report"
	"seckill/internal/feature/template"
)

// List returns all features.
func List() feature.List {
	return feature.List{
		template.New(),
		rehearsal.New(),
		report.New(),
	}
}
