// Package schema brings the ledger's tables up to date, one process at a time, and refuses a database that another
// program has made. The table tb_migration says which migrations were applied, tb_format what is stored and whose
// it is; the files themselves are in package migrations.
//
// A process that dies half way leaves a migration that the next one finishes. One that stalls is replaced once its
// lease is over, and changes nothing more. A database of another format is never changed.
package schema

import (
	"log/slog"
	"time"

	"seckill/internal/sqlstore/sqlkit"
)

// Schema is the tables of one database. It is safe for concurrent use.
type Schema struct {
	db       *sqlkit.DB
	log      *slog.Logger
	leaseFor time.Duration // tests shorten it
}

// New returns the schema of a database. Nothing is read yet.
func New(db *sqlkit.DB) *Schema { return &Schema{db: db, log: db.Log(), leaseFor: leaseFor} }
