package checklist

import (
	"time"

	"seckill/internal/kit/check"
	"seckill/internal/order/partition"
)

// Facts are the findings. An error says why some of them are missing.
type Facts struct {
	Backlog

	Redis        Redis // the server that has the sale; without a sale, the server of partition 0
	RedisErr     error
	Ledger       Ledger
	LedgerErr    error
	Instances    []partition.Instance // the live ones: they sent a heartbeat within the last seconds
	InstancesErr error
	PoolSize     int // connections to the ledger that each instance may have
	Confirming   int // how many replicas must have an order before its buyer is answered
	BacklogErr   error
	HasProvider  bool // a payment provider is configured
	Unset        []UnsetProvider
	Embedded     bool  // one process with its stores inside: no other instances, no store settings
	Sale         *Sale // nil: no sale was given, or see SaleErr
	SaleErr      error
}

// UnsetProvider is a payment provider that is set no more, and for which refunds wait.
type UnsetProvider struct {
	Name    string
	Refunds int64
}

// Backlog is what waits in the streams of all partitions.
type Backlog struct {
	Waiting     int64 // entries without rows yet; one may hold several orders
	DeadLetters int64
}

// Redis holds the settings and state that a Redis server reports, and how quickly it answers. A setting that the server
// hides is "".
type Redis struct {
	Answer       time.Duration // median duration of a call
	Write        time.Duration // median duration of a write; with appendfsync always it waits for the disk
	Ahead        time.Duration // how far its clock is ahead of this machine's
	AppendOnly   string
	AppendFsync  string
	Eviction     string // maxmemory-policy
	Used, Limit  int64  // bytes; Limit 0: none; both unknown without INFO
	Replicas     int    // connected to the server that was asked
	FailedWrites bool   // its last write to the append-only file failed
	// NoInfo: it hides INFO, and so its run id, by which each sale notices a restart or a failover.
	NoInfo bool
}

// Ledger holds the settings and state that the database reports, and how quickly it answers.
type Ledger struct {
	Answer       time.Duration // median duration of a query
	Commit       time.Duration // median duration of a transaction with one row
	Ahead        time.Duration // how far its clock is ahead of this machine's
	FlushAtTrx   string        // innodb_flush_log_at_trx_commit
	SyncBinlog   string        // "" without a binary log
	ReadOnly     bool
	Connections  int // open now
	MaxConnected int
}

// Sale is the sale to be checked.
type Sale struct {
	VoucherID  int64
	Issued     int64
	Price      int64  // of one unit, in the currency's least unit
	Worth      int64  // of one unit's coupon, likewise
	Currency   string // a code of ISO 4217
	Begin, End time.Time
	OffShelf   bool
	Paused     bool
	Retired    bool
	Unbalanced string // what is wrong with its units; "": nothing
	Undecided  string // why its units could not be compared; "": they were
	Changes    []Change
	More       []check.Line // lines of features
}

// Change is a recent change of the sale by an admin.
type Change struct {
	At     time.Time
	Action string
	Fields []string
	By     int64
}
