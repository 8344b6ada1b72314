package webhooks

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit/child"
	"seckill/test/webhooks/receiver"
)

// BenchmarkCatchUp measures how fast an endpoint catches up on a backlog with one event per order, and the CPU time of
// an event: in this process, which is both instance and receiver, and in the database.
func BenchmarkCatchUp(b *testing.B) {
	const backlog = 10_000
	r, to := newMySQLRig(b), receiver.New(b)
	r.endpoint(to)
	database := r.databasePID()
	var took, own, db time.Duration
	n := 0
	for b.Loop() {
		b.StopTimer()
		r.sells(backlog)
		taken, _, _ := to.Counts()
		b.StartTimer()
		began, ownBefore, dbBefore := time.Now(), child.TimeOf(os.Getpid()), child.TimeOf(database)
		stop := r.instance("one")
		to.Await(taken + backlog)
		took += time.Since(began)
		own += child.TimeOf(os.Getpid()) - ownBefore
		db += child.TimeOf(database) - dbBefore
		stop()
		n++
	}
	b.ReportMetric(float64(n*backlog)/took.Seconds(), "events/s")
	b.ReportMetric(float64(own.Microseconds())/float64(n*backlog), "own-µs/event")
	b.ReportMetric(float64(db.Microseconds())/float64(n*backlog), "database-µs/event")
	to.Right()
}

// databasePID returns the database's process id, 0 if it runs elsewhere.
func (r *rig) databasePID() int {
	r.tb.Helper()
	var file string
	if err := r.raw.QueryRowContext(r.tb.Context(), "SELECT @@pid_file").Scan(&file); err != nil {
		r.tb.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
