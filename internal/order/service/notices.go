package service

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"seckill/internal/kit/periodic"
	"seckill/internal/order"
	"seckill/internal/order/payment"
)

const (
	noticesEvery   = 5 * time.Second // how often refused notices are written
	noticesTimeout = 5 * time.Second // most time of one such transaction
)

// RefusedNotices is the part of the ledger that remembers refused notices, one row for each provider and reason.
type RefusedNotices interface {
	// AddRefusedNotices adds to the counts, and replaces what is known of the last ones.
	AddRefusedNotices(ctx context.Context, refused []payment.RefusedNotice) error
	// RefusedNotices returns all rows, the latest first.
	RefusedNotices(ctx context.Context) ([]payment.RefusedNotice, error)
}

// NoticeObserver counts providers' notices that were refused, or ignored, for metrics. Its methods must not block.
type NoticeObserver interface {
	NoticeRefused(why payment.Refusal)
	NoticeIgnored()
}

// NoticeLog remembers the notices of providers that were refused. Anybody can send bad ones, so it writes at most one
// small transaction every five seconds, whose rows are as many as there are providers and reasons; an instance that
// dies loses what it has not written. It is safe for concurrent use.
type NoticeLog struct {
	ledger   RefusedNotices
	observer NoticeObserver
	log      *slog.Logger

	mu      sync.Mutex
	refused map[noticeKey]payment.RefusedNotice // not written yet
}

type noticeKey struct {
	provider string
	refusal  payment.Refusal
}

// NewNoticeLog returns a log in the ledger; Run writes it.
func NewNoticeLog(ledger RefusedNotices, observer NoticeObserver, log *slog.Logger) *NoticeLog {
	return &NoticeLog{
		ledger: ledger, observer: observer, log: log, refused: make(map[noticeKey]payment.RefusedNotice),
	}
}

// Refused counts a refused notice. It logs those that are rightly signed: they are about money.
func (l *NoticeLog) Refused(ctx context.Context, r payment.RefusedNotice) {
	l.observer.NoticeRefused(r.Refusal)
	if r.PaymentID != "" {
		l.log.WarnContext(ctx, "a payment provider's notice was refused", "provider", r.Provider, "reason",
			string(r.Refusal), "payment", r.PaymentID, "amount", r.Amount)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := noticeKey{r.Provider, r.Refusal}
	r.Count += l.refused[key].Count
	l.refused[key] = r
}

// Ignored counts a notice of a type that does not concern the service.
func (l *NoticeLog) Ignored() { l.observer.NoticeIgnored() }

// Last returns the last refused notice of each provider and reason, the latest first, as of some seconds ago. Error:
// order.ErrUnavailable.
func (l *NoticeLog) Last(ctx context.Context) ([]payment.RefusedNotice, error) {
	all, err := l.ledger.RefusedNotices(ctx)
	return all, order.OrUnavailable(err)
}

// Run writes what was refused, until ctx ends, and then once more. It retries failures, so it returns no error.
func (l *NoticeLog) Run(ctx context.Context) error {
	_ = periodic.Every(ctx, noticesEvery, l.flush)
	l.flush(context.WithoutCancel(ctx))
	return nil
}

func (l *NoticeLog) flush(ctx context.Context) {
	l.mu.Lock()
	refused := l.refused
	l.refused = make(map[noticeKey]payment.RefusedNotice)
	l.mu.Unlock()
	if len(refused) == 0 {
		return
	}
	rows := slices.Collect(maps.Values(refused))
	call, cancel := context.WithTimeout(ctx, noticesTimeout)
	defer cancel()
	if err := l.ledger.AddRefusedNotices(call, rows); err != nil {
		l.log.WarnContext(ctx, "writing refused notices failed; retrying", "error", err)
		l.putBack(rows)
	}
}

// putBack keeps what could not be written, behind what was refused meanwhile.
func (l *NoticeLog) putBack(rows []payment.RefusedNotice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range rows {
		key := noticeKey{r.Provider, r.Refusal}
		if later, has := l.refused[key]; has {
			later.Count += r.Count
			r = later
		}
		l.refused[key] = r
	}
}
