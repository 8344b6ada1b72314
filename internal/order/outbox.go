package order

import "context"

// OperationLedger is the ledger as the outbox sees it.
type OperationLedger interface {
	// Pending returns up to n pending operations of the sale, in order, and the number of its last operation of all,
	// read at one moment. A voucher without a sale has none.
	Pending(ctx context.Context, voucherID int64, n int) (ops []Operation, last int64, err error)
	// Settled writes what became of operations: what gives is marked as applied; a Restock that took lowers stock and
	// issued; a Revival that took makes the order paid, its payment received, and lowers stock; one that did not makes
	// its payment refunding. Operations that are not pending any more are left alone. It returns ErrConflict when the
	// ledger does not have what Redis gave (too little stock, another live order of the user): that operation is then
	// settled as refused, and Redis holds too little, so the sale has to be rebuilt.
	Settled(ctx context.Context, voucherID int64, results []OperationResult) error
	// SalesWithPending returns up to n vouchers that have pending operations, the oldest first.
	SalesWithPending(ctx context.Context, n int) ([]int64, error)
}

// OperationSales applies operations to sales in Redis.
type OperationSales interface {
	// Apply applies operations, which must be without gaps and in order, each once however often it is sent. Without any
	// it tells how far Redis is. Operations that the sale contains already are answered as they were the first time.
	Apply(ctx context.Context, sale SaleRef, ops []Operation) (Application, error)
}
