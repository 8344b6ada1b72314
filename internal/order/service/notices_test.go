package service

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/order/ordertest"
	"seckill/internal/order/payment"
)

// noticeLedger keeps in memory what is written to it. Its first writes fail, as many as fails says.
type noticeLedger struct {
	fails  int
	writes [][]payment.RefusedNotice
}

// AddRefusedNotices implements RefusedNotices.
func (l *noticeLedger) AddRefusedNotices(_ context.Context, refused []payment.RefusedNotice) error {
	if l.fails > 0 {
		l.fails--
		return errors.New("the ledger is away")
	}
	refused = slices.Clone(refused)
	slices.SortFunc(refused, func(a, b payment.RefusedNotice) int {
		return strings.Compare(string(a.Refusal), string(b.Refusal))
	})
	l.writes = append(l.writes, refused)
	return nil
}

// RefusedNotices implements RefusedNotices.
func (*noticeLedger) RefusedNotices(context.Context) ([]payment.RefusedNotice, error) {
	return nil, nil
}

// noObserver counts nothing.
type noObserver struct{}

func (noObserver) NoticeRefused(payment.Refusal) {}
func (noObserver) NoticeIgnored()                {}

// A flood of refused notices is a small write every five seconds, whose row has the last of them; what could not be
// written is written later, and what was refused at last when the process stops.
func TestNoticeLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := &noticeLedger{fails: 1}
		l := NewNoticeLog(ledger, noObserver{}, ordertest.Quiet())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Run(ctx) }()
		refuse := func(times int, why payment.Refusal, detail string) {
			for range times {
				l.Refused(ctx, payment.RefusedNotice{Provider: "bank", Refusal: why, Count: 1, Detail: detail})
			}
		}
		refuse(5000, payment.RefusedSignature, "first")
		time.Sleep(noticesEvery + time.Millisecond) // the write fails
		refuse(1, payment.RefusedSignature, "later")
		refuse(2, payment.RefusedTime, "old")
		time.Sleep(3 * noticesEvery)
		refuse(1, payment.RefusedTime, "the last")
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		row := func(why payment.Refusal, n int64, detail string) payment.RefusedNotice {
			return payment.RefusedNotice{Provider: "bank", Refusal: why, Count: n, Detail: detail}
		}
		if diff := cmp.Diff([][]payment.RefusedNotice{
			{row(payment.RefusedSignature, 5001, "later"), row(payment.RefusedTime, 2, "old")},
			{row(payment.RefusedTime, 1, "the last")},
		}, ledger.writes); diff != "" {
			t.Errorf("written (-want +got):\n%s", diff)
		}
	})
}
