package wiring

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/go-redis/v9"

	"seckill/internal/config"
	"seckill/internal/feature"
	"seckill/internal/idworker"
	"seckill/internal/kit/embedded"
	"seckill/internal/lock"
	"seckill/internal/order"
	"seckill/internal/order/partition"
	"seckill/internal/redisstore"
	"seckill/internal/redisstore/idcounter"
	"seckill/internal/redisstore/inspect"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/schema"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/telemetry"
)

// Stores are the service's ledger and Redis.
type Stores struct {
	Ledger     *sqlstore.Store
	Redis      *redisstore.Store
	Servers    *inspect.Servers // the servers of Redis
	Clients    *rediskit.Clients
	locks      *lock.Locker
	partitions *partition.Set
	Home       *embedded.Home  // nil outside the embedded mode
	Secret     string          // key of the tokens' signatures
	build      telemetry.Build // the version for heartbeats, metrics and features
	made       bool            // this process has made the schema, so no earlier version has lived on it
}

// firstMigration makes the tables of an empty schema.
const firstMigration = "01000_ledger.sql"

// Open opens the configured stores, or in the embedded mode the stores in the data directory, and brings the schema up
// to date. Close closes them.
func Open(
	ctx context.Context, cfg config.Config, build telemetry.Build, log *slog.Logger,
) (_ *Stores, err error) {
	s := &Stores{Secret: cfg.JWT.Secret.Reveal(), build: build}
	defer func() {
		if err != nil {
			s.Close(log)
		}
	}()
	if cfg.Embedded() {
		if err := s.openHome(ctx, cfg, log); err != nil {
			return nil, fmt.Errorf("SECKILL_DATA_DIR %q cannot be used: %w", cfg.Stores.DataDir, err)
		}
	} else if s.Ledger, err = openMySQL(ctx, cfg, log); err != nil {
		return nil, err
	}
	if err := s.prepareSchema(ctx, cfg, log); err != nil {
		return nil, err
	}
	if s.partitions, err = partition.Load(ctx, s.Ledger.Partitions, log); err != nil {
		return nil, err
	}
	word, err := s.Ledger.Schema().Word(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.openRedis(cfg, word, log); err != nil {
		return nil, err
	}
	return s, await(ctx, cfg.Stores.Wait, log, "Redis", func() error {
		if s.Home != nil {
			return s.Redis.Ping(ctx) // the embedded Redis has our settings, and does not let CheckConfig read them
		}
		return s.Servers.CheckConfig(ctx)
	})
}

// openHome opens the stores of the embedded mode.
func (s *Stores) openHome(ctx context.Context, cfg config.Config, log *slog.Logger) (err error) {
	if s.Home, err = embedded.Open(cfg.Stores.DataDir, log); err != nil {
		return err
	}
	if s.Secret == "" {
		if s.Secret, err = s.Home.Secret(); err != nil {
			return err
		}
	}
	s.Ledger, err = sqlstore.OpenSQLite(ctx, s.Home.SQLitePath, ledgerOptions(cfg, log))
	return err
}

// openRedis makes the clients of Redis, which connect when they are first used. word is the ledger's mark of its
// installation.
func (s *Stores) openRedis(cfg config.Config, word string, log *slog.Logger) (err error) {
	reach := rediskit.Config{
		Topology: rediskit.Topology(cfg.Redis.Mode), Addrs: cfg.Redis.Addrs, MasterName: cfg.Redis.Master,
		Username: cfg.Redis.Username, Password: cfg.Redis.Password.Reveal(),
		SentinelPassword: cfg.Redis.SentinelPassword.Reveal(), DB: cfg.Redis.DB,
		Name: "seckill-" + cfg.Server.Instance, Timeout: cfg.Redis.Timeout, PoolSize: cfg.Redis.PoolSize,
		Readers: partition.Max,
	}
	if cfg.Redis.TLS {
		reach.TLS = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.Redis.CAs}
	}
	if s.Home != nil {
		reach.Addrs, reach.Password = []string{s.Home.Addr}, s.Home.Password
	}
	redis.SetLogger(rediskit.ClientLog{Log: log}) // otherwise the client prints to stderr
	if s.Clients, err = rediskit.NewClients(reach); err != nil {
		return err
	}
	s.Redis, err = redisstore.New(s.Clients, redisstore.Options{
		Word: word, Prefix: cfg.Redis.Prefix, Alone: cfg.Embedded(), Version: versionShown(s.build),
		Formats:  []string{refundsFormat, namedOperations, feature.RetentionFormat},
		Replicas: redisstore.Replicas{Count: cfg.Redis.Replicas, Timeout: cfg.Redis.ReplicaTimeout},
	}, log)
	if err != nil {
		return err
	}
	if s.locks, err = lock.New(s.Clients.Commands, cfg.Redis.Prefix+locksPrefix); err != nil {
		return err
	}
	s.Servers = inspect.New(s.Clients.Commands, s.Redis, cfg.Embedded(), log)
	return nil
}

// OrderIDs returns the worker that makes order ids, on a counter in Redis.
func (s *Stores) OrderIDs(ctx context.Context, cfg config.Config, log *slog.Logger) (*idworker.Worker, error) {
	key, err := s.Ledger.IDKey(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the key of the order ids: %w", err)
	}
	counter, err := idcounter.New(s.Clients.Commands, cfg.Redis.Prefix)
	if err != nil {
		return nil, err
	}
	return idworker.New(counter, s.Ledger.Orders, key, idworker.Options{Logger: log}), nil
}

// PingRedis returns nil as soon as the Redis of any partition answers: sales there go on.
func (s *Stores) PingRedis(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := s.askPartitions(ctx, s.Redis.PingPartition)
	var failed error
	for range cap(answers) {
		err := <-answers
		if err == nil {
			return nil
		}
		failed = err
	}
	return failed
}

// PingAll returns nil once the Redis of every partition has answered.
func (s *Stores) PingAll(ctx context.Context) error {
	answers := s.askPartitions(ctx, s.Redis.PingPartition)
	for range cap(answers) {
		if err := <-answers; err != nil {
			return err
		}
	}
	return nil
}

// RunIDs returns rediskit.ErrNoRunID, wrapped, if the Redis of a partition shows no run id.
func (s *Stores) RunIDs(ctx context.Context) error {
	var failed error
	answers := s.askPartitions(ctx, s.Servers.RunID)
	for range cap(answers) {
		failed = errors.Join(failed, <-answers)
	}
	return failed
}

// askPartitions asks the Redis of each partition, all at once. The channel has room for all answers.
func (s *Stores) askPartitions(ctx context.Context, ask func(ctx context.Context, partition int) error) <-chan error {
	partitions := s.partitions.All()
	answers := make(chan error, len(partitions))
	for _, n := range partitions {
		go func() { answers <- ask(ctx, n) }()
	}
	return answers
}

// ledgerOptions returns the options of the ledger. In the embedded mode, SQLite gets the defaults of the MySQL
// settings.
func ledgerOptions(cfg config.Config, log *slog.Logger) sqlkit.Options {
	return sqlkit.Options{
		Log: log, MaxConns: cfg.MySQL.PoolSize, Timeout: cfg.MySQL.Timeout, CAs: cfg.MySQL.CAs,
		Currency: cfg.Payment.Currency, Zone: cfg.Server.Location,
	}
}

func openMySQL(ctx context.Context, cfg config.Config, log *slog.Logger) (*sqlstore.Store, error) {
	var ledger *sqlstore.Store
	err := await(ctx, cfg.Stores.Wait, log, "MySQL", func() (err error) {
		ledger, err = sqlstore.OpenMySQL(ctx, cfg.MySQL.DSN.Reveal(), ledgerOptions(cfg, log))
		return err
	})
	return ledger, err
}

// prepareSchema migrates the schema. With SECKILL_MIGRATE=false it returns an error if the schema is not up to date.
func (s *Stores) prepareSchema(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	if !cfg.Stores.Migrate && s.Home == nil {
		err := s.awaitSchema(ctx, cfg, log)
		if errors.Is(err, schema.ErrOld) {
			return fmt.Errorf("%w; run: server migrate (or set SECKILL_MIGRATE=true)", err)
		}
		return err
	}
	var applied []string
	err := await(ctx, cfg.Stores.Wait, log, "the schema", func() (err error) {
		applied, err = s.Ledger.Schema().Migrate(ctx)
		if err != nil && !errors.Is(err, order.ErrUnavailable) {
			err = backoff.Permanent(err)
		}
		return err
	})
	if err != nil {
		return err
	}
	s.made = slices.Contains(applied, firstMigration)
	if len(applied) > 0 {
		log.InfoContext(ctx, "schema brought up to date", "applied", applied)
	}
	return nil
}

// awaitSchema returns nil once the schema is this version's. If the start waits for its stores, it also waits for
// another process that migrates.
func (s *Stores) awaitSchema(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	if !cfg.Stores.Wait {
		return s.Ledger.Schema().Check(ctx)
	}
	return await(ctx, true, log, "the schema", func() error {
		err := s.Ledger.Schema().Check(ctx)
		if err != nil && !errors.Is(err, schema.ErrOld) && !sqlkit.IsAway(err) {
			err = backoff.Permanent(err)
		}
		return err
	})
}

// Close closes everything that was opened, in reverse order.
func (s *Stores) Close(log *slog.Logger) {
	if s.Clients != nil {
		Closing(log, "Redis", s.Clients.Close)
	}
	if s.Ledger != nil {
		Closing(log, "the database", s.Ledger.Close)
	}
	if s.Home != nil {
		Closing(log, "the data directory", s.Home.Close)
	}
}

// Closing calls closeIt at the end of a function and logs its error, on which nobody can act any more.
func Closing(log *slog.Logger, what string, closeIt func() error) {
	if err := closeIt(); err != nil {
		log.Warn("closing "+what+" failed", "error", err)
	}
}

// versionShown returns the version for heartbeats; for a build without one, the revision of its source.
func versionShown(b telemetry.Build) string {
	const untold, digits = "(devel)", 12 // digits shown of a revision, which has forty
	if b.Version != untold {
		return b.Version
	}
	return "devel-" + b.Revision[:min(digits, len(b.Revision))]
}
