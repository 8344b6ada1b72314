package audit

import (
	"testing"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
)

// 100 units were issued. Redis has 60 units and 40 holders; 30 of their orders are recorded, 10 wait.
func TestBalance(t *testing.T) {
	t.Parallel()
	mark := order.Mark{Epoch: 3, Sequence: 30}
	for name, tc := range map[string]struct {
		change  func(before, ledger *LedgerTotals, redis *Inventory)
		finding Finding
		ledger  int64 // differences
		redis   int64
		lost    int64
		partial bool // the waiting orders are not compared
	}{
		"all accounted for": {func(_, _ *LedgerTotals, _ *Inventory) {}, Balanced, 0, 0, 0, false},
		"nothing sold yet": {func(b, l *LedgerTotals, r *Inventory) {
			l.Stock, l.Live, b.Stock = 100, 0, 100
			r.Stock, r.Holders, r.Waiting = 100, 0, 0
		}, Balanced, 0, 0, 0, false},
		"a sale is paused": {
			func(_, _ *LedgerTotals, r *Inventory) { r.Mode = order.SalePaused }, Balanced, 0, 0, 0, false,
		},
		"an order is recorded and not acknowledged": {
			func(b, l *LedgerTotals, _ *Inventory) { l.Stock, l.Live, b.Stock = 69, 31, 69 }, Balanced, 0, 0, 0, false,
		},

		"orders of several units": {func(b, l *LedgerTotals, r *Inventory) {
			l.Stock, b.Stock, l.Extra = 50, 50, 20
			r.Stock, r.Extra = 35, 25
		}, Balanced, 0, 0, 0, false},
		"holders have one unit each where orders have several": {func(b, l *LedgerTotals, r *Inventory) {
			l.Stock, b.Stock, l.Extra = 50, 50, 20
			r.Stock = 35
		}, RedisWrong, 0, -25, 0, true},
		"the ledger lacks the units of several": {
			func(b, l *LedgerTotals, r *Inventory) { l.Stock, b.Stock = 68, 68 }, LedgerShort, -2, 2, 0, true,
		},

		"recording goes on meanwhile": {
			func(_, l *LedgerTotals, _ *Inventory) { l.Stock, l.Live, l.Mark.Sequence = 65, 35, 35 },
			Balanced, 0, 0, 0, true,
		},
		"admission goes on meanwhile": {
			func(_, _ *LedgerTotals, r *Inventory) { r.Stock, r.Holders, r.Waiting = 50, 50, 20 },
			Balanced, 0, 0, 0, false,
		},
		"a cancel is not applied yet": {
			func(_, l *LedgerTotals, _ *Inventory) { l.Stock, l.Live, l.Operation, l.Pending = 71, 29, 5, 1 },
			Balanced, 0, 0, 0, true,
		},
		"a cancel was applied since": {func(b, l *LedgerTotals, _ *Inventory) {
			b.Stock, b.Operation = 71, 5
			l.Stock, l.Live, l.Operation = 71, 29, 5
		}, Balanced, 0, 0, 0, true},
		"added stock is not applied yet": {func(_, l *LedgerTotals, _ *Inventory) {
			l.Stock, l.Issued, l.Operation, l.Pending, l.Ahead = 75, 105, 5, 1, 5
		}, Balanced, 0, 0, 0, true},
		"stock was taken since": {
			func(_, l *LedgerTotals, _ *Inventory) { l.Stock, l.Issued, l.Operation, l.Ahead = 67, 97, 5, -3 },
			Balanced, 0, 0, 0, true,
		},
		"the stream is too long to count": {
			func(_, _ *LedgerTotals, r *Inventory) { r.Waiting = NotCounted }, Balanced, 0, 0, 0, true,
		},

		"Redis has no such sale": {
			func(_, _ *LedgerTotals, r *Inventory) { *r = Inventory{} }, Undecided, 0, 0, 0, true,
		},
		"it is being rebuilt": {
			func(_, _ *LedgerTotals, r *Inventory) { r.Mode = order.SaleRebuilding }, Undecided, 0, 0, 0, true,
		},
		"a rebuild has begun": {
			func(_, l *LedgerTotals, _ *Inventory) { l.Mark = order.Mark{Epoch: 4} }, Undecided, 0, 0, 0, true,
		},
		"the ledger is an older copy": {
			func(_, _ *LedgerTotals, r *Inventory) { r.Applied = 9 }, Undecided, 0, 0, 0, true,
		},
		"a take is not completed yet": {
			func(_, l *LedgerTotals, r *Inventory) { l.Open, r.Stock = 1, 57 }, Undecided, 0, 0, 0, true,
		},
		"more wait than there are units": {
			func(_, l *LedgerTotals, r *Inventory) { l.Stock, l.Issued = 7, 37; r.Stock = 0 }, Undecided, 0, 0, 0, true,
		},

		"Redis has units too many": {
			func(_, _ *LedgerTotals, r *Inventory) { r.Stock = 63 }, RedisWrong, 0, 3, 0, true,
		},
		"Redis has units too few": {
			func(_, _ *LedgerTotals, r *Inventory) { r.Stock = 58 }, RedisWrong, 0, -2, 0, true,
		},
		"holders are gone": {
			func(_, _ *LedgerTotals, r *Inventory) { r.Holders = 39 }, RedisWrong, 0, -1, 0, true,
		},
		"holders are gone and sold again": {
			func(_, _ *LedgerTotals, r *Inventory) { r.Holders, r.Stock, r.Waiting = 28, 72, 0 },
			RedisWrong, 0, -2, 0, false,
		},
		"an entry is lost": {
			func(_, _ *LedgerTotals, r *Inventory) { r.Waiting = 9 }, OrdersLost, 0, 0, 1, false,
		},
		"all entries are lost": {
			func(_, _ *LedgerTotals, r *Inventory) { r.Waiting = 0 }, OrdersLost, 0, 0, 10, false,
		},
		"the ledger lacks units": {
			func(b, l *LedgerTotals, _ *Inventory) { l.Stock, b.Stock = 67, 67 }, LedgerShort, -3, 3, 0, true,
		},
		"the ledger lacks rows": {
			func(_, l *LedgerTotals, r *Inventory) { l.Live = 28 }, LedgerShort, -2, 2, 0, true,
		},
		"the ledger has units never issued": {
			func(b, l *LedgerTotals, _ *Inventory) { l.Stock, b.Stock = 80, 80 }, LedgerExcess, 10, -10, 0, true,
		},
		"Redis has followed such a ledger": {
			func(b, l *LedgerTotals, r *Inventory) { l.Stock, b.Stock, r.Stock = 80, 80, 70 },
			LedgerExcess, 10, 0, 0, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := LedgerTotals{Mark: mark, Operation: 4, Stock: 70}
			ledger := LedgerTotals{Mark: mark, Operation: 4, Stock: 70, Issued: 100, Live: 30}
			redis := Inventory{
				Mode: order.SaleOpen, Mark: order.Mark{Epoch: 3, Sequence: 40}, Applied: 4, Stock: 60,
				Holders: 40, Waiting: 10,
			}
			tc.change(&before, &ledger, &redis)
			b := compare(ordertest.VoucherA, before, ledger, redis, ordertest.Begin)
			if b.Finding != tc.finding || b.LedgerDifference != tc.ledger ||
				b.RedisDifference != tc.redis || b.Lost != tc.lost {
				t.Errorf("%s (%s): ledger %+d, redis %+d, lost %d; want %s, %+d, %+d, %d",
					b.Finding, b.Why, b.LedgerDifference, b.RedisDifference, b.Lost, tc.finding,
					tc.ledger, tc.redis, tc.lost)
			}
			if b.Complete == tc.partial {
				t.Errorf("complete: %v", b.Complete)
			}
			if (b.Why == "") != (b.Finding == Balanced) {
				t.Errorf("why: %q", b.Why)
			}
			if b.Repairable() != (tc.ledger <= 0 && (tc.redis != 0 || tc.lost != 0)) {
				t.Errorf("repairable: %v", b.Repairable())
			}
		})
	}
}
