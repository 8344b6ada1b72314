package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"seckill/internal/feature/guard/draw"
	"seckill/internal/feature/guard/store"
	"seckill/internal/feature/guard/ticket"
	"seckill/internal/kit/batch"
	"seckill/internal/kit/periodic"
	"seckill/internal/order"
	"seckill/internal/voucher/guards"
)

const (
	drawsEvery   = time.Second
	drawsTimeout = 2 * time.Second // one query
	enterTimeout = 5 * time.Second // one transaction that enters users
	enterSize    = 500             // users of one transaction
)

// DrawLedger has the draws in the ledger. Every method may return order.ErrUnavailable.
type DrawLedger interface {
	// RunningDraws returns the last draw of each sale that is not over, by voucher.
	RunningDraws(ctx context.Context) (map[int64]*store.DrawRow, error)
	// Enter enters users into a draw unless it is closed, and returns the entries of those who are in it.
	Enter(ctx context.Context, voucherID, number int64, users []int64) (map[int64]int64, error)
	// Entries returns the entries of those users who are in a draw.
	Entries(ctx context.Context, voucherID, number int64, users []int64) (map[int64]int64, error)
}

// Draws knows the draws of running sales from memory, and enters users into them. It is safe for concurrent use.
type Draws struct {
	ledger   DrawLedger
	anySale  func(func(*guards.Settings) bool) bool // feature.Sales.AnyGuards
	log      *slog.Logger
	running  atomic.Pointer[map[int64]*runningDraw]
	entering *batch.Batcher[entering, int64]
	failing  bool
}

// runningDraw is a draw with its moments.
type runningDraw struct {
	store.DrawRow

	moments *draw.Moments
}

// entering is a request for a user's entry.
type entering struct {
	voucherID, number, user int64
	closed                  bool // nobody enters any more
}

// NewDraws returns the draws of a ledger. It knows none of them until Run has read them.
func NewDraws(
	ledger DrawLedger, anySale func(func(*guards.Settings) bool) bool, log *slog.Logger,
) *Draws {
	d := &Draws{ledger: ledger, anySale: anySale, log: log}
	d.entering = batch.New(batch.Options{Size: enterSize, Calls: 1, MaxWait: enterTimeout}, d.enterAll)
	return d
}

// Run reads the draws of running sales each second, while a sale here has one.
func (d *Draws) Run(ctx context.Context) error {
	d.round(ctx)
	return periodic.Every(ctx, drawsEvery, d.round)
}

func (d *Draws) round(ctx context.Context) {
	if !d.anySale(func(s *guards.Settings) bool { return s.Drawn() != nil }) {
		d.running.Store(nil)
		return
	}
	reading, cancel := context.WithTimeout(ctx, drawsTimeout)
	defer cancel()
	rows, err := d.ledger.RunningDraws(reading)
	switch {
	case ctx.Err() != nil:
	case err != nil && !d.failing:
		d.log.WarnContext(ctx, "draws cannot be read; sales go by those that are known", "error", err)
	case err == nil && d.failing:
		d.log.InfoContext(ctx, "draws can be read again")
	}
	if d.failing = err != nil; err == nil {
		d.keep(ctx, rows)
	}
}

// keep replaces the known draws. One whose key is not the one that it was committed to is left out: nobody buys.
func (d *Draws) keep(ctx context.Context, rows map[int64]*store.DrawRow) {
	running := make(map[int64]*runningDraw, len(rows))
	for id, row := range rows {
		if !isKey(row.Key, row.KeyHash) {
			d.log.ErrorContext(ctx, "the key of a draw was changed: its sale begins for nobody", "voucher", id)
			continue
		}
		moments := draw.NewMoments([draw.Bytes]byte(row.Key), row.Beacon, row.Begin, row.DelayMs)
		running[id] = &runningDraw{*row, moments}
	}
	d.running.Store(&running)
}

// isKey reports whether the hash is the key's. SQLite keeps values of any length.
func isKey(key, hash []byte) bool {
	if len(key) != draw.Bytes {
		return false
	}
	own := draw.KeyHash([draw.Bytes]byte(key))
	return bytes.Equal(own[:], hash)
}

// of returns the draw of a sale that has one. Errors: ticket.ErrTryAgain if this instance does not know it yet; a
// *ticket.EarlyError without a moment if it counts no more.
func (d *Draws) of(s Sale) (*runningDraw, error) {
	running := d.running.Load()
	if running == nil {
		return nil, ticket.ErrTryAgain
	}
	found := (*running)[s.ID]
	switch {
	case found == nil:
		return nil, ticket.ErrTryAgain
	case found.Void != nil:
		return nil, &ticket.EarlyError{}
	case !found.Fits(s.Begin, s.Settings.Tickets):
		return nil, ticket.ErrTryAgain
	}
	return found, nil
}

// check checks the ticket of a request for a sale with a draw, as TicketsCheck does.
func (d *Draws) check(t *ticket.Tickets, r *Request) error {
	if r.Caller.Ticket == "" {
		return ticket.ErrRequired
	}
	found, err := d.of(r.Sale)
	if errors.Is(err, ticket.ErrTryAgain) && r.Sale.Over {
		return nil // Redis refuses it, and says why: a call-off has moved the begin
	}
	if err != nil {
		return err
	}
	entry, err := t.CheckEntry(r.Caller.Ticket, r.Sale.ID, r.Caller.UserID, found.Number, r.Now)
	if err != nil {
		return err
	}
	if !found.Decided() {
		return &ticket.EarlyError{}
	}
	if moment := found.moment(entry); r.Now.Before(moment) {
		return &ticket.EarlyError{UsableFrom: moment}
	}
	return nil
}

// moment returns when the holder of an entry may buy; 0 is no entry.
func (d *runningDraw) moment(entry int64) time.Time {
	if entry == 0 {
		return d.moments.Last()
	}
	return d.moments.Of(draw.EntryHash(draw.EntryText(d.VoucherID, d.Number, entry)))
}

// enter returns the user's entry in a draw, which they enter if it is open; 0 if they are not in it. Error:
// order.ErrUnavailable.
func (d *Draws) enter(ctx context.Context, in *runningDraw, user int64) (int64, error) {
	entry, err := d.entering.Do(ctx, entering{in.VoucherID, in.Number, user, in.Closed != nil})
	// Asking again gives the same entry, whether the first request has made it or not.
	if errors.Is(err, batch.ErrNotSent) && ctx.Err() == nil || errors.Is(err, order.ErrUnknownChange) {
		err = fmt.Errorf("%w: %s", order.ErrUnavailable, err.Error())
	}
	return entry, err
}

// enterAll enters all users who wait, a draw at a time.
func (d *Draws) enterAll(ctx context.Context, items []*batch.Item[entering, int64]) error {
	ctx, cancel := context.WithTimeout(ctx, enterTimeout)
	defer cancel()
	of := make(map[entering][]*batch.Item[entering, int64])
	for _, it := range items {
		in := it.Request
		in.user = 0
		of[in] = append(of[in], it)
	}
	for in, items := range of {
		users := make([]int64, len(items))
		for i, it := range items {
			users[i] = it.Request.user
		}
		enter := d.ledger.Enter
		if in.closed {
			enter = d.ledger.Entries
		}
		entries, err := enter(ctx, in.voucherID, in.number, users)
		if err != nil {
			return err
		}
		for _, it := range items {
			it.Answer = entries[it.Request.user]
		}
	}
	return nil
}
