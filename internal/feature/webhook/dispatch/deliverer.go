package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"seckill/internal/kit/retry"
	"seckill/internal/kit/words"
)

const (
	lookEvery    = 200 * time.Millisecond // how often endpoints with something to be sent are looked for
	queueTimeout = 10 * time.Second       // one call of the queue at most
	maxTurns     = 16                     // endpoints that an instance sends to at once
	maxQuestions = 2                      // calls of the queue at once: few, to leave the ledger to purchases
	turnTime     = 10 * time.Second       // after which an instance releases an endpoint, so that others can claim it
	leaseTime    = time.Minute
	// leaseMargin is the time before the end of a lease in which no attempt begins: an attempt, and settling, must fit
	// in.
	leaseMargin = 25 * time.Second

	minEvents = 16  // events read at once, at first
	maxEvents = 512 // events read at once when the endpoint takes them quickly
	fastPass  = time.Second
)

// Deliverer sends events to endpoints. Every instance runs a Deliverer; only the owner of an endpoint's lease sends to
// it.
type Deliverer struct {
	queue    Queue
	send     Sender
	owner    string
	lanes    int
	now      func() time.Time
	observer Observer
	log      *slog.Logger

	work      chan struct{} // wakes Run: there may be new events
	questions chan struct{} // holds a token for each call of the queue that is under way
}

// DelivererOptions are the options of a deliverer.
type DelivererOptions struct {
	Owner string // its name as the owner of leases, unique to the process
	Lanes int    // attempts at once for each endpoint
	Now   func() time.Time
}

// NewDeliverer returns a deliverer; Run starts it.
func NewDeliverer(queue Queue, send Sender, o DelivererOptions, observer Observer, log *slog.Logger) *Deliverer {
	return &Deliverer{
		queue: queue, send: send, owner: o.Owner, lanes: o.Lanes, now: o.Now, observer: observer, log: log,
		work: make(chan struct{}, 1), questions: make(chan struct{}, maxQuestions),
	}
}

// Wake makes Run look for new events now. It does not wait.
func (d *Deliverer) Wake() {
	select {
	case d.work <- struct{}{}:
	default:
	}
}

// Run sends events until ctx ends, and then settles those that it has sent. It retries failures and returns no error.
func (d *Deliverer) Run(ctx context.Context) error {
	turns := turns{busy: make(map[int64]bool)}
	defer turns.running.Wait()
	backOff := retry.NewBackOff()
	for ctx.Err() == nil {
		started, err := d.start(ctx, &turns)
		switch {
		case err != nil && ctx.Err() == nil:
			d.log.WarnContext(ctx, "looking for webhook events to be sent failed; retrying", "error", err)
			retry.Sleep(ctx, backOff.NextBackOff())
		case started:
			backOff.Reset()
		default:
			d.rest(ctx)
		}
	}
	return nil
}

// rest waits for lookEvery, or until Wake or the end of ctx.
func (d *Deliverer) rest(ctx context.Context) {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.work:
	case <-ctx.Done():
	}
}

// turns are the endpoints that this process sends to now.
type turns struct {
	running sync.WaitGroup

	mu   sync.Mutex
	busy map[int64]bool
}

func (t *turns) ids() []int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.busy))
}

func (t *turns) set(id int64, busy bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if busy {
		t.busy[id] = true
	} else {
		delete(t.busy, id)
	}
}

// start starts the turn of one endpoint, if one has something to be sent and there is room.
func (d *Deliverer) start(ctx context.Context, t *turns) (started bool, err error) {
	busy := t.ids()
	if len(busy) >= maxTurns {
		return false, nil
	}
	var id int64
	err = d.ask(ctx, func(call context.Context) error {
		id, started, err = d.queue.ClaimEndpoint(call, d.owner, busy, leaseTime)
		return err
	})
	if err != nil || !started {
		return false, err
	}
	t.set(id, true)
	t.running.Go(func() {
		defer t.set(id, false)
		if err := d.turn(ctx, id); err != nil && ctx.Err() == nil && !errors.Is(err, ErrLeaseLost) {
			d.log.WarnContext(ctx, "sending webhook events failed; retrying", "endpoint", id, "error", err)
			retry.Sleep(ctx, retry.MaxBackOff) // the lease ends by itself, or this process claims it again
		}
	})
	return true, nil
}

// ask calls the queue, for a bounded time; few such calls run at once.
func (d *Deliverer) ask(ctx context.Context, call func(context.Context) error) error {
	timed, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	select {
	case d.questions <- struct{}{}:
	case <-timed.Done():
		return timed.Err()
	}
	defer func() { <-d.questions }()
	return call(timed)
}

// turn sends to one endpoint until nothing is left, the endpoint fails, or turnTime has passed.
func (d *Deliverer) turn(ctx context.Context, id int64) error {
	defer func() { // so that others need not wait for the lease's end; if the call fails they wait
		_ = d.ask(context.WithoutCancel(ctx),
			func(call context.Context) error { return d.queue.ReleaseEndpoint(call, d.owner, id) })
	}()
	n := minEvents
	for began := d.now(); ctx.Err() == nil && d.now().Sub(began) < turnTime; {
		read := d.now()
		var w Work
		err := d.ask(ctx, func(call context.Context) (err error) {
			w, err = d.queue.EventsToSend(call, d.owner, id, leaseTime, n)
			return err
		})
		if err != nil {
			return err
		}
		if w.Empty() {
			return nil
		}
		w.Until = read.Add(leaseTime - leaseMargin)
		s := d.pass(ctx, w)
		err = d.ask(context.WithoutCancel(ctx),
			func(call context.Context) error { return d.queue.SettleEvents(call, d.owner, s) })
		if err != nil {
			return err
		}
		d.report(ctx, w, s)
		if s.Health.Broken() || s.Disable != "" {
			return nil
		}
		if d.now().Sub(read) < fastPass {
			n = min(maxEvents, n*2)
		} else {
			n = max(minEvents, n/2)
		}
	}
	return nil
}

// report logs and counts the result of a pass.
func (d *Deliverer) report(ctx context.Context, w Work, s Settled) {
	log := d.log.With("endpoint", w.Endpoint.ID)
	if len(s.Dead) > 0 {
		d.observer.EventsGivenUp(len(s.Dead))
		log.ErrorContext(ctx, "a webhook endpoint did not take events; they are dead letters", "events", len(s.Dead),
			"error", s.Dead[0].Failure.In(words.English))
	}
	switch {
	case s.Disable != "":
		d.observer.EndpointDisabled()
		log.ErrorContext(ctx, "a webhook endpoint is disabled", "why", s.Disable.In(words.English), "error",
			s.LastFailure.In(words.English))
	case s.Health.Broken() && !w.Endpoint.Health.Broken():
		log.WarnContext(ctx, "a webhook endpoint fails; it is tried again from time to time", "failures",
			s.Health.Failures, "error", s.LastFailure.In(words.English))
	case !s.Health.Broken() && w.Endpoint.Health.Broken():
		log.InfoContext(ctx, "a webhook endpoint takes events again")
	}
}
