package test

import (
	"testing"
	"time"
)

// The numbers are chosen so that the sale lasts well beyond the fault: a fault that came too late would prove nothing,
// and the test says so.
const (
	killUnits   = 3000
	killBuyers  = 4000
	killWorkers = 64
	killAfter   = 300 // accepted purchases before the fault
)

// TestKillEmbedded crashes the embedded server, twice: its Redis dies with it, and only what is in the file is left.
// Everything that was answered must be in there.
func TestKillEmbedded(t *testing.T) {
	t.Parallel()
	s := embeddedSite(t)
	c := s.crowd(s.createSale(t, killUnits, time.Now().Add(time.Hour)))
	for _, n := range []int{killAfter, 4 * killAfter} {
		strike(t, c, n, func() error {
			if err := s.servers[0].kill(); err != nil {
				return err
			}
			s.checkPromisesInFile(t, c)
			return s.servers[0].start()
		})
	}
	s.finishKilled(t, c)
}

// checkPromisesInFile compares what was answered so far with the file of a server that is down.
func (s *site) checkPromisesInFile(t *testing.T, c *crowd) {
	t.Helper()
	promised := c.record.winners()
	rows, err := s.ledger.orders(t.Context(), c.voucher)
	if err != nil {
		t.Errorf("reading the file of the killed server: %v", err)
		return
	}
	owner := map[int64]int64{}
	for _, r := range rows {
		owner[r.ID] = r.User
	}
	for user, id := range promised {
		if owner[id] != user {
			t.Errorf("order %d was promised to user %d before the crash; the file has it for user %d", id, user, owner[id])
		}
	}
	t.Logf("at the crash %d orders were promised and %d in the file", len(promised), len(rows))
}

// crash kills a server and starts it again.
func crash(s *server) error {
	if err := s.kill(); err != nil {
		return err
	}
	return s.start()
}

// strike does something to the site as soon as so many purchases were accepted, while the sale goes on. One fault
// waits for the one before it.
func strike(t *testing.T, c *crowd, n int, do func() error) {
	t.Helper()
	c.record.after(n, func() {
		c.faults.Lock()
		defer c.faults.Unlock()
		if err := do(); err != nil {
			t.Errorf("the fault after %d accepted purchases: %v", n, err)
		}
	})
}

// finishKilled lets everybody buy through the faults, who ask again until they know, and checks that nothing was lost,
// nothing sold twice, and every unit sold.
func (s *site) finishKilled(t *testing.T, c *crowd) {
	t.Helper()
	c.rush(t.Context(), killWorkers, people(1, killBuyers))
	tally := c.record.tally()
	t.Logf("answers: %v", tally)
	if tally["unknown"]+tally["nobody there"] == 0 {
		t.Errorf("no attempt was left without an answer: the crash did not come in the middle of the sale")
	}
	e := s.check(t, c, killUnits)
	if e.liveRows() != killUnits {
		t.Errorf("%d units sold, want all %d: there were %d buyers", e.liveRows(), killUnits, killBuyers)
	}
}
