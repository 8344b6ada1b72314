package browser

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"seckill/test/box"
)

var counted = regexp.MustCompile(`(?m)^seckill_http_event_streams \d+`)

// TestStreamsOfManyTabs checks that eight tabs of one browser over HTTP/1.1, which has six connections to a host, leave
// some for requests: tabs of a buyer with two unpaid orders, and of staff who watch a sale. The last one buys.
func TestStreamsOfManyTabs(t *testing.T) {
	t.Parallel()
	const tabs, most = 8, "4"
	s := realShop(t)
	watched := s.onSale("Third", 5)
	s.unpaid(s.onSale("First", 5), 42)
	s.unpaid(s.onSale("Second", 5), 42)
	d := s.asAdmin(s.signedIn(desktop(), 42))
	w := open(t, s.url("/"), d)
	w.sees(".order .tag", "To be paid")
	all, console := []*window{w}, (*window)(nil)
	for i := range tabs - 1 {
		if i%3 == 1 {
			console = w.tab(s.url(fmt.Sprintf("/admin#/voucher/%d", watched)))
			console.sees("h1", "Third")
			all = append(all, console)
			continue
		}
		all = append(all, w.tab(s.url("/")))
		all[len(all)-1].sees(".order .tag", "To be paid")
	}
	s.awaitStreams(most)
	last := all[len(all)-1]
	last.click(button("grab"))
	for _, w := range []*window{last, all[0], all[2]} {
		w.seesNo(button("grab"))
	}
	console.sees("[data-tile=stock]", "4")
	s.awaitStreams(most)
	// Windows that have no use for one any more leave theirs to others.
	last.click("[data-act=account]")
	all[0].seesNo(".orders")
	s.awaitStreams("2")
}

// TestStreamOfAHiddenWindow checks that a window has no stream while it is hidden, and then shows what has happened.
func TestStreamOfAHiddenWindow(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	order := s.unpaid(s.onSale("50 for 10", 5), 42)
	w := open(t, s.url("/"), s.signedIn(phone(), 42))
	w.sees(".order .tag", "To be paid")
	s.awaitStreams("1")
	w.setHidden(true)
	s.awaitStreams("0")
	s.must(http.MethodPost, "/order/"+order+"/cancel", 42, nil, nil)
	w.setHidden(false)
	w.sees(".order .tag", "Cancelled")
	s.awaitStreams("0") // nothing can change any more
}

// setHidden hides the window, or shows it again, as far as the page can see.
func (w *window) setHidden(yes bool) {
	w.tb.Helper()
	evaluate[bool](w, fmt.Sprintf(`(() => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => %t });
  return document.dispatchEvent(new Event('visibilitychange'));
})()`, yes))
}

// awaitStreams waits until so many event streams are open.
func (s *shop) awaitStreams(want string) {
	s.tb.Helper()
	box.Eventually(s.tb, "having streams", func() error {
		if got := counted.FindString(s.server.Metrics(s.tb)); got != "seckill_http_event_streams "+want {
			return fmt.Errorf("%s, want %s", got, want)
		}
		return nil
	})
}
