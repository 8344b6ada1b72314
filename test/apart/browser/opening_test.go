package browser

import (
	"fmt"
	"testing"
	"time"

	"seckill/internal/testkit"
)

// opening records when a card's button becomes one that buys, by the true clock, and then sets the page's clock wrong.
const opening = `{
	const real = Date.now, wrong = %d;
	const opens = () => document.querySelector('article[aria-labelledby=voucher-%d] button[data-state=grab]');
	new MutationObserver(() => { if (!window.opened && opens()) window.opened = real(); })
		.observe(document, { childList: true, subtree: true, attributes: true });
	Date.now = () => real() + wrong;
}`

// BenchmarkOpening measures how far from a sale's begin the buyer's button opens, with browsers whose clocks are wrong,
// beside the service and 200 ms from it. Times are only worth something on a machine that does nothing else.
//
// A line that takes longer one way than the other moves the opening by half of the difference, and no clock that is set
// over that line alone can tell.
//
//	go run ./test/services -- go test -C test/apart -run xxx -bench Opening -benchtime 10x ./browser
func BenchmarkOpening(b *testing.B) {
	for _, clock := range []struct {
		name  string
		wrong time.Duration
	}{
		{"right", 0},
		{"two hours fast", 2 * time.Hour},
		{"three minutes slow", -3 * time.Minute},
		{"half a second fast", time.Second / 2},
	} {
		for _, far := range []time.Duration{0, 200 * time.Millisecond} {
			b.Run(fmt.Sprintf("clock %s, %s away", clock.name, far), func(b *testing.B) {
				s := realShop(b)
				p := testkit.NewProxy(b, s.server.Addr)
				p.Delay(far)
				least, most, sum := time.Hour, -time.Hour, time.Duration(0)
				for range b.N {
					late := s.opensAfter(b, s.through(p), clock.wrong)
					least, most, sum = min(least, late), max(most, late), sum+late
				}
				ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
				b.ReportMetric(ms(least), "ms-least")
				b.ReportMetric(ms(sum)/float64(b.N), "ms-mean")
				b.ReportMetric(ms(most), "ms-most")
				b.ReportMetric(0, "ns/op") // most of it is the wait
			})
		}
	}
}

// opensAfter returns how long after a new sale's begin its button opens at the address; negative: before it.
func (s *shop) opensAfter(b *testing.B, address string, wrong time.Duration) time.Duration {
	b.Helper()
	begin := time.Now().Add(12 * time.Second).Truncate(time.Millisecond)
	sale := s.offer("50 for 10", 5, begin, begin.Add(time.Hour), "not_started")
	d := desktop()
	d.script = fmt.Sprintf(opening, wrong.Milliseconds(), sale)
	w := open(b, address, d)
	w.sees(button("not_started"), "Not started yet")
	w.until("window.opened")
	opened := time.UnixMilli(int64(evaluate[float64](w, "window.opened")))
	w.visit("about:blank") // it is to ask for nothing during the next
	return opened.Sub(begin)
}
