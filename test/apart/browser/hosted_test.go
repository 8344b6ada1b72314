package browser

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"seckill/test/box"
)

// hosted answers a window's requests for pictures of img.shop.example; gone.example does not answer.
type hosted struct {
	mu    sync.Mutex
	asked []string // what was asked for, with its referrer
}

// hosts has other hosts serve pictures to a window, from its next page on.
func hosts(w *window, wide, square []byte) *hosted {
	w.tb.Helper()
	h := &hosted{}
	err := chromedp.Listen(w.ctx, func(event any) {
		e, is := event.(*fetch.EventRequestPaused)
		if !is {
			return
		}
		h.mu.Lock()
		h.asked = append(h.asked, fmt.Sprintf("%s referrer %v", e.Request.URL, e.Request.Headers["Referer"]))
		h.mu.Unlock()
		body := wide
		if strings.Contains(e.Request.URL, "/shop") {
			body = square
		}
		act := command(fetch.FulfillRequest, fetch.FulfillRequestParams{
			RequestID: e.RequestID, ResponseCode: http.StatusOK, Body: body,
			ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "image/png"}},
		})
		if strings.Contains(e.Request.URL, "gone.example") {
			act = command(fetch.FailRequest,
				fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: network.ErrorReasonConnectionRefused})
		}
		go func() { // a listener must not wait for the browser
			ctx, cancel := context.WithTimeout(w.ctx, patience)
			defer cancel()
			_ = chromedp.Do(ctx, act) // the page may have gone
		}()
	})
	if err != nil {
		w.tb.Fatal(err)
	}
	others := []*fetch.RequestPattern{{URLPattern: "https://*.example*"}}
	w.do(command(fetch.Enable, fetch.EnableParams{Patterns: others}))
	return h
}

// painted returns a picture of two colours.
func painted(tb testing.TB, width, height int, from, to color.RGBA) []byte {
	tb.Helper()
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	between := func(a, b uint8, part float64) uint8 { return uint8(float64(a)*(1-part) + float64(b)*part) }
	for x := range width {
		for y := range height {
			part := float64(x+y) / float64(width+height)
			img.Set(x, y, color.RGBA{
				between(from.R, to.R, part), between(from.G, to.G, part), between(from.B, to.B, part), 255,
			})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestPicturesOfHosts gives a shop and its vouchers pictures in the console. A page asks their hosts for them without a
// referrer; in the same box it draws one where there is none, where it does not come, and where its host is not named.
func TestPicturesOfHosts(t *testing.T) {
	t.Parallel()
	s := realShop(t, "SECKILL_PICTURE_HOSTS", "img.shop.example,gone.example")
	wide := painted(t, 900, 300, color.RGBA{20, 90, 60, 255}, color.RGBA{240, 220, 120, 255})
	square := painted(t, 120, 120, color.RGBA{30, 60, 140, 255}, color.RGBA{250, 140, 160, 255})
	sale := func(title, picture string) (id int64) {
		draft := box.SeckillDraft(3, 5, time.Now(), time.Now().Add(time.Hour))
		draft["title"], draft["actualValue"] = title, 100_00
		if picture != "" {
			draft["picture"] = picture
		}
		var made struct{ ID int64 }
		s.must(http.MethodPost, "/voucher/seckill", admin, draft, &made)
		return made.ID
	}
	sale("No picture", "")
	sale("One that is gone", "https://gone.example/tea.png")
	tea := sale("Tea for two", "")

	w := open(t, s.url("/admin#/shop/3"), s.asAdmin(desktop()))
	hosts(w, wide, square)
	w.sees("h1", "Shop 3")
	w.sees(".face", "S")
	w.click("[data-act=edit-shop]")
	w.enter("#f-name", "Corner bakery")
	w.enter("#f-picture", "https://other.example/shop.png")
	w.click("dialog [data-act=yes]")
	w.sees("#f-picture-wrong", "img.shop.example, gone.example")
	w.accessible()
	w.picture("shop-picture-wrong", false)
	w.replaces("#f-picture", "https://img.shop.example/shop.png")
	w.click("dialog [data-act=yes]")
	w.seesNo("dialog")
	w.sees("h1", "Corner bakery")
	w.until("document.querySelector('.face .picture.there')")
	w.accessible()
	w.picture("shop-pictured", false)
	w.visit(s.url(fmt.Sprintf("/admin#/voucher/%d", tea)))
	w.acts("edit")
	w.enter("#f-picture", "https://other.example/tea.png")
	w.click("[data-act=save]")
	w.sees("#f-picture-wrong", "an address by https on img.shop.example, gone.example")
	w.picture("form-picture-wrong", false)
	w.replaces("#f-picture", "https://img.shop.example/tea.png")
	w.until("document.querySelector('.preview .picture.there')")
	w.accessible()
	w.picture("form-picture", false)
	w.click("[data-act=save]")
	w.seesNo("dialog")

	for name, d := range map[string]device{"desktop": desktop(), "phone": phone()} {
		w := open(t, s.url("/docs"), s.asAdmin(d))
		hosts(w, wide, square)
		for list, path := range map[string]string{"vouchers": "/admin#/vouchers", "sales": "/admin#/sales"} {
			w.visit(s.url(path))
			w.until("document.querySelectorAll('th > .face').length === 3")
			w.until("document.querySelectorAll('th > .face .picture.there').length === 1")
			w.accessible()
			w.picture("list-pictures-"+list+"-"+name, false)
		}
	}

	// A service without hosts offers no field for pictures, and has no box for them in its lists.
	none := realShop(t)
	none.must(http.MethodPatch, "/admin/shop/3", admin, map[string]any{"name": "Bar"}, nil)
	plain := open(t, none.url("/admin#/shop/3"), none.asAdmin(desktop()))
	plain.sees(".face", "B")
	plain.click("[data-act=edit-shop]")
	plain.sees("dialog", "Name")
	plain.seesNo("#f-picture")
	none.onSale("50 for 10", 3)
	plain.visit(none.url("/admin#/vouchers"))
	plain.sees("th", "50 for 10")
	plain.seesNo("th > .face")

	s.unpaid(tea, 77)
	for name, d := range map[string]device{"desktop": desktop(), "phone-zh": phone().in("zh-CN").inDark()} {
		b := open(t, s.url("/docs"), s.signedIn(d, 77))
		asked := hosts(b, wide, square)
		b.visit(s.url("/?shop=3"))
		b.sees(".shop-name", "Corner bakery")
		b.until("document.querySelector('.shop-name .picture.there')")
		b.sees(".cards", "Tea for two")
		b.until("document.querySelector('.order h3 .picture.there')")
		evaluate[bool](b, "(document.querySelector('.card:last-child').scrollIntoView(), true)")
		b.until("document.querySelectorAll('.card .picture.there').length === 1")
		b.until("document.querySelectorAll('.card img').length === 2")
		boxes := evaluate[[]string](b, "[...document.querySelectorAll('.art')].map((a) => "+
			"[a.getBoundingClientRect().width, a.getBoundingClientRect().height].map(Math.round).join())")
		if len(boxes) != 3 || boxes[0] != boxes[1] || boxes[1] != boxes[2] {
			t.Errorf("%s: boxes of pictures %v", name, boxes)
		}
		b.accessible()
		b.picture("shop-pictures-"+name, true)
		asked.mu.Lock()
		if len(asked.asked) < 2 {
			t.Errorf("%s: asked for %v", name, asked.asked)
		}
		for _, request := range asked.asked {
			if !strings.HasSuffix(request, "referrer <nil>") {
				t.Errorf("%s: %s", name, request)
			}
		}
		asked.mu.Unlock()
	}
}
