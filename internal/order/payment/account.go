package payment

import (
	"fmt"
	"slices"
	"time"
)

// Account is a payment with its refunds, the oldest first. Its methods are the rules for its money; what they change is
// to be stored under the lock of the payment's order.
//
//	Amount = done + lost + asked + pending + what is left
//
// Returned, the payment's own, is the sum of those that are done: versions without refunds read and write it alone.
type Account struct {
	Payment
	Refunds []Refund
}

// Sum returns the cents of the refunds in any of the states.
func (a *Account) Sum(states ...RefundState) (cents int64) {
	for _, r := range a.Refunds {
		if slices.Contains(states, r.State) {
			cents += r.Amount
		}
	}
	return cents
}

// Left returns the cents that may still be asked for: neither gone, nor on their way, nor asked for.
func (a *Account) Left() int64 {
	return max(0, a.Amount-a.Lost()-a.Sum(RefundAsked, RefundPending, RefundDone))
}

// Accepted reports whether the provider has taken refunds of all that was not lost, done or not.
func (a *Account) Accepted() bool {
	return a.Amount > 0 && a.Amount-a.Lost() <= a.Sum(RefundPending, RefundDone)
}

// All returns the refund of all that was left which is under way, or was last; nil: there was none.
func (a *Account) All() *Refund {
	for i := len(a.Refunds) - 1; i >= 0; i-- {
		if a.Refunds[i].Origin == OriginAll {
			return &a.Refunds[i]
		}
	}
	return nil
}

// Find returns the refund with the id; nil: there is none.
func (a *Account) Find(id string) *Refund { return a.first(func(r Refund) bool { return r.ID == id }) }

// first returns the first refund that the function is true for; nil: there is none.
func (a *Account) first(wanted func(Refund) bool) *Refund {
	i := slices.IndexFunc(a.Refunds, wanted)
	if i < 0 {
		return nil
	}
	return &a.Refunds[i]
}

func (a *Account) count() { a.Returned = a.Sum(RefundDone) }

func (a *Account) add(r Refund) *Refund {
	r.PaymentID = a.ID
	a.Refunds = append(a.Refunds, r)
	return &a.Refunds[len(a.Refunds)-1]
}

// Adopt makes refunds of what a version without them has written: Returned says more than the refunds do, or the
// payment is through.
func (a *Account) Adopt(now time.Time) {
	if a.State == Refunded && a.AllGone() || a.State == Closed {
		a.CloseFailed(now)
	}
	more := a.Returned - a.Sum(RefundDone)
	if more <= 0 {
		return
	}
	if r := a.Find(a.ID); r != nil && a.State == Refunded && r.State < RefundDone {
		r.State, r.Amount, r.DoneAt = RefundDone, min(r.Amount, more), a.RefundedAt
		more -= r.Amount
	}
	a.unattributed(more, OriginEarlier, now)
}

// unattributed adds cents to the unnamed refund, whose amount alone is known.
func (a *Account) unattributed(cents int64, origin Origin, now time.Time) {
	if cents <= 0 {
		return
	}
	if r := a.first(Refund.unnamed); r != nil {
		r.Amount, r.DoneAt = r.Amount+cents, now
		return
	}
	a.add(Refund{
		ID: a.nextID(), Amount: cents, State: RefundDone, Origin: origin, Actor: "payment provider", CreatedAt: now,
		DoneAt: now,
	})
}

// Total takes a provider's total of all that has gone back as refunds. Older totals change nothing.
func (a *Account) Total(total int64, now time.Time) {
	a.unattributed(total-a.Sum(RefundDone), OriginUnnamed, now)
	a.count()
	a.Fit(now)
}

// Fit makes refunds that nobody has sent yet no larger than what is left for them.
func (a *Account) Fit(now time.Time) {
	over := a.Lost() + a.Sum(RefundAsked, RefundPending, RefundDone) - a.Amount
	for i := len(a.Refunds) - 1; i >= 0 && over > 0; i-- {
		r := &a.Refunds[i]
		if r.State != RefundAsked || !r.SentAt.IsZero() {
			continue
		}
		less := min(over, r.Amount)
		over -= less
		if r.Amount > less {
			r.Amount -= less
			continue
		}
		r.State, r.FailedAt, r.ClosedAt, r.Failure = RefundFailed, now, now, goneOtherwise
	}
}

// Told takes a provider's notice about one refund, whose id is ours or its own. It returns the refund as it is now, and
// whether that is news. Error: ErrWrongAmount.
func (a *Account) Told(n Notice, now time.Time) (r *Refund, news bool, err error) {
	if n.Amount < 1 || n.Amount > a.Amount {
		return nil, false, fmt.Errorf("%w: %d of %d", ErrWrongAmount, n.Amount, a.Amount)
	}
	r = a.named(n.Refund)
	if r == nil {
		id := a.nextID()
		if n.Refund.ID == a.ID { // a version without refunds has asked for it
			id = a.ID
		}
		r = a.add(Refund{ID: id, Amount: n.Amount, Origin: OriginProvider, Actor: "payment provider", CreatedAt: now})
		news = true
	}
	if r.Amount != n.Amount {
		return nil, false, fmt.Errorf("%w: refund %s is of %d, not %d", ErrWrongAmount, r.ID, r.Amount, n.Amount)
	}
	id := r.ID
	moved := a.move(id, Outcome{State: n.Refund.State, Reference: n.Refund.Reference, Reason: n.Reason}, now)
	return a.Find(id), moved || news, nil
}

// nextID returns an id that no refund of the payment has.
func (a *Account) nextID() string {
	for i := len(a.Refunds) + 1; ; i++ {
		if id := fmt.Sprintf("%s-%d", a.ID, i); a.Find(id) == nil {
			return id
		}
	}
}

// named returns the refund that a notice names by our id, or by the provider's own.
func (a *Account) named(n RefundNotice) *Refund {
	return a.first(func(r Refund) bool {
		return n.ID != "" && r.ID == n.ID || n.Reference != "" && r.Reference == n.Reference
	})
}

// Answered takes a provider's answer about a refund that it was asked for, and reports whether that is news.
func (a *Account) Answered(id string, o Outcome, now time.Time) bool {
	return a.Find(id) != nil && a.move(id, o, now)
}

// move takes a refund on to another state, never back, and reports whether it has moved.
func (a *Account) move(id string, o Outcome, now time.Time) bool {
	joined := a.join(id, o.Reference)
	r := a.Find(id)
	if r.Reference == "" {
		r.Reference = o.Reference
	}
	found(r, o.State)
	if o.State <= r.State {
		return joined
	}
	r.State = o.State
	switch o.State {
	case RefundDone:
		r.DoneAt = now
		a.replace(*r)
	case RefundFailed:
		r.FailedAt, r.Failure = now, CheckedRefusal(o.Reason)
	case RefundAsked, RefundPending:
	}
	a.count()
	a.Fit(now)
	return true
}

// join makes a refund one with another that has the reference, and reports whether there was one: a notice that named
// it by the provider's own id alone was here before we knew that as the id of ours.
func (a *Account) join(id, reference string) bool {
	r := a.Find(id)
	i := slices.IndexFunc(a.Refunds, func(other Refund) bool {
		return reference != "" && other.Reference == reference && other.ID != id && other.Origin == OriginProvider &&
			other.Amount == r.Amount
	})
	if i < 0 {
		return false
	}
	other := a.Refunds[i]
	found(r, other.State)
	if other.State > r.State {
		r.State, r.DoneAt = other.State, other.DoneAt
		r.FailedAt, r.Failure, r.ClosedAt = other.FailedAt, other.Failure, other.ClosedAt
	}
	a.Refunds = slices.Delete(a.Refunds, i, i+1)
	a.count()
	return true
}

// found lets a refund that was given up go on: its provider had taken it all the same.
func found(r *Refund, at RefundState) {
	if r.Failure == goneOtherwise && at < RefundFailed {
		reopen(r)
	}
}

// GiveUp gives up the refund of all that was left if all has gone back otherwise, before its provider has answered.
func (a *Account) GiveUp(now time.Time) {
	if r := a.All(); r != nil && r.State == RefundAsked && a.AllGone() {
		r.State, r.FailedAt, r.ClosedAt, r.Failure = RefundFailed, now, now, goneOtherwise
	}
}

// replace lets a named refund that is done take the place of an unnamed one. One for which we first asked when we knew
// the provider's total was not in that total.
func (a *Account) replace(done Refund) {
	i := slices.IndexFunc(a.Refunds, Refund.unnamed)
	if i < 0 {
		return
	}
	asked := done.SentAt
	if over := a.Lost() + a.Sum(RefundAsked, RefundPending, RefundDone) - a.Amount; asked.IsZero() && over <= 0 {
		asked = done.CreatedAt // by a version that did not note when
	}
	if done.Origin != OriginProvider && !asked.Before(a.Refunds[i].DoneAt) {
		return
	}
	if a.Refunds[i].Amount > done.Amount {
		a.Refunds[i].Amount -= done.Amount
	} else {
		a.Refunds = slices.Delete(a.Refunds, i, i+1)
	}
}

// AskAll adds the refund of all that is left, with the payment's id, under which versions without refunds ask for it,
// too; or, if that was used before, with another one. It returns the one that is under way, if there is one, and nil if
// nothing is left.
func (a *Account) AskAll(actor, why string, now time.Time) *Refund {
	if r := a.All(); r != nil && r.State < RefundDone {
		return r
	}
	left := a.Left()
	if left == 0 {
		return nil
	}
	id := a.ID
	if a.Find(id) != nil {
		id = a.nextID()
	}
	return a.add(Refund{
		ID: id, Amount: left, State: RefundAsked, Origin: OriginAll, Actor: actor, Why: why, CreatedAt: now,
	})
}

// AskPart adds a refund of a part. Error: *LeftError if not so much is left.
func (a *Account) AskPart(cents int64, actor, why string, now time.Time) (*Refund, error) {
	if left := a.Left(); cents < 1 || cents > left {
		return nil, &LeftError{PaymentID: a.ID, Left: left}
	}
	return a.add(Refund{
		ID: a.nextID(), Amount: cents, State: RefundAsked, Origin: OriginPart, Actor: actor, Why: why, CreatedAt: now,
	}), nil
}

// AskAgain is AskAll after a refusal, to which staff have seen. Alone says that no version lives that would ask for the
// same refund, too: then another one takes the place of the refused one. Otherwise that is asked for once more.
func (a *Account) AskAgain(alone bool, actor, why string, now time.Time) *Refund {
	if r := a.All(); r != nil && r.NeedsStaff() && !alone {
		reopen(r)
		return r
	}
	a.CloseFailed(now)
	return a.AskAll(actor, why, now)
}

// Finish notes that all that was left has gone back, also if the provider had refused that before. The reference is the
// provider's own id of that refund, by which a later notice may name it; "" if it has none. If the id is that of an
// earlier refund, which was asked for once more since, the answer has come late, and is about the earlier one; one that
// is done may be answered again, to another instance.
func (a *Account) Finish(actor, id, reference string, now time.Time) {
	r := a.All()
	if earlier := a.Find(id); earlier != nil && (earlier != r || r.State == RefundDone) {
		a.move(id, Outcome{State: RefundDone, Reference: reference}, now)
		return
	}
	switch {
	case r == nil, r.State == RefundDone, r.State == RefundFailed && !r.NeedsStaff() && r.Failure != goneOtherwise:
		r = a.AskAll(actor, "", now)
	case r.Failure == goneOtherwise: // its provider had taken it all the same: move finds it
	case r.State == RefundFailed: // one answer was a refusal, and another one was not
		left := a.Left()
		if left == 0 {
			r.ClosedAt = now
			return
		}
		reopen(r)
		r.Amount = min(r.Amount, left)
	}
	if r != nil {
		a.move(r.ID, Outcome{State: RefundDone, Reference: reference}, now)
	}
}

// room returns the cents that a refund may have, which is not over, as those of the others are.
func (a *Account) room(r Refund) int64 {
	return a.Amount - a.Lost() - a.Sum(RefundAsked, RefundPending, RefundDone) + r.Amount
}

// reopen asks for a refund that has failed once more under its own id, as versions without refunds do.
func reopen(r *Refund) {
	r.State, r.FailedAt, r.Failure, r.ClosedAt = RefundAsked, time.Time{}, "", time.Time{}
}

// CloseFailed notes that staff have seen to the refunds that have failed.
func (a *Account) CloseFailed(now time.Time) {
	for i := range a.Refunds {
		if a.Refunds[i].NeedsStaff() {
			a.Refunds[i].ClosedAt = now
		}
	}
}

// Send prepares a refund for asking the provider, and reports whether it is to be asked. Alone says that no version
// lives that would ask for the same refund with another amount: then the amount stays as it was sent first, and one
// that can no longer be is given up, for another one in its place. Otherwise the refund is always of what is left.
func (a *Account) Send(id string, alone bool, now time.Time) (r *Refund, ask bool) {
	r = a.Find(id)
	if r == nil || r.State != RefundAsked || a.Dispute == DisputeOpen {
		return r, false
	}
	room := a.room(*r)
	switch {
	case !alone && r.Origin == OriginAll && room > 0:
		if r.Amount != room {
			r.Amount, r.SentAt = room, now
		}
	case room < r.Amount:
		r.State, r.FailedAt, r.ClosedAt, r.Failure = RefundFailed, now, now, goneOtherwise
		return r, false
	}
	if r.SentAt.IsZero() {
		r.SentAt = now
	}
	return r, true
}

// goneOtherwise is the failure of a refund that is given up before its provider has taken it.
const goneOtherwise = "the money had gone back in another way"
