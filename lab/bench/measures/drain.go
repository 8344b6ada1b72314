package measures

import (
	"context"
	"fmt"
	"time"

	"seckill/lab/bench/result"
	"seckill/lab/load"
	"seckill/lab/rig"
)

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
