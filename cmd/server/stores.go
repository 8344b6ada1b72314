package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"seckill/internal/feature"
	"seckill/internal/kit/config"
	"seckill/internal/kit/embedded"
	"seckill/internal/order"
	"seckill/internal/order/partition"
	"seckill/internal/redisstore"
	"seckill/internal/redisstore/rediskit"
	"seckill/internal/sqlstore"
	"seckill/internal/sqlstore/sqlkit"
)

const (
	// storeWait is how long the start waits for stores that are starting too.
	storeWait = 30 * time.Second
	// sayAgain is after how long the log repeats that a store still cannot be used.
	sayAgain = time.Minute
)

// stores are the ledger and the Redis that the service works on.
type stores struct {
	ledger     *sqlstore.Store
	features   feature.List // in the ledger
	redis      *redisstore.Store
	clients    *rediskit.Clients
	partitions *partition.Set
	home       *embedded.Home // nil outside the embedded mode
	secret     string         // key of the tokens' signatures
}

// openStores opens what the settings name, or in the embedded mode what lies in the data directory, with its schema
// up to date. Close closes it.
func openStores(ctx context.Context, cfg config.Config, log *slog.Logger) (_ *stores, err error) {
	s := &stores{secret: cfg.JWT.Secret.Reveal()}
	defer func() {
		if err != nil {
			s.close(log)
		}
	}()
	if cfg.Embedded() {
		if err := s.openHome(ctx, cfg, log); err != nil {
			return nil, fmt.Errorf("SECKILL_DATA_DIR %q cannot be used: %w", cfg.Stores.DataDir, err)
		}
	} else if s.ledger, err = openMySQL(ctx, cfg, log); err != nil {
		return nil, err
	}
	s.features = withHooks(s.ledger)
	if err := s.prepareSchema(ctx, cfg, log); err != nil {
		return nil, err
	}
	if s.partitions, err = partition.Load(ctx, s.ledger, log); err != nil {
		return nil, err
	}
	word, err := s.ledger.Word(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.openRedis(cfg, word, log); err != nil {
		return nil, err
	}
	return s, await(ctx, cfg.Stores.Wait, log, "Redis", func() error {
		if s.home != nil {
			return s.redis.Ping(ctx) // its settings are ours, and it has none that Examine could ask for
		}
		return s.redis.CheckConfig(ctx)
	})
}

// openHome opens the stores of the embedded mode.
func (s *stores) openHome(ctx context.Context, cfg config.Config, log *slog.Logger) (err error) {
	if s.home, err = embedded.Open(cfg.Stores.DataDir, log); err != nil {
		return err
	}
	if s.secret == "" {
		if s.secret, err = s.home.Secret(); err != nil {
			return err
		}
	}
	s.ledger, err = sqlstore.OpenSQLite(ctx, s.home.SQLitePath, ledgerOptions(cfg, log))
	return err
}

// openRedis makes the clients of Redis, which connect when they are first used. The word is the ledger's.
func (s *stores) openRedis(cfg config.Config, word string, log *slog.Logger) (err error) {
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
	if s.home != nil {
		reach.Addrs, reach.Password = []string{s.home.Addr}, s.home.Password
	}
	redis.SetLogger(rediskit.ClientLog{Log: log}) // the client would print its own lines otherwise
	if s.clients, err = rediskit.NewClients(reach); err != nil {
		return err
	}
	s.redis, err = redisstore.New(s.clients, redisstore.Options{
		Word: word, Prefix: cfg.Redis.Prefix, Alone: cfg.Embedded(), Version: versionShown(),
		Replicas: redisstore.Replicas{Count: cfg.Redis.Replicas, Timeout: cfg.Redis.ReplicaTimeout},
	}, log)
	return err
}

// pingRedis returns nil as soon as the Redis of any partition answers: sales there go on.
func (s *stores) pingRedis(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := s.pingPartitions(ctx)
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

// pingAll returns nil once the Redis of every partition has answered.
func (s *stores) pingAll(ctx context.Context) error {
	answers := s.pingPartitions(ctx)
	for range cap(answers) {
		if err := <-answers; err != nil {
			return err
		}
	}
	return nil
}

// pingPartitions asks the Redis of each partition, all at once. The channel has room for all answers.
func (s *stores) pingPartitions(ctx context.Context) <-chan error {
	partitions := s.partitions.All()
	answers := make(chan error, len(partitions))
	for _, n := range partitions {
		go func() { answers <- s.redis.PingPartition(ctx, n) }()
	}
	return answers
}

// ledgerOptions are the ledger's in every mode: the embedded one has the default limits.
func ledgerOptions(cfg config.Config, log *slog.Logger) sqlkit.Options {
	return sqlkit.Options{
		Log: log, MaxConns: cfg.MySQL.PoolSize, Timeout: cfg.MySQL.Timeout, CAs: cfg.MySQL.CAs,
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

// prepareSchema migrates, or with SECKILL_MIGRATE=false refuses a schema that is not up to date.
func (s *stores) prepareSchema(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	if !cfg.Stores.Migrate && s.home == nil {
		err := s.awaitSchema(ctx, cfg, log)
		if errors.Is(err, sqlstore.ErrOldSchema) {
			return fmt.Errorf("%w; run: server migrate (or set SECKILL_MIGRATE=true)", err)
		}
		return err
	}
	var applied []string
	err := await(ctx, cfg.Stores.Wait, log, "the schema", func() (err error) {
		applied, err = s.ledger.Migrate(ctx)
		if err != nil && !errors.Is(err, order.ErrUnavailable) {
			err = backoff.Permanent(err)
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(applied) > 0 {
		log.InfoContext(ctx, "schema brought up to date", "applied", applied)
	}
	return nil
}

// awaitSchema returns nil once the schema is this version's. If the start is to wait for its stores, that is what it
// waits for, too: another process migrates.
func (s *stores) awaitSchema(ctx context.Context, cfg config.Config, log *slog.Logger) error {
	if !cfg.Stores.Wait {
		return s.ledger.CheckSchema(ctx)
	}
	return await(ctx, true, log, "the schema", func() error {
		err := s.ledger.CheckSchema(ctx)
		if err != nil && !errors.Is(err, sqlstore.ErrOldSchema) && !sqlkit.IsAway(err) {
			err = backoff.Permanent(err)
		}
		return err
	})
}

// close closes everything that was opened, last first.
func (s *stores) close(log *slog.Logger) {
	if s.clients != nil {
		closing(log, "Redis", s.clients.Close)
	}
	if s.ledger != nil {
		closing(log, "the database", s.ledger.Close)
	}
	if s.home != nil {
		closing(log, "the data directory", s.home.Close)
	}
}

// refused reports whether a store has answered what waiting does not mend: other credentials, another database, another
// certificate. A store that starts is another matter.
func refused(err error) bool {
	const (
		noRight, wrongPassword, noDatabase = 1044, 1045, 1049
		socketOnly                         = 1698
	)
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return slices.Contains([]uint16{noRight, wrongPassword, noDatabase, socketOnly}, my.Number)
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted || redis.IsAuthError(err) || redis.IsPermissionError(err) || errors.Is(err, mysql.ErrNoTLS) ||
		errors.Is(err, sqlkit.ErrDSN)
}

// await repeats open until it succeeds or is refused, for storeWait or without an end: a store that starts at the same
// time is not an error.
func await(ctx context.Context, endless bool, log *slog.Logger, what string, open func() error) error {
	longest := storeWait
	if endless {
		longest = 0
	}
	said, saidAt := "", time.Time{}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 100*time.Millisecond, 2*time.Second
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := open()
		if refused(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(longest),
		backoff.WithNotify(func(err error, _ time.Duration) {
			if text := err.Error(); text != said || time.Since(saidAt) >= sayAgain {
				said, saidAt = text, time.Now()
				log.WarnContext(ctx, what+" cannot be used yet; retrying", "error", err)
			}
		}))
	if err != nil {
		return fmt.Errorf("%s cannot be used: %w", what, err)
	}
	return nil
}
