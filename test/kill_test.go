package test

import (
	"sync"
	"testing"
	"time"

	"seckill/test/box"
)

// With these numbers the sale lasts well beyond the fault. A fault that comes too late proves nothing and fails the
// test.
const (
	killUnits   = 3000
	killBuyers  = 4000
	killWorkers = 64
	killAfter   = 300 // accepted purchases before the fault
)

// TestKillEmbedded kills the embedded server twice. Its Redis dies with it, and only the file is left, which must
// contain every accepted order.
func TestKillEmbedded(t *testing.T) {
	t.Parallel()
	s := box.EmbeddedSite(t)
	b := s.Buyers(s.CreateSale(t, killUnits, time.Now().Add(time.Hour)))
	var one sync.Mutex // each kill waits for the previous one
	for _, n := range []int{killAfter, 4 * killAfter} {
		faultAfter(t, b, n, func() error {
			one.Lock()
			defer one.Unlock()
			if err := s.Servers[0].Kill(); err != nil {
				return err
			}
			checkFileHasAnswered(t, s, b)
			return s.Servers[0].Start()
		})
	}
	sellThroughFaults(t, s, b)
}

// checkFileHasAnswered checks that a killed server's file has every order of the answers so far.
func checkFileHasAnswered(t *testing.T, s *box.Site, b *box.Buyers) {
	t.Helper()
	answered := b.Record.Winners()
	rows, err := s.Ledger.Orders(t.Context(), b.Voucher)
	if err != nil {
		t.Errorf("reading the file of the killed server: %v", err)
		return
	}
	owner := map[int64]int64{}
	for _, r := range rows {
		owner[r.ID] = r.User
	}
	for user, id := range answered {
		if owner[id] != user {
			t.Errorf("order %d was given to user %d before the kill; the file has it for user %d", id, user, owner[id])
		}
	}
	t.Logf("at the kill %d orders were answered and %d in the file", len(answered), len(rows))
}

// faultAfter causes a fault once n purchases are accepted, while the sale goes on.
func faultAfter(t *testing.T, b *box.Buyers, n int, do func() error) {
	t.Helper()
	b.Record.After(n, func() {
		if err := do(); err != nil {
			t.Errorf("the fault after %d accepted purchases: %v", n, err)
		}
	})
}

// sellThroughFaults lets all buyers buy until answered, despite the faults, and checks that nothing is lost or sold
// twice, and that every unit is sold.
func sellThroughFaults(t *testing.T, s *box.Site, b *box.Buyers) {
	t.Helper()
	b.BuyAll(t.Context(), killWorkers, box.Users(1, killBuyers))
	counts := b.Record.Counts()
	t.Logf("answers: %v", counts)
	if counts["unknown"]+counts["not sent"] == 0 {
		t.Errorf("every request was answered: the kill did not come during the sale")
	}
	e := s.Check(t, b, killUnits)
	if e.Live() != killUnits {
		t.Errorf("%d units sold, want all %d: there were %d buyers", e.Live(), killUnits, killBuyers)
	}
}
