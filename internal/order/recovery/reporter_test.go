package recovery

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"seckill/internal/order"
	"seckill/internal/order/ordertest"
)

// fakeReports takes recovery reports in memory.
type fakeReports struct {
	ordertest.Faults
	stops    []Round
	late     bool
	stuck    int64 // the voucher whose reports Redis does not answer
	handedIn []Report
}

// Heartbeat returns each round once, as Redis does.
func (f *fakeReports) Heartbeat(_ context.Context, _ int, _ string, last Heard) (heard Heard, err error) {
	err = f.Call("heartbeat", func() error {
		for _, s := range f.stops {
			heard.Now = max(heard.Now, s.Stopped+1)
			if s.Stopped >= last.Now {
				heard.Rounds = append(heard.Rounds, s)
			}
		}
		return nil
	})
	return heard, err
}

func (f *fakeReports) SubmitReport(ctx context.Context, round Round, _ string, t Report) (bool, int64, error) {
	if round.Sale.VoucherID == f.stuck {
		<-ctx.Done()
		return false, 0, ctx.Err()
	}
	err := f.Call("report", func() error { f.handedIn = append(f.handedIn, t); return nil })
	return !f.late, 6, err
}

// fakeAdmitted is an Admission that has seen one mark and accepted some orders.
type fakeAdmitted struct {
	seen     order.Mark
	accepted []order.Claim
}

func (f fakeAdmitted) Seen(int64) order.Mark { return f.seen }

func (f fakeAdmitted) RecentAccepts(sales ...int64) map[int64][]order.Claim {
	claims := make(map[int64][]order.Claim)
	for _, c := range f.accepted {
		if slices.Contains(sales, c.VoucherID) {
			claims[c.VoucherID] = append(claims[c.VoucherID], c)
		}
	}
	return claims
}

// newTestReporter returns a reporter that has seen two orders, 101 and 102, accepted at epoch 3.
func newTestReporter(
	f *fakeReports, s *ordertest.FakeStores, rows *ordertest.FakeOrders, held ordertest.FakeHolders,
) *Reporter {
	f.Before, f.After = map[string]int{}, map[string]int{}
	admitted := fakeAdmitted{seen: order.Mark{Epoch: 3, Sequence: 9}, accepted: []order.Claim{
		{OrderID: 101, UserID: 1, VoucherID: ordertest.VoucherA, Epoch: 3, Sequence: 1},
		{OrderID: 102, UserID: 2, VoucherID: ordertest.VoucherA, Epoch: 3, Sequence: 2},
	}}
	stores := ReporterStores{Reports: f, Holders: held.OrdersOf, Rows: rows}
	return NewReporter(stores, 0, "a", admitted, s, ordertest.Quiet())
}

// A reporter reports once per round, through faults. Its report about an unknown sale is empty, and only says that the
// reporter is alive.
func TestReporterReports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := func(at int64) Round {
			return Round{Sale: order.SaleRef{VoucherID: ordertest.VoucherA}, Stopped: at}
		}
		f := &fakeReports{stops: []Round{stop(5)}}
		r := newTestReporter(f, ordertest.NewFakeStores(0), &ordertest.FakeOrders{}, ordertest.FakeHolders{})
		f.Before["heartbeat"], f.Before["report"] = 1, 1
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(10 * heartbeatEvery)
		synctest.Wait()
		want := Report{Seen: order.Mark{
			Epoch: 3, Sequence: 9,
		}, Claims: r.admitted.RecentAccepts(ordertest.VoucherA)[ordertest.VoucherA]}
		if diff := gocmp.Diff([]Report{want}, f.handedIn); diff != "" {
			t.Errorf("handed in (-want +got):\n%s", diff)
		}
		f.Mu.Lock()
		f.stops = []Round{stop(6), {Sale: order.SaleRef{VoucherID: ordertest.VoucherA + 1}, Stopped: 6}}
		f.Mu.Unlock()
		time.Sleep(3 * heartbeatEvery)
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
		slices.SortFunc(f.handedIn, func(a, b Report) int { return cmp.Compare(len(b.Claims), len(a.Claims)) })
		if diff := gocmp.Diff([]Report{want, want, {Seen: want.Seen}}, f.handedIn); diff != "" {
			t.Errorf("handed in (-want +got):\n%s", diff)
		}
	})
}

// A reporter that comes too late has the sale rebuilt once more if the rebuild missed an order.
func TestLateReporterChecksTheRebuild(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rows map[int64]order.Order
		held ordertest.FakeHolders
		want []ordertest.RepairCall
	}{
		"both are found": {
			rows: map[int64]order.Order{101: {ID: 101}},
			held: ordertest.FakeHolders{{VoucherID: ordertest.VoucherA, UserID: 2}: 102},
		},
		"one is lost": {
			rows: map[int64]order.Order{101: {ID: 101}},
			want: []ordertest.RepairCall{{VoucherID: ordertest.VoucherA, BadEpoch: 6}},
		},
		"the user bought again": {rows: map[int64]order.Order{101: {ID: 101}}, held: ordertest.FakeHolders{
			{VoucherID: ordertest.VoucherA, UserID: 2}: 7,
		}, want: []ordertest.RepairCall{{VoucherID: ordertest.VoucherA, BadEpoch: 6}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeReports{
				stops: []Round{{Sale: order.SaleRef{VoucherID: ordertest.VoucherA}, Stopped: 5}}, late: true,
			}
			s := ordertest.NewFakeStores(0)
			r := newTestReporter(f, s, &ordertest.FakeOrders{Rows: tc.rows}, tc.held)
			for range 2 { // the second report must not request another repair
				if err := r.heartbeat(t.Context()); err != nil {
					t.Fatal(err)
				}
				r.reports.Wait()
			}
			if diff := gocmp.Diff(tc.want, s.Repairs, gocmp.AllowUnexported(ordertest.RepairCall{})); diff != "" {
				t.Errorf("repairs (-want +got):\n%s", diff)
			}
		})
	}
}

// A report that gets no answer delays no other report, and no heartbeat.
func TestReportsAreIndependent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeReports{stuck: ordertest.VoucherB, stops: []Round{
			{Sale: order.SaleRef{VoucherID: ordertest.VoucherB}, Stopped: 5},
			{Sale: order.SaleRef{VoucherID: ordertest.VoucherA}, Stopped: 5},
		}}
		r := newTestReporter(f, ordertest.NewFakeStores(0), &ordertest.FakeOrders{}, ordertest.FakeHolders{})
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		time.Sleep(heartbeatEvery)
		synctest.Wait()
		f.Mu.Lock()
		if len(f.handedIn) != 1 {
			t.Errorf("%d reports were handed in, want the other sale's", len(f.handedIn))
		}
		f.stops = append(f.stops, Round{Sale: order.SaleRef{VoucherID: 99}, Stopped: 7})
		f.Mu.Unlock()
		time.Sleep(heartbeatEvery)
		synctest.Wait()
		f.Mu.Lock()
		if len(f.handedIn) != 2 {
			t.Errorf("%d reports were handed in, want that of the next heartbeat too", len(f.handedIn))
		}
		f.Mu.Unlock()
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
