package life

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/internal/order"
	"seckill/internal/telemetry"
	"seckill/internal/voucher"
)

// TestAuditUnderLoad has an auditor look all the time while many buy, cancel, and change the stock as fast as they can:
// he decides, and never raises a false alarm. At rest he accounts for every unit.
func TestAuditUnderLoad(t *testing.T) {
	t.Parallel()
	const lasts, clients, least = 3 * time.Second, 32, 100
	s := newSite(t)
	p := startProcess(s.stores, func(order.Batch) {})
	s.dead = append(s.dead, p)
	now := time.Now()
	shown, err := p.vouchers.CreateSeckill(t.Context(), admin,
		voucher.Draft{ShopID: 1, Title: "100 for 10", PayValue: price, ActualValue: 100_00},
		voucher.SaleDraft{Stock: 20_000, Begin: now.Add(-time.Minute), End: now.Add(time.Hour)})
	must(t, err)
	auditor := order.NewAuditor(order.AuditorStores{Vouchers: s.stores.sql, Accounts: s.stores.sql, Redis: s.stores.redis},
		p.complaints, telemetry.NewMetrics(telemetry.Build{}), s.stores.log)

	working, stop := context.WithCancel(t.Context())
	defer stop()
	var jobs, crowd sync.WaitGroup
	for _, run := range []func(context.Context) error{p.newJob().Run, p.outbox.Run} {
		jobs.Go(func() { _ = run(working) }) // it ends because it is stopped
	}
	buying, enough := context.WithTimeout(t.Context(), lasts)
	defer enough()
	var users, bought, cancelled, changes atomic.Int64
	for range clients {
		crowd.Go(func() {
			for buying.Err() == nil {
				o, err := p.desk.Buy(t.Context(), users.Add(1), shown.ID, time.Second)
				if err != nil {
					continue // sold out, for a moment
				}
				if bought.Add(1); rand.IntN(3) > 0 {
					continue
				}
				if _, err := p.clerk.Cancel(t.Context(), o.UserID, o.ID); err == nil {
					cancelled.Add(1)
				}
			}
		})
	}
	crowd.Go(func() {
		for i := range 1 << 30 {
			if buying.Err() != nil {
				return
			}
			delta := []int64{7, -5}[i%2]
			_, _, err := p.vouchers.AddStock(t.Context(), admin, shown.ID, delta, time.Now().String())
			if short := (*voucher.InsufficientStockError)(nil); err == nil || errors.As(err, &short) {
				changes.Add(1)
			}
		}
	})
	looks, decided := 0, 0
	for ; buying.Err() == nil; looks++ {
		b, err := auditor.Look(t.Context(), shown.ID)
		must(t, err)
		if b.Finding.Broken() {
			t.Fatalf("%s: %s; redis %+v, ledger %+v", b.Finding, b.Why, b.Redis, b.Ledger)
		}
		if b.Finding == order.Balanced {
			decided++
		}
	}
	crowd.Wait()
	t.Logf("%d bought, %d cancelled, %d changes of stock; %d of %d looks decided", bought.Load(), cancelled.Load(), changes.Load(), decided, looks)
	if bought.Load() < least || cancelled.Load() < least/10 || changes.Load() < 5 || decided < 5 {
		t.Error("that was no load, or nothing was decided")
	}
	var last order.Balance
	for end := time.Now().Add(patience); last.Finding != order.Balanced || !last.Complete || last.Redis.Waiting > 0; {
		last, err = auditor.Look(t.Context(), shown.ID)
		must(t, err)
		if last.Finding.Broken() || time.Now().After(end) {
			t.Fatalf("at rest: %s: %s; redis %+v, ledger %+v", last.Finding, last.Why, last.Redis, last.Ledger)
		}
	}
	stop()
	jobs.Wait()
}
