// Package feature defines features: parts without which the shop would still sell. Each has its own folder beside this
// file, and a line in the list internal/features. Features know the core's domain and the kits, but never each other;
// the core knows none of them. The reasons are in docs/adr/0038-core-kits-features-lab.md.
//
// A [Feature] has the parts that need no settings, such as errors and commands. Every process opens each feature once,
// with the [Core]: a server with all of it, a command with the stores that it has opened. Of the [Parts] that Open
// returns, a command uses only the hooks of the ledger.
package feature

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/pages"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// Feature describes a feature before anything is opened. Every field but Name and Open may be empty.
type Feature struct {
	Name     string         // the name of its folder
	Rules    []httpkit.Rule // rules for its errors; Early rules are matched before the core's late ones
	Commands []Command
	// Lock names its job that one instance at a time does, for the help of server locks: "lapser, which ends coupons".
	Lock string
	// Open connects the feature to the core. It starts nothing and asks no store. It returns an ErrSettings for
	// settings with which no server can start.
	Open func(Core) (Parts, error)
}

// Parts are what a feature adds to a process. Every field may be empty.
type Parts struct {
	Hooks []sqlkit.Hook // run in the ledger's transactions, in operators' commands, too
	// Start is called once, before jobs run and requests are answered. If it returns an error, the process does not
	// start.
	Start      []func(context.Context) error
	Routes     []httpkit.Route
	Jobs       []func(context.Context) error // each runs until its context ends, and may be stopped at any time
	Metrics    []prometheus.Collector
	Gatekeeper httpkit.Gatekeeper // at most one feature has it
	Members    httpkit.Members
	Close      []func() // called after all jobs and requests have ended
	// Void reports whether a token that was issued to a user at a time is void; the zero time: the token has no such
	// time. It is called for each token, and answers from memory. At most one feature has it.
	Void func(userID int64, issued time.Time) bool
	// Refused is called after a request to buy in a sale was refused. At most one feature has it.
	Refused httpkit.Refused
	// Bounds returns the bounds that are set for a shop, or order.ErrUnavailable. At most one feature has it.
	Bounds func(ctx context.Context, shopID int64) (voucher.Bounds, error)
	// Providers are the identity providers that the pages offer for signing in.
	Providers []pages.Provider
}

// List is all features, in order.
type List []Feature

// Rules returns the rules of all features.
func (l List) Rules() (all []httpkit.Rule) {
	for _, f := range l {
		all = append(all, f.Rules...)
	}
	return all
}

// Commands returns the commands of all features.
func (l List) Commands() (all []Command) {
	for _, f := range l {
		all = append(all, f.Commands...)
	}
	return all
}

// Locks returns Feature.Lock of all features that have such a job.
func (l List) Locks() (all []string) {
	for _, f := range l {
		if f.Lock != "" {
			all = append(all, f.Lock)
		}
	}
	return all
}

// Open opens all features and returns their combined parts, with a gatekeeper and a Void that refuse nobody if no
// feature has them. All features are given one map of members, which has those of all once Open returns. With an
// ErrSettings, the parts are those of the other features.
func (l List) Open(core Core) (all Parts, err error) {
	all = Parts{
		Gatekeeper: httpkit.NoGuards{}, Members: httpkit.Members{}, Void: func(int64, time.Time) bool { return false },
	}
	core.Front.Members = all.Members
	var wrong []error
	for _, f := range l {
		core.Front.Gatekeeper = all.Gatekeeper
		parts, err := f.Open(core)
		switch {
		case errors.Is(err, ErrSettings):
			wrong = append(wrong, fmt.Errorf("%s: %w", f.Name, err))
		case err != nil:
			return Parts{}, fmt.Errorf("%s: %w", f.Name, err)
		default:
			all.add(f.Name, parts)
		}
	}
	return all, errors.Join(wrong...)
}

// add adds the parts of a feature.
func (p *Parts) add(name string, more Parts) {
	for _, h := range more.Hooks {
		h.Feature = name
		p.Hooks = append(p.Hooks, h)
	}
	p.Start = append(p.Start, more.Start...)
	p.Routes = append(p.Routes, more.Routes...)
	p.Jobs = append(p.Jobs, more.Jobs...)
	p.Metrics = append(p.Metrics, more.Metrics...)
	p.Close = append(p.Close, more.Close...)
	p.Providers = append(p.Providers, more.Providers...)
	maps.Copy(p.Members, more.Members)
	if more.Gatekeeper != nil {
		p.Gatekeeper = more.Gatekeeper
	}
	if more.Refused != nil {
		p.Refused = more.Refused
	}
	if more.Void != nil {
		p.Void = more.Void
	}
	if more.Bounds != nil {
		p.Bounds = more.Bounds
	}
}

// ErrSettings is the error if a feature cannot be opened with its settings: starting again cannot help.
var ErrSettings = errors.New("the settings are wrong")
