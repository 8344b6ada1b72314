package order

import (
	"fmt"
	"time"
)

// Holdings is what Redis holds of one sale, counted at one moment.
type Holdings struct {
	Mode    SaleMode // SaleRebuilding also while a rebuild is being prepared
	Mark    Mark
	Applied int64 // number of the last operation that it contains
	Stock   int64 // units left to sell, returned and reserved ones included
	Places  int64 // users who hold a place
	Waiting int64 // entries of the sale in the stream, delivered or not; TooMany when nobody counted them
	Letters int64 // dead letters of the partition
}

// TooMany says that a stream was too long to count a sale's entries in it.
const TooMany int64 = -1

// Account is what the ledger holds of one sale, read at one moment, for a Redis that has applied so many operations.
type Account struct {
	Mark      Mark
	Operation int64 // number of the last one
	Stock     int64
	Issued    int64
	Live      int64 // live orders
	Pending   int64 // operations that Redis is not known to have applied
	Ahead     int64 // units by which later operations than Redis has applied have changed stock and live orders together
	Open      int64 // takes of stock that Redis may have applied, and of which the ledger does not know the outcome yet
}

// Balance says whether the units of a sale are all accounted for, across both stores (conservation): what was issued
// is left in Redis, or accepted, or recorded.
//
// Three sums are held against each other, each exact at any moment, also under full load:
//
//	ledger   stock + live orders = issued. Every transaction keeps this sum, and one statement reads it.
//	Redis    stock + places = the ledger's stock + live orders. Neither side is changed by a purchase, its recording, a
//	         payment, a cancel or a return: each moves a unit from one summand to the other. Only changes of the stock
//	         do, and the operations' numbers say which of them Redis has already.
//	orders   places that no live order has yet = entries that wait in the stream. Purchases change that all the
//	         time, so it is decided when the ledger did not change while Redis was read, and Redis had followed it.
type Balance struct {
	VoucherID int64
	At        time.Time // when it was drawn, by this process's clock
	Ledger    Account
	Redis     Holdings

	Finding Finding
	Why     string // what is wrong or keeps it from being decided, with the numbers, in English; "" for Balanced

	// Units too many (above 0) or too few in a store, by the sums above; 0 when that was not decided.
	LedgerDifference int64
	RedisDifference  int64
	// Lost is how many accepted orders have neither a row nor an entry: only their places tell of them. Some may be dead
	// letters.
	Lost int64
	// Complete says that the third sum was decided too. Under load it seldom is.
	Complete bool
}

// Finding is what a Balance comes to.
type Finding int8

// The findings.
const (
	Undecided    Finding = iota // the stores could not be compared at this moment
	Balanced                    // all units are accounted for
	RedisWrong                  // Redis does not hold what the ledger says; a rebuild mends it
	OrdersLost                  // accepted orders are in no stream and no ledger; a rebuild queues them again
	LedgerShort                 // the ledger lacks units: fewer are sold than were issued. It takes a person
	LedgerExcess                // the ledger has units that nobody issued: more would be sold. It takes a person
)

// String returns the finding as a word for people and programs.
func (f Finding) String() string {
	switch f {
	case Balanced:
		return "balanced"
	case RedisWrong:
		return "redis_wrong"
	case OrdersLost:
		return "orders_lost"
	case LedgerShort:
		return "ledger_short"
	case LedgerExcess:
		return "ledger_excess"
	default:
		return "undecided"
	}
}

// Broken reports whether units are not accounted for.
func (f Finding) Broken() bool { return f != Balanced && f != Undecided }

// draw compares the stores. The ledger's account was read after Redis's holdings, and before is what the ledger
// said of the sale before these: how far it had got, and its stock.
func draw(voucherID int64, before, ledger Account, redis Holdings, at time.Time) Balance {
	b := Balance{VoucherID: voucherID, At: at, Ledger: ledger, Redis: redis}
	b.LedgerDifference = ledger.Stock + ledger.Live - ledger.Issued
	doubt := b.compareStock()
	shortOfPlaces := false
	if doubt == "" && b.RedisDifference == 0 {
		shortOfPlaces = b.compareOrders(before)
	}
	switch {
	case b.LedgerDifference != 0:
		b.Finding = LedgerShort
		if b.LedgerDifference > 0 {
			b.Finding = LedgerExcess
		}
		b.Why = fmt.Sprintf("the ledger has %d units left and %d live orders of %d issued: %+d",
			ledger.Stock, ledger.Live, ledger.Issued, b.LedgerDifference)
	case doubt != "":
		b.Why = doubt
	case shortOfPlaces:
		b.Finding = RedisWrong
		b.Why = fmt.Sprintf("redis has only %d places for %d live orders", redis.Places, ledger.Live)
	case b.RedisDifference != 0:
		b.Finding = RedisWrong
		b.Why = fmt.Sprintf("redis has %d units left and %d places; the ledger %d units and %d live orders: %+d",
			redis.Stock, redis.Places, ledger.Stock-ledger.Ahead, ledger.Live, b.RedisDifference)
	case b.Lost > 0:
		b.Finding = OrdersLost
		b.Why = fmt.Sprintf("redis has %d places for %d live orders and %d waiting ones: %d orders are lost",
			redis.Places, ledger.Live, redis.Waiting, b.Lost)
	default:
		b.Finding = Balanced
	}
	return b
}

// compareStock holds Redis's units and places against the ledger's, and says why it could not.
func (b *Balance) compareStock() (doubt string) {
	switch {
	case b.Redis.Mode == SaleMissing:
		return "redis does not hold the sale"
	case b.Redis.Mode == SaleRebuilding:
		return "the sale is being rebuilt"
	case b.Redis.Mark.Epoch != b.Ledger.Mark.Epoch:
		return fmt.Sprintf("redis has epoch %d, the ledger %d", b.Redis.Mark.Epoch, b.Ledger.Mark.Epoch)
	case b.Redis.Applied > b.Ledger.Operation:
		return fmt.Sprintf("redis has operation %d, the ledger only %d", b.Redis.Applied, b.Ledger.Operation)
	case b.Ledger.Open > 0:
		return fmt.Sprintf("%d changes of stock are being settled", b.Ledger.Open)
	}
	difference := b.Redis.Stock + b.Redis.Places - (b.Ledger.Stock + b.Ledger.Live - b.Ledger.Ahead)
	if difference > 0 && b.Redis.Stock == 0 && b.Redis.Waiting != 0 {
		// A rebuild found more accepted orders than units. Nothing is sold, and the recorder settles them.
		return fmt.Sprintf("%d orders wait for which the ledger has no unit", difference)
	}
	b.RedisDifference = difference
	return ""
}

// compareOrders counts places without a row or an entry, if the ledger has stood still, and reports whether there are
// fewer places than live orders. An entry whose order is recorded and not yet acknowledged counts as waiting, so that at
// worst an order that is lost is not seen yet.
func (b *Balance) compareOrders(before Account) (shortOfPlaces bool) {
	still := before.Mark == b.Ledger.Mark && before.Operation == b.Ledger.Operation && before.Stock == b.Ledger.Stock
	// An operation may have been pending when Redis was read, and be settled by now.
	if !still || b.Ledger.Pending > 0 || b.Redis.Applied != b.Ledger.Operation {
		return false
	}
	unrecorded := b.Redis.Places - b.Ledger.Live
	if unrecorded < 0 {
		b.RedisDifference, b.Complete = unrecorded, true
		return true
	}
	if b.Redis.Waiting != TooMany {
		b.Lost, b.Complete = max(0, unrecorded-b.Redis.Waiting), true
	}
	return false
}

// Mendable reports whether a rebuild of the sale from the ledger mends what is wrong, or a part of it. From a ledger that
// has units which nobody issued it must not be rebuilt: Redis would sell them.
func (b *Balance) Mendable() bool {
	return b.LedgerDifference <= 0 && (b.RedisDifference != 0 || b.Lost > 0)
}
