// Package feature says what a feature is: a part that could be left out, and the shop would still sell. Each lies in a
// folder of its own beside this file, and stands in one list, cmd/server/features.go. Features know the core's domain
// and the kits, and never each other; the core knows none of them. docs/adr/0038-core-kits-features-lab.md says why.
package feature

import (
	"context"

	"seckill/internal/httpapi/httpkit"
)

// Feature is what a feature adds to the service. Every field may be empty.
type Feature struct {
	Routes []httpkit.Route
	Rules  []httpkit.Rule                // of its errors; those of the core come first
	Jobs   []func(context.Context) error // run until their context ends, and may be stopped at any moment
}

// List is all features, in their order.
type List []Feature

// Routes returns the routes of all.
func (l List) Routes() (all []httpkit.Route) {
	for _, f := range l {
		all = append(all, f.Routes...)
	}
	return all
}

// Rules returns the rules of all.
func (l List) Rules() (all []httpkit.Rule) {
	for _, f := range l {
		all = append(all, f.Rules...)
	}
	return all
}

// Jobs returns the jobs of all.
func (l List) Jobs() (all []func(context.Context) error) {
	for _, f := range l {
		all = append(all, f.Jobs...)
	}
	return all
}
