// Package sqlstore is the ledger: all SQL of vouchers and orders, for MySQL (8.4, MariaDB 10.11, and what speaks their
// protocol) and, in the embedded mode, for SQLite. It implements the ledger's interfaces of the packages voucher and
// order with GORM, which nothing outside this package sees.
//
// What is committed here has the last word. Redis decides who gets in and is rebuilt from these tables.
//
//	tb_voucher ─── tb_seckill_voucher        what is sold; the sale: stock, window, epoch (the hot row)
//	                    │ stock = stock - n WHERE stock >= n AND epoch = ?
//	               tb_voucher_order          one row for each order, until a purge; one live order per user and sale
//	               tb_order_event, …         what belongs to them (migrations/README.md)
//
// Features have tables of their own; their rows change in these transactions by hooks (sqlkit.Hook).
//
// A batch of orders is one transaction: the rows, sorted by id, and last the stock of each sale, sorted by voucher,
// because every batch wants that row. Any failure rolls all of it back.
//
//	what goes wrong                                    what the caller gets
//	a row exists, stock too low, another epoch         order.ErrConflict; nothing was written
//	a value that does not fit, however often retried   order.ErrRejected; nothing was written
//	connection lost before COMMIT, lock wait (1205),   another error; nothing was written
//	  deadlock (1213), read-only, disk full,
//	  no majority in a Galera cluster (1047, 1180)
//	the reply to COMMIT is lost                        the same kind of error, and the rows are there: an error that
//	                                                   is neither of the two above never says that nothing was
//	                                                   written
//	the process dies at any point                      all of the batch or none of it
//
// Transactions that change orders lock in the same order: the orders, sorted by id, whose lock is also that of their
// payments; then the limited buyer, before an order of theirs is inserted; then the sales, sorted by voucher, whose
// lock is also that of their operations. Only Settle locks the sales first. Transactions that the database ends
// because of another are retried a few times here, except batches of the recorder, which retries them itself. When
// the reply to COMMIT is lost, calling once more shows what happened.
//
// Reading or changing an order while the database is away returns order.ErrUnavailable; both may be retried.
//
// It is one package because transactions cross its subjects: an order's row, history and payment and its sale's stock
// change together. A cancel is read from orders.go down to transition.go, features.go and operations.go. Rows of
// payments, which know nothing of orders' rows, and the lists of them are in package payments; tables that no such
// transaction writes, in package installation; what both dialects share, and the clock, in package sqlkit.
package sqlstore

import (
	"context"

	"gorm.io/gorm"

	"seckill/internal/sqlstore/installation"
	"seckill/internal/sqlstore/payments"
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
		Records: Records{l}, Operations: Operations{l}, Orders: Orders{l}, Payments: Payments{payments.ListsIn(db), l},
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
