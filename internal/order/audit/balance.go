package audit

import (
	"fmt"
	"time"

	"seckill/internal/order"
)

// Inventory is a sale in Redis, counted at one moment.
type Inventory struct {
	Mode        order.SaleMode // SaleRebuilding also while a rebuild is being prepared
	Mark        order.Mark
	Applied     int64 // number of the last operation that Redis has applied
	Stock       int64 // units left to sell, returned and reserved ones included
	Holders     int64 // users in the sale's buyers
	Extra       int64 // units of the holders beyond one each
	Waiting     int64 // orders of the sale in the stream's entries, delivered or not; or NotCounted
	DeadLetters int64 // dead letters of the partition
}

// LiveUnits returns how many units the live orders have.
func (l LedgerTotals) LiveUnits() int64 { return l.Live + l.Extra }

// Held returns how many units the holders have.
func (i Inventory) Held() int64 { return i.Holders + i.Extra }

// NotCounted stands for the entries of a sale when the stream was too long to count them.
const NotCounted int64 = -1

// LedgerTotals is a sale in the ledger, read at one moment, for a Redis that has applied operations up to a given
// number.
type LedgerTotals struct {
	Mark      order.Mark
	Operation int64 // number of the last operation
	Stock     int64
	Kept      int64 // units kept for those who wait; Redis knows nothing of them
	Issued    int64
	Live      int64 // live orders
	Extra     int64 // units of the live orders beyond one each
	Pending   int64 // operations that Redis is not known to have applied
	// Ahead is the change of stock plus units of live orders by the operations that Redis has not applied.
	Ahead int64
	// Open counts operations that take stock or kept units and that the ledger has not completed. Redis may have
	// applied them.
	Open int64
}

// Balance says whether all units of a sale are accounted for, across both stores (conservation): each issued unit is
// left to sell, accepted, or recorded.
//
// Three sums are compared, each exact at any moment, also under full load:
//
//	ledger   stock + kept units + units of live orders = issued. Every transaction keeps this sum, and one
//	         statement reads it.
//	Redis    stock + units of holders = the ledger's stock + units of live orders. A purchase, its recording, a
//	         payment, a cancel or a return changes neither side: each moves units from one summand to the other.
//	         Only changes of the stock do, and the operations' numbers say which of them Redis already has.
//	orders   holders without a live order = orders that wait in the stream. Purchases change that all the time, so it
//	         is decided only if the ledger did not change while Redis was read, and Redis had applied all operations.
type Balance struct {
	VoucherID int64
	At        time.Time // by this process's clock
	Ledger    LedgerTotals
	Redis     Inventory

	Finding Finding
	Why     string // what is wrong, or why nothing could be decided, with the numbers, in English

	// LedgerDifference and RedisDifference are how many units the store has too many (above 0) or too few, by the sums
	// above; 0 if undecided.
	LedgerDifference int64
	RedisDifference  int64
	// Lost counts accepted orders with neither a row nor an entry: only their holders are left. Some may be dead
	// letters.
	Lost int64
	// Complete: the third sum was decided too. Under load it seldom can be.
	Complete bool
}

// Finding is the result of a Balance.
type Finding int8

// The findings.
const (
	Undecided    Finding = iota // the stores could not be compared at this moment
	Balanced                    // all units are accounted for
	RedisWrong                  // Redis differs from the ledger; a rebuild repairs it
	OrdersLost                  // accepted orders are in neither stream nor ledger; a rebuild requeues them
	LedgerShort                 // the ledger lacks units: fewer can be sold than were issued. An operator decides
	LedgerExcess                // the ledger has units that were never issued: it would oversell. An operator decides
)

var findingNames = [...]string{
	"undecided", "balanced", "redis_wrong", "orders_lost", "ledger_short", "ledger_excess",
}

// String returns the finding as a word for people and programs.
func (f Finding) String() string {
	if f < 0 || int(f) >= len(findingNames) {
		f = Undecided
	}
	return findingNames[f]
}

// Broken reports whether units are not accounted for.
func (f Finding) Broken() bool { return f != Balanced && f != Undecided }

// compare compares the stores and returns the sale's balance. ledger was read after redis; before has the ledger's
// mark, last operation and stock from before redis was read.
func compare(sale int64, before, ledger LedgerTotals, redis Inventory, at time.Time) Balance {
	b := Balance{VoucherID: sale, At: at, Ledger: ledger, Redis: redis}
	b.LedgerDifference = ledger.Stock + ledger.Kept + ledger.LiveUnits() - ledger.Issued
	doubt := b.compareStock()
	tooFewHolders := false
	if doubt == "" && b.RedisDifference == 0 {
		tooFewHolders = b.compareOrders(before)
	}
	switch {
	case b.LedgerDifference != 0:
		b.Finding = LedgerShort
		if b.LedgerDifference > 0 {
			b.Finding = LedgerExcess
		}
		b.Why = fmt.Sprintf("the ledger has %s and %s of %d issued: %+d",
			left(ledger), orders(ledger), ledger.Issued, b.LedgerDifference)
	case doubt != "":
		b.Why = doubt
	case tooFewHolders:
		b.Finding = RedisWrong
		b.Why = fmt.Sprintf("redis has only %d holders for %d live orders", redis.Holders, ledger.Live)
	case b.RedisDifference != 0:
		b.Finding = RedisWrong
		b.Why = fmt.Sprintf("redis has %d units left and %s; the ledger %d units and %s: %+d",
			redis.Stock, holders(redis), ledger.Stock-ledger.Ahead, orders(ledger), b.RedisDifference)
	case b.Lost > 0:
		b.Finding = OrdersLost
		b.Why = fmt.Sprintf("redis has %d holders for %d live orders and %d waiting ones: %d orders are lost",
			redis.Holders, ledger.Live, redis.Waiting, b.Lost)
	default:
		b.Finding = Balanced
	}
	return b
}

// left returns a text with how many units the ledger has left, and how many are kept, if any.
func left(l LedgerTotals) string {
	if l.Kept == 0 {
		return fmt.Sprintf("%d units left", l.Stock)
	}
	return fmt.Sprintf("%d units left, %d kept", l.Stock, l.Kept)
}

// orders returns a text with the number of live orders in the ledger, and of their units if that differs.
func orders(l LedgerTotals) string { return withUnits(l.Live, "live orders", l.LiveUnits()) }

// holders returns a text with the number of holders in Redis, and of their units if that differs.
func holders(i Inventory) string { return withUnits(i.Holders, "holders", i.Held()) }

func withUnits(n int64, what string, units int64) string {
	if units == n {
		return fmt.Sprintf("%d %s", n, what)
	}
	return fmt.Sprintf("%d %s of %d units", n, what, units)
}

// wentBack explains that the ledger, which is read after Redis, is behind Redis.
const wentBack = "the ledger was restored from a backup or has lost transactions; a rebuild takes orders from Redis, " +
	"and stock, window, shelf and mode from the ledger; it pauses the sale if a decision of a person is lost"

// compareStock compares Redis's units and holders with the ledger's. If that is not possible, doubt says why.
func (b *Balance) compareStock() (doubt string) {
	switch {
	case b.Redis.Mode == order.SaleMissing:
		return "redis does not hold the sale"
	case b.Redis.Mode == order.SaleRebuilding:
		return "the sale is being rebuilt"
	case b.Redis.Mark.Epoch > b.Ledger.Mark.Epoch:
		return fmt.Sprintf("redis has epoch %d, the ledger only %d: %s",
			b.Redis.Mark.Epoch, b.Ledger.Mark.Epoch, wentBack)
	case b.Redis.Mark.Epoch != b.Ledger.Mark.Epoch:
		return fmt.Sprintf("redis has epoch %d, the ledger %d", b.Redis.Mark.Epoch, b.Ledger.Mark.Epoch)
	case b.Redis.Applied > b.Ledger.Operation:
		return fmt.Sprintf("redis has operation %d, the ledger only %d: %s",
			b.Redis.Applied, b.Ledger.Operation, wentBack)
	case b.Ledger.Open > 0:
		return fmt.Sprintf("%d changes of stock are not completed yet", b.Ledger.Open)
	}
	difference := b.Redis.Stock + b.Redis.Held() - (b.Ledger.Stock + b.Ledger.LiveUnits() - b.Ledger.Ahead)
	if difference > 0 && b.Redis.Stock == 0 && b.Redis.Waiting != 0 {
		// A rebuild found more accepted orders than units. Nothing is on sale, and the recorder will fail the surplus.
		return fmt.Sprintf("orders wait for which the ledger lacks %d units", difference)
	}
	b.RedisDifference = difference
	return ""
}

// compareOrders counts the holders that have neither a row nor an entry, if the ledger did not change, and reports
// whether there are fewer holders than live orders. Some lost orders can stay hidden: an order that is recorded but not
// yet acknowledged counts as waiting, and so offsets one lost order; a packed entry that stays because one of its
// orders is stuck offsets up to 15.
func (b *Balance) compareOrders(before LedgerTotals) (tooFewHolders bool) {
	still := before.Mark == b.Ledger.Mark && before.Operation == b.Ledger.Operation && before.Stock == b.Ledger.Stock
	// An operation may have been pending when Redis was read and be completed by now.
	if !still || b.Ledger.Pending > 0 || b.Redis.Applied != b.Ledger.Operation {
		return false
	}
	unrecorded := b.Redis.Holders - b.Ledger.Live
	if unrecorded < 0 {
		b.RedisDifference, b.Complete = unrecorded, true
		return true
	}
	if b.Redis.Waiting != NotCounted {
		b.Lost, b.Complete = max(0, unrecorded-b.Redis.Waiting), true
	}
	return false
}

// hopeless reports whether reading the stores again at once would be no use.
func (b *Balance) hopeless() bool {
	return b.Redis.Mode == order.SaleMissing || b.Redis.Mode == order.SaleRebuilding ||
		b.Finding != Undecided && b.Redis.Waiting == NotCounted
}

// Repairable reports whether a rebuild from the ledger repairs the sale, at least in part. It does not if the ledger
// has units that were never issued: Redis would sell them.
func (b *Balance) Repairable() bool {
	return b.LedgerDifference <= 0 && (b.RedisDifference != 0 || b.Lost > 0)
}
