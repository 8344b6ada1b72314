package preflight

import "time"

// Facts are what was found out. An error says why a part of them is missing.
type Facts struct {
	Redis        []Redis // the servers of the sale; without one the server that was asked
	Ledger       Ledger
	LedgerErr    error
	Instances    []Instance // that have sent a heartbeat within the last seconds
	InstancesErr error
	PoolSize     int   // connections to the ledger that each instance may have
	Confirming   int   // replicas that must have an order before its buyer is answered
	Waiting      int64 // entries of orders without a row, each of which may have several
	DeadLetters  int64
	BacklogErr   error
	HasProvider  bool  // somebody takes money
	Embedded     bool  // one process with its stores inside: there are no others, and no settings of theirs
	Sale         *Sale // nil: no sale was asked for, or SaleErr
	SaleErr      error
}

// Redis is what a Redis server says of itself, and how quickly. A setting that it does not show is "".
type Redis struct {
	Node         string        // its address, or the hash tag whose node is not known; "" where there is no other
	Partitions   []int         // that it has, of those that were asked about
	Err          error         // why it could not be asked; nothing below is known then
	Answer       time.Duration // the median of some calls
	Write        time.Duration // the same of writes, which wait for the disk with appendfsync always
	Ahead        time.Duration // of its clock before this machine's
	AppendOnly   string
	AppendFsync  string
	Eviction     string // maxmemory-policy
	Used, Limit  int64  // bytes; Limit 0: none; not known without INFO
	Replicas     int    // connected to the server that was asked
	FailedWrites bool   // the last write of its append-only file failed
	// NoInfo: it does not show INFO, its run id above all, by which each sale notices a restart or a failover.
	NoInfo bool
}

// Ledger is what the database says of itself, and how quickly.
type Ledger struct {
	Answer       time.Duration // the median of some queries
	Commit       time.Duration // the same of transactions with one row
	Ahead        time.Duration // of its clock before this machine's
	FlushAtTrx   string        // innodb_flush_log_at_trx_commit
	SyncBinlog   string        // "" where there is no binary log
	ReadOnly     bool
	Connections  int // now
	MaxConnected int
}

// Instance is a living instance.
type Instance struct {
	Name    string
	Version string // "": it does not say
	Old     bool   // it does not say that it reads all formats that this version writes
}

// Sale is the sale that is to go ahead.
type Sale struct {
	VoucherID  int64
	Issued     int64
	Costs      bool // buyers pay something
	Begin, End time.Time
	OffShelf   bool
	Paused     bool
	Retired    bool
	Unbalanced string // "": nothing is wrong with its units; else what is
	Undecided  string // "": it could be found out; else why not
	Changes    []Change
	More       []Line // what features say of it
}

// Change is what an admin changed of the sale lately.
type Change struct {
	At     time.Time
	Action string
	Fields []string
	By     int64
}
