package rehearsal

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// A rehearsal costs the service what its sale costs, and has nothing that buyers would read. Its guards stop nobody;
// those of the sale stay as they are.
func TestShadowOf(t *testing.T) {
	t.Parallel()
	limits := &guards.Limits{PerUser: &guards.Rate{Requests: 2, Seconds: 10}}
	v := sale(7, 0, time.Hour)
	v.SubTitle, v.Rules, v.PayValue, v.ActualValue, v.PerUser = "for you", "one each", 1000, 10_000, 3
	v.Redemption = voucher.Redemption{ByCode: true, ValidDays: 30}
	v.Sale.Stock, v.Sale.Issued, v.Sale.InviteWindow = 1, 5000, time.Minute
	v.Sale.Guards = &guards.Settings{
		Limits: limits, Tickets: &guards.Tickets{DelayMs: 60_000, LeadMinutes: 1, ExpiryMinutes: 1},
	}
	begin, end := now.Add(-time.Second), now.Add(time.Minute)
	want := voucher.Voucher{
		ShopID: voucher.RehearsalShop, Title: "Rehearsal", PayValue: 1, ActualValue: 1, PayWithin: payWithin,
		PerUser: 3, Kind: voucher.Seckill, Status: voucher.OnShelf, Rehearses: 7, Sale: &voucher.Sale{
			Stock: 5000, Issued: 5000, Begin: begin, End: end,
			Guards: &guards.Settings{
				Limits: &guards.Limits{PerUser: &guards.Rate{Requests: 2, Seconds: 10}, DryRun: true},
				// Without the delay, so that it may end sooner.
				Tickets: &guards.Tickets{LeadMinutes: 1, ExpiryMinutes: 1, DryRun: true},
			},
		},
	}
	if diff := cmp.Diff(want, shadowOf(v, begin, end)); diff != "" {
		t.Errorf("rehearsal (-want +got):\n%s", diff)
	}
	if limits.DryRun {
		t.Error("the sale's own guards are in dry run")
	}
	v.PayValue = 0
	if free := shadowOf(v, begin, end); free.PayValue != 0 {
		t.Errorf("of a free voucher: it costs %d", free.PayValue)
	}
}

// Every guard that there is runs dry in a rehearsal: its crowd comes from one machine.
func TestDryRunOfEveryGuard(t *testing.T) {
	t.Parallel()
	all := &guards.Settings{}
	for _, field := range reflect.ValueOf(all).Elem().Fields() {
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
		}
	}
	dry := dryRun(all)
	for _, name := range guards.Names() {
		if was, state := all.State(name), dry.State(name); was != guards.On || state != guards.DryRun {
			t.Errorf("guard %s of a sale is %s, of its rehearsal %s", name, was, state)
		}
	}
}
