package report

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/guard"
	"seckill/internal/order"
	"seckill/internal/voucher"
)

// guardFigures answers with figures, or hangs.
type guardFigures struct {
	figures guard.Figures
	hangs   bool
}

func (g guardFigures) GuardFigures(ctx context.Context, _ order.SaleRef) (guard.Figures, error) {
	if g.hangs {
		<-ctx.Done()
	}
	return g.figures, ctx.Err()
}

// A report has what guards did; while Redis hangs it does without, soon, and says so.
func TestReportOfGuards(t *testing.T) {
	t.Parallel()
	figures := guard.Figures{Counts: map[guard.Count]int64{"stop:limits": 3}}
	for name, store := range map[string]guardFigures{"read": {figures, false}, "hanging": {guard.Figures{}, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				made, began := Report{Voucher: voucher.Voucher{ID: 7, Sale: &voucher.Sale{}}}, time.Now()
				(&Reports{guards: store}).addGuards(t.Context(), &made)
				if diff := cmp.Diff(store.figures, made.Guards); diff != "" || made.GuardsUnread != store.hangs ||
					time.Since(began) > guardsWithin {
					t.Errorf("unread %t after %s\n-want +got\n%s", made.GuardsUnread, time.Since(began), diff)
				}
			})
		})
	}
}
