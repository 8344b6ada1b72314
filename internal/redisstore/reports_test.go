package redisstore

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/order"
	"seckill/internal/order/operation"
	"seckill/internal/order/partition"
	"seckill/internal/order/recovery"
	"seckill/internal/testkit"
)

// reportsTests test recovery rounds: instances report what they remember while a sale is stopped.
var reportsTests = behaviour{
	"stops":                   testStops,
	"report":                  testReport,
	"report of many orders":   testReportOfMany,
	"late report":             testLateReport,
	"report after a loss":     testReportAfterLoss,
	"unreadable report":       testUnreadableReport,
	"a round that is over":    testRoundOver,
	"one stop, many rebuilds": testOneStop,
	"new stops":               testNewStops,
	"a dead reporter":         testDeadReporter,
	"what instances read":     testFormats,
	"versions":                testVersions,
}

// reporterHeartbeat sends a reporter's heartbeat, and returns the round of the rig's sale, if there is one.
func (r *rig) reporterHeartbeat(reporter string) recovery.Round {
	r.t.Helper()
	heard, err := r.Heartbeat(r.ctx(), r.sale.Partition, reporter, recovery.Heard{})
	r.must(err)
	for _, h := range heard.Rounds {
		if h.Sale == r.sale {
			return h
		}
	}
	return recovery.Round{}
}

func (r *rig) submit(round recovery.Round, reporter string, mark order.Mark, claims ...order.Claim) (bool, int64) {
	r.t.Helper()
	inTime, epoch, err := r.SubmitReport(r.ctx(), round, reporter, recovery.Report{Seen: mark, Claims: claims})
	r.must(err)
	return inTime, epoch
}

func (r *rig) progress(epoch int64) order.RoundProgress {
	r.t.Helper()
	p, err := r.RoundProgress(r.ctx(), r.sale, epoch)
	r.must(err)
	return p
}

// member returns an element of a sorted set of times.
func member(at time.Time, name string) redis.Z {
	return redis.Z{Score: float64(at.UnixMilli()), Member: name}
}

// reported returns the reported claims, by order id.
func (r *rig) reported() []order.Claim {
	r.t.Helper()
	var claims []order.Claim
	for c, err := range r.Reported(r.ctx(), r.sale) {
		r.must(err)
		claims = append(claims, c)
	}
	slices.SortFunc(claims, func(a, b order.Claim) int { return cmp.Compare(a.OrderID, b.OrderID) })
	return slices.Compact(claims)
}

func testStops(t *testing.T, r *rig) {
	ahead := member(r.now().Add(time.Hour), "dead since before the clock was set back")
	r.must(r.commands.ZAdd(r.ctx(), r.keys.reporters(0), ahead).Err())
	equal(t, recovery.Round{}, r.reporterHeartbeat("a"))
	r.must(r.Begin(r.ctx(), r.sale, 1))
	first := r.reporterHeartbeat("a")
	equal(t, r.sale, first.Sale)
	r.must(r.Publish(r.ctx(), r.sale, 1, r.hour(5)))
	equal(t, first, r.reporterHeartbeat("b")) // also when it is over
	r.must(r.Begin(r.ctx(), r.sale, 2))
	if second := r.reporterHeartbeat("a"); second.Stopped <= first.Stopped {
		t.Errorf("stopped at %d, and then at %d", first.Stopped, second.Stopped)
	}
	reporters, err := r.commands.ZRange(r.ctx(), r.keys.reporters(0), 0, -1).Result()
	r.must(err)
	slices.Sort(reporters)
	equal(t, []string{"a", "b"}, reporters)
	r.must(r.commands.ZAdd(r.ctx(), r.keys.stops(0), member(r.now().Add(-stopsKept-time.Minute), "7")).Err())
	// The first heartbeat learns of it even so, since all instances may have been suspended.
	equal(t, r.sale, r.reporterHeartbeat("a").Sale)
	equal(t, recovery.Round{}, r.reporterHeartbeat("a")) // forgotten
}

// testNewStops: a reporter learns of new rounds, even if the clock was set or the reporter was suspended since its last
// heartbeat.
func testNewStops(t *testing.T, r *rig) {
	r.replaceByText(r.keys.stops(0), r.keys.reporters(0))
	first, err := r.Heartbeat(r.ctx(), 0, "a", recovery.Heard{})
	r.must(err)
	equal(t, 0, len(first.Rounds))
	for id, ago := range map[string]time.Duration{"1": 5 * time.Minute, "2": 2 * time.Second, "3": -time.Second} {
		r.must(r.commands.ZAdd(r.ctx(), r.keys.stops(0), member(time.UnixMilli(first.Now).Add(-ago), id)).Err())
	}
	// These times are written by hand.
	for name, ago := range map[string]time.Duration{
		"x": time.Second, "07": time.Second, "8.16": time.Second, "9": -2 * stopsKept,
	} {
		r.must(r.commands.ZAdd(r.ctx(), r.keys.stops(0), member(time.UnixMilli(first.Now).Add(-ago), name)).Err())
	}
	for name, tc := range map[string]struct {
		last recovery.Heard
		want int
	}{
		"the first":           {want: 3},
		"one after the other": {last: recovery.Heard{Now: first.Now, Ago: time.Millisecond}, want: 2},
		"it was suspended": {
			last: recovery.Heard{Now: first.Now - 6*time.Minute.Milliseconds(), Ago: 6 * time.Minute}, want: 3,
		},
		"the clock was set ahead": {
			last: recovery.Heard{Now: first.Now - time.Hour.Milliseconds(), Ago: time.Millisecond}, want: 3,
		},
		"the clock was set back": {
			last: recovery.Heard{Now: first.Now + time.Hour.Milliseconds(), Ago: time.Millisecond}, want: 2,
		},
		"both, and it was suspended": {
			last: recovery.Heard{Now: first.Now + time.Hour.Milliseconds(), Ago: 5 * time.Minute}, want: 3,
		},
	} {
		heard, err := r.Heartbeat(r.ctx(), 0, "a", tc.last)
		r.must(err)
		if len(heard.Rounds) != tc.want {
			t.Errorf("%s: %v, want %d", name, heard.Rounds, tc.want)
		}
	}
	// All instances were suspended for longer than stops are kept: the first one back learns of an old stop, and
	// removes it.
	r.must(r.commands.ZAdd(r.ctx(), r.keys.stops(0),
		member(time.UnixMilli(first.Now).Add(-stopsKept-time.Minute), "4")).Err())
	for _, want := range []int{4, 3} {
		ago := stopsKept + 2*time.Minute
		heard, err := r.Heartbeat(r.ctx(), 0, "a", recovery.Heard{Now: first.Now - ago.Milliseconds(), Ago: ago})
		r.must(err)
		if len(heard.Rounds) != want {
			t.Errorf("after all were suspended: %v, want %d", heard.Rounds, want)
		}
	}
}

func testReport(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.must(r.Begin(r.ctx(), r.sale, 2))
	h := r.reporterHeartbeat("a")
	r.reporterHeartbeat("b")
	ahead := member(r.now().Add(time.Hour), "dead since before the clock was set back")
	r.must(r.commands.ZAdd(r.ctx(), r.keys.reporters(0), ahead).Err())
	state := r.progress(2)
	slices.Sort(state.Missing)
	equal(t, []string{"a", "b"}, state.Missing)
	claims := []order.Claim{
		{OrderID: 1 << 62, UserID: 5, VoucherID: 7, Epoch: 1, Sequence: 4},
		{OrderID: 1<<62 + 1, UserID: 6, VoucherID: 7, Epoch: 1},
	}
	for range 2 { // once more, as after a lost answer
		inTime, epoch := r.submit(h, "a", order.Mark{Epoch: 1, Sequence: 9}, claims...)
		equal(t, true, inTime)
		equal(t, int64(1), epoch)
	}
	equal(t, []string{"b"}, r.progress(2).Missing)
	r.submit(h, "b", order.Mark{Epoch: 1, Sequence: 8}, claims[0]) // both report the other one
	state = r.progress(2)
	equal(t, 0, len(state.Missing))
	equal(t, order.Mark{Epoch: 1, Sequence: 9}, state.Seen)
	equal(t, claims, r.reported())
	r.must(r.Publish(r.ctx(), r.sale, 2, r.hour(5)))
	n, err := r.commands.Exists(r.ctx(), r.keys.reports(r.sale), r.keys.reported(r.sale)).Result()
	r.must(err)
	equal(t, int64(0), n)
}

// testReportOfMany: the last part of a report completes it.
func testReportOfMany(t *testing.T, r *rig) {
	r.must(r.Begin(r.ctx(), r.sale, 2))
	h := r.reporterHeartbeat("a")
	var claims []order.Claim
	for i := range int64(2 * maxHolders) {
		claims = append(claims, order.Claim{OrderID: 1000 + i, UserID: 1 + i, VoucherID: 7, Epoch: 1, Sequence: 1 + i})
	}
	raw, err := r.scripts.report.Run(r.ctx(), r.commands,
		[]string{r.keys.sale(r.sale), r.keys.reports(r.sale), r.keys.reported(r.sale)},
		h.Stopped, "", 1, 5, 1000, 1, 1, 1)
	r.must(err)
	equal(t, any([]any{int64(1), int64(0)}), raw)
	equal(t, []string{"a"}, r.progress(2).Missing)
	r.submit(h, "a", order.Mark{}, claims...)
	equal(t, claims, r.reported())
	equal(t, 0, len(r.progress(2).Missing))
}

// testLateReport: a report after the rebuild, or for an earlier round, is refused; the answer has the sale's epoch.
func testLateReport(t *testing.T, r *rig) {
	r.open(1, r.hour(5))
	r.must(r.Begin(r.ctx(), r.sale, 2))
	h := r.reporterHeartbeat("a")
	r.must(r.Publish(r.ctx(), r.sale, 2, r.hour(5)))
	late := func() {
		t.Helper()
		inTime, epoch := r.submit(h, "a", order.Mark{}, order.Claim{OrderID: 9, UserID: 9, VoucherID: 7})
		equal(t, false, inTime)
		equal(t, int64(2), epoch)
		equal(t, 0, len(r.reported()))
	}
	late()
	r.must(r.Begin(r.ctx(), r.sale, 3))
	late()
}

// testReportAfterLoss: a Redis that is emptied during a round begins it again.
func testReportAfterLoss(t *testing.T, r *rig) {
	r.must(r.Begin(r.ctx(), r.sale, 2))
	h := r.reporterHeartbeat("a")
	r.submit(h, "a", order.Mark{}, order.Claim{OrderID: 9, UserID: 9, VoucherID: 7})
	r.must(r.commands.Del(r.ctx(), r.keys.sale(r.sale), r.keys.reports(r.sale), r.keys.reported(r.sale),
		r.keys.stops(0), r.keys.reporters(0)).Err())
	if _, err := r.RoundProgress(r.ctx(), r.sale, 2); !errors.Is(err, errRebuildLost) {
		t.Errorf("RoundProgress: %v", err)
	}
	equal(t, recovery.Round{}, r.reporterHeartbeat("a"))
	r.must(r.Begin(r.ctx(), r.sale, 3))
	equal(t, []string{"a"}, r.progress(3).Missing)
}

func testUnreadableReport(t *testing.T, r *rig) {
	r.must(r.Begin(r.ctx(), r.sale, 2))
	r.must(r.commands.HSet(r.ctx(), r.keys.reports(r.sale), "9", "9 1 1", "10", "x 1 1", "11", "5").Err())
	equal(t, []order.Claim{{OrderID: 9, UserID: 9, VoucherID: 7, Epoch: 1, Sequence: 1}}, r.reported())
}

func testRoundOver(t *testing.T, r *rig) {
	r.open(3, r.hour(1))
	if _, err := r.RoundProgress(r.ctx(), r.sale, 3); !errors.Is(err, order.ErrSuperseded) {
		t.Errorf("RoundProgress of an open sale: %v", err)
	}
	r.must(r.Begin(r.ctx(), r.sale, 5))
	if _, err := r.RoundProgress(r.ctx(), r.sale, 4); !errors.Is(err, order.ErrSuperseded) {
		t.Errorf("RoundProgress for an older rebuild: %v", err)
	}
}

// testOneStop: a rebuild that died and the next one share their reports; no reporter must report twice.
func testOneStop(t *testing.T, r *rig) {
	r.open(1, r.hour(1))
	r.must(r.Begin(r.ctx(), r.sale, 2))
	h := r.reporterHeartbeat("a")
	r.submit(h, "a", order.Mark{Epoch: 1, Sequence: 1}, order.Claim{OrderID: 9, UserID: 9, VoucherID: 7})
	r.pass(6 * time.Millisecond) // otherwise two stops in one millisecond look the same
	r.must(r.Begin(r.ctx(), r.sale, 3))
	equal(t, h, r.reporterHeartbeat("a"))
	state := r.progress(3)
	equal(t, 0, len(state.Missing))
	if state.Since < 5*time.Millisecond {
		t.Errorf("stopped for %v", state.Since)
	}
	equal(t, 1, len(r.reported()))
}

func testDeadReporter(t *testing.T, r *rig) {
	r.must(r.Begin(r.ctx(), r.sale, 2))
	r.reporterHeartbeat("a")
	r.must(r.commands.ZAdd(r.ctx(), r.keys.reporters(0), member(r.now().Add(-reporterAlive-time.Second), "gone")).Err())
	equal(t, []string{"a"}, r.progress(2).Missing)
}

// testVersions: a heartbeat has the version of its build, which changes nothing else: the round waits for the reporter,
// and ends with its report. A heartbeat without a version has none.
func testVersions(t *testing.T, r *rig) {
	r.reporterHeartbeat("b:1")
	r.options.Version = "v1.2.3 dirty"
	r.reporterHeartbeat("a:1")
	instances, err := r.Instances(r.ctx())
	r.must(err)
	equal(t, []partition.Instance{{Name: "a", Version: "v1.2.3_dirty"}, {Name: "b"}}, instances)
	r.must(r.Begin(r.ctx(), r.sale, 2))
	var round recovery.Round
	testkit.Eventually(t, func() bool { // a heartbeat expires after two seconds, which a busy machine may take
		round = r.reporterHeartbeat("a:1")
		return slices.Contains(r.progress(2).Missing, "a:1")
	})
	r.submit(round, "a:1", order.Mark{Epoch: 1, Sequence: 1})
	r.reporterHeartbeat("a:1")
	if missing := r.progress(2).Missing; slices.Contains(missing, "a:1") {
		t.Errorf("missing %v, although it has reported", missing)
	}
}

// restart kills the server and starts it again with the contents of its file.
func (r *rig) restart(server *testkit.RedisServer) {
	server.Kill()
	server.Start()
	for deadline := time.Now().Add(time.Minute); r.Ping(r.ctx()) != nil && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond) // the server is reading its file
	}
}

// TestRestartDuringRebuild: a server that restarts while a sale is stopped may have lost steps of the rebuild, or its
// end. So that rebuild ends there, and the next one waits for all reports again.
func TestRestartDuringRebuild(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	r := newServerRig(t, server)
	r.open(1, r.hour(5))
	r.must(r.Begin(r.ctx(), r.sale, 2))
	h := r.reporterHeartbeat("a")
	r.submit(h, "a", order.Mark{Epoch: 1, Sequence: 1}, order.Claim{OrderID: 9, UserID: 9, VoucherID: 7})
	r.set(fieldResumes, 0)
	r.restart(server)
	if err := r.Publish(r.ctx(), r.sale, 2, r.hour(4)); !errors.Is(err, errRebuildLost) {
		t.Errorf("published: %v", err)
	}
	r.must(r.Begin(r.ctx(), r.sale, 3))
	if again := r.reporterHeartbeat("a"); again.Stopped <= h.Stopped {
		t.Errorf("stopped at %d, and then at %d", h.Stopped, again.Stopped)
	}
	equal(t, []string{"a"}, r.progress(3).Missing)
	equal(t, 0, len(r.reported()))
	if r.field(fieldResumes) == "0" {
		t.Error("the sale sells while instances may have cached it as sold out")
	}
	r.must(r.Publish(r.ctx(), r.sale, 3, r.hour(4)))
	equal(t, order.SaleOpen, r.view().Mode)
}

// TestRestartStopsSales: a server that was restarted, or that took over, may have lost its tail. Sales that another run
// opened are stopped before they sell again, whatever mark callers know, and even without requests.
func TestRestartStopsSales(t *testing.T) {
	t.Parallel()
	server := testkit.StartRedis(t, "--appendonly", "yes", "--appendfsync", "always")
	r := newServerRig(t, server)
	r.open(1, r.hour(5))
	r.admit(requests(1, 1)...)
	r.restart(server)
	equal(t, order.SaleRebuilding, r.view().Mode)
	equal(t, operation.ApplyRebuilding, r.applyResult(stock(1, -1)).State)
	equal(t, modeOpen, r.field(fieldMode)) // reading stops nothing
	got := r.admit(requests(1, 2)...)
	equal(t, []string{"3", "3"}, codes(got.Results))
	equal(t, modeRebuild, r.field(fieldMode))
	r.must(r.Begin(r.ctx(), r.sale, 2))
	r.must(r.Publish(r.ctx(), r.sale, 2, r.hour(4)))
	r.set(fieldResumes, 0)
	equal(t, []string{"0", "0"}, codes(r.admit(requests(1, 2)...).Results))
	equal(t, order.SaleOpen, r.view().Mode)
}

// testFormats: a heartbeat has its build and the formats that it reads. An instance that does not read all formats that
// this one writes is old, for as long as it may come back.
func testFormats(t *testing.T, r *rig) {
	r.options.Version, r.options.Formats = "v1 beta", []string{"packed", "quantity"}
	r.reporterHeartbeat("a:1")
	for name, seen := range map[string]time.Duration{
		"b:1 version=v0 formats=packed": 0, "c:1": lately / 2, "d:1": lately + time.Second,
	} {
		r.must(r.commands.ZAdd(r.ctx(), r.keys.reporters(0), member(r.now().Add(-seen), name)).Err())
	}
	want := []partition.Instance{
		{Name: "a", Version: "v1_beta", Formats: []string{"packed", "quantity"}},
		{Name: "b", Version: "v0", Formats: []string{"packed"}, Old: true},
		{Name: "c", Old: true},
	}
	instances, err := r.Instances(r.ctx())
	r.must(err)
	equal(t, want, instances)

	r.options.Formats = nil
	for i := range want {
		want[i].Old = false
	}
	instances, err = r.Instances(r.ctx())
	r.must(err)
	equal(t, want, instances)
}
