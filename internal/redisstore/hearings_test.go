package redisstore

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/testkit"
)

// hearingTests are the behaviour of hearings: what instances remember, handed in while a sale stands still.
var hearingTests = behaviour{
	"stops are told":           testStopsAreTold,
	"testimony":                testTestimony,
	"testimony of many":        testTestimonyOfMany,
	"testimony that is late":   testLateTestimony,
	"testimony after a loss":   testTestimonyAfterLoss,
	"testimony of no order":    testUnreadableTestimony,
	"a hearing that is over":   testHearingOver,
	"one stop, many rebuilds":  testOneStop,
	"a witness that has ended": testDeadWitness,
}

// attend lets a witness attend, and returns the hearing of the rig's sale, if there is one.
func (r *rig) attend(witness string) order.Hearing {
	r.t.Helper()
	hearings, err := r.Attend(r.ctx(), r.sale.Partition, witness)
	r.must(err)
	for _, h := range hearings {
		if h.Sale == r.sale {
			return h
		}
	}
	return order.Hearing{}
}

func (r *rig) testify(h order.Hearing, witness string, mark order.Mark, claims ...order.Claim) (bool, int64) {
	r.t.Helper()
	heard, epoch, err := r.Testify(r.ctx(), h, witness, order.Testimony{Seen: mark, Claims: claims})
	r.must(err)
	return heard, epoch
}

func (r *rig) heard(epoch int64) order.HearingState {
	r.t.Helper()
	state, err := r.Heard(r.ctx(), r.sale, epoch)
	r.must(err)
	return state
}

// member is an element of a sorted set of times.
func member(at time.Time, name string) redis.Z {
	return redis.Z{Score: float64(at.UnixMilli()), Member: name}
}

// testified reads what was handed in, by order id.
func (r *rig) testified() []order.Claim {
	r.t.Helper()
	var claims []order.Claim
	for c, err := range r.Testified(r.ctx(), r.sale) {
		r.must(err)
		claims = append(claims, c)
	}
	slices.SortFunc(claims, func(a, b order.Claim) int { return cmp.Compare(a.OrderID, b.OrderID) })
	return slices.Compact(claims)
}

func testStopsAreTold(t *testing.T, r *rig) {
	equal(t, order.Hearing{}, r.attend("a"))
	r.must(r.Begin(r.ctx(), r.sale, 1))
	first := r.attend("a")
	equal(t, r.sale, first.Sale)
	r.must(r.Publish(r.ctx(), r.sale, 1, r.hour(5)))
	equal(t, first, r.attend("b")) // also when it is over
	r.must(r.Begin(r.ctx(), r.sale, 2))
	if second := r.attend("a"); second.Stopped <= first.Stopped {
		t.Errorf("stopped at %d, and then at %d", first.Stopped, second.Stopped)
	}
	r.must(r.commands.ZAdd(r.ctx(), r.keys.stops(0), member(r.now().Add(-keepStops-time.Minute), "7")).Err())
	equal(t, order.Hearing{}, r.attend("a")) // forgotten
}

func testTestimony(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.must(r.Begin(r.ctx(), r.sale, 2))
	h := r.attend("a")
	r.attend("b")
	state := r.heard(2)
	slices.Sort(state.Absent)
	equal(t, []string{"a", "b"}, state.Absent)
	claims := []order.Claim{
		{OrderID: 1 << 62, UserID: 5, VoucherID: 7, Epoch: 1, Sequence: 4}, {OrderID: 1<<62 + 1, UserID: 6, VoucherID: 7, Epoch: 1},
	}
	for range 2 { // again, as after a lost answer
		heard, epoch := r.testify(h, "a", order.Mark{Epoch: 1, Sequence: 9}, claims...)
		equal(t, true, heard)
		equal(t, int64(1), epoch)
	}
	equal(t, []string{"b"}, r.heard(2).Absent)
	r.testify(h, "b", order.Mark{Epoch: 1, Sequence: 8}, claims[0]) // the other one was told of by both
	state = r.heard(2)
	equal(t, 0, len(state.Absent))
	equal(t, order.Mark{Epoch: 1, Sequence: 9}, state.Seen)
	equal(t, claims, r.testified())
	r.must(r.Publish(r.ctx(), r.sale, 2, r.hour(5)))
	n, err := r.commands.Exists(r.ctx(), r.keys.testified(r.sale), r.keys.heard(r.sale)).Result()
	r.must(err)
	equal(t, int64(0), n)
}

// testTestimonyOfMany: a witness counts as heard with the last of what it hands in.
func testTestimonyOfMany(t *testing.T, r *rig) {
	r.must(r.Begin(r.ctx(), r.sale, 2))
	h := r.attend("a")
	var claims []order.Claim
	for i := range int64(2 * maxSeats) {
		claims = append(claims, order.Claim{OrderID: 1000 + i, UserID: 1 + i, VoucherID: 7, Epoch: 1, Sequence: 1 + i})
	}
	raw, err := r.scripts.testify.run(r.ctx(), r.commands, []string{r.keys.sale(r.sale), r.keys.testified(r.sale), r.keys.heard(r.sale)},
		h.Stopped, "", 1, 5, 1000, 1, 1, 1)
	r.must(err)
	equal(t, any([]any{int64(1), int64(0)}), raw)
	equal(t, []string{"a"}, r.heard(2).Absent)
	r.testify(h, "a", order.Mark{}, claims...)
	equal(t, claims, r.testified())
	equal(t, 0, len(r.heard(2).Absent))
}

// testLateTestimony: what comes after the rebuild, or was meant for the one before, is refused, and its epoch told.
func testLateTestimony(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.must(r.Begin(r.ctx(), r.sale, 2))
	h := r.attend("a")
	r.must(r.Publish(r.ctx(), r.sale, 2, r.hour(5)))
	late := func() {
		t.Helper()
		heard, epoch := r.testify(h, "a", order.Mark{}, order.Claim{OrderID: 9, UserID: 9, VoucherID: 7})
		equal(t, false, heard)
		equal(t, int64(2), epoch)
		equal(t, 0, len(r.testified()))
	}
	late()
	r.must(r.Begin(r.ctx(), r.sale, 3))
	late()
}

// testTestimonyAfterLoss: a Redis that is emptied during a hearing asks anew.
func testTestimonyAfterLoss(t *testing.T, r *rig) {
	r.must(r.Begin(r.ctx(), r.sale, 2))
	h := r.attend("a")
	r.testify(h, "a", order.Mark{}, order.Claim{OrderID: 9, UserID: 9, VoucherID: 7})
	r.must(r.commands.Del(r.ctx(), r.keys.sale(r.sale), r.keys.testified(r.sale), r.keys.heard(r.sale), r.keys.stops(0), r.keys.witnesses(0)).Err())
	if _, err := r.Heard(r.ctx(), r.sale, 2); !errors.Is(err, errRebuildLost) {
		t.Errorf("Heard: %v", err)
	}
	equal(t, order.Hearing{}, r.attend("a"))
	r.must(r.Begin(r.ctx(), r.sale, 3))
	equal(t, []string{"a"}, r.heard(3).Absent)
}

func testUnreadableTestimony(t *testing.T, r *rig) {
	r.must(r.Begin(r.ctx(), r.sale, 2))
	r.must(r.commands.HSet(r.ctx(), r.keys.testified(r.sale), "9", "9 1 1", "10", "x 1 1", "11", "5").Err())
	equal(t, []order.Claim{{OrderID: 9, UserID: 9, VoucherID: 7, Epoch: 1, Sequence: 1}}, r.testified())
}

func testHearingOver(t *testing.T, r *rig) {
	r.open(3, r.hour(1))
	if _, err := r.Heard(r.ctx(), r.sale, 3); !errors.Is(err, order.ErrSuperseded) {
		t.Errorf("Heard of an open sale: %v", err)
	}
	r.must(r.Begin(r.ctx(), r.sale, 5))
	if _, err := r.Heard(r.ctx(), r.sale, 4); !errors.Is(err, order.ErrSuperseded) {
		t.Errorf("Heard by an older rebuild: %v", err)
	}
}

// testOneStop: a rebuild that died and the next one hear the same; nobody has to come twice.
func testOneStop(t *testing.T, r *rig) {
	r.open(1, r.hour(1))
	r.must(r.Begin(r.ctx(), r.sale, 2))
	h := r.attend("a")
	r.testify(h, "a", order.Mark{Epoch: 1, Sequence: 1}, order.Claim{OrderID: 9, UserID: 9, VoucherID: 7})
	r.pass(5 * time.Millisecond)
	r.must(r.Begin(r.ctx(), r.sale, 3))
	equal(t, h, r.attend("a"))
	state := r.heard(3)
	equal(t, 0, len(state.Absent))
	if state.Since < 5*time.Millisecond {
		t.Errorf("stands still for %v", state.Since)
	}
	equal(t, 1, len(r.testified()))
}

func testDeadWitness(t *testing.T, r *rig) {
	r.must(r.Begin(r.ctx(), r.sale, 2))
	r.attend("a")
	r.must(r.commands.ZAdd(r.ctx(), r.keys.witnesses(0), member(r.now().Add(-witnessAlive-time.Second), "gone")).Err())
	equal(t, []string{"a"}, r.heard(2).Absent)
}

// restart kills the server and starts it again, with what its file has.
func (r *rig) restart(server *testkit.RedisServer) {
	server.Kill()
	server.Start()
	for deadline := time.Now().Add(20 * time.Second); r.Ping(r.ctx()) != nil && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond) // it reads its file
	}
}

// TestRestartDuringRebuild: a server that was restarted while a sale stood still may have lost steps of the rebuild, or
// that it was over. So that rebuild ends there, and the next one hears everybody anew.
func TestRestartDuringRebuild(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	r := newServerRig(t, server)
	r.open(1, r.hour(5))
	r.must(r.Begin(r.ctx(), r.sale, 2))
	h := r.attend("a")
	r.testify(h, "a", order.Mark{Epoch: 1, Sequence: 1}, order.Claim{OrderID: 9, UserID: 9, VoucherID: 7})
	r.set(fieldResumes, 0)
	r.restart(server)
	if err := r.Publish(r.ctx(), r.sale, 2, r.hour(4)); !errors.Is(err, errRebuildLost) {
		t.Errorf("published: %v", err)
	}
	r.must(r.Begin(r.ctx(), r.sale, 3))
	if again := r.attend("a"); again.Stopped <= h.Stopped {
		t.Errorf("stopped at %d, and then at %d", h.Stopped, again.Stopped)
	}
	equal(t, []string{"a"}, r.heard(3).Absent)
	equal(t, 0, len(r.testified()))
	if r.field(fieldResumes) == "0" {
		t.Error("sells while others may remember it as sold out")
	}
	r.must(r.Publish(r.ctx(), r.sale, 3, r.hour(4)))
	equal(t, order.SaleOpen, r.view().Mode)
}

// TestRestartStopsSales: a server that was restarted, or that took over, may have lost its tail. Sales that another run
// opened are stopped before they sell again, whatever anybody knows of them; so are those that nobody asks for.
func TestRestartStopsSales(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	r := newServerRig(t, server)
	r.open(1, r.hour(5))
	r.admit(applicants(1, 1)...)
	r.restart(server)
	equal(t, order.SaleRebuilding, r.view().Mode)
	equal(t, order.ApplicationRebuilding, r.application(stock(1, -1)).State)
	equal(t, modeOpen, r.field(fieldMode)) // reading stops nothing
	got := r.admit(applicants(1, 2)...)
	equal(t, []string{"3", "3"}, codes(got.Outcomes))
	equal(t, modeRebuild, r.field(fieldMode))
	r.must(r.Begin(r.ctx(), r.sale, 2))
	r.must(r.Publish(r.ctx(), r.sale, 2, r.hour(4)))
	r.set(fieldResumes, 0)
	equal(t, []string{"0", "0"}, codes(r.admit(applicants(1, 2)...).Outcomes))
	equal(t, order.SaleOpen, r.view().Mode)
}
