package order

import (
	"context"
	"time"
)

const (
	pollEvery  = 50 * time.Millisecond // how soon a row that another instance wrote is noticed
	watchEvery = time.Second           // how soon any other change by another instance is
	pollChunk  = 1000                  // ids in one query
	pollTime   = 5 * time.Second       // one query at most
)

// Run asks the ledger, while anybody waits, for what other instances do to orders, until ctx ends.
func (w *Waitroom) Run(ctx context.Context) error {
	pause := newPause()
	var watched time.Time // when those who watch were last asked for
	for ctx.Err() == nil {
		start := time.Now()
		ids := w.ids(w.queue)
		queued := len(ids) > 0
		if start.Sub(watched) >= watchEvery {
			ids, watched = append(ids, w.ids(w.stalls)...), start
		}
		if err := w.poll(ctx, ids); err != nil {
			if ctx.Err() == nil {
				w.log.WarnContext(ctx, "asking for changed orders failed; trying again", "error", err)
			}
			rest(ctx, pause.NextBackOff())
			continue
		}
		pause.Reset()
		if queued {
			rest(ctx, max(pollEvery, 5*time.Since(start))) // at most a sixth of the time is spent asking
			continue
		}
		w.idle(ctx, watchEvery-time.Since(watched))
	}
	return nil
}

// idle returns when somebody begins to wait, when those who watch have to be asked for, or when ctx ends.
func (w *Waitroom) idle(ctx context.Context, due time.Duration) {
	w.mu.Lock()
	watching := len(w.stalls) > 0
	w.mu.Unlock()
	if watching {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, due)
		defer cancel()
	}
	select {
	case <-ctx.Done():
	case <-w.arrived:
	}
}

func (w *Waitroom) poll(ctx context.Context, ids []int64) error {
	for len(ids) > 0 {
		chunk := ids[:min(len(ids), pollChunk)]
		ids = ids[len(chunk):]
		call, cancel := context.WithTimeout(ctx, pollTime)
		outcomes, err := w.rows.Recorded(call, chunk)
		cancel()
		if err != nil {
			return err
		}
		w.Told(outcomes)
	}
	return nil
}

// ids returns the orders that somebody on the bench waits for, and stirs whoever has waited long enough. Whoever has
// only a seat does not know yet whether he got in.
func (w *Waitroom) ids(b bench) []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Since(w.opened)
	ids := make([]int64, 0, len(b))
	for id, s := range b {
		waits := false
		for ; s != nil; s = s.next {
			if !s.waits {
				continue
			}
			waits = true
			if s.stir > 0 && now >= s.stirAt {
				s.ring(s.known)
			}
		}
		if waits {
			ids = append(ids, id)
		}
	}
	return ids
}
