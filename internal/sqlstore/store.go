package sqlstore

import (
	"context"
	"log/slog"
	"time"

	"gorm.io/gorm"

	"seckill/internal/kit/idempotency"
	"seckill/internal/sqlstore/installation"
	"seckill/internal/sqlstore/schema"
	"seckill/internal/sqlstore/sqlkit"
)

// Store is the ledger. It is safe for concurrent use.
type Store struct {
	*installation.Tables

	db    *sqlkit.DB
	now   func() time.Time
	log   *slog.Logger
	terms *termsCache
	hooks []sqlkit.Hook // of features, in their order
}

// New returns the ledger in a database, whose schema is up to date or will be before anything else is called (Schema).
func New(db *sqlkit.DB) *Store {
	return &Store{
		Tables: installation.New(db), db: db, now: db.Now, log: db.Log(), terms: newTermsCache(db.Now, db.Currency()),
	}
}

// OpenMySQL opens the ledger in MySQL or MariaDB, as sqlkit.OpenMySQL does.
func OpenMySQL(ctx context.Context, dsn string, o sqlkit.Options) (*Store, error) {
	return opened(sqlkit.OpenMySQL(ctx, dsn, o))
}

// OpenSQLite opens the ledger in a file, as sqlkit.OpenSQLite does.
func OpenSQLite(ctx context.Context, path string, o sqlkit.Options) (*Store, error) {
	return opened(sqlkit.OpenSQLite(ctx, path, o))
}

func opened(db *sqlkit.DB, err error) (*Store, error) {
	if err != nil {
		return nil, err
	}
	return New(db), nil
}

// DB returns the database.
func (s *Store) DB() *sqlkit.DB { return s.db }

// Schema returns the database's tables, which it migrates and checks.
func (s *Store) Schema() *schema.Schema { return schema.New(s.db) }

// Ping reports whether the database answers, as sqlkit.DB's does.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Close closes all connections. Transactions that are still open are rolled back.
func (s *Store) Close() error { return s.db.Close() }

// claimKey is sqlkit.ClaimKey at the ledger's time. Read the time anew once rows are locked: they may be waited for.
func (s *Store) claimKey(tx *gorm.DB, k idempotency.Key, made string) error {
	if !k.Given() {
		return nil
	}
	now, err := s.db.LedgerTime(tx)
	if err != nil {
		return err
	}
	return sqlkit.ClaimKey(tx, now, k, made)
}

// usingIndex names a table in a query that is to be read by the index.
func (s *Store) usingIndex(table, index string) string {
	if s.db.Dialect() == sqlkit.SQLite {
		return table + " INDEXED BY " + index
	}
	return table + " FORCE INDEX (" + index + ")"
}
