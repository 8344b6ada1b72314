package admission

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"seckill/internal/batch"
	"seckill/internal/order"
	"seckill/internal/order/split"
)

// UnitMover moves units between the shares of a split sale: outbox.Outbox.
type UnitMover interface {
	// Move returns nil once the units have moved, or once it is certain that they do not: the giving share had too few by then.
	// After an error they may still move.
	Move(ctx context.Context, from, to order.SaleRef, units int64) error
}

const (
	pullTimeout = time.Second           // for how long a request waits for units of other shares
	pullPause   = 50 * time.Millisecond // after a pull by which nothing came and nothing is certain, however many wait
	pullLooks   = 2                     // pairs of looks in one pull, before its callers pause
	moveTimeout = 2 * time.Second       // for how long one move is waited for; it goes on
)

// puller finds units for one share of a split sale whose own have run out: it looks at all shares, has units moved here, or tells
// that there are none. One pull is under way at a time; who comes meanwhile shares the next.
type puller struct {
	looker order.ShareLooker
	mover  UnitMover
	shares []order.SaleRef // of the sale, by number
	share  int             // the one that pulls
	counts *outcomeCounts  // of that one's requests
	log    *slog.Logger
	warned time.Time // when it logged last; only the pull under way uses it
	pulls  *batch.Batcher[int64, pulled]

	// since is when the first look began that showed, with a second, that there is nothing and that nothing waits.
	since atomic.Pointer[time.Time]
}

// pulled is what came of a pull for one request.
type pulled struct {
	certain bool  // there was a moment at which all shares had only left units
	left    int64 // fewer than the request wants
	arrived bool  // units may be here now: ask the script again
}

// refusal is the result of a request where it is certain that there are too few units for it.
func (p pulled) refusal() order.Result {
	if p.left > 0 {
		return order.Result{Outcome: order.NotEnough, Left: p.left}
	}
	return order.Result{Outcome: order.SoldOut}
}

// newPuller returns the puller of one share. running counts its goroutines, for a clean stop.
func newPuller(looker order.ShareLooker, mover UnitMover, shares []order.SaleRef, share int, counts *outcomeCounts, running *sync.WaitGroup, log *slog.Logger) *puller {
	p := &puller{looker: looker, mover: mover, shares: shares, share: share, counts: counts, log: log}
	p.pulls = batch.New(batch.Options{Size: MaxBatch, Calls: 1, Running: running}, p.pull)
	return p
}

// soldOut reports whether it may be said from memory that no share has a unit (rule 11).
func (p *puller) soldOut() bool {
	since := p.since.Load()
	return since != nil && time.Since(*since) < order.SoldOutTTL
}

// admit is called where the script found that this share has too few units for a request. It has units pulled and asks the script
// again, until the script's answer is another one, or it is certain that all shares together have too few, or no time is left:
// then the sale is as if paused for this request, as units are on their way or kept for others.
func (p *puller) admit(ctx context.Context, quantity int64, again func(context.Context) (order.Result, error)) (order.Result, error) {
	waiting, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	for waiting.Err() == nil {
		found, err := p.pulls.Do(waiting, quantity)
		if err != nil || !found.certain && !found.arrived {
			continue // the units may still come, or other shares give some
		}
		// Also when it is certain that there are too few: another request of the same user may have got the last ones (rule 2).
		if result, err := again(ctx); err != nil || !lacksUnits(result) {
			return result, err
		}
		if found.certain {
			return p.says(found.refusal()), nil
		}
	}
	if ctx.Err() != nil {
		p.counts.add(order.Unavailable, 1)
		return order.Result{}, fmt.Errorf("%w: %w", order.ErrUnavailable, ctx.Err())
	}
	return p.says(order.Result{Outcome: order.Paused}), nil
}

// says counts what the puller decided about a request; the batcher counts what the script did.
func (p *puller) says(r order.Result) order.Result {
	p.counts.add(r.Outcome, 1)
	return r
}

// lacksUnits reports whether a share alone could not decide about a request.
func lacksUnits(r order.Result) bool {
	return r.Outcome == order.SoldOut || r.Outcome == order.NotEnough
}

// pull is one pull, for requests that want so many units each.
func (p *puller) pull(ctx context.Context, items []*batch.Item[int64, pulled]) error {
	for range pullLooks {
		second := p.look(ctx, items)
		open := slices.DeleteFunc(slices.Clone(items), func(it *batch.Item[int64, pulled]) bool { return it.Answer.certain })
		if len(open) == 0 {
			return nil
		}
		came, err := p.fetch(ctx, second, open)
		if err != nil {
			order.Sleep(ctx, pullPause)
			return err
		}
		if came {
			for _, it := range open {
				it.Answer.arrived = true
			}
			return nil
		}
	}
	order.Sleep(ctx, pullPause)
	return nil
}

// look takes two looks, answers those of which they make certain that there are too few units, and returns the second.
func (p *puller) look(ctx context.Context, items []*batch.Item[int64, pulled]) split.Look {
	began := time.Now()
	first := p.lookOnce(ctx)
	second := p.lookOnce(ctx)
	if _, remember := split.SoldOut(first, second); remember {
		p.since.Store(&began)
	}
	left, known := split.AtMost(first, second)
	for _, it := range items {
		if known && left < it.Request {
			it.Answer = pulled{certain: true, left: left}
		}
	}
	return second
}

func (p *puller) lookOnce(ctx context.Context) split.Look {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	look, err := p.looker.Look(ctx, p.shares)
	if err != nil {
		p.warn(ctx, "shares of a split sale could not be read; it says neither that it is sold out nor what they have", err)
	}
	return look
}

// fetch has units moved here for the requests, and reports whether some may have come: some are here already, or others of this
// sale have just taken what was to be moved.
func (p *puller) fetch(ctx context.Context, look split.Look, open []*batch.Item[int64, pulled]) (bool, error) {
	var wanted int64
	fewest := open[0].Request
	for _, it := range open {
		wanted, fewest = wanted+it.Request, min(fewest, it.Request)
	}
	own := look[p.share]
	switch {
	case !own.Known: // what came here now could not be sold here, nor where it came from
		return false, nil
	case own.Sellable >= fewest:
		return true, nil
	}
	pull, ok := look.PullFor(p.share, wanted-own.Sellable, fewest)
	if !ok {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	if err := p.mover.Move(ctx, p.shares[pull.From], p.shares[p.share], pull.Units); err != nil {
		p.warn(ctx, "units could not be moved to a share of a split sale that has none; its buyers are told to come back", err)
		return false, err
	}
	return true, nil
}

// warn logs at most once a second.
func (p *puller) warn(ctx context.Context, text string, err error) {
	if now := time.Now(); now.Sub(p.warned) >= time.Second {
		p.warned = now
		p.log.WarnContext(ctx, text, "voucher", p.shares[p.share].SaleID, "error", err)
	}
}
