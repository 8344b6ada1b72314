package checklist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"seckill/internal/feature"
	"seckill/internal/order/audit"
	"seckill/internal/voucher"
)

const (
	// sourceTimeout is the time limit of each source. A store that needs longer is a No anyway.
	sourceTimeout = 5 * time.Second
	// partitionTimeout bounds the query for a sale's partition; after it, partition 0 is inspected.
	partitionTimeout = 2 * time.Second
	// changesShown is how many of a sale's latest changes are read.
	changesShown = 20
)

// Checklist gathers the facts for the checks before a sale.
type Checklist struct {
	core    feature.Core
	away    error // why the ledger is not open; then core has only what needs no ledger
	servers servers
}

// newChecklist returns a checklist on the core; away says why the ledger is not open, if it is not.
func newChecklist(core feature.Core, away error) *Checklist {
	return &Checklist{core, away, servers{core.Partitions, core.Settings.Redis.Prefix, core.Settings.Embedded()}}
}

// Facts asks all sources concurrently; with voucherID 0, it leaves out those about a sale. Errors: voucher.ErrNotFound,
// voucher.ErrNotSeckill.
func (c *Checklist) Facts(ctx context.Context, voucherID int64) (Facts, error) {
	set := c.core.Settings
	f := Facts{
		PoolSize: set.MySQL.PoolSize, Confirming: set.Redis.Replicas, HasProvider: set.Payment.HasProvider(),
		Embedded: set.Embedded(),
	}
	redis := ask(ctx, func(ctx context.Context) (Redis, error) { return c.redis(ctx, voucherID) })
	ledger, instances, backlog := ask(ctx, c.ledger), ask(ctx, c.core.Redis.Instances), ask(ctx, c.backlog)
	unset := ask(ctx, c.unset)
	if voucherID > 0 {
		f.Sale, f.SaleErr = ask(ctx, func(ctx context.Context) (*Sale, error) { return c.sale(ctx, voucherID) })()
	}
	f.Redis, f.RedisErr = redis()
	f.Ledger, f.LedgerErr = ledger()
	f.Instances, f.InstancesErr = instances()
	f.Backlog, f.BacklogErr = backlog()
	f.Unset, _ = unset() // a ledger that does not answer has a line of its own
	if errors.Is(f.SaleErr, voucher.ErrNotFound) || errors.Is(f.SaleErr, voucher.ErrNotSeckill) {
		return f, f.SaleErr
	}
	return f, nil
}

// unset returns the providers that are set no more, and for which refunds wait.
func (c *Checklist) unset(ctx context.Context) (all []UnsetProvider, err error) {
	if c.away != nil {
		return nil, c.away
	}
	waiting, err := c.core.Ledger.RefundsWaiting(ctx)
	for _, name := range c.core.Settings.Payment.Unset(waiting) {
		all = append(all, UnsetProvider{name, waiting[name]})
	}
	return all, err
}

// ask starts asking a source, and returns a function that waits for the answer.
func ask[T any](ctx context.Context, source func(context.Context) (T, error)) func() (T, error) {
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	var (
		answer T
		err    error
	)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		defer cancel()
		answer, err = source(ctx)
	}()
	return func() (T, error) {
		<-answered
		return answer, err
	}
}

// redis inspects the server that has the sale. Without a sale, or if its partition is unknown, it inspects the server
// of partition 0, and reports the memory of the fullest server.
func (c *Checklist) redis(ctx context.Context, voucherID int64) (Redis, error) {
	partition, known := c.partitionOf(ctx, voucherID)
	r, err := c.servers.inspect(ctx, partition)
	if !known && err == nil && !c.core.Settings.Embedded() {
		r.Used, r.Limit, err = c.core.Redis.Memory(ctx)
	}
	return r, cmp.Or(c.core.Redis.OtherData(partition), err)
}

// partitionOf returns a sale's partition; 0 if it is not known.
func (c *Checklist) partitionOf(ctx context.Context, voucherID int64) (partition int, known bool) {
	if voucherID == 0 || c.away != nil {
		return 0, false
	}
	ctx, cancel := context.WithTimeout(ctx, partitionTimeout)
	defer cancel()
	v, err := c.core.Ledger.Voucher(ctx, voucherID)
	if err != nil || v.Sale == nil {
		return 0, false
	}
	return v.Sale.Partition, true
}

func (c *Checklist) ledger(ctx context.Context) (Ledger, error) {
	if c.away != nil {
		return Ledger{}, c.away
	}
	return database{c.core.DB}.inspect(ctx)
}

// backlog adds up the waiting orders and the dead letters of all partitions.
func (c *Checklist) backlog(ctx context.Context) (b Backlog, err error) {
	if c.away != nil {
		return b, fmt.Errorf("which partitions exist is not known: %w", c.away)
	}
	b.Waiting, b.DeadLetters, err = c.core.Redis.Backlog(ctx)
	return b, err
}

// sale reads the sale of a voucher, and its changes.
func (c *Checklist) sale(ctx context.Context, id int64) (*Sale, error) {
	if c.away != nil {
		return nil, c.away
	}
	v, err := c.core.Ledger.Voucher(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case v.Sale == nil:
		return nil, voucher.ErrNotSeckill
	}
	s := &Sale{
		VoucherID: v.ID, Issued: v.Sale.Issued, Price: v.PayValue, Worth: v.ActualValue,
		Currency: c.core.Settings.Payment.Currency,
		Begin:    v.Sale.Begin, End: v.Sale.End, OffShelf: v.Status != voucher.OnShelf,
		Paused: v.Sale.Paused, Retired: v.Sale.Retired,
	}
	if s.Changes, err = c.changes(ctx, id); err != nil {
		return nil, err
	}
	var changed time.Time
	if len(s.Changes) > 0 {
		changed = s.Changes[0].At
	}
	s.More = c.core.Front.Members.Checks(ctx, id, changed)
	if !v.Sale.Retired {
		c.balance(ctx, s)
	}
	return s, nil
}

// balance sets whether the sale's units are all accounted for. Without Redis this stays unknown.
func (c *Checklist) balance(ctx context.Context, s *Sale) {
	balance, err := c.core.Sales.Balance(ctx, s.VoucherID)
	switch {
	case err != nil:
		s.Undecided = err.Error()
	case balance.Finding.Broken():
		s.Unbalanced = fmt.Sprintf("%s: %s", balance.Finding, balance.Why)
	case balance.Finding == audit.Undecided:
		s.Undecided = balance.Why
	}
}

// changes returns a voucher's changes since its creation, the latest first, without exports of its orders, which change
// nothing.
func (c *Checklist) changes(ctx context.Context, id int64) (changes []Change, err error) {
	entries, err := c.core.Ledger.Entries(ctx, voucher.AuditFilter{VoucherID: id}, math.MaxInt64, changesShown)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Action == voucher.Created || e.Action == voucher.Exported {
			continue
		}
		change := Change{At: e.At, Action: string(e.Action), By: e.By.AdminID}
		for _, field := range e.Changes {
			change.Fields = append(change.Fields, field.Field)
		}
		changes = append(changes, change)
	}
	return changes, nil
}
