package test

import (
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/test/box"
)

// TestFields puts wrong values into every field of a new voucher. Each answer must name the field, and nothing may be
// written.
func TestFields(t *testing.T) {
	t.Parallel()
	s := box.EmbeddedSite(t)
	before, err := s.Ledger.Vouchers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for field, values := range wrongValues() {
		for what, value := range values {
			body := box.SeckillDraft(5, 3, time.Now(), time.Now().Add(time.Hour))
			if value == absent {
				delete(body, field)
			} else {
				body[field] = value
			}
			expectInvalid(t, s, fmt.Sprintf("%s %s", field, what), field, "/voucher/seckill", body)
		}
	}
	for _, field := range []string{"stock", "beginTime", "endTime"} { // only for seckill vouchers
		body := map[string]any{"shopId": 5, "title": "tea", "payValue": 1, "actualValue": 2, field: 1}
		expectInvalid(t, s, "ordinary voucher with "+field, field, "/voucher", body)
	}
	if after, err := s.Ledger.Vouchers(t.Context()); err != nil || after != before {
		t.Errorf("%d vouchers after all those refusals, had %d (%v)", after, before, err)
	}
}

// absent marks a field that is omitted.
const absent = "\x00missing"

// wrongValues are wrong values of each field, by description.
func wrongValues() map[string]map[string]any {
	number := map[string]any{
		"missing": absent, "null": nil, "text": "12", "fraction": 1.5, "negative": -1, "object": map[string]any{},
		"list": []int{1}, "bool": true, "huge": 1e300, "above int64": uint64(math.MaxUint64),
	}
	text := func(least, most int) map[string]any {
		m := map[string]any{
			"a number": 5, "a list": []string{"x"}, "an object": map[string]any{"x": 1}, "true": true,
			"too long": strings.Repeat("券", most+1), "with a NUL": "a\x00b",
		}
		if least > 0 {
			m["missing"], m["empty"], m["blank"], m["null"] = absent, "", "   ", nil
		}
		return m
	}
	begin := map[string]any{
		"missing": absent, "null": nil, "empty": "", "a number": 1_700_000_000, "not a time": "tonight",
		"only a date": "2030-01-02", "the 31st of February": "2030-02-31T00:00:00Z",
		"the year 0001": "0001-01-01T00:00:00Z", "an object": map[string]any{},
	}
	end := maps.Clone(begin)
	end["past"] = "2020-01-01T00:00:00Z"
	end["before begin"] = time.Now().Add(-time.Hour).Format(time.RFC3339)
	with := func(m map[string]any, what string, value any) map[string]any {
		m = maps.Clone(m)
		m[what] = value
		return m
	}
	return map[string]map[string]any{
		"shopId":      with(with(number, "zero", 0), "above 2^53", uint64(1)<<53),
		"title":       text(1, 255),
		"subTitle":    text(0, 255),
		"rules":       text(0, 1024),
		"payValue":    with(number, "too much", int64(1_000_000_000_01)),
		"actualValue": with(with(number, "zero", 0), "too much", int64(1_000_000_000_01)),
		"stock":       with(with(number, "zero", 0), "too much", 100_000_001),
		"beginTime":   begin,
		"endTime":     end,
		"surprise":    {"unknown field": 1},
		"id":          {"not for the caller to choose": 1},
		"Title":       {"another spelling": "tea"},
	}
}

// expectInvalid sends a body and checks that the answer is a clear INVALID that names the field.
func expectInvalid(t *testing.T, s *box.Site, what, field, path string, body any) {
	t.Helper()
	r, err := s.Client.Do(t.Context(),
		box.Request{Method: http.MethodPost, URL: s.URL(path), Token: box.AdminToken(), Body: body})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if r.StatusCode != http.StatusBadRequest || r.Code != "INVALID" {
		t.Errorf("%s: %d %s, want 400 INVALID", what, r.StatusCode, r.Body)
		return
	}
	for _, problem := range r.Errors {
		if problem.Field == field && problem.Reason != "" && problem.Allowed != "" {
			return
		}
	}
	t.Errorf("%s: %s does not say what is wrong with %s and what is allowed", what, r.Body, field)
}

// TestAllProblemsAtOnce: one answer names all mistakes of a body.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Parallel()
	s := box.EmbeddedSite(t)
	body := box.SeckillDraft(-1, 0, time.Now(), time.Now().Add(time.Hour))
	body["title"] = ""
	r := s.Client.Must(t, http.StatusBadRequest,
		box.Request{Method: http.MethodPost, URL: s.URL("/voucher/seckill"), Token: box.AdminToken(), Body: body})
	named := map[string]bool{}
	for _, p := range r.Errors {
		named[p.Field] = true
	}
	if !named["shopId"] || !named["stock"] || !named["title"] {
		t.Errorf("%s, want problems with shopId, stock and title", r.Body)
	}
}

// TestLimitsAreAllowed: values at the limits are accepted.
func TestLimitsAreAllowed(t *testing.T) {
	t.Parallel()
	for _, kind := range box.Kinds()[:2] {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s := kind.Open(t)
			body := box.SeckillDraft(1<<53-1, 100_000_000, time.Now().Add(-time.Hour),
				time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
			title, rules := strings.Repeat("𠮷", 255), strings.Repeat("券", 1024)
			body["title"], body["subTitle"], body["rules"] = title, title, rules
			body["payValue"], body["actualValue"] = int64(100_000_000_000), int64(100_000_000_000)
			r := s.Client.Must(t, http.StatusCreated, box.Request{
				Method: http.MethodPost, URL: s.URL("/voucher/seckill"), Token: box.AdminToken(), Body: body,
			})
			got := s.Voucher(t, box.Decode[box.Voucher](t, r).ID)
			if got.Title != title || got.SubTitle != title || got.Rules != rules || got.ShopID != 1<<53-1 ||
				got.PayValue != 100_000_000_000 || got.ActualValue != 100_000_000_000 || *got.Issued != 100_000_000 {
				t.Errorf("stored as %+v", got)
			}
		})
	}
}

// TestBodies: bodies that are not a flat JSON object of known fields.
func TestBodies(t *testing.T) {
	t.Parallel()
	s := box.EmbeddedSite(t)
	good := `{"shopId":5,"title":"tea","payValue":1,"actualValue":2}`
	tests := []struct {
		name, contentType, body string
		status                  int
	}{
		{"empty", "application/json", "", http.StatusBadRequest},
		{"not JSON", "application/json", "shopId=5", http.StatusBadRequest},
		{"cut off", "application/json", good[:len(good)-4], http.StatusBadRequest},
		{"a list", "application/json", "[" + good + "]", http.StatusBadRequest},
		{"null", "application/json", "null", http.StatusBadRequest},
		{"two objects", "application/json", good + good, http.StatusBadRequest},
		{"a field twice", "application/json", `{"shopId":4,` + good[1:], http.StatusBadRequest},
		{"not UTF-8", "application/json", strings.Replace(good, "tea", "\xff\xfe", 1), http.StatusBadRequest},
		{"deeply nested", "application/json", `{"title":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) +
			"}", http.StatusBadRequest},
		{"a form", "application/x-www-form-urlencoded", good, http.StatusBadRequest},
		{"with a charset", "application/json; charset=utf-8", good, http.StatusCreated},
		{"too large", "application/json", `{"title":"` + strings.Repeat("x", 1<<20) +
			`"}`, http.StatusRequestEntityTooLarge},
	}
	for _, tt := range tests {
		r, err := s.Client.Do(t.Context(), box.Request{
			Method: http.MethodPost, URL: s.URL("/voucher"), Token: box.AdminToken(), Body: tt.body,
			Header: map[string]string{"Content-Type": tt.contentType},
		})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if r.StatusCode != tt.status {
			t.Errorf("%s: %d %s, want %d", tt.name, r.StatusCode, r.Body, tt.status)
		}
	}
}

// TestHugeBody sends twenty megabytes to every route that reads a body. The server must refuse without reading all of
// it, and stay usable. Closing the connection while the client sends is a refusal as well.
func TestHugeBody(t *testing.T) {
	t.Parallel()
	const size = 20 << 20
	s := box.EmbeddedSite(t)
	voucher := s.CreateSale(t, 10, time.Now().Add(time.Hour))
	for _, path := range []string{"/voucher", "/voucher/seckill"} {
		for name, body := range map[string]io.Reader{
			"with its length": strings.NewReader(`{"title":"` + strings.Repeat("x", size) + `"}`),
			"in chunks":       io.LimitReader(io.MultiReader(strings.NewReader(`{"title":"`), endless{}), size),
		} {
			r, err := s.Client.Do(t.Context(),
				box.Request{Method: http.MethodPost, URL: s.URL(path), Token: box.AdminToken(), Body: body})
			if err == nil && (r.StatusCode != http.StatusRequestEntityTooLarge || r.Code != "TOO_LARGE") {
				t.Errorf("%s %s: %d %.200s, want 413 TOO_LARGE", path, name, r.StatusCode, r.Body)
			}
		}
	}
	b := s.Buyers(voucher)
	b.BuyAll(t.Context(), 10, box.Users(1, 20))
	s.Check(t, b, 10)
}

// endless is a reader that does not end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
