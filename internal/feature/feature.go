// Package feature defines features: parts without which the shop would still sell. Each has its own folder beside this
// file, and a line in the list internal/features. Features know the core's domain and the kits, but never each other;
// the core knows none of them. The reasons are in docs/adr/0038-core-kits-features-lab.md.
//
// A feature is made in three steps. A [Feature] has the parts that need no settings, such as errors and commands. Its
// Ledger function makes the part that runs in the ledger's transactions. Its Open function makes the [Parts] that need
// the stores, from the [Core].
package feature

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/pages"
	"seckill/internal/kit/preflight"
	"seckill/internal/sqlstore/sqlkit"
)

// Feature describes a feature before anything is opened. Every field but Name may be empty.
type Feature struct {
	Name     string         // the name of its folder
	Rules    []httpkit.Rule // rules for its errors; Early rules are matched before the core's late ones
	Commands []Command
	// Lock names its job that one instance at a time does, for the help of server locks: "lapser, which ends coupons".
	Lock string
	// Check returns its line in the list before a sale, read from the database.
	Check func(ctx context.Context, db *sqlkit.DB, sale *preflight.Sale) preflight.Line
	// Settings returns an ErrSettings if the feature cannot be opened with Core.Settings. It reads no other field of
	// Core. Open returns the same error.
	Settings func(Core) error
	// Ledger makes the part that runs in the ledger's transactions. Every process that opens the ledger calls it once,
	// before it writes anything.
	Ledger func(db *sqlkit.DB, orders sqlkit.Orders) InLedger
	// Open connects the feature to the core. It starts nothing. A process calls it once.
	Open func(Core) (Parts, error)
}

// InLedger is a feature in a process that has opened the ledger.
type InLedger struct {
	Hook sqlkit.Hook
	// Open replaces Feature.Open if it needs the state of the hook.
	Open func(Core) (Parts, error)
}

// Parts are what a feature adds to a process. Every field may be empty.
type Parts struct {
	// Start is called once, before jobs run and requests are answered. If it returns an error, the process does not
	// start.
	Start      []func(context.Context) error
	Routes     []httpkit.Route
	Jobs       []func(context.Context) error // each runs until its context ends, and may be stopped at any time
	Metrics    []prometheus.Collector
	Gatekeeper httpkit.Gatekeeper // at most one feature has it
	Members    Members
	Close      []func() // called after all jobs and requests have ended
	// Void reports whether a token that was issued to a user at a time is void; the zero time: the token has no such
	// time. It is called for each token, and answers from memory.
	Void func(userID int64, issued time.Time) bool
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

// Check returns the lines of all features in the list before a sale.
func (l List) Check(ctx context.Context, db *sqlkit.DB, sale *preflight.Sale) (lines []preflight.Line) {
	for _, f := range l {
		if f.Check != nil {
			lines = append(lines, f.Check(ctx, db, sale))
		}
	}
	return lines
}

// Settings returns an ErrSettings if a feature cannot be opened with core.Settings, or nil.
func (l List) Settings(core Core) error {
	for _, f := range l {
		if f.Settings == nil {
			continue
		}
		if err := f.Settings(core); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

// InLedger returns the features in a process that has opened the ledger, and their hooks.
func (l List) InLedger(db *sqlkit.DB, orders sqlkit.Orders) (opened List, hooks []sqlkit.Hook) {
	opened = slices.Clone(l)
	for i := range opened {
		f := &opened[i]
		if f.Ledger == nil {
			continue
		}
		in := f.Ledger(db, orders)
		in.Hook.Feature = f.Name
		hooks = append(hooks, in.Hook)
		if in.Open != nil {
			f.Open = in.Open
		}
	}
	return opened, hooks
}

// Open opens all features and returns their combined parts.
func (l List) Open(core Core) (all Parts, err error) {
	all.Members = core.Members
	for _, f := range l {
		if f.Open == nil {
			continue
		}
		core.Members, core.Gate = all.Members, all.Gatekeeper
		parts, err := f.Open(core)
		if err != nil {
			return Parts{}, fmt.Errorf("%s: %w", f.Name, err)
		}
		all.Start = append(all.Start, parts.Start...)
		all.Routes = append(all.Routes, parts.Routes...)
		all.Jobs = append(all.Jobs, parts.Jobs...)
		all.Metrics = append(all.Metrics, parts.Metrics...)
		if parts.Gatekeeper != nil {
			all.Gatekeeper = parts.Gatekeeper
		}
		all.Members = all.Members.with(parts.Members)
		all.Close = append(all.Close, parts.Close...)
		all.Void = either(all.Void, parts.Void)
		all.Providers = append(all.Providers, parts.Providers...)
	}
	return all, nil
}

// either returns a function that is true where a or b is; each may be nil.
func either(a, b func(int64, time.Time) bool) func(int64, time.Time) bool {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(userID int64, issued time.Time) bool { return a(userID, issued) || b(userID, issued) }
}

// ErrSettings is the error if a feature cannot be opened with its settings: starting again cannot help.
var ErrSettings = errors.New("the settings are wrong")
