package httpapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"seckill/internal/order/gate"
)

func TestLanguage(t *testing.T) {
	t.Parallel()
	a := buying(t, gate.ErrEnded)
	for header, want := range map[string]string{
		"":                        "The sale has ended.",
		"en":                      "The sale has ended.",
		"en-GB,en;q=0.9,zh;q=0.8": "The sale has ended.",
		"fr":                      "The sale has ended.",
		"*":                       "The sale has ended.",
		"zh;q=0":                  "The sale has ended.",
		"x;;;q=a,,":               "The sale has ended.",
		"\x00\xff":                "The sale has ended.",
		strings.Repeat("zh,", 99): "The sale has ended.", // too long to be read
		"zh":                      "秒杀已经结束",
		"zh-CN,zh;q=0.9,en;q=0.8": "秒杀已经结束",
		"zh-TW":                   "秒杀已经结束",
		"ZH-hans-cn":              "秒杀已经结束",
		"en;q=0.1,zh;q=0.2":       "秒杀已经结束",
		"fr,zh;q=0.5":             "秒杀已经结束",
	} {
		for range 2 { // parsed, and cached
			r := request{
				Method: http.MethodPost, Target: "/voucher/seckill/5",
				Header: map[string]string{"Accept-Language": header},
			}
			w := do(t, a, r)
			if got := read(t, w); got.ErrorMsg != want {
				t.Errorf("Accept-Language %q: %q, want %q", header, got.ErrorMsg, want)
			}
			name := "en"
			if want != "The sale has ended." {
				name = "zh"
			}
			if h := w.Header(); h.Get("Content-Language") != name ||
				!slices.Equal(h["Vary"], []string{"Accept-Language"}) {
				t.Errorf("Accept-Language %q: %v", header, h)
			}
		}
	}
}

// Errors have a Content-Language in both formats and on every route; a success has none.
func TestErrorsHaveALanguage(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, c := range []struct{ method, target, want string }{
		{http.MethodPost, "/voucher-order/seckill/x", "zh"},
		{http.MethodPost, "/voucher", "zh"},
		{http.MethodGet, "/nothing", "zh"},
		{http.MethodPut, "/order", "zh"},
		{http.MethodHead, "/order/x", "zh"},
		{http.MethodPost, "/voucher/seckill/5", ""},
		{http.MethodGet, "/order", ""},
	} {
		h := do(t, a,
			request{Method: c.method, Target: c.target, Header: map[string]string{"Accept-Language": "zh"}}).Header()
		if got := h.Get("Content-Language"); got != c.want || (h.Get("Vary") == "Accept-Language") != (c.want != "") {
			t.Errorf("%s %s: %v", c.method, c.target, h)
		}
	}
}
