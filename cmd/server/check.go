package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"seckill/internal/config"
	"seckill/internal/order/audit"
	"seckill/internal/preflight"
	"seckill/internal/voucher"
)

const checkHelp = `server check is the list to go through before a sale: the stores answer, and how fast; they keep what they were
given; clocks, instances, connections, memory; with -voucher, the sale itself, its payment, and what was
changed. It works beside running instances, on the settings that they have (SECKILL_*).

  server check
  server check -voucher 7
  server check -voucher 7 -lang zh

Each line is ok, a warning, or a no, with what to do. It writes one key that expires and one row of its own.

Exit code: 0 for go, also with warnings; 3 for no-go; 1 when it could not be checked.`

const (
	checkTimeout = 30 * time.Second // all questions together
	// changesShown is how many of the last changes of a sale are looked at.
	changesShown = 20
)

// check is the command check.
func check(ctx context.Context, env environment) error {
	set := flag.NewFlagSet("check", flag.ContinueOnError)
	id := set.Int64("voucher", 0, "the `id` of the voucher whose sale is to go ahead")
	lang := set.String("lang", "en", "`language` of the list: en or zh")
	if err := parse(env, set, checkHelp); err != nil {
		return err
	}
	languages := map[string]preflight.Language{"en": preflight.English, "zh": preflight.Chinese}
	in, known := languages[*lang]
	switch {
	case *id < 0 || *id > voucher.MaxID:
		return misuse(set, fmt.Sprintf("-voucher is %d (allowed: 1 to %d)", *id, voucher.MaxID))
	case !known:
		return misuse(set, fmt.Sprintf("-lang is %q (allowed: en, zh)", *lang))
	}
	w, err := openToolEnv(ctx, env)
	if err != nil {
		return err
	}
	defer w.close(ctx)
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	cfg, err := config.Load(env.environ)
	if err != nil {
		return err
	}
	facts, err := w.facts(ctx, cfg, *id)
	if err != nil {
		return err
	}
	return printList(env, preflight.List(facts, time.Now()), in)
}

// facts asks the stores: of a Redis Cluster the node that has the sale, or that of partition 0 where no voucher is given.
func (w *toolEnv) facts(ctx context.Context, cfg config.Config, id int64) (f preflight.Facts, err error) {
	f.PoolSize, f.Confirming, f.HasProvider = cfg.MySQL.PoolSize, cfg.Redis.Replicas, cfg.Payment.Provider != "none"
	partition := 0
	if id > 0 {
		if f.Sale, partition, err = w.saleFacts(ctx, id); err != nil {
			return f, err
		}
	}
	f.Redis, f.RedisErr = w.stores.redis.Inspect(ctx, partition)
	if f.RedisErr == nil && id == 0 { // no sale's node: the fullest
		f.Redis.Used, f.Redis.Limit, f.RedisErr = w.stores.redis.Memory(ctx)
	}
	f.Ledger, f.LedgerErr = w.stores.ledger.Inspect(ctx)
	f.Instances, f.InstancesErr = w.stores.redis.Instances(ctx)
	for _, n := range w.partitions.All() {
		backlog, err := w.stores.redis.Backlog(ctx, n)
		f.Waiting, f.DeadLetters, f.BacklogErr = f.Waiting+backlog.Waiting, f.DeadLetters+backlog.Dead, errors.Join(f.BacklogErr, err)
	}
	return f, nil
}

// saleFacts asks for the sale of a voucher, where it is, and what was changed of it.
func (w *toolEnv) saleFacts(ctx context.Context, id int64) (s *preflight.Sale, partition int, err error) {
	v, err := w.stores.ledger.Voucher(ctx, id)
	switch {
	case errors.Is(err, voucher.ErrNotFound):
		return nil, 0, fmt.Errorf("there is no voucher %d", id)
	case err != nil:
		return nil, 0, err
	case v.Sale == nil:
		return nil, 0, fmt.Errorf("voucher %d is an ordinary one: it has no sale", id)
	}
	s = &preflight.Sale{
		VoucherID: v.ID, Title: v.Title, Issued: v.Sale.Issued, Costs: v.PayValue > 0, Begin: v.Sale.Begin, End: v.Sale.End,
		OffShelf: v.Status != voucher.OnShelf, Paused: v.Sale.Paused, Retired: v.Sale.Retired,
	}
	if !v.Sale.Retired {
		balance, err := w.auditor.Balance(ctx, id)
		if err != nil {
			return nil, 0, err
		}
		switch {
		case balance.Finding.Broken():
			s.Unbalanced = fmt.Sprintf("%s: %s", balance.Finding, balance.Why)
		case balance.Finding == audit.Undecided:
			s.Undecided = balance.Why
		}
	}
	entries, err := w.stores.ledger.Entries(ctx, voucher.AuditFilter{VoucherID: id}, math.MaxInt64, changesShown)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if e.Action == voucher.Created {
			continue
		}
		c := preflight.Change{At: e.At, Action: string(e.Action), By: e.By.AdminID}
		for _, field := range e.Changes {
			c.Fields = append(c.Fields, field.Field)
		}
		s.Changes = append(s.Changes, c)
	}
	return s, v.Sale.Partition, nil
}

// printList prints the list; errFound for no-go.
func printList(env environment, lines []preflight.Line, in preflight.Language) error {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", l.Level, l.Name, l.What(in))
		if do := l.Do(in); do != "" {
			_, _ = fmt.Fprintf(table, "\t\t→ %s\n", do)
		}
	}
	_ = table.Flush() // into memory
	verdict := "GO"
	if !preflight.Go(lines) {
		verdict = "NO-GO"
	}
	if _, err := fmt.Fprintf(env.out, "%s%s\n", b.String(), verdict); err != nil {
		return err
	}
	if !preflight.Go(lines) {
		return errFound
	}
	return nil
}
