package httpapi

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"seckill/internal/order"
)

func TestLanguage(t *testing.T) {
	t.Parallel()
	a := buying(t, order.ErrEnded)
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
		for range 2 { // read, and remembered
			r := request{method: http.MethodPost, target: "/voucher/seckill/5", header: map[string]string{"Accept-Language": header}}
			if got := read(t, do(t, a, r)); got.ErrorMsg != want {
				t.Errorf("Accept-Language %q: %q, want %q", header, got.ErrorMsg, want)
			}
		}
	}
}

// Made-up languages must not fill the memory.
func TestLanguagesRememberedAreBounded(t *testing.T) {
	t.Parallel()
	l, err := newLanguages()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 * languageCache {
		l.choose(http.Header{"Accept-Language": {"fr;q=0." + strconv.Itoa(i)}})
	}
	l.chosen.CleanUp()
	if n := l.chosen.EstimatedSize(); n > languageCache {
		t.Errorf("%d headers remembered, want at most %d", n, languageCache)
	}
}
