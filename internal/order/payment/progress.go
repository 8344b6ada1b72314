package payment

import (
	"slices"
	"time"

	"seckill/internal/order/reason"
)

// Progress is what the provider has said of an open payment. Its numbers are the ones stored. It only goes up, since
// notices may come in any order; whatever it is, money that comes is received.
type Progress int8

// The progress of an open payment.
const (
	ProgressNone       Progress = 0 // nothing; also of payments that are no longer open
	ProgressProcessing Progress = 1 // its money is under way
	ProgressFailed     Progress = 2 // it has failed; the buyer may begin another payment
	ProgressCancelled  Progress = 3 // it has ended without money; the buyer may begin another one
)

var progressNames = [...]string{"", "processing", "failed", "cancelled"}

// String returns the word that is shown; "" for none.
func (p Progress) String() string { return word(progressNames[:], p, ProgressNone) }

// Ended reports whether the payment is over at the provider: a buyer who wants to pay begins another one.
func (p Progress) Ended() bool { return p == ProgressFailed || p == ProgressCancelled }

// told is what a notice about an open payment brings.
type told struct {
	progress Progress
	why      reason.Why
	news     News
}

// progressNotices maps a notice about an open payment to what it brings.
var progressNotices = map[NoticeKind]told{
	NoticeProcessing: {ProgressProcessing, reason.PaymentProcessing, NewsProcessing},
	NoticeFailed:     {ProgressFailed, reason.PaymentFailed, NewsFailed},
	NoticeCancelled:  {ProgressCancelled, reason.PaymentCancelled, NewsCancelled},
}

// OfAttempt reports whether the notice is about an open payment's progress.
func (n Notice) OfAttempt() bool { _, is := progressNotices[n.Kind]; return is }

// Progress returns what a notice of an open payment brings: its progress, the reason in its order's history, and its
// news.
func (n Notice) Progress() (Progress, reason.Why, News) {
	t := progressNotices[n.Kind]
	return t.progress, t.why, t.news
}

// Wait is for how long an order waits for money that is under way.
type Wait struct {
	Deadline time.Time     // of the order, so far
	Until    time.Time     // when the provider will know; zero: it does not say
	Within   time.Duration // by how much the deadline may move at most
}

// Moved returns the order's new deadline, which moves once: to when the provider will know, and never back.
func (w Wait) Moved() time.Time {
	latest := w.Deadline.Add(w.Within)
	if w.Until.IsZero() {
		return latest
	}
	until := slices.MaxFunc([]time.Time{w.Deadline, w.Until}, time.Time.Compare)
	return slices.MinFunc([]time.Time{until, latest}, time.Time.Compare)
}

// Given returns the deadline of an order whose money, which was under way, will not come: its buyer has as long as
// after the purchase to pay in another way, and no longer than the unit was held anyway.
func (w Wait) Given(now time.Time, payWithin time.Duration) time.Time {
	return slices.MinFunc([]time.Time{w.Deadline, now.Add(payWithin)}, time.Time.Compare)
}
