package shop_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/voucher"
)

// listed is a list as it is read back.
type listed struct {
	Success bool `json:"success"`
	Data    []struct {
		ID int64 `json:"id"`
	} `json:"data"`
	Total      int       `json:"total"`
	Next       string    `json:"next"`
	Stale      bool      `json:"stale"`
	ServerTime time.Time `json:"serverTime"`
}

func readList(tb testing.TB, body io.Reader) listed {
	tb.Helper()
	var l listed
	if err := json.NewDecoder(body).Decode(&l); err != nil || !l.Success {
		tb.Fatalf("%+v: %v", l, err)
	}
	return l
}

func TestPagesOfAList(t *testing.T) {
	t.Parallel()
	whole, part := vouchersDown(30), vouchersDown(30)
	part.More = true
	for query, want := range map[string]struct {
		ids        string // first-last
		next, more string // more: when older vouchers follow the part
	}{
		"":                     {"30-1", "", ""},
		"?limit=10":            {"30-21", "21", "21"},
		"?limit=10&before=21":  {"20-11", "11", "11"},
		"?limit=10&before=11":  {"10-1", "", "1"},
		"?limit=100&before=15": {"14-1", "", "1"},
		"?before=15":           {"14-1", "", "1"},
		"?limit=1&before=2":    {"1-1", "", "1"},
		"?limit=5&before=1":    {"", "", ""},
		"?limit=100":           {"30-1", "", "1"},
	} {
		for more, s := range map[bool]snapshotOf{false: whole, true: part} {
			a := newAPI(t, withListings(s))
			w := do(t, a, request{Method: http.MethodGet, Target: "/voucher/list/2" + query})
			got := readList(t, w.Body)
			ids := ""
			if n := len(got.Data); n > 0 {
				ids = fmt.Sprintf("%d-%d", got.Data[0].ID, got.Data[n-1].ID)
			}
			next := want.next
			if more {
				next = want.more
			}
			if ids != want.ids || got.Next != next || got.Total != 30 ||
				!got.ServerTime.Equal(httpkit.ShownTime(redisNoon).Time) {
				t.Errorf("%q, more %t: %s, %+v", query, more, ids, got)
			}
		}
	}
	for _, query := range []string{
		"?limit=0", "?limit=101", "?limit=x", "?before=0", "?before=-1", "?limit=1&limit=2", "?a=%zz",
	} {
		a := newAPI(t, withListings(whole))
		wantProblem(t, do(t, a, request{Method: http.MethodGet, Target: "/voucher/list/2" + query}),
			http.StatusBadRequest, "INVALID")
	}
}

// More pages than are kept are the same, put together for each answer.
func TestEveryPageIsTheSame(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withListings(vouchersDown(40)))
	for range 2 {
		for limit := 1; limit <= 20; limit++ {
			for before := int64(1); before <= 41; before += 5 {
				got := readList(t, do(t, a, request{
					Method: http.MethodGet, Target: fmt.Sprintf("/voucher/list/2?limit=%d&before=%d", limit, before),
				}).Body)
				if n := min(int64(limit), before-1); int64(len(got.Data)) != n || n > 0 && got.Data[0].ID != before-1 {
					t.Fatalf("limit %d before %d: %+v", limit, before, got)
				}
			}
		}
	}
}

// A caller who has the answer gets 304 with the time, whatever the time was then; others the answer with its tag.
func TestEntityTags(t *testing.T) {
	t.Parallel()
	s := vouchersDown(3)
	get := func(s snapshotOf, target, tag string) *httptest.ResponseRecorder {
		return do(t, newAPI(t, withListings(s)),
			request{Method: http.MethodGet, Target: target, Header: map[string]string{"If-None-Match": tag}})
	}
	for _, target := range []string{"/voucher/list/2", "/voucher/list/2?limit=2", "/voucher/3"} {
		first := get(s, target, "")
		tag := first.Header().Get("Etag")
		if first.Code != http.StatusOK || !strings.HasPrefix(tag, `W/"`) ||
			first.Header().Get("Cache-Control") != "no-cache" {
			t.Fatalf("%s: %d, %v", target, first.Code, first.Header())
		}
		later := s
		later.Now = s.Now.Add(time.Second)
		for _, given := range []string{tag, "*", `"x", ` + tag, strings.TrimPrefix(tag, "W/")} {
			w := get(later, target, given)
			if w.Code != http.StatusNotModified || w.Body.Len() > 0 ||
				w.Header().Get("X-Server-Time") != fmt.Sprint(later.Now.UnixMilli()) || w.Header().Get("Etag") != tag {
				t.Errorf("%s with %s: %d %q %v", target, given, w.Code, w.Body, w.Header())
			}
		}
		changed := vouchersDown(3)
		changed.Vouchers[0].Live = &voucher.Live{State: voucher.StateSoldOut}
		stale := s
		stale.Stale = true
		for name, other := range map[string]snapshotOf{"changed": changed, "stale": stale} {
			if w := get(other, target, tag); w.Code != http.StatusOK || w.Header().Get("Etag") == tag {
				t.Errorf("%s, %s: %d %v", target, name, w.Code, w.Header())
			}
		}
	}
}

func TestStaleAnswers(t *testing.T) {
	t.Parallel()
	a := newAPI(t, withListings(staleVouchers()))
	for _, target := range []string{"/voucher/list/2", "/voucher/2"} {
		w := do(t, a, request{Method: http.MethodGet, Target: target})
		var body struct {
			Stale   bool   `json:"stale"`
			Numbers *int64 `json:"numbersAgeSeconds"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || !body.Stale || w.Header().Get("Age") != "3" ||
			body.Numbers == nil || *body.Numbers != 2 {
			t.Errorf("%s: %s, Age %q, %v", target, w.Body, w.Header().Get("Age"), err)
		}
	}
}

// A compressed answer is the same, and only who asks for it gets it.
func TestCompression(t *testing.T) {
	t.Parallel()
	for n, compressed := range map[int]bool{1: false, 50: true, 400: true} {
		a := newAPI(t, withListings(vouchersDown(n)))
		plain := do(t, a, request{Method: http.MethodGet, Target: "/voucher/list/2"})
		for accepted, takes := range map[string]bool{
			"": false, "gzip": true, "br, GZIP;q=0.5": true, "gzip;q=0": false, "gzip; q=0.000": false,
			"deflate": false, "*": false, "xgzip": false,
		} {
			w := do(t, a, request{
				Method: http.MethodGet, Target: "/voucher/list/2",
				Header: map[string]string{"Accept-Encoding": accepted},
			})
			if got := w.Header().Get("Content-Encoding") == "gzip"; got != (takes && compressed) ||
				w.Header().Get("Vary") != "Accept-Encoding" {
				t.Errorf("%d vouchers, %q: %v", n, accepted, w.Header())
				continue
			}
			if w.Header().Get("Content-Length") != fmt.Sprint(w.Body.Len()) {
				t.Errorf("%d vouchers, %q: %s bytes are said, %d sent",
					n, accepted, w.Header().Get("Content-Length"), w.Body.Len())
			}
			body := io.Reader(w.Body)
			if takes && compressed {
				z, err := gzip.NewReader(w.Body)
				if err != nil {
					t.Fatal(err)
				}
				body = z
			}
			text, err := io.ReadAll(body)
			if diff := cmp.Diff(plain.Body.String(), string(text)); diff != "" || err != nil {
				t.Errorf("%d vouchers, %q: %v %s", n, accepted, err, diff)
			}
		}
	}
}

// Through a real listener: sizes above and below what is joined into one write, HEAD, and many at once.
func TestAnswersThroughAListener(t *testing.T) {
	t.Parallel()
	for _, n := range []int{5, 450} {
		a := newAPI(t, withListings(vouchersDown(n)))
		srv := httptest.NewServer(a.Handler())
		t.Cleanup(srv.Close)
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for _, method := range []string{http.MethodGet, http.MethodHead} {
					req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+"/voucher/list/2", http.NoBody)
					if err != nil {
						t.Error(err)
						return
					}
					resp, err := srv.Client().Do(req)
					if err != nil {
						t.Error(err)
						return
					}
					if method == http.MethodGet {
						if got := readList(t, resp.Body); len(got.Data) != n {
							t.Errorf("%d vouchers, want %d", len(got.Data), n)
						}
					} else if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil ||
						resp.ContentLength < int64(100*n) {
						t.Errorf("HEAD: %d bytes, %v, length %d", len(rest), err, resp.ContentLength)
					}
					_ = resp.Body.Close()
				}
			})
		}
		callers.Wait()
		srv.Client().CloseIdleConnections()
	}
}

// An answer from memory costs few allocations, however long it is.
func TestListAllocatesLittle(t *testing.T) { // not parallel: allocations are counted for the whole process
	cost := func(n int) float64 {
		a := newAPI(t, withListings(vouchersDown(n)))
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/voucher/list/2", http.NoBody)
		return testing.AllocsPerRun(100, func() { a.Handler().ServeHTTP(httptest.NewRecorder(), req) })
	}
	if short, long := cost(1), cost(400); math.Abs(long-short) > 6+raceAllocs {
		t.Errorf("%v allocations for one voucher, %v for 400", short, long)
	}
}
