package guard

import (
	"context"
	"errors"
	"time"

	"seckill/internal/feature/guard/challenge"
	"seckill/internal/feature/guard/draw"
	"seckill/internal/feature/guard/keys"
	"seckill/internal/feature/guard/ticket"
	"seckill/internal/order/gate"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// Ticket is a ticket as its buyer gets it.
type Ticket struct {
	Text       string
	UsableFrom time.Time
	Expires    time.Time
	Begin      time.Time // of the sale, as it is known here
	Entry      string    // in the sale's draw; "" if it has none, or the buyer is not in it
}

// ErrNoTickets is the error for a sale that needs no tickets.
var ErrNoTickets = errors.New("the sale needs no tickets")

// TicketsLaterError is the error before tickets are issued; From is when that begins.
type TicketsLaterError struct{ From time.Time }

func (e *TicketsLaterError) Error() string { return "tickets are not given out yet" }

// ChallengeError is the error if a challenge must be solved first.
type ChallengeError struct{ Challenge challenge.Challenge }

func (e *ChallengeError) Error() string { return challenge.ErrUnsolved.Error() }

// Tickets issues the tickets of sales, from memory.
type Tickets struct {
	tickets    *ticket.Tickets
	draws      *Draws
	challenges *challenge.Challenges
	guards     *Guards
	find       func(ctx context.Context, id int64) (voucher.Voucher, error) // feature.Sales.Find
	now        func(voucherID int64) time.Time                              // feature.Sales.Now
}

// NewTickets returns the Tickets of all sales; find and now are those of feature.Sales.
func NewTickets(
	tickets *ticket.Tickets, draws *Draws, challenges *challenge.Challenges, guards *Guards,
	find func(ctx context.Context, id int64) (voucher.Voucher, error), now func(voucherID int64) time.Time,
) *Tickets {
	return &Tickets{tickets: tickets, draws: draws, challenges: challenges, guards: guards, find: find, now: now}
}

// Give returns a ticket of the caller for a voucher's sale. If tickets have dryRun, it is usable from the start. The
// solution is ALTCHA's payload, or "". Errors: voucher.ErrNotFound, voucher.ErrNotSeckill, gate.ErrEnded,
// order.ErrUnavailable, ErrNoTickets, *TicketsLaterError, *ChallengeError, *StoppedError, *ticket.EarlyError if the
// sale's draw counts no more; and, after which the caller may ask again, challenge.ErrBusy, challenge.ErrTryAgain,
// ticket.ErrTryAgain.
func (t *Tickets) Give(ctx context.Context, voucherID int64, c Caller, solution string) (Ticket, error) {
	v, err := t.find(ctx, voucherID)
	now := t.now(voucherID)
	switch {
	case err != nil:
		return Ticket{}, err
	case !v.ShownTo(c.UserID, now):
		return Ticket{}, voucher.ErrNotFound
	case v.Sale == nil:
		return Ticket{}, voucher.ErrNotSeckill
	case v.Sale.Retired || !now.Before(v.Sale.End):
		return Ticket{}, gate.ErrEnded
	case v.Sale.Guards.State(guards.TicketsGuard) == guards.Off:
		return Ticket{}, ErrNoTickets
	}
	set := v.Sale.Guards.Tickets
	if from := set.From(v.Sale.Begin); now.Before(from) {
		return Ticket{}, &TicketsLaterError{From: from}
	}
	if err := t.challenge(ctx, saleOf(v), c, solution, now); err != nil {
		return Ticket{}, err
	}
	if set.Draw != nil {
		return t.drawn(ctx, v, c.UserID, now)
	}
	usable := v.Sale.Begin
	if !set.DryRun { // a dry run delays nobody
		usable = usable.Add(t.tickets.Delay(voucherID, c.UserID, set.Longest()))
	}
	given := Ticket{
		Begin: v.Sale.Begin, UsableFrom: usable,
		Expires: expiry(set, now, usable),
	}
	given.Text, err = t.tickets.Issue(voucherID, c.UserID, given.Expires)
	return given, err
}

// drawn is Give for a sale with a draw, which the caller enters while it is open. Until all moments are decided, the
// ticket says the earliest one that is possible.
func (t *Tickets) drawn(ctx context.Context, v voucher.Voucher, userID int64, now time.Time) (Ticket, error) {
	in, err := t.draws.of(saleOf(v))
	if err != nil {
		return Ticket{}, err
	}
	entry, err := t.draws.enter(ctx, in, userID)
	if err != nil {
		return Ticket{}, err
	}
	given := Ticket{
		Begin: v.Sale.Begin, UsableFrom: v.Sale.Begin,
		Expires: expiry(v.Sale.Guards.Tickets, now, in.moments.Last()),
	}
	if entry == 0 || in.Decided() {
		given.UsableFrom = in.moment(entry)
	}
	if entry != 0 {
		given.Entry = draw.EntryText(v.ID, in.Number, entry)
	}
	given.Text, err = t.tickets.IssueEntry(v.ID, userID, in.Number, entry, given.Expires)
	return given, err
}

// challenge returns a *ChallengeError unless the caller has solved one, or the sale has none or has it with dryRun. An
// account or a network beyond its limit gets a *StoppedError.
func (t *Tickets) challenge(ctx context.Context, s Sale, c Caller, solution string, now time.Time) error {
	set := s.Settings.Challenge
	if set == nil {
		return nil
	}
	who := challenge.Caller{SaleID: s.ID, UserID: c.UserID, Address: c.Address}
	if solution != "" {
		err := t.challenges.Check(solution, who, now)
		if err == nil || errors.Is(err, challenge.ErrTryAgain) {
			return err
		}
		// The wrong solution is counted, and the caller gets another challenge.
		_ = t.guards.Judge(s, c, guards.ChallengeGuard, err)
	}
	if s.Settings.State(guards.ChallengeGuard) == guards.On {
		if again, is := t.challenges.Again(who, now); is {
			return &ChallengeError{again}
		}
	}
	difficulty, err := t.challenges.Difficulty(who, int(set.Difficulty), int(set.MaxDifficulty))
	if stopped := t.guards.Judge(s, c, guards.ChallengeGuard, err); stopped != nil ||
		s.Settings.State(guards.ChallengeGuard) == guards.DryRun {
		return stopped
	}
	made, err := t.challenges.Make(ctx, who, difficulty, now)
	switch {
	case errors.Is(err, keys.ErrNotKnown):
		return challenge.ErrTryAgain
	case err != nil:
		return err
	}
	return &ChallengeError{made}
}

// expiry returns when a ticket expires that is given out now and can be used from a time on.
func expiry(set *guards.Tickets, now, usable time.Time) time.Time {
	if usable.After(now) {
		now = usable
	}
	return now.Add(time.Duration(set.ExpiryMinutes) * time.Minute).Truncate(time.Second)
}
