package rehearsal

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/kit/check"
	"seckill/internal/kit/words"
)

func TestForecast(t *testing.T) {
	t.Parallel()
	good := Figures{
		Stock: 100, Buyers: 1000, Arrived: 1000, Requests: 1000, Accepted: 100, SoldOut: 2 * time.Second,
		P50: 5 * time.Millisecond, P99: 40 * time.Millisecond,
		MemoryIdle: 10 << 20, MemoryPeak: 12 << 20, MemoryMax: 100 << 20,
	}
	for name, tc := range map[string]struct {
		change func(*Figures)
		line   string // that is a no; "": go
		says   string
	}{
		"good":               {func(*Figures) {}, "", "100 units within 2 s"},
		"few units":          {func(f *Figures) { f.SoldOut = 4 * time.Millisecond }, "", "100 units within 4 ms"},
		"no limit of memory": {func(f *Figures) { f.MemoryMax = 0 }, "", "no maxmemory"},
		"memory not measured": {
			func(f *Figures) { f.MemoryIdle, f.MemoryPeak, f.MemoryMax = 0, 0, 0 }, "", "not measured",
		},
		"memory not known before": {
			func(f *Figures) { f.MemoryIdle = 0 }, "", "12.0 MiB at the peak, of 100 MiB (12 %)",
		},
		"too few buyers": {
			func(f *Figures) { f.Buyers, f.Arrived, f.Accepted, f.SoldOut = 50, 50, 50, 0 }, "", "more -buyers",
		},
		"units left": {
			func(f *Figures) { f.Accepted, f.SoldOut = 90, 0 }, "rehearsal.soldOut",
			"90 of 100 units went to 1,000 buyers",
		},
		"slow": {
			func(f *Figures) { f.P99 = 3 * time.Second }, "rehearsal.answers", "waits for more than 2 s",
		},
		"without answers":       {func(f *Figures) { f.Unclear = 11 }, "rehearsal.clear", "1.1 % of 1,000 requests"},
		"a few without answers": {func(f *Figures) { f.Unclear = 10 }, "", ""},
		"nearly full":           {func(f *Figures) { f.MemoryPeak = 81 << 20 }, "rehearsal.memory", "(81 %)"},
		"findings":              {func(f *Figures) { f.Findings = 2 }, "rehearsal.orders", "2 findings"},
		"ended early": {
			func(f *Figures) { f.Early, f.SoldOut, f.Accepted = true, 0, 3 }, "rehearsal.orders", "ended early",
		},
		"nothing was sent at all": {
			func(f *Figures) { *f = Figures{Stock: 5} }, "rehearsal.clear", "no request was answered",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := good
			tc.change(&f)
			lines := Forecast(f)
			all := ""
			for _, l := range lines {
				all += l.What(words.English) + " → " + l.Do(words.English) + "\n"
				if (l.Level == check.No) != (l.Name == tc.line) ||
					strings.Contains(l.What(words.English)+l.What(words.Chinese)+l.Do(words.Chinese), "%!") {
					t.Errorf("%s is %s: %s", l.Name, l.Level, l.What(words.English))
				}
			}
			if check.Go(lines) != (tc.line == "") || !strings.Contains(all, tc.says) {
				t.Errorf("no %q in\n%s", tc.says, all)
			}
		})
	}
}

// What was not measured is not called ok.
func TestForecastOfNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		figures Figures
		lines   []string // that are unmeasured
	}{
		"nothing was sent": {Figures{Stock: 5}, []string{"rehearsal.answers", "rehearsal.memory", "rehearsal.orders"}},
		"no figures of memory": {
			Figures{Stock: 1, Buyers: 1, Arrived: 1, Requests: 1, Accepted: 1, SoldOut: 1},
			[]string{"rehearsal.memory"},
		},
		"memory without a limit": {
			Figures{Stock: 1, Buyers: 1, Arrived: 1, Requests: 1, Accepted: 1, SoldOut: 1, MemoryPeak: 1},
			[]string{"rehearsal.memory"},
		},
	} {
		var got []string
		for _, l := range Forecast(tc.figures) {
			if l.Level == check.Unmeasured {
				got = append(got, l.Name)
			}
		}
		if diff := cmp.Diff(tc.lines, got); diff != "" {
			t.Errorf("%s: unmeasured, want (-), got (+):\n%s", name, diff)
		}
	}
}
