package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/waitlist"
	"seckill/internal/testkit/ledgertest"
	"seckill/internal/voucher"
)

// offerTime is for how long an offer stands in these tests.
const offerTime = 10 * time.Minute

// listed creates a sold-out sale with a waiting list: users 1 to n have an order each.
func (l ledger) listed(tb testing.TB, n int64) (int64, []order.Claim) {
	tb.Helper()
	v := ledgertest.Draft()
	v.Kind = voucher.Seckill
	v.Sale = &voucher.Sale{
		Stock: n, Issued: n, Begin: ledgertest.RecordedAt, End: ledgertest.RecordedAt.Add(time.Hour),
		OfferWithin: offerTime,
	}
	if err := l.CreateVoucher(tb.Context(), &v, ledgertest.Admin); err != nil {
		tb.Fatal(err)
	}
	if _, err := l.RaiseEpoch(tb.Context(), v.ID, 0); err != nil {
		tb.Fatal(err)
	}
	return v.ID, l.NewOrders(tb, v.ID, int(n))
}

// join has users join the waiting list and returns their positions.
func (l ledger) join(tb testing.TB, voucherID int64, users ...int64) []int64 {
	tb.Helper()
	places, err := l.Join(tb.Context(), voucherID, users)
	if err != nil {
		tb.Fatal(err)
	}
	positions := make([]int64, len(users))
	for i, user := range users {
		positions[i] = places[user].Position
	}
	return positions
}

// place reads a user's place.
func (l ledger) place(tb testing.TB, voucherID, user int64) waitlist.Place {
	tb.Helper()
	p, err := l.Place(tb.Context(), voucherID, user)
	if err != nil {
		tb.Fatalf("user %d: %v", user, err)
	}
	return p
}

// placeStates are the states of the users' places, as words.
func (l ledger) placeStates(tb testing.TB, voucherID int64, users ...int64) string {
	tb.Helper()
	words := make([]string, len(users))
	for i, user := range users {
		words[i] = l.place(tb, voucherID, user).State.String()
	}
	return strings.Join(words, " ")
}

// accepts has the user accept their offer.
func (l ledger) accepts(tb testing.TB, voucherID, user, orderID int64) {
	tb.Helper()
	p, err := l.Accept(tb.Context(), voucherID, user, orderID)
	if err != nil || p.State != waitlist.Accepted || p.OrderID != orderID {
		tb.Fatalf("user %d: %+v, %v", user, p, err)
	}
}

// expireOffers lets the deadline of all offers pass and has them seen to.
func (l ledger) expireOffers(tb testing.TB, voucherID int64) waitlist.Pass {
	tb.Helper()
	l.Exec(tb, "UPDATE tb_place SET deadline = ? WHERE voucher_id = ? AND state = 2",
		ledgertest.Stored(ledgertest.RecordedAt), voucherID)
	return l.seesTo(tb)
}

func (l ledger) seesTo(tb testing.TB) waitlist.Pass {
	tb.Helper()
	pass, err := l.SeeToOffers(tb.Context(), 1)
	if err != nil {
		tb.Fatal(err)
	}
	return pass
}

// A user has one place, in the order of joining; who has an order has none.
func TestJoin(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, _ := l.listed(t, 2)
		if got := l.join(t, v, 11, 12, 1, 13, 11); !slices.Equal(got, []int64{1, 2, 0, 3, 1}) {
			t.Errorf("positions %v", got)
		}
		if got := l.join(t, v, 13, 14, 11); !slices.Equal(got, []int64{3, 4, 1}) {
			t.Errorf("joined again: %v", got)
		}
		if p := l.place(t, v, 14); p.Ahead != 3 || p.State != waitlist.Waiting ||
			!p.JoinedAt.Equal(ledgertest.RecordedAt) {
			t.Errorf("place %+v", p)
		}
		for range 2 {
			if p, err := l.Leave(t.Context(), v, 12); err != nil || p.State != waitlist.Left {
				t.Errorf("left: %+v, %v", p, err)
			}
		}
		if p := l.place(t, v, 14); p.Ahead != 2 {
			t.Errorf("one left, and %d are ahead", p.Ahead)
		}
		if got := l.join(t, v, 12); !slices.Equal(got, []int64{5}) {
			t.Errorf("joined once more: %v", got)
		}
		places, err := l.Places(t.Context(), 12, 10)
		if err != nil || len(places) != 1 || places[0].Position != 5 || places[0].Ahead != 3 {
			t.Errorf("places %+v, %v", places, err)
		}
		counts, err := l.Counts(t.Context(), v)
		if diff := cmp.Diff(waitlist.Counts{Waiting: 4, Left: 1}, counts); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		for _, f := range []func(ctx context.Context, voucherID, userID int64) (waitlist.Place, error){
			l.Place, l.Leave,
		} {
			if _, err := f(t.Context(), v, 99); !errors.Is(err, waitlist.ErrNoPlace) {
				t.Errorf("a stranger: %v", err)
			}
		}
	})
}

// Many that join at once get each position once.
func TestJoinAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, _ := l.listed(t, 1)
		join := func(from int64) func() error {
			return func() error {
				for i := range int64(10) {
					if _, err := l.Join(t.Context(), v, []int64{from + i, from + i + 5, 500 + i}); err != nil {
						return err
					}
				}
				return nil
			}
		}
		if err := errors.Join(ledgertest.Both(join(100),
			func() error { return errors.Join(ledgertest.Both(join(200), join(300))) })); err != nil {
			t.Fatal(err)
		}
		n, last := l.Number(t, "SELECT COUNT(*) FROM tb_place WHERE voucher_id = ?", v), l.Number(t,
			"SELECT MAX(position) FROM tb_place WHERE voucher_id = ?", v)
		if n != 55 || last != 55 {
			t.Errorf("%d places up to position %d, of 55 users", n, last)
		}
	})
}

// A unit that comes back is the head's, and on sale for nobody, whatever brings it back.
func TestReturnedUnitsAreOffered(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.listed(t, 4)
		l.join(t, v, 11, 12, 13, 14, 15)
		if _, err := l.Leave(t.Context(), v, 11); err != nil {
			t.Fatal(err)
		}
		l.Transitioned(t, cs[0], order.Cancel)
		l.Due(t, 0, cs[1])
		l.expires(t, 1, 10)
		if got := l.placeStates(t, v, 12, 11, 13, 14); got != "offered left offered waiting" {
			t.Errorf("places: %s", got)
		}
		p := l.place(t, v, 12)
		if !p.OfferedAt.Equal(ledgertest.RecordedAt) || !p.Deadline.Equal(ledgertest.RecordedAt.Add(offerTime)) ||
			p.Attempt != 1 || p.Ahead != 0 {
			t.Errorf("offer %+v", p)
		}
		want := order.Operation{
			VoucherID: v, Number: 1, Kind: order.Cancellation, Offered: 1, OrderID: cs[0].OrderID, UserID: 1,
		}
		if diff := cmp.Diff(want, l.ReadPending(t, v)[0]); diff != "" {
			t.Errorf("operation (-want +got):\n%s", diff)
		}
		l.Conserved(t, v)
		if got := l.Restock(t, v, 5, "more"); got.Delta != 5 || got.State != voucher.StockPending {
			t.Errorf("restocked: %+v", got)
		}
		if got := l.Restock(t, v, 5, "more"); got.Delta != 5 {
			t.Errorf("restocked again: %+v", got)
		}
		if s := l.Sale(t, v); s.Stock != 3 || s.Offered != 4 || s.Issued != 9 { // two waited still
			t.Errorf("sale %+v", s)
		}
		l.Transitioned(t, cs[2], order.Cancel) // nobody waits
		if s := l.Sale(t, v); s.Stock != 4 || s.Offered != 4 {
			t.Errorf("sale %+v", s)
		}
		l.Conserved(t, v)
	})
}

// Nobody gets an offer who has an order by then, and nothing is offered outside of the window.
func TestWhoGetsNoOffer(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.listed(t, 3)
		l.join(t, v, 11, 12)
		l.Restock(t, v, 1, "one for 11")
		l.Exec(t, "UPDATE tb_place SET state = 1 WHERE user_id = 11")
		l.Exec(t, "UPDATE tb_seckill_voucher SET offered = 0, stock = 1 WHERE voucher_id = ?", v)
		l.Record(t, ledgertest.Claims(v, 11, 1)) // 11 buys past the list
		l.Transitioned(t, cs[0], order.Cancel)
		if got := l.placeStates(t, v, 11, 12); got != "refused offered" {
			t.Errorf("places: %s", got)
		}
		l.Conserved(t, v)
		l.join(t, v, 13)
		l.Over(t, v)
		l.Transitioned(t, cs[1], order.Cancel)
		if s := l.Sale(t, v); s.Stock != 1 {
			t.Errorf("after the end: %+v", s)
		}
		pass := l.expireOffers(t, v)
		if pass.Missed != 1 || pass.Over != 1 || !slices.Equal(pass.Vouchers, []int64{v}) {
			t.Errorf("pass %+v", pass)
		}
		if got := l.placeStates(t, v, 12, 13); got != "missed over" {
			t.Errorf("places: %s", got)
		}
		if s := l.Sale(t, v); s.Stock != 2 || s.Offered != 0 {
			t.Errorf("the sale is over: %+v", s)
		}
		if pass := l.seesTo(t); !cmp.Equal(pass, waitlist.Pass{}) {
			t.Errorf("nothing was left to do: %+v", pass)
		}
		l.Conserved(t, v)
	})
}

// Accepting asks Redis first; then the offer is an order, once.
func TestAccept(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.listed(t, 2)
		l.join(t, v, 11, 12, 13)
		if _, err := l.Accept(t.Context(), v, 11, 900); !errors.Is(err, waitlist.ErrNoOffer) {
			t.Errorf("no offer yet: %v", err)
		}
		l.Transitioned(t, cs[0], order.Cancel)
		l.ApplyAll(t, v)
		for range 2 { // the second call has another id, and gets the first
			l.accepts(t, v, 11, 901)
			if p, err := l.Accept(t.Context(), v, 11, 902); err != nil || p.OrderID != 901 {
				t.Errorf("again: %+v, %v", p, err)
			}
		}
		if _, err := l.Leave(t.Context(), v, 11); !errors.Is(err, waitlist.ErrAccepted) {
			t.Errorf("left: %v", err)
		}
		l.Conserved(t, v)
		want := []order.Operation{
			{VoucherID: v, Number: 2, Kind: order.Acceptance, Offered: -1, OrderID: 901, UserID: 11},
		}
		if diff := cmp.Diff(want, l.ReadPending(t, v)); diff != "" {
			t.Errorf("operations (-want +got):\n%s", diff)
		}
		complete := func() error {
			return l.CompleteOperations(t.Context(), v, []order.OperationResult{{Number: 2, Taken: true}})
		}
		if err := errors.Join(ledgertest.Both(complete, complete)); err != nil {
			t.Fatal(err)
		}
		o := l.ReadOrder(t, 901)
		if o.UserID != 11 || o.Status != order.Unpaid || o.Amount != 1000 ||
			!o.PayBefore.Equal(ledgertest.RecordedAt.Add(voucher.DefaultPayWithin)) {
			t.Errorf("order %+v", o)
		}
		if got := l.ReadHistory(t, 901); got != "unpaid by waiting list: OFFER_ACCEPTED" {
			t.Errorf("history: %s", got)
		}
		if p, err := l.Accept(t.Context(), v, 11, 903); err != nil || p.State != waitlist.Bought || p.OrderID != 901 {
			t.Errorf("once more: %+v, %v", p, err)
		}
		if s := l.Sale(t, v); s.Stock != 0 || s.Offered != 0 {
			t.Errorf("sale %+v", s)
		}
		l.Conserved(t, v)
	})
}

// Whom Redis refuses, and who has another order in the ledger, do not get the unit: the next one does.
func TestAcceptRefused(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.listed(t, 3)
		l.join(t, v, 11, 12, 13)
		l.Transitioned(t, cs[0], order.Cancel)
		l.ApplyAll(t, v)
		l.accepts(t, v, 11, 901)
		if err := l.CompleteOperations(t.Context(), v, ledgertest.Results(l.ReadPending(t, v), false)); err != nil {
			t.Fatal(err)
		}
		if got := l.placeStates(t, v, 11, 12, 13); got != "refused offered waiting" {
			t.Errorf("places: %s", got)
		}
		if p := l.place(t, v, 12); p.Attempt != 2 {
			t.Errorf("offered %d times", p.Attempt)
		}
		l.Conserved(t, v)
		l.accepts(t, v, 12, 902)
		l.Exec(t, "UPDATE tb_seckill_voucher SET stock = 1, issued = issued + 1 WHERE voucher_id = ?", v)
		l.Record(t, ledgertest.Claims(v, 12, 1))
		err := l.CompleteOperations(t.Context(), v, ledgertest.Results(l.ReadPending(t, v), true))
		if !errors.Is(err, order.ErrConflict) {
			t.Errorf("the ledger has another order: %v", err)
		}
		if got := l.placeStates(t, v, 12, 13); got != "refused offered" {
			t.Errorf("places: %s", got)
		}
		if _, err := l.Order(t.Context(), 902); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("order 902: %v", err)
		}
		l.Conserved(t, v)
	})
}

// A unit is offered three times and then goes on sale; who is late gets nothing.
func TestOffersPassOn(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.listed(t, 2)
		l.join(t, v, 11, 12, 13, 14)
		l.Transitioned(t, cs[0], order.Cancel)
		l.ApplyAll(t, v)
		if pass := l.seesTo(t); pass.Missed != 0 {
			t.Errorf("before the deadline: %+v", pass)
		}
		l.Exec(t, "UPDATE tb_place SET deadline = ? WHERE user_id = 11", ledgertest.Stored(ledgertest.RecordedAt))
		if _, err := l.Accept(t.Context(), v, 11, 901); !errors.Is(err, waitlist.ErrNoOffer) {
			t.Errorf("late: %v", err)
		}
		if pass := l.seesTo(t); pass.Missed != 1 || len(pass.Vouchers) != 0 {
			t.Errorf("pass %+v", pass)
		}
		l.Conserved(t, v)
		if p, err := l.Leave(t.Context(), v, 12); err != nil || p.State != waitlist.Left {
			t.Errorf("declined: %+v, %v", p, err)
		}
		if got := l.placeStates(t, v, 11, 12, 13, 14); got != "missed left offered waiting" {
			t.Errorf("places: %s", got)
		}
		l.Conserved(t, v)
		if pass := l.expireOffers(t, v); pass.Missed != 1 || !slices.Equal(pass.Vouchers, []int64{v}) {
			t.Errorf("pass %+v", pass)
		}
		want := []order.Operation{{VoucherID: v, Number: 2, Kind: order.Unoffering, Delta: 1, Offered: -1}}
		if diff := cmp.Diff(want, l.ReadPending(t, v)); diff != "" {
			t.Errorf("operations (-want +got):\n%s", diff)
		}
		if s := l.Sale(t, v); s.Stock != 1 || s.Offered != 0 || l.placeStates(t, v, 14) != "waiting" {
			t.Errorf("sale %+v", s)
		}
		l.Conserved(t, v)
	})
}

// A rebuild sells no offered unit, and makes nobody a holder by an acceptance that is not decided: Redis is asked
// again.
func TestRebuildWithOffers(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.listed(t, 3)
		l.join(t, v, 11, 12)
		l.Transitioned(t, cs[0], order.Cancel)
		l.Transitioned(t, cs[1], order.Cancel)
		l.accepts(t, v, 11, 901)
		decided := ledgertest.Results(l.ReadPending(t, v), true)
		snap, err := l.Snapshot(t.Context(), v, 1)
		if err != nil || snap.Voucher.Sale.Stock != 0 || !snap.Dead[901] || len(snap.Live) != 1 {
			t.Errorf("snapshot %+v, %v", snap, err)
		}
		if err := l.CompleteOperations(t.Context(), v, decided); err != nil { // Redis's word of before the rebuild
			t.Fatal(err)
		}
		if _, err := l.Order(t.Context(), 901); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("order 901: %v", err)
		}
		for _, want := range []int64{1, 0} {
			if pass := l.seesTo(t); pass.Asked != want {
				t.Errorf("pass %+v, want %d asked again", pass, want)
			}
		}
		l.ApplyAll(t, v)
		if o := l.ReadOrder(t, 901); o.Status != order.Unpaid {
			t.Errorf("order %+v", o)
		}
		l.Conserved(t, v)
		if snap, err := l.Snapshot(t.Context(), v, 1); err != nil || snap.Dead[901] || snap.Live[11].OrderID != 901 {
			t.Errorf("snapshot %+v, %v", snap, err)
		}
	})
}

// An operation's row keeps which admission it was in Redis, whether the ledger has what Redis gave or not, and a
// rebuild's snapshot has all of them; the sale's own mark stays where recorded orders brought it.
func TestAdmissionsOfOperations(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.listed(t, 3)
		l.join(t, v, 11, 12, 13)
		for _, c := range cs {
			l.Transitioned(t, c, order.Cancel)
		}
		l.ApplyAll(t, v)
		mark := l.Sale(t, v).Sequence
		for i, user := range []int64{11, 12, 13} {
			l.accepts(t, v, user, 901+int64(i))
		}
		l.Exec(t, "UPDATE tb_place SET state = 5 WHERE voucher_id = ? AND user_id = 12", v) // by hand
		at := func(sequence int64) order.Mark { return order.Mark{Epoch: 1, Sequence: sequence} }
		err := l.CompleteOperations(t.Context(), v, []order.OperationResult{
			{Number: 4, Taken: true, Admission: at(7)}, {Number: 5, Taken: true, Admission: at(9)},
		})
		if !errors.Is(err, order.ErrConflict) {
			t.Errorf("completing: %v", err)
		}
		if got := l.Sale(t, v).Sequence; got != mark {
			t.Errorf("the sale's mark rose from %d to %d", mark, got)
		}
		snap, err := l.Snapshot(t.Context(), v, 1)
		if diff := cmp.Diff([]order.Mark{at(7), at(9)}, snap.Admitted); diff != "" || snap.Void != 1 || err != nil {
			t.Errorf("%d are void, %v; admitted (-want +got):\n%s", snap.Void, err, diff)
		}
		if snap, err = l.Snapshot(t.Context(), v, 1); err != nil || snap.Void != 0 {
			t.Errorf("once more: %d are void, %v", snap.Void, err)
		}
	})
}

// Units of one order are one offer each, as far as somebody waits.
func TestOffersOfSeveralUnits(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, _ := l.listed(t, 1)
		l.Exec(t, "UPDATE tb_seckill_voucher SET stock = 5, issued = 6 WHERE voucher_id = ?", v)
		c := ledgertest.Claims(v, 9, 1)
		c[0].Quantity = order.QuantityOf(5)
		l.Record(t, c)
		l.join(t, v, 11, 12)
		l.Transitioned(t, c[0], order.Cancel)
		ops := l.ReadPending(t, v)
		if len(ops) != 1 || ops[0].Delta != 3 || ops[0].Offered != 2 || ops[0].Held() != c[0].Held() {
			t.Errorf("operations %+v", ops)
		}
		if s := l.Sale(t, v); s.Stock != 3 || s.Offered != 2 {
			t.Errorf("sale %+v", s)
		}
		l.Conserved(t, v)
	})
}

// Whatever happens at once, no unit is offered twice, none is lost, and positions are served in their order.
func TestOffersAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		const buyers, waiters = 12, 40
		v, cs := l.listed(t, buyers)
		var users []int64
		for i := range int64(waiters) {
			users = append(users, 100+i)
		}
		l.join(t, v, users[:20]...)
		returns := func() error {
			for _, c := range cs {
				if _, err := l.Transition(t.Context(), c.OrderID, 0, order.Cancel, order.Owner); err != nil {
					return fmt.Errorf("cancel: %w", err)
				}
			}
			return nil
		}
		joins := func() error {
			for _, user := range users[20:] {
				if _, err := l.Join(t.Context(), v, []int64{user}); err != nil {
					return fmt.Errorf("join: %w", err)
				}
			}
			return nil
		}
		accepts := func() error {
			for i, user := range users {
				_, err := l.Accept(t.Context(), v, user, 5000+int64(i))
				if err == nil && i%3 == 0 {
					err = l.CompleteOperations(t.Context(), v, []order.OperationResult{{Number: 1, Taken: true}})
				} else if errors.Is(err, waitlist.ErrNoOffer) || errors.Is(err, waitlist.ErrNoPlace) {
					_, err = l.Leave(t.Context(), v, user)
				}
				if err != nil && !errors.Is(err, waitlist.ErrNoPlace) && !errors.Is(err, waitlist.ErrAccepted) {
					return fmt.Errorf("accept or leave: %w", err)
				}
			}
			return nil
		}
		if err := errors.Join(ledgertest.Both(returns,
			func() error { return errors.Join(ledgertest.Both(joins, accepts)) })); err != nil {
			t.Fatal(err)
		}
		l.Conserved(t, v)
		l.ApplyAll(t, v)
		l.Conserved(t, v)
		for range waitlist.MaxAttempts + 1 {
			l.expireOffers(t, v)
			l.Conserved(t, v)
		}
		if s := l.Sale(t, v); s.Offered != 0 {
			t.Errorf("sale %+v", s)
		}
	})
}

// The audit's sums hold at each step of an offer, whether Redis has applied the operation or not.
func TestTotalsWithOffers(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.listed(t, 3)
		l.join(t, v, 11, 12)
		redis := int64(3) // units and holders there
		check := func(step string, applied int64) {
			t.Helper()
			got, err := l.LedgerTotals(t.Context(), v, applied)
			if err != nil || got.Stock+got.Offered+got.LiveUnits() != got.Issued {
				t.Errorf("%s: %+v, %v", step, got, err)
			}
			if want := got.Stock + got.LiveUnits() - got.Ahead; got.Open == 0 && want != redis {
				t.Errorf("%s: Redis has %d units, the ledger says %d: %+v", step, redis, want, got)
			}
		}
		l.Transitioned(t, cs[0], order.Cancel)
		check("offered, not applied", 0)
		redis = 2
		check("offered, applied", 1)
		l.ApplyAll(t, v)
		check("offered, completed", 1)
		l.accepts(t, v, 11, 901)
		check("accepted, not applied", 1)
		if got, _ := l.LedgerTotals(t.Context(), v, 2); got.Open != 1 {
			t.Errorf("accepted, applied: %+v", got)
		}
		l.ApplyAll(t, v)
		check("an order, of which an earlier Redis knows nothing", 1)
		redis = 3
		check("an order", 2)
		l.Transitioned(t, cs[1], order.Cancel)
		l.ApplyAll(t, v)
		l.expireOffers(t, v) // nobody waits
		redis = 2
		check("on sale, not applied", 3)
		redis = 3
		check("on sale", 4)
	})
}

// Thousands at the head of a list who have bought meanwhile hold up one transaction for so many as it may refuse:
// what it finds nobody for goes on sale, and the next ones begin behind them.
func TestManyRefused(t *testing.T) {
	const bought, limit = 2700, 2500
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.listed(t, 2)
		users := make([]int64, bought)
		for i := range users {
			users[i] = 1000 + int64(i)
		}
		l.join(t, v, users...)
		l.join(t, v, 11, 12)
		l.Exec(t, "UPDATE tb_seckill_voucher SET stock = ?, issued = issued + ? WHERE voucher_id = ?",
			bought, bought, v)
		l.Record(t, ledgertest.Claims(v, 1000, bought))
		refused := func() int64 {
			return l.Number(t, "SELECT COUNT(*) FROM tb_place WHERE voucher_id = ? AND state = 7", v)
		}
		l.Transitioned(t, cs[0], order.Cancel)
		if n := refused(); n < limit || n >= limit+250 {
			t.Errorf("one transaction refused %d places, want about %d", n, limit)
		}
		if s := l.Sale(t, v); s.Stock != 1 || s.Offered != 0 {
			t.Errorf("nobody was found yet: %+v", s)
		}
		l.Conserved(t, v)
		l.Transitioned(t, cs[1], order.Cancel)
		if got := l.placeStates(t, v, 1000+bought-1, 11, 12); got != "refused offered waiting" || refused() != bought {
			t.Errorf("places: %s, %d refused", got, refused())
		}
		l.Conserved(t, v)
	})
}

// A head that leaves while a unit comes back is passed over.
func TestHeadsThatLeaveMeanwhile(t *testing.T) {
	t.Parallel()
	l := openMySQL(t, ledgertest.MigratedMySQL(t))
	v, cs := l.listed(t, 1)
	l.join(t, v, 11, 12)
	leaving, err := l.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = leaving.Rollback() }() // unless committed
	if _, err := leaving.ExecContext(t.Context(), "UPDATE tb_place SET state = 5 WHERE voucher_id = ? AND user_id = 11",
		v); err != nil {
		t.Fatal(err)
	}
	err = errors.Join(ledgertest.Both(
		func() error {
			_, err := l.Transition(t.Context(), cs[0].OrderID, 0, order.Cancel, order.Owner)
			return err
		},
		func() error {
			l.AwaitLockWait(t)
			return leaving.Commit()
		}))
	if err != nil {
		t.Fatal(err)
	}
	if got := l.placeStates(t, v, 11, 12); got != "left offered" {
		t.Errorf("places: %s", got)
	}
	l.Conserved(t, v)
}

// However many accepted offers a rebuild has left undecided, Redis is asked again about some hundred in a transaction.
func TestManyAskedAgain(t *testing.T) {
	const accepted, atOnce = 300, 250
	eachDialect(t, func(t *testing.T, l ledger) {
		v, _ := l.listed(t, 1)
		users := make([]int64, accepted)
		for i := range users {
			users[i] = 1000 + int64(i)
		}
		l.join(t, v, users...)
		l.Restock(t, v, accepted, "for all who wait")
		for _, user := range users {
			l.accepts(t, v, user, 50_000+user)
		}
		if _, err := l.Snapshot(t.Context(), v, 1); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int64{atOnce, accepted - atOnce, 0} {
			if pass := l.seesTo(t); pass.Asked != want {
				t.Errorf("pass %+v, want %d asked again", pass, want)
			}
			l.Conserved(t, v)
		}
		l.ApplyAll(t, v)
		for _, user := range []int64{users[0], users[accepted-1]} {
			if p := l.place(t, v, user); p.State != waitlist.Bought || p.OrderID != 50_000+user {
				t.Errorf("user %d: %+v", user, p)
			}
		}
		l.Conserved(t, v)
	})
}

// A list is not closed past somebody who is joining it.
func TestCloseWhileJoining(t *testing.T) {
	t.Parallel()
	l := openMySQL(t, ledgertest.MigratedMySQL(t))
	v, _ := l.listed(t, 1)
	l.join(t, v, 11)
	if _, err := l.Leave(t.Context(), v, 11); err != nil {
		t.Fatal(err)
	}
	l.Over(t, v)
	joining, err := l.Raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = joining.Rollback() }() // unless committed
	step := func(query string) error {
		_, err := joining.ExecContext(t.Context(), query, v)
		return err
	}
	if err := step("UPDATE tb_waiting_list SET last_position = 2, open = TRUE WHERE voucher_id = ?"); err != nil {
		t.Fatal(err)
	}
	var pass waitlist.Pass
	err = errors.Join(ledgertest.Both(
		func() (err error) {
			pass, err = l.SeeToOffers(t.Context(), 1)
			return err
		},
		func() error {
			l.AwaitLockWait(t) // without the list's lock, the last thing that the other does
			if err := step("INSERT INTO tb_place (voucher_id, position, user_id, state, create_time) VALUES " +
				"(?, 2, 12, 1, UTC_TIMESTAMP(3))"); err != nil {
				return err
			}
			return joining.Commit()
		}))
	if got := l.placeStates(t, v, 12); err != nil || got != "over" || pass.Over != 1 {
		t.Errorf("who joined meanwhile is %s; pass %+v, %v", got, pass, err)
	}
}

// A list that cannot be seen to does not stop the others.
func TestOneListFails(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		bad, cs := l.listed(t, 1)
		good, others := l.listed(t, 1)
		for list, c := range map[int64]order.Claim{bad: cs[0], good: others[0]} {
			l.join(t, list, 11, 12)
			l.Transitioned(t, c, order.Cancel)
		}
		l.Exec(t, "UPDATE tb_place SET deadline = ? WHERE state = 2", ledgertest.Stored(ledgertest.RecordedAt))
		l.Exec(t, "UPDATE tb_place SET attempt = 3 WHERE state = 2")
		// The number is taken.
		l.Exec(t, "UPDATE tb_seckill_voucher SET last_operation = last_operation - 1 WHERE voucher_id = ?", bad)
		pass, err := l.SeeToOffers(t.Context(), 1)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("voucher %d", bad)) {
			t.Errorf("the broken list: %v", err)
		}
		if pass.Missed != 1 || !slices.Equal(pass.Vouchers, []int64{good}) {
			t.Errorf("the other list: %+v", pass)
		}
		if _, err := l.SeeToOffers(t.Context(), 0); !errors.Is(err, order.ErrSuperseded) {
			t.Errorf("an old token: %v", err)
		}
	})
}

// Lists of ended sales with which nothing can be done yet leave room for the others.
func TestEndedListsLeaveRoom(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		const ended = 101
		var last int64
		for range ended {
			v, cs := l.listed(t, 1)
			l.join(t, v, 11)
			l.Transitioned(t, cs[0], order.Cancel)
			l.accepts(t, v, 11, 50_000+v)
			l.Over(t, v)
			last = v
		}
		v, cs := l.listed(t, 1)
		l.join(t, v, 11)
		l.Transitioned(t, cs[0], order.Cancel)
		if pass := l.expireOffers(t, v); pass.Missed != 1 {
			t.Errorf("behind %d ended sales: %+v", ended, pass)
		}
		l.ApplyAll(t, last)
		l.seesTo(t)
		if open := l.Number(t, "SELECT COUNT(*) FROM tb_waiting_list WHERE voucher_id = ? AND open", last); open != 0 {
			t.Error("the list is open though its last offer is decided")
		}
	})
}

// An end that is moved to before the deadlines of offers ends them too.
func TestEndMovedEarlier(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.listed(t, 1)
		l.join(t, v, 11, 12)
		l.Transitioned(t, cs[0], order.Cancel)
		l.Over(t, v)
		if _, err := l.Accept(t.Context(), v, 11, 901); !errors.Is(err, waitlist.ErrNoOffer) {
			t.Errorf("accepted after the end: %v", err)
		}
		if pass := l.seesTo(t); pass.Missed != 1 || pass.Over != 1 {
			t.Errorf("pass %+v", pass)
		}
		if s := l.Sale(t, v); s.Stock != 1 || s.Offered != 0 {
			t.Errorf("sale %+v", s)
		}
		l.Conserved(t, v)
	})
}

// A place that was set to accepted by hand, without an order id, is refused and stops nothing.
func TestAcceptedByHand(t *testing.T) { //nolint:tparallel // eachDialect calls t.Parallel
	t.Parallel()
	for name, decide := range map[string]func(t *testing.T, l ledger, v int64){
		"no operation": func(t *testing.T, l ledger, _ int64) {
			t.Helper()
			l.Exec(t, "UPDATE tb_place SET state = 3 WHERE user_id = 11")
			if pass := l.seesTo(t); pass.Asked != 1 {
				t.Errorf("pass %+v", pass)
			}
		},
		"an operation": func(t *testing.T, l ledger, v int64) {
			t.Helper()
			l.accepts(t, v, 11, 901)
			l.Exec(t, "UPDATE tb_place SET order_id = NULL WHERE user_id = 11")
			err := l.CompleteOperations(t.Context(), v, ledgertest.Results(l.ReadPending(t, v), true))
			if !errors.Is(err, order.ErrConflict) {
				t.Errorf("Redis has made a holder: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachDialect(t, func(t *testing.T, l ledger) {
				v, cs := l.listed(t, 1)
				l.join(t, v, 11, 12)
				l.Transitioned(t, cs[0], order.Cancel)
				l.ApplyAll(t, v)
				decide(t, l, v)
				if got := l.placeStates(t, v, 11, 12); got != "refused offered" {
					t.Errorf("places: %s", got)
				}
				l.Conserved(t, v)
			})
		})
	}
}

// Places of a batch that are known are counted like the new ones.
func TestJoinAgainCounts(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, _ := l.listed(t, 1)
		users := make([]int64, waitlist.MaxCounted+3)
		for i := range users {
			users[i] = 100 + int64(i)
		}
		l.join(t, v, users...)
		if _, err := l.Leave(t.Context(), v, users[1]); err != nil {
			t.Fatal(err)
		}
		places, err := l.Join(t.Context(), v, []int64{users[0], users[2], users[1001], users[1002], 7000})
		if err != nil {
			t.Fatal(err)
		}
		for user, want := range map[int64]int64{
			users[0]: 0, users[2]: 1, users[1001]: 1000, users[1002]: 1000, 7000: 1000,
		} {
			if got := places[user]; got.Ahead != want || got.State != waitlist.Waiting {
				t.Errorf("user %d: %+v, want %d ahead", user, got, want)
			}
		}
	})
}

// BenchmarkJoin joins a list 500 at a time, as a crowd of one instance does, and then offers it units that come back.
func BenchmarkJoin(b *testing.B) {
	const batch = 500
	l := openMySQL(b, ledgertest.MigratedMySQL(b)+"&interpolateParams=true")
	v, cs := l.listed(b, 200)
	users := make([]int64, batch)
	next := int64(1000)
	for b.Loop() {
		for i := range users {
			next++
			users[i] = next
		}
		l.join(b, v, users...)
	}
	b.ReportMetric(float64(batch*b.N)/b.Elapsed().Seconds(), "joins/s")
	start := time.Now()
	for _, c := range cs {
		l.Transitioned(b, c, order.Cancel)
	}
	b.ReportMetric(float64(time.Since(start).Microseconds())/float64(len(cs)), "µs/offer")
}

// Each place counts once, and each offer as open, bought or passed.
func TestPlaceSums(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, orders := l.listed(t, 6)
		want := func(w waitlist.Sums) {
			t.Helper()
			got, err := l.PlaceSums(t.Context(), v)
			if diff := cmp.Diff(w, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
		want(waitlist.Sums{})
		l.join(t, v, 11, 12, 13, 14, 15, 16, 17)
		if _, err := l.Leave(t.Context(), v, 17); err != nil { // without an offer
			t.Fatal(err)
		}
		for _, c := range orders[:4] {
			l.Transitioned(t, c, order.Cancel)
		}
		want(waitlist.Sums{Joined: 7, Waiting: 2, Offered: 4, Open: 4})
		l.accepts(t, v, 11, 911)
		l.accepts(t, v, 12, 912)
		want(waitlist.Sums{Joined: 7, Waiting: 2, Offered: 4, Open: 4, Accepted: 2})
		l.ApplyAll(t, v)
		if _, err := l.Leave(t.Context(), v, 13); err != nil { // declined: 15 is next
			t.Fatal(err)
		}
		want(waitlist.Sums{Joined: 7, Waiting: 1, Offered: 5, Open: 2, Accepted: 2, Bought: 2, Passed: 1})
		l.expireOffers(t, v) // 14 and 15 miss theirs: 16 is next
		want(waitlist.Sums{Joined: 7, Offered: 6, Open: 1, Accepted: 2, Bought: 2, Passed: 3})
	})
}

// An offer stands until the sale's end, also when that was moved since.
func TestOfferUntilTheEnd(t *testing.T) {
	eachDialect(t, func(t *testing.T, l ledger) {
		v, cs := l.listed(t, 1)
		l.join(t, v, 11)
		l.Transitioned(t, cs[0], order.Cancel)
		if p := l.place(t, v, 11); !p.Deadline.Equal(ledgertest.RecordedAt.Add(offerTime)) {
			t.Errorf("offered until %v", p.Deadline)
		}
		end := ledgertest.RecordedAt.Add(time.Minute)
		l.Exec(t, "UPDATE tb_seckill_voucher SET end_time = ? WHERE voucher_id = ?", ledgertest.Stored(end), v)
		places, err := l.Places(t.Context(), 11, 9)
		if p := l.place(t, v, 11); !p.Deadline.Equal(end) || err != nil || !places[0].Deadline.Equal(end) {
			t.Errorf("the sale ends at %v: offered until %v; %+v, %v", end, p.Deadline, places, err)
		}
	})
}
