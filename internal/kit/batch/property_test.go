package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

var errCall = errors.New("the call failed")

// caller is one caller of a rush.
type caller struct {
	pause    time.Duration // after the previous caller
	patience time.Duration // until it gives up; 0: never
	goes     bool          // the caller uses Go, not Do
}

// rush is a sequence of callers, and how the Batcher's calls behave.
type rush struct {
	options Options
	callers []caller
	takes   []time.Duration // how long each call takes, in turn
	fails   []bool          // whether each call fails, in turn
}

func drawRush(t *rapid.T) rush {
	n := rapid.IntRange(1, 40).Draw(t, "callers")
	ms := func(most int, name string) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Millisecond
	}
	r := rush{options: Options{
		Size: rapid.IntRange(0, 6).Draw(t, "size"), Calls: rapid.IntRange(1, 3).Draw(t, "calls"),
		MaxWait: ms(50, "max wait"), FailWaiting: rapid.Bool().Draw(t, "fail waiting"),
		Inline: rapid.Bool().Draw(t, "inline"),
	}}
	for range n {
		r.callers = append(r.callers, caller{
			pause: ms(4, "pause"), patience: ms(20, "patience"), goes: rapid.IntRange(0, 9).Draw(t, "goes") == 0,
		})
		r.takes = append(r.takes, ms(15, "takes"))
		r.fails = append(r.fails, rapid.IntRange(0, 4).Draw(t, "fails") == 0)
	}
	return r
}

// record has the calls and failures of a rush.
type record struct {
	mu       sync.Mutex
	began    map[int]int64 // by request: when its call began, on the event clock
	failed   map[int]bool  // by request: whether its call failed
	calls    int
	underWay int
	wrong    []string
}

func (r *record) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

// call records the start of a call and returns the call's number.
func (r *record) call(now int64, requests []int, o Options) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	if r.underWay++; r.underWay > o.Calls {
		r.wrong = append(r.wrong, fmt.Sprintf("%d calls at once", r.underWay))
	}
	if o.Size > 0 && len(requests) > o.Size || len(requests) == 0 {
		r.wrong = append(r.wrong, fmt.Sprintf("a call of %d", len(requests)))
	}
	for i, q := range requests {
		if _, twice := r.began[q]; twice {
			r.wrong = append(r.wrong, fmt.Sprintf("request %d was sent twice", q))
		}
		if i > 0 && requests[i-1] > q {
			r.wrong = append(r.wrong, fmt.Sprintf("sent in the order %v", requests))
		}
		r.began[q] = now
	}
	return r.calls - 1
}

// run plays the rush, and returns the broken rules.
func (plan rush) run() []string {
	var clock atomic.Int64 // counts events
	seen := &record{began: map[int]int64{}, failed: map[int]bool{}}
	var running Running
	plan.options.Running = &running
	b := New(plan.options, func(ctx context.Context, items []*Item[int, int64]) error {
		now := clock.Add(1)
		var requests []int
		for _, it := range items {
			requests = append(requests, it.Request)
			it.Answer = now<<16 + int64(it.Request)
		}
		if len(items) > 1 && ctx.Done() != nil {
			seen.say("the call of %v ends with one caller's context", requests)
		}
		n := seen.call(now, requests, plan.options)
		time.Sleep(plan.takes[n])
		seen.mu.Lock()
		defer seen.mu.Unlock()
		seen.underWay--
		if !plan.fails[n] {
			return nil
		}
		for _, q := range requests {
			seen.failed[q] = true
		}
		return errCall
	})
	results := make([]*result, len(plan.callers))
	var all sync.WaitGroup
	for i, c := range plan.callers {
		time.Sleep(c.pause)
		if c.goes {
			b.Go(context.Background(), i)
			continue
		}
		all.Go(func() {
			ctx := context.Background()
			if c.patience > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, c.patience)
				defer cancel()
			}
			joined := clock.Add(1)
			answer, err := b.Do(ctx, i)
			results[i] = &result{joined: joined, answer: answer, err: err}
		})
		synctest.Wait() // until it has joined
	}
	all.Wait()
	running.Wait() // calls may outlive their callers
	for i, got := range results {
		if got != nil {
			seen.check(i, *got)
		}
	}
	if b.Waiting() != 0 || b.workers != 0 || b.callTime != 0 || b.waiting != nil {
		seen.say("left: %d waiting, %d workers, %v a call", b.Waiting(), b.workers, b.callTime)
	}
	return seen.wrong
}

// result is the outcome for one caller.
type result struct {
	joined int64 // when it came, on the event clock
	answer int64
	err    error
}

// check compares a caller's outcome with what happened to its request.
func (r *record) check(request int, got result) {
	began, sent := r.began[request]
	failed := r.failed[request]
	if sent && began < got.joined {
		r.say("request %d joined a call that had begun", request)
	}
	switch {
	case errors.Is(got.err, ErrNotSent) == sent:
		r.say("request %d: %v; it was sent: %t", request, got.err, sent)
	case !sent, errors.Is(got.err, context.DeadlineExceeded):
	case failed != errors.Is(got.err, errCall), !failed && (got.err != nil || got.answer != began<<16+int64(request)):
		r.say("request %d got %x and %v; its call failed: %t", request, got.answer, got.err, failed)
	}
}

// Every caller gets the answer to its own request, from a call that began after it came, or ErrNotSent if it was not
// sent. No call is too large, no more calls than allowed run at once, and nothing is left over.
func TestEveryCallerGetsItsAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		plan := drawRush(rt)
		var wrong []string
		synctest.Test(t, func(*testing.T) { wrong = plan.run() })
		for _, w := range wrong {
			rt.Error(w)
		}
	})
}
