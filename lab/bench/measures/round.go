package measures

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"seckill/lab/bench/audit"
	"seckill/lab/bench/candidate"
	"seckill/lab/bench/result"
	"seckill/lab/load"
	"seckill/lab/rig"
)

// measurement measures a candidate in one round, in a namespace of its own.
type measurement func(ctx context.Context, r *round, at *rig.Namespace) (result.Trial, error)

// step is a candidate's part of a round.
type step struct {
	candidate string
	measure   measurement
	// appendfsync is Redis's setting meanwhile.
	appendfsync string
}

// steps returns the steps of a round. Candidates that are compared with each other are close together, because the
// machine changes from one minute to the next.
func (b *Bench) steps() []step {
	of := func(name string) starter { return b.stage(name).Start }
	selling := func(s starter, check audit.Check, part int) measurement {
		return accepting{start: s, audit: check, want: http.StatusAccepted, part: part}.measure
	}
	serving := func(held bool) measurement {
		return accepting{
			start: b.service().Start, audit: audit.Service, want: http.StatusAccepted, held: held, recordsAll: true,
		}.measure
	}
	streamHeld := accepting{start: of("stream"), audit: audit.Stream, want: http.StatusAccepted, held: true}
	soldOut := accepting{start: b.startSoldOut, want: http.StatusConflict}
	return []step{
		{candidate.Gin, selling(of("gin"), nil, 1), rig.EverySecond},
		{candidate.Bare, selling(of("bare"), nil, 1), rig.EverySecond},
		{candidate.SoldOut, soldOut.measure, rig.EverySecond},
		{candidate.Service, serving(false), rig.EverySecond},
		{candidate.Always, serving(false), "always"},
		{candidate.Stream, selling(of("stream"), audit.Stream, 1), rig.EverySecond},
		{candidate.StreamHeld, streamHeld.measure, rig.EverySecond},
		{candidate.ServiceHeld, serving(true), rig.EverySecond},
		{candidate.RawInsert, rawInsert, rig.EverySecond},
		{candidate.GinHalf, halfLoad{start: of("gin")}.measure, rig.EverySecond},
		{
			candidate.ServiceHalf, halfLoad{start: b.service().Start, audit: audit.Service, probes: true}.measure,
			rig.EverySecond,
		},
		{candidate.Readers, halfLoad{
			start: b.service().Start, audit: audit.Service, probes: true, readers: longListReaders,
		}.measure, rig.EverySecond},
		{candidate.ServiceList, listing, rig.EverySecond},
		{candidate.GinList, plainListing, rig.EverySecond},
		{candidate.Check, selling(of("check"), audit.Database, 2), rig.EverySecond},
		{candidate.Update, selling(of("update"), audit.Database, 2), rig.EverySecond},
		{candidate.UserLock, selling(of("userlock"), audit.Database, 2), rig.EverySecond},
		{candidate.RedisLock, selling(of("redislock"), audit.Database, 2), rig.EverySecond},
		{candidate.Memory, selling(of("memory"), audit.Memory, 2), rig.EverySecond},
		{candidate.List, selling(of("list"), audit.List, 2), rig.EverySecond},
		{candidate.Pubsub, selling(of("pubsub"), audit.Pubsub, 2), rig.EverySecond},
		{candidate.RawScript, rawScript(1), rig.EverySecond},
		{candidate.RawScripts, rawScript(128), rig.EverySecond},
		{candidate.HMAC, tokenHMAC, rig.EverySecond},
	}
}

// round is what the trials of one round share.
type round struct {
	*Bench
	number int
	trials []result.Trial // so far
}

// figure returns a candidate's figure in this round.
func (r *round) figure(name string, figure result.Name) float64 {
	for _, t := range r.trials {
		if t.Candidate == name {
			return t.Figures[figure]
		}
	}
	return 0
}

// trial measures one candidate in a namespace of its own.
func (r *round) trial(ctx context.Context, s step) (t result.Trial, err error) {
	if err = r.stores.SetFsync(ctx, s.appendfsync); err != nil {
		return t, err
	}
	err = r.inNamespace(ctx, func(at *rig.Namespace) (err error) {
		t, err = s.measure(ctx, r, at)
		return err
	})
	t.Candidate, t.Round = s.candidate, r.number
	return t, err
}

// figuresOf returns the figures of a burst.
func figuresOf(a load.Answers) map[result.Name]float64 {
	return map[result.Name]float64{
		result.Answered: float64(a.Want), result.Rate: a.Rate, result.P50: millis(a.P50), result.P99: millis(a.P99),
	}
}

// addTime adds each process's time per answer, in microseconds.
func addTime(figures map[result.Name]float64, spent rig.ProcessorTime, answers int64) {
	if answers == 0 {
		return
	}
	each := float64(1000 * answers)
	figures[result.LoadTime] = float64(spent.LoadGenerator.Nanoseconds()) / each
	figures[result.ServerTime] = float64(spent.Server.Nanoseconds()) / each
	figures[result.RedisTime] = float64(spent.Redis.Nanoseconds()) / each
	figures[result.DatabaseTime] = float64(spent.Database.Nanoseconds()) / each
}

// logTrial reports a trial as progress.
func (b *Bench) logTrial(t result.Trial) {
	var s strings.Builder
	for _, part := range []struct {
		format string
		name   result.Name
	}{
		{" %6.0f/s", result.Rate},
		{"  p50 %.2f ms", result.P50},
		{"  p99 %.2f ms", result.P99},
		{"  recorded %.0f/s", result.RecordedMeanwhile},
		{"  draining %.0f/s", result.RecordedDraining},
		{"  drain %.2f s", result.Drain},
		{"  row p99 %.2f ms", result.RowP99},
		{"  %.0f bytes waiting", result.WaitingBytes},
		{"  %.0f bytes recorded", result.RecordedBytes},
		{"  µs: load generator %.0f", result.LoadTime},
		{", candidate %.0f", result.ServerTime},
		{", redis %.0f", result.RedisTime},
		{", database %.0f", result.DatabaseTime},
		{"  %.0f MB", result.ServerMemory},
		{"  %.0f bytes an answer", result.BodyBytes},
		{", %.5f store calls", result.StoreCalls},
	} {
		if value := t.Figures[part.name]; value > 0 {
			fmt.Fprintf(&s, part.format, value)
		}
	}
	point := ""
	if t.At > 0 {
		point = fmt.Sprintf("  %9d", t.At)
	}
	fmt.Fprintf(b.progress, "round %d/%d  %-48s%s%s%s\n", t.Round, b.plan.Rounds, t.Candidate,
		b.name, point, s.String())
}

// untilRecorded is the time limit of a candidate that must record everything; a slower one fails.
const untilRecorded = time.Hour

// drain is the recording after the last acceptance.
type drain struct {
	held    bool          // nothing could be recorded before
	sample  time.Duration // how long the speed is measured, a second at most
	maxWait time.Duration // a longer drain is estimated from the speed instead of waited for
}

// watch follows the recording and adds its figures to the trial.
func (d drain) watch(ctx context.Context, at *rig.Namespace, answers load.Answers, t *result.Trial) error {
	sample := min(time.Second, d.sample)
	first, err := at.Recorded(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	backlog := answers.Want - first
	t.Figures[result.Backlog] = float64(backlog)
	if !d.held {
		t.Figures[result.RecordedMeanwhile] = float64(first) / began.Sub(answers.Began).Seconds()
	}
	for {
		now, err := at.Recorded(ctx)
		if err != nil {
			return err
		}
		passed := time.Since(began)
		speed := float64(now-first) / passed.Seconds()
		if backlog >= result.LeastBacklog {
			t.Figures[result.RecordedDraining] = speed
		}
		switch {
		case now > answers.Want:
			return fmt.Errorf("%d orders recorded, %d accepted", now, answers.Want)
		case now == answers.Want:
			t.Figures[result.Drain] = time.Since(answers.Ended).Seconds()
			return nil
		case passed > sample && speed > 0 && float64(answers.Want-now)/speed > d.maxWait.Seconds():
			t.Figures[result.Drain], t.DrainEstimated = float64(backlog)/speed, true
			return nil
		case passed > time.Minute:
			return fmt.Errorf("%d of %d orders recorded a minute after the last was accepted", now, answers.Want)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
