package wiring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"seckill/internal/config"
	"seckill/internal/features"
	"seckill/internal/kit/preflight"
	"seckill/internal/order/audit"
	"seckill/internal/order/partition"
	"seckill/internal/order/recovery"
	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/telemetry"
	"seckill/internal/voucher"
)

const (
	// inspectorOpenTimeout bounds opening the database when a check begins.
	inspectorOpenTimeout = 5 * time.Second
	// partitionTimeout bounds the query for a sale's partition; after it, partition 0 is inspected.
	partitionTimeout = 2 * time.Second
	// changesShown is how many of a sale's latest changes are read.
	changesShown = 20
	// noWord stands for an unknown word (the ledger's mark of its installation): then no partition is compared with it.
	noWord = "unknown"
)

// Inspector gathers the facts for the checks before a sale.
type Inspector struct {
	stores    *Stores
	ledgerErr error // why the ledger could not be opened; then stores has no ledger, and the partitions are unknown
	auditor   *audit.Auditor
	provider  bool // whether there is a payment provider
	cfg       config.Config
}

// NewInspector returns an inspector of open stores with their auditor. provider is true if there is a payment provider.
func NewInspector(s *Stores, auditor *audit.Auditor, provider bool, cfg config.Config) *Inspector {
	return &Inspector{stores: s, auditor: auditor, provider: provider, cfg: cfg}
}

// OpenInspector opens the stores for the command check. It returns no error if a store does not answer: the checks
// report that.
func OpenInspector(
	ctx context.Context, cfg config.Config, build telemetry.Build, log *slog.Logger,
) (_ *Inspector, err error) {
	s := &Stores{partitions: partition.Only(0), build: build}
	defer func() {
		if err != nil {
			s.Close(log)
		}
	}()
	i := &Inspector{stores: s, cfg: cfg, provider: cfg.Payment.Provider != "none"}
	var word string
	word, i.ledgerErr = s.openLedgerNow(ctx, cfg, log)
	if errors.Is(i.ledgerErr, sqlkit.ErrDSN) {
		return nil, i.ledgerErr
	}
	if err := s.openRedis(cfg, cmp.Or(word, noWord), log); err != nil {
		return nil, err
	}
	if i.ledgerErr == nil {
		s.checkFormats(ctx)
	}
	i.auditor = audit.New(audit.Stores{
		Sales: s.Ledger, Vouchers: s.Ledger, Totals: s.Ledger.LedgerTotals, Inventory: s.Redis.Inventory,
	}, recovery.NewRepairQueue(), telemetry.NewMetrics(build), log)
	return i, nil
}

// Close closes the stores.
func (i *Inspector) Close(log *slog.Logger) { i.stores.Close(log) }

// openLedgerNow opens the database if it answers and has the schema of this version, and returns its word.
func (s *Stores) openLedgerNow(ctx context.Context, cfg config.Config, log *slog.Logger) (word string, err error) {
	ctx, cancel := context.WithTimeout(ctx, inspectorOpenTimeout)
	defer cancel()
	ledger, err := sqlstore.OpenMySQL(ctx, cfg.MySQL.DSN.Reveal(), ledgerOptions(cfg, log))
	if err != nil {
		return "", err
	}
	if err = ledger.Schema().Check(ctx); err == nil {
		s.partitions, err = partition.Load(ctx, ledger.Partitions, log)
	}
	if err == nil {
		word, err = ledger.Schema().Word(ctx)
	}
	if err != nil {
		s.partitions = partition.Only(0)
		return "", errors.Join(err, ledger.Close())
	}
	s.Ledger = ledger
	return word, nil
}

// Facts gathers all facts; with voucherID 0, it leaves out those about a sale. Errors: voucher.ErrNotFound,
// voucher.ErrNotSeckill.
func (i *Inspector) Facts(ctx context.Context, voucherID int64) (preflight.Facts, error) {
	sources := preflight.Sources{
		Redis:  func(ctx context.Context) []preflight.Redis { return i.redis(ctx, voucherID) },
		Ledger: i.ledger, Instances: i.stores.Redis.Instances, Backlog: i.backlog,
	}
	if voucherID > 0 {
		sources.Sale = func(ctx context.Context) (*preflight.Sale, error) { return i.sale(ctx, voucherID) }
	}
	f := preflight.Gather(ctx, preflight.Facts{
		PoolSize: i.cfg.MySQL.PoolSize, Confirming: i.cfg.Redis.Replicas, HasProvider: i.provider,
		Embedded: i.cfg.Embedded(),
	}, sources)
	if errors.Is(f.SaleErr, voucher.ErrNotFound) || errors.Is(f.SaleErr, voucher.ErrNotSeckill) {
		return f, f.SaleErr
	}
	return f, nil
}

// redis inspects the server that has the sale. Without a sale, or if its partition is unknown, it inspects the server
// of partition 0, and reports the memory of the fullest server.
func (i *Inspector) redis(ctx context.Context, voucherID int64) []preflight.Redis {
	partition, known := i.partitionOf(ctx, voucherID)
	servers := i.stores.Servers.InspectAll(ctx, []int{partition})
	if r := &servers[0]; !known && r.Err == nil && !i.cfg.Embedded() {
		r.Used, r.Limit, r.Err = i.stores.Servers.Memory(ctx)
	}
	if err := i.stores.Redis.OtherData(partition); err != nil {
		servers[0].Err = err
	}
	return servers
}

// partitionOf returns a sale's partition; 0 if it is not known.
func (i *Inspector) partitionOf(ctx context.Context, voucherID int64) (partition int, known bool) {
	if voucherID == 0 || i.ledgerErr != nil {
		return 0, false
	}
	ctx, cancel := context.WithTimeout(ctx, partitionTimeout)
	defer cancel()
	v, err := i.stores.Ledger.Voucher(ctx, voucherID)
	if err != nil || v.Sale == nil {
		return 0, false
	}
	return v.Sale.Partition, true
}

func (i *Inspector) ledger(ctx context.Context) (preflight.Ledger, error) {
	if i.ledgerErr != nil {
		return preflight.Ledger{}, i.ledgerErr
	}
	return i.stores.Ledger.Inspect(ctx)
}

// backlog adds up the waiting orders and the dead letters of all partitions.
func (i *Inspector) backlog(ctx context.Context) (b preflight.Backlog, err error) {
	if i.ledgerErr != nil {
		return b, fmt.Errorf("which partitions exist is not known: %w", i.ledgerErr)
	}
	for _, n := range i.stores.partitions.All() {
		of, failed := i.stores.Redis.Backlog(ctx, n)
		b.Waiting, b.DeadLetters, err = b.Waiting+of.Waiting, b.DeadLetters+of.Dead, errors.Join(err, failed)
	}
	return b, err
}

// sale reads the sale of a voucher, and its changes.
func (i *Inspector) sale(ctx context.Context, id int64) (*preflight.Sale, error) {
	if i.ledgerErr != nil {
		return nil, i.ledgerErr
	}
	v, err := i.stores.Ledger.Voucher(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case v.Sale == nil:
		return nil, voucher.ErrNotSeckill
	}
	s := &preflight.Sale{
		VoucherID: v.ID, Issued: v.Sale.Issued, Price: v.PayValue, Worth: v.ActualValue,
		Begin: v.Sale.Begin, End: v.Sale.End, OffShelf: v.Status != voucher.OnShelf,
		Paused: v.Sale.Paused, Retired: v.Sale.Retired,
	}
	if s.Changes, err = i.changes(ctx, id); err != nil {
		return nil, err
	}
	s.More = features.List().Check(ctx, i.stores.Ledger.DB(), s)
	if !v.Sale.Retired {
		i.balance(ctx, s)
	}
	return s, nil
}

// balance sets whether the sale's units are all accounted for. Without Redis this stays unknown.
func (i *Inspector) balance(ctx context.Context, s *preflight.Sale) {
	balance, err := i.auditor.Balance(ctx, s.VoucherID)
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
func (i *Inspector) changes(ctx context.Context, id int64) (changes []preflight.Change, err error) {
	entries, err := i.stores.Ledger.Entries(ctx, voucher.AuditFilter{VoucherID: id}, math.MaxInt64, changesShown)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Action == voucher.Created || e.Action == voucher.Exported {
			continue
		}
		c := preflight.Change{At: e.At, Action: string(e.Action), By: e.By.AdminID}
		for _, field := range e.Changes {
			c.Fields = append(c.Fields, field.Field)
		}
		changes = append(changes, c)
	}
	return changes, nil
}
