package sqlstore

import (
	"context"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/installation"
	"seckill/internal/sqlstore/schema"
	"seckill/internal/sqlstore/sqlkit"
)

// Store is the ledger, by subject. It is safe for concurrent use.
type Store struct {
	*installation.Tables

	Records    Records
	Operations Operations
	Orders     Orders
	Payments   Payments
	Unwinds    Unwinds
	Sales      Sales
	Vouchers   Vouchers
	Features   Features

	*ledger
}

// New returns the ledger in a database, whose schema is up to date or will be before anything else is called (Schema).
func New(db *sqlkit.DB) *Store {
	l := &ledger{db: db, terms: newTermsCache(db.Clock, db.Currency())}
	return &Store{
		Tables: installation.New(db), ledger: l,
		Records: Records{l}, Operations: Operations{l}, Orders: Orders{l}, Payments: Payments{l},
		Unwinds: Unwinds{l}, Sales: Sales{l}, Vouchers: Vouchers{l}, Features: Features{l},
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

// NameOperations gives operations an identity from now on. Call it once all living instances read them: beside a
// version 1.0, which applies operations without noting which, an identity would prove losses that there were not.
func (s *Store) NameOperations() { s.named.Store(true) }

// Use makes the ledger's transactions run features' hooks, after the hooks of earlier calls. Call it before anything is
// written.
func (s *Store) Use(hooks ...sqlkit.Hook) {
	for _, h := range hooks {
		if h.Prepare != nil {
			s.db.Before(func(ctx context.Context, db *gorm.DB) error {
				return sqlkit.HookError(h.Feature, h.Prepare(ctx, db))
			})
		}
	}
	s.hooks = append(s.hooks, hooks...)
}
