package wiring

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"seckill/internal/config"
	"seckill/internal/feature"
	"seckill/internal/features"
	"seckill/internal/order/audit"
	"seckill/internal/order/partition"
	"seckill/internal/order/recovery"
	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/telemetry"
)

const (
	// reachTimeout bounds opening a database that may not answer.
	reachTimeout = 5 * time.Second
	// noWord stands for an unknown word (the ledger's mark of its installation): then no partition is compared with it.
	noWord = "unknown"
)

// withReachable runs do on the stores that answer (feature.Tools). It returns no error for a store that does not.
func withReachable(ctx context.Context, env Env, do func(core feature.Core, away error) error) error {
	cfg, log, err := env.Load()
	if err != nil {
		return err
	}
	if cfg.Embedded() {
		return feature.ErrEmbedded
	}
	s := &Stores{partitions: partition.Only(0), build: env.Build}
	defer s.Close(log)
	word, away := s.openLedgerNow(ctx, cfg, log)
	if errors.Is(away, sqlkit.ErrDSN) {
		return away
	}
	if err := s.openRedis(cfg, cmp.Or(word, noWord), log); err != nil {
		return err
	}
	core := feature.Core{Settings: cfg, Version: env.Build.Version, Log: log}
	if away == nil {
		s.checkFormats(ctx)
		core = ledgerCore(cfg, s.Ledger, env.Build, log)
		core.Sales.Balance = audit.New(audit.Stores{
			Sales: s.Ledger.Sales, Vouchers: s.Ledger.Vouchers, Totals: s.Ledger.Sales.LedgerTotals,
			Inventory: s.Redis.Inventory,
		}, recovery.NewRepairQueue(), telemetry.NewMetrics(env.Build), log).Balance
	}
	core.Redis, core.Partitions = s.forFeatures(), s.Redis
	parts, err := features.List().Open(core)
	if err != nil {
		return err
	}
	core.Front.Members = parts.Members
	return do(core, away)
}

// openLedgerNow opens the database if it answers and has the schema of this version, and returns its word.
func (s *Stores) openLedgerNow(ctx context.Context, cfg config.Config, log *slog.Logger) (word string, err error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
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
