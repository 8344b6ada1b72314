package order

import "testing"

// Of 100 units issued, 60 are in Redis, 40 users have a place: 30 are recorded, 10 wait.
func TestBalance(t *testing.T) {
	t.Parallel()
	mark := Mark{Epoch: 3, Sequence: 30}
	for name, tc := range map[string]struct {
		change  func(before, ledger *Account, redis *Holdings)
		finding Finding
		ledger  int64 // differences
		redis   int64
		lost    int64
		partial bool // the waiting orders are not decided
	}{
		"all accounted for": {func(_, _ *Account, _ *Holdings) {}, Balanced, 0, 0, 0, false},
		"nothing sold yet": {func(b, l *Account, r *Holdings) {
			l.Stock, l.Live, b.Stock = 100, 0, 100
			r.Stock, r.Places, r.Waiting = 100, 0, 0
		}, Balanced, 0, 0, 0, false},
		"a sale is paused":                          {func(_, _ *Account, r *Holdings) { r.Mode = SalePaused }, Balanced, 0, 0, 0, false},
		"an order is recorded and not acknowledged": {func(b, l *Account, _ *Holdings) { l.Stock, l.Live, b.Stock = 69, 31, 69 }, Balanced, 0, 0, 0, false},

		"recording goes on meanwhile": {func(_, l *Account, _ *Holdings) { l.Stock, l.Live, l.Mark.Sequence = 65, 35, 35 }, Balanced, 0, 0, 0, true},
		"admission goes on meanwhile": {func(_, _ *Account, r *Holdings) { r.Stock, r.Places, r.Waiting = 50, 50, 20 }, Balanced, 0, 0, 0, false},
		"a cancel is not applied yet": {func(_, l *Account, _ *Holdings) { l.Stock, l.Live, l.Operation, l.Pending = 71, 29, 5, 1 }, Balanced, 0, 0, 0, true},
		"a cancel was applied since": {func(b, l *Account, _ *Holdings) {
			b.Stock, b.Operation = 71, 5
			l.Stock, l.Live, l.Operation = 71, 29, 5
		}, Balanced, 0, 0, 0, true},
		"added stock is not applied yet": {func(_, l *Account, _ *Holdings) {
			l.Stock, l.Issued, l.Operation, l.Pending, l.Ahead = 75, 105, 5, 1, 5
		}, Balanced, 0, 0, 0, true},
		"stock was taken since":           {func(_, l *Account, _ *Holdings) { l.Stock, l.Issued, l.Operation, l.Ahead = 67, 97, 5, -3 }, Balanced, 0, 0, 0, true},
		"the stream is too long to count": {func(_, _ *Account, r *Holdings) { r.Waiting = TooMany }, Balanced, 0, 0, 0, true},

		"Redis has no such sale":         {func(_, _ *Account, r *Holdings) { *r = Holdings{} }, Undecided, 0, 0, 0, true},
		"it is being rebuilt":            {func(_, _ *Account, r *Holdings) { r.Mode = SaleRebuilding }, Undecided, 0, 0, 0, true},
		"a rebuild has begun":            {func(_, l *Account, _ *Holdings) { l.Mark = Mark{Epoch: 4} }, Undecided, 0, 0, 0, true},
		"the ledger is an older copy":    {func(_, _ *Account, r *Holdings) { r.Applied = 9 }, Undecided, 0, 0, 0, true},
		"a take is not settled yet":      {func(_, l *Account, r *Holdings) { l.Open, r.Stock = 1, 57 }, Undecided, 0, 0, 0, true},
		"more wait than there are units": {func(_, l *Account, r *Holdings) { l.Stock, l.Issued = 7, 37; r.Stock = 0 }, Undecided, 0, 0, 0, true},

		"Redis has units too many":         {func(_, _ *Account, r *Holdings) { r.Stock = 63 }, RedisWrong, 0, 3, 0, true},
		"Redis has units too few":          {func(_, _ *Account, r *Holdings) { r.Stock = 58 }, RedisWrong, 0, -2, 0, true},
		"places are gone":                  {func(_, _ *Account, r *Holdings) { r.Places = 39 }, RedisWrong, 0, -1, 0, true},
		"places are gone and sold again":   {func(_, _ *Account, r *Holdings) { r.Places, r.Stock, r.Waiting = 28, 72, 0 }, RedisWrong, 0, -2, 0, false},
		"an entry is lost":                 {func(_, _ *Account, r *Holdings) { r.Waiting = 9 }, OrdersLost, 0, 0, 1, false},
		"all entries are lost":             {func(_, _ *Account, r *Holdings) { r.Waiting = 0 }, OrdersLost, 0, 0, 10, false},
		"the ledger lacks units":           {func(b, l *Account, _ *Holdings) { l.Stock, b.Stock = 67, 67 }, LedgerShort, -3, 3, 0, true},
		"the ledger lacks rows":            {func(_, l *Account, r *Holdings) { l.Live = 28 }, LedgerShort, -2, 2, 0, true},
		"the ledger has units of nowhere":  {func(b, l *Account, _ *Holdings) { l.Stock, b.Stock = 80, 80 }, LedgerExcess, 10, -10, 0, true},
		"Redis has followed such a ledger": {func(b, l *Account, r *Holdings) { l.Stock, b.Stock, r.Stock = 80, 80, 70 }, LedgerExcess, 10, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := Account{Mark: mark, Operation: 4, Stock: 70}
			ledger := Account{Mark: mark, Operation: 4, Stock: 70, Issued: 100, Live: 30}
			redis := Holdings{Mode: SaleOpen, Mark: Mark{Epoch: 3, Sequence: 40}, Applied: 4, Stock: 60, Places: 40, Waiting: 10}
			tc.change(&before, &ledger, &redis)
			b := draw(voucherA, before, ledger, redis, begin)
			if b.Finding != tc.finding || b.LedgerDifference != tc.ledger || b.RedisDifference != tc.redis || b.Lost != tc.lost {
				t.Errorf("%s (%s): ledger %+d, redis %+d, lost %d; want %s, %+d, %+d, %d",
					b.Finding, b.Why, b.LedgerDifference, b.RedisDifference, b.Lost, tc.finding, tc.ledger, tc.redis, tc.lost)
			}
			if b.Complete == tc.partial {
				t.Errorf("complete: %v", b.Complete)
			}
			if (b.Why == "") != (b.Finding == Balanced) {
				t.Errorf("why: %q", b.Why)
			}
			if b.Mendable() != (tc.ledger <= 0 && (tc.redis != 0 || tc.lost != 0)) {
				t.Errorf("mendable: %v", b.Mendable())
			}
		})
	}
}
