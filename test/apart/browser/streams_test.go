package browser

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/debugger"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

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
	last.press("[data-act=account]")
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

// TestStreamsOfLostWindows checks that a window which is killed, or stands still as a frozen one does, leaves its
// stream to another one, which learns what happens; one that goes on takes its turn again.
func TestStreamsOfLostWindows(t *testing.T) {
	t.Parallel() // it mostly waits
	for name, lose := range map[string]chromedp.Action[chromedp.Void]{
		"killed": command(page.Crash, cdp.Empty{}), "frozen": command(debugger.Pause, cdp.Empty{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := realShop(t)
			order := s.unpaid(s.onSale("50 for 10", 5), 42)
			first := open(t, s.url("/"), s.signedIn(phone(), 42))
			first.sees(".order .tag", "To be paid")
			s.awaitStreams("1")
			var others []*window
			for range 4 {
				others = append(others, first.tab(s.url("/")))
				others[len(others)-1].sees(".order .tag", "To be paid")
			}
			s.awaitStreams("4")
			lost := others[0]
			if name == "frozen" {
				lost.do(func(ctx context.Context, t *chromedp.Target) (v chromedp.Void, err error) {
					_, err = cdp.Call(ctx, t, debugger.Enable, debugger.EnableParams{})
					return v, err
				})
			}
			lost.gone(lose)
			if name == "killed" {
				s.awaitStreams("4")
			} else {
				s.awaitStreams("5") // the browser keeps a frozen one's open
				lost.gone(command(debugger.Resume, debugger.ResumeParams{}))
				s.awaitStreams("4")
			}
			s.must(http.MethodPost, "/order/"+order+"/cancel", 42, nil, nil)
			for _, w := range []*window{first, others[1], others[2], others[3]} {
				w.sees(".order .tag", "Cancelled")
			}
		})
	}
}

// command returns the action of a command of the browser without an answer.
func command[P any](c cdp.Command[P, cdp.Empty], params P) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (v chromedp.Void, err error) {
		_, err = cdp.Call(ctx, t, c, params)
		return v, err
	}
}

// gone does something to a window after which it may not answer.
func (w *window) gone(what chromedp.Action[chromedp.Void]) {
	w.tb.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, time.Second)
	defer cancel()
	_ = chromedp.Do(ctx, what) // a killed one does not answer
}

// TestStreamsOfPrivateWindows checks that windows of two profiles, which cannot hear each other, each have their own
// streams and their own user; and that a tab whose user changes in another tab follows the new one's orders alone.
func TestStreamsOfPrivateWindows(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	s.unpaid(s.onSale("Mine", 5), 42)
	theirs := s.unpaid(s.onSale("Theirs", 5), 43)
	mine, private := open(t, s.url("/"), s.signedIn(phone(), 42)), open(t, s.url("/"), s.signedIn(desktop(), 43))
	mine.sees(".orders", "Mine")
	private.sees(".orders", "Theirs")
	s.awaitStreams("2")
	for _, w := range []*window{mine, private} {
		for range 4 {
			w.tab(s.url("/")).sees(".order .tag", "To be paid")
		}
	}
	s.awaitStreams("8")

	plain := open(t, s.url("/"), phone())
	plain.sees(button("grab"), "")
	second := plain.tab(s.url("/"))
	second.sees(button("grab"), "")
	for _, user := range []struct {
		id           int64
		sees, seesNo string
	}{{42, "Mine", "Theirs"}, {43, "Theirs", "Mine"}} {
		plain.press("[data-act=account]")
		plain.enter("#token", s.token(user.id))
		plain.click("dialog form button")
		for _, w := range []*window{plain, second} {
			w.sees(".orders", user.sees)
			orders := evaluate[string](w, "document.querySelector('.orders').innerText")
			if strings.Contains(orders, user.seesNo) {
				t.Errorf("user %d sees %s", user.id, user.seesNo)
			}
		}
		if user.id == 42 {
			plain.press("[data-act=account]") // signs out
			second.seesNo(".orders")
		}
	}
	s.must(http.MethodPost, "/order/"+theirs+"/cancel", 43, nil, nil)
	second.sees(".order .tag", "Cancelled")
	private.sees(".order .tag", "Cancelled")
	mine.sees(".order .tag", "To be paid")
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
