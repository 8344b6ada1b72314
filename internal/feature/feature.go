// Package feature says what a feature is: a part that could be left out, and the shop would still sell. Each lies in a
// folder of its own beside this file, and stands in one list, internal/features. Features know the core's domain and
// the kits, and never each other; the core knows none of them. docs/adr/0038-core-kits-features-lab.md says why.
//
// A feature is made in three steps. What is known before any setting is read is a [Feature]: its errors, its commands.
// What it does in the ledger's transactions, Ledger makes of the database. What works on the stores are its [Parts],
// which Open makes of the [Core].
package feature

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/preflight"
	"seckill/internal/sqlstore/sqlkit"
)

// Feature is what is known of a feature before anything is opened. Every field but Name may be empty.
type Feature struct {
	Name     string         // that of its folder
	Rules    []httpkit.Rule // of its errors; those of the core come first
	Commands []Command
	// Check is its line in the list before a sale, which it asks the database for.
	Check func(ctx context.Context, db *sqlkit.DB, sale *preflight.Sale) preflight.Line
	// Ledger makes what it does in the ledger's transactions. Every process that opens the ledger calls it once, before
	// anything is written.
	Ledger func(db *sqlkit.DB, orders sqlkit.Orders) InLedger
	// Open wires it to the core. It starts nothing. A process calls it once.
	Open func(Core) (Parts, error)
}

// InLedger is a feature in a process that has opened the ledger.
type InLedger struct {
	Hook sqlkit.Hook
	// Open is Feature.Open where that has to know what the hook knows.
	Open func(Core) (Parts, error)
}

// Parts are what a feature adds to a process. Every field may be empty.
type Parts struct {
	// Start is done once, before jobs run and requests are answered. An error of it ends the start of the process.
	Start      []func(context.Context) error
	Routes     []httpkit.Route
	Jobs       []func(context.Context) error // run until their context ends, and may be stopped at any moment
	Metrics    []prometheus.Collector
	Gatekeeper httpkit.Gatekeeper // at most one feature has it
	Members    Members
	Close      []func() // called once no job runs and no request is under way
}

// List is all features, in their order.
type List []Feature

// Rules returns the rules of all.
func (l List) Rules() (all []httpkit.Rule) {
	for _, f := range l {
		all = append(all, f.Rules...)
	}
	return all
}

// Commands returns the commands of all.
func (l List) Commands() (all []Command) {
	for _, f := range l {
		all = append(all, f.Commands...)
	}
	return all
}

// Check returns the lines of all in the list before a sale.
func (l List) Check(ctx context.Context, db *sqlkit.DB, sale *preflight.Sale) (lines []preflight.Line) {
	for _, f := range l {
		if f.Check != nil {
			lines = append(lines, f.Check(ctx, db, sale))
		}
	}
	return lines
}

// InLedger returns the features as they are in a process that has opened the ledger, and their hooks.
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

// Open opens all, and returns what they add together.
func (l List) Open(core Core) (all Parts, err error) {
	all.Members = core.Members
	for _, f := range l {
		if f.Open == nil {
			continue
		}
		core.Members = all.Members
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
	}
	return all, nil
}
