package sqlkit

import (
	"context"
	"time"

	"gorm.io/gorm"

	"seckill/internal/order"
	"seckill/internal/order/payment"
	"seckill/internal/voucher"
)

// Hook has the functions of a feature that run in the ledger's own transactions, so that its rows are committed
// together with the core's. Every field may be nil. Hooks run in the order of the list of features.
//
// Hooks insert rows, or change rows that only the lock of their order or the fence of their job guards, sorted by key,
// and wait for nothing else: the sale's row may be locked at that time. An error of a hook ends the transaction
// (HookError). A hook whose rows may be missing for a while returns nil instead.
type Hook struct {
	Feature string // the feature's name, for errors
	// Prepare runs before each transaction that writes, outside of it, and may read (DB.Before).
	Prepare func(ctx context.Context, db *gorm.DB) error
	// Wants reports, from memory, whether Changed is to be called for orders on the terms t that come to the state to.
	// Orders that no hook wants are not even read. Nil wants all.
	Wants func(t order.Terms, to order.Status) bool
	// Changed runs in the transaction that has recorded orders or brought them to another state. The changes are sorted
	// by order id, and Wants was true for each. An order that costs nothing is paid by the transaction that records it:
	// its first change is the payment. What happened to payments is written already.
	Changed func(tx *gorm.DB, changes []order.Change) error
	// May is called before an order is cancelled, or its refund requested, by its owner or by staff. The order is
	// locked. If the feature forbids the action now, May returns a *order.NotNowError or *order.StateError, which
	// becomes the answer.
	May func(tx *gorm.DB, c order.Change) error
	// Turned runs in the transaction in which the turns of places on one voucher's waiting list come or end.
	Turned func(tx *gorm.DB, turns []order.Turn) error
	// PaymentChanged runs in the transaction that has changed a payment without a change of its order's state: by
	// refunds, disputes, decisions about a refund that its provider refuses, and money that does not pay for the order.
	PaymentChanged func(tx *gorm.DB, c order.PaymentChange) error
	// Kept is called after a transaction has kept units of a voucher's sale, or completed acceptances. It must not
	// block.
	Kept func(voucherID int64)
	// Promised returns how many kept units of a sale the feature has promised to users who have not accepted them yet.
	// The sale's row is locked, so that nobody promises more until the transaction ends.
	Promised func(tx *gorm.DB, voucherID int64) (int64, error)
	// Created runs in the transaction that creates a voucher, after its rows.
	Created func(tx *gorm.DB, v voucher.Voucher, by voucher.Author) error
	// VoucherChanged runs in the transaction that has changed a voucher or its sale, other than by orders and by a
	// call-off.
	VoucherChanged func(tx *gorm.DB, v voucher.Voucher) error
	// CalledOff runs in the transaction that calls a voucher's sale off. Its operation is the sale's LastOperation.
	CalledOff func(tx *gorm.DB, v voucher.Voucher) error
	// Restored runs in the transaction that notes that the ledger was restored from a backup, before any instance runs:
	// the feature gives up what it can no longer trust.
	Restored func(tx *gorm.DB) error
	// Removed runs in the transaction that removes orders of a rehearsal that is over, before their rows go.
	Removed func(tx *gorm.DB, orders []int64) error
}

// Orders gives a feature access to the ledger's orders, to bring them to another state in a transaction of its own.
type Orders interface {
	// Lock locks orders until the transaction ends, and returns those that exist, by id.
	Lock(tx *gorm.DB, ids []int64) (map[int64]order.Order, error)
	// Advance applies an action to locked orders, writes it into their histories, runs the hooks, and returns the
	// changed orders. Errors: a *order.StateError for an order whose state does not allow the action; an action that
	// gives a unit back or takes one, which is left to the core.
	Advance(tx *gorm.DB, a order.Action, at time.Time, steps []order.Step) ([]order.Order, error)
	// Note adds lines to the histories of locked orders.
	Note(tx *gorm.DB, lines []order.Line) error
	// Accounts returns the payments of orders with their refunds, by order, the oldest first.
	Accounts(tx *gorm.DB, orders []int64) (map[int64][]payment.Account, error)
	// Voucher returns a voucher with its sale, as the transaction sees it. Error: voucher.ErrNotFound.
	Voucher(tx *gorm.DB, id int64) (voucher.Voucher, error)
	// Terms returns the terms of the vouchers that exist, mostly from memory.
	Terms(db *gorm.DB, vouchers []int64) (map[int64]order.Terms, error)
}

// KeptUnits locks a sale's row until the transaction ends, for the feature that has the waiting list of the sale.
// Errors: voucher.ErrNotFound, voucher.ErrNotSeckill.
type KeptUnits func(tx *gorm.DB, voucherID int64) (KeptSale, error)

// KeptSale is a locked sale with the units that are kept for waiting users.
type KeptSale interface {
	// Sale returns the sale as this transaction leaves it, without guards.
	Sale() voucher.Sale
	// SetOpen sets whether units that come back from now on are kept.
	SetOpen(open bool) error
	// Ask writes an operation for each acceptance, which asks Redis whether the user has no other order. It returns the
	// numbers of the operations, in the order given. For an acceptance whose operation a rebuild voided, ask again with
	// the same order id; it still counts as undecided.
	Ask(acceptances []Acceptance, at time.Time) ([]int64, error)
	// Outcomes returns the outcomes of the operations of acceptances, by number.
	Outcomes(numbers []int64) (map[int64]Outcome, error)
	// Release puts kept units on sale.
	Release(units int64, at time.Time) error
	// Turned runs the hooks for turns of the list's places.
	Turned(turns []order.Turn) error
}

// Acceptance is a user's acceptance of a kept unit, with the id for their order.
type Acceptance struct {
	UserID, OrderID int64
	Again           bool // Redis was asked about it before, and that operation is void
}

// OperationPending is tb_voucher_operation.state of an operation that Redis has not decided.
const OperationPending = 1

// Outcome is the outcome of the operation that asks Redis about an acceptance.
type Outcome int8

// The outcomes of an acceptance's operation.
const (
	Undecided Outcome = iota
	Taken             // the user has the order
	Refused           // the user has another order
	Voided            // a rebuild voided the operation: ask again
)
