package tally

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/feature/guard/budget"
	"seckill/internal/voucher/guards"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestNetwork(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.77":          "192.0.2.0/24",
		"::ffff:192.0.2.77":   "192.0.2.0/24",
		"2001:db8:1:2::77":    "2001:db8:1::/48",
		"fe80::1%eth0":        "fe80::/48",
		"255.255.255.255":     "255.255.255.0/24",
		"2001:db8:ffff:ff::1": "2001:db8:ffff::/48",
	} {
		if got := networkName(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	if got := networkName(netip.Addr{}); got != OtherNetworks || budget.Network(netip.Addr{}).IsValid() {
		t.Errorf("no address: %s", got)
	}
}

func TestAgeOf(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]Age{
		-time.Hour: AgeDay, 0: AgeDay, day - 1: AgeDay, day: AgeWeek, 7 * day: AgeMonth,
		30 * day: AgeYear, 365 * day: AgeOlder,
	} {
		if got := AgeOf(noon.Add(-age), noon); got != want {
			t.Errorf("%s: %s, want %s", age, got, want)
		}
	}
	if got := AgeOf(time.Time{}, noon); got != AgeUnknown {
		t.Errorf("not known: %s", got)
	}
}

// What is counted is taken once, or put back; a flood of networks is counted together.
func TestTally(t *testing.T) {
	t.Parallel()
	tally := New(func() time.Time { return noon })
	if got := tally.Take(); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	address := netip.MustParseAddr("192.0.2.7")
	for range 3 {
		tally.Stopped(5, guards.ConditionsGuard, guards.On, address)
	}
	tally.Stopped(5, guards.LimitsGuard, guards.DryRun, address)
	tally.Sold(5, noon.Add(-day), address, 2)
	tally.Sold(6, time.Time{}, netip.Addr{}, 1)
	want := map[int64]*Delta{
		5: {
			Counts:  map[Count]int64{"dry:limits": 1, "stop:conditions": 3, "units:week": 2},
			Stopped: map[string]int64{"192.0.2.0/24": 4}, Units: map[string]int64{"192.0.2.0/24": 2},
		},
		6: {
			Counts: map[Count]int64{"units:unknown": 1}, Stopped: map[string]int64{},
			Units: map[string]int64{OtherNetworks: 1},
		},
	}
	first := tally.Take()
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for id, d := range first {
		tally.PutBack(id, d)
	}
	if diff := cmp.Diff(want, tally.Take()); diff != "" {
		t.Errorf("put back (-want +got):\n%s", diff)
	}
	for i := range 100_000 {
		tally.Stopped(5, guards.LimitsGuard, guards.On, netip.MustParseAddr(fmt.Sprintf("10.%d.%d.1", i>>8&255, i&255)))
	}
	flood := tally.Take()[5]
	if flood.Counts["stop:limits"] != 100_000 || len(flood.Stopped) != maxNetworks+1 ||
		flood.Stopped[OtherNetworks] < 98_000 {
		t.Errorf("a flood: %v, %d networks, %d others", flood.Counts, len(flood.Stopped), flood.Stopped[OtherNetworks])
	}
}
