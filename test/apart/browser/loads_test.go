package browser

import (
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// loads is what the browser measured of a page: milliseconds until now, and of all requests the bytes of the bodies as
// they came, with those of the heads, and how many there were.
const loads = `(() => {
  const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
  const sum = (name) => all.reduce((n, e) => n + e[name], 0);
  return { Usable: performance.now(), Bytes: sum('encodedBodySize'), Wire: sum('transferSize'), Requests: all.length };
})()`

// load is what [loads] returns.
type load struct {
	Usable, Bytes, Wire float64
	Requests            int
}

// lost returns a function that returns the window's requests from now on which had no answer, and why.
func (w *window) lost() func() []string {
	w.tb.Helper()
	var mu sync.Mutex
	var failed []string
	asked := map[network.RequestID]string{}
	err := chromedp.Listen(w.ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			asked[e.RequestID] = e.Request.URL
		case *network.EventLoadingFailed:
			if !e.Canceled {
				failed = append(failed, asked[e.RequestID]+": "+e.ErrorText)
			}
		}
	})
	if err != nil {
		w.tb.Fatal(err)
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(failed)
	}
}

// BenchmarkFirstLoad opens the buyer's page and the console in new profiles, which have neither cache nor connections,
// and counts the requests that failed. Times are only worth something on a machine that does nothing else.
//
//	go run ./test/services -- go test -C test/apart -run xxx -bench FirstLoad -benchtime 25x ./browser
func BenchmarkFirstLoad(b *testing.B) {
	s := realShop(b)
	s.onSale("50 for 10", 5)
	buyer, staff := s.signedIn(phone(), 42), s.asAdmin(desktop())
	for _, page := range []struct {
		name, path, shows string
		device            device
	}{{"shop", "/", button("grab"), buyer}, {"console", "/admin", "h1", staff}} {
		b.Run(page.name, func(b *testing.B) {
			var times []float64
			var last load
			failed := 0
			for range b.N {
				w := open(b, "about:blank", page.device)
				lost := w.lost()
				w.visit(s.url(page.path))
				w.sees(page.shows, "")
				last = evaluate[load](w, loads)
				times = append(times, last.Usable)
				for _, request := range lost() {
					failed++
					b.Log(request)
				}
				w.visit("about:blank") // it is to ask for nothing during the next
			}
			slices.Sort(times)
			b.ReportMetric(float64(failed), "failed")
			b.ReportMetric(times[len(times)/2], "ms-p50")
			b.ReportMetric(times[len(times)-1], "ms-most")
			b.ReportMetric(last.Bytes, "bytes")
			b.ReportMetric(last.Wire, "bytes-with-heads")
			b.ReportMetric(float64(last.Requests), "requests")
			b.ReportMetric(0, "ns/op") // most of it is the browser's start of a window
		})
	}
}
