package browser

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// slowPhone is the factor by which DevTools slows a desktop's processor down to a slow phone's.
const slowPhone = 6

// solving tries keys as the page's worker does, but in the page itself, because DevTools slows only that down. It
// returns milliseconds: for a try, and for challenges of the default difficulty of 16 and the highest of 64, whose
// counters are evenly distributed.
const solving = `import('/assets/buyer/work.js').then(({ scrypt }) => {
  const password = new Uint8Array(20), salt = new Uint8Array(16), tries = [];
  for (let i = 0; i < 120; i++) {
    password[19] = i;
    const began = performance.now();
    scrypt(password, salt, 512, 8, 32);
    if (i >= 20) tries.push(performance.now() - began); // after compilation
  }
  const at = (list, part) => list.toSorted((a, b) => a - b)[Math.min(list.length - 1, Math.floor(part * list.length))];
  const challenges = (most) => Array.from({ length: 2000 }, () => {
    let took = 0;
    for (let n = 1 + Math.floor(Math.random() * most); n > 0; n--) took += tries[Math.floor(Math.random() * tries.length)];
    return took;
  });
  const usual = challenges(16), hardest = challenges(64);
  return [at(tries, 0), at(tries, 0.5), at(usual, 0.5), at(usual, 0.99), at(hardest, 0.5), at(hardest, 0.99)];
})`

// BenchmarkWorkOnSlowPhone measures how long a challenge takes in Chromium with a slowed-down processor. Run it on an
// idle machine.
func BenchmarkWorkOnSlowPhone(b *testing.B) {
	w := open(b, embeddedShop(b).url("/"), phone())
	w.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetCPUThrottlingRate,
			emulation.SetCPUThrottlingRateParams{Rate: slowPhone})
		return err
	}))
	var ms []float64
	for b.Loop() {
		ms = evaluate[[]float64](w, solving)
	}
	for i, name := range []string{
		"ms/fastest-try", "ms/try-p50", "ms/usual-p50", "ms/usual-p99", "ms/hardest-p50", "ms/hardest-p99",
	} {
		b.ReportMetric(ms[i], name)
	}
}
