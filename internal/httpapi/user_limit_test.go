package httpapi

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"seckill/internal/order"
)

// buckets are what userLimit stands for: each user's tokens, counted in the time that they take to come.
type buckets struct {
	token, filled time.Duration
	has           map[int64]time.Duration
	at            map[int64]time.Time
}

func (b *buckets) allow(user int64, now time.Time) bool {
	has := b.filled
	if at, known := b.at[user]; known {
		has = min(b.filled, b.has[user]+now.Sub(at))
	}
	allowed := has >= b.token
	if allowed {
		has -= b.token
	}
	b.has[user], b.at[user] = has, now
	return allowed
}

// Whatever users do, each has his bucket, no fuller and no emptier than it should be.
func TestUserLimitIsABucketForEachUser(t *testing.T) {
	t.Parallel()
	var neighbours []int64 // of one shard, so that they make each other's generations older
	for user := int64(1); len(neighbours) < 8; user++ {
		if shardOf(user) == 0 {
			neighbours = append(neighbours, user)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		rate, burst := rapid.IntRange(1, 50).Draw(t, "rate"), rapid.IntRange(1, 20).Draw(t, "burst")
		l := newUserLimit(rate, burst, noon)
		model := buckets{l.token, l.filled, map[int64]time.Duration{}, map[int64]time.Time{}}
		now := noon
		for range rapid.IntRange(1, 300).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(l.filled)/4).Draw(t, "later")))
			if rapid.IntRange(0, 20).Draw(t, "silence") == 0 {
				now = now.Add(l.filled * 3 / 2)
			}
			user := rapid.SampledFrom(neighbours).Draw(t, "user")
			got, want := l.allow(user, now), model.allow(user, now)
			if got != want {
				t.Fatalf("user %d after %s: %t, want %t", user, now.Sub(noon), got, want)
			}
		}
	})
}

// Where more users come than there is room for, nobody is refused who asks as slowly as he should.
func TestUserLimitWithoutRoom(t *testing.T) {
	t.Parallel()
	l := newUserLimit(10, 2, noon)
	for i := range l.shards {
		l.shards[i].capacity = 2
	}
	for tenth := range 100 {
		for user := range int64(1000) {
			if !l.allow(user, noon.Add(time.Duration(tenth)*100*time.Millisecond)) {
				t.Fatalf("user %d is refused in turn %d", user, tenth)
			}
		}
	}
}

// Users are forgotten when their buckets are full again, and sooner where there is no room for them.
func TestUserLimitForgets(t *testing.T) {
	t.Parallel()
	const room, crowd = 16, 1000
	l := newUserLimit(10, 30, noon) // full after three seconds
	known := func(now time.Time) (n int) {
		for user := range int64(crowd) {
			l.allow(user, now)
		}
		for i := range l.shards {
			n += len(l.shards[i].younger) + len(l.shards[i].older)
		}
		return n
	}
	for i, want := range []int{crowd, 2 * crowd, 2 * crowd} {
		if n := known(noon.Add(time.Duration(i) * 3 * time.Second)); n != want {
			t.Errorf("%d users known in turn %d, want %d", n, i, want)
		}
	}
	for i := range l.shards {
		l.shards[i].capacity = room
	}
	for range 3 {
		if n := known(noon.Add(9 * time.Second)); n > 2*room*userShards || n < crowd {
			t.Errorf("%d users known", n)
		}
	}
	for i := range l.shards {
		if n := len(l.shards[i].younger); n > room {
			t.Errorf("shard %d knows %d users", i, n)
		}
	}
}

// A user who asks too often is told so, before anything else is looked at and before the domain hears of it; the others
// are not concerned, nor are admins. What the Retry-After says is true.
func TestUserRate(t *testing.T) {
	t.Parallel()
	var ahead, bought atomic.Int64
	a := newAPI(t, func(cfg *Config) {
		cfg.UserRate, cfg.UserBurst = 1, 3
		cfg.Now = func() time.Time { return noon.Add(time.Duration(ahead.Load())) }
	}, withDesk(fakeDesk{buy: func(context.Context, int64, int64, time.Duration) (order.Order, error) {
		bought.Add(1)
		return order.Order{ID: orderID, Status: order.Queued}, nil
	}}))
	press := request{method: http.MethodPost, target: "/voucher/seckill/5"}
	for i := range 3 {
		if w := do(t, a, press); w.Code != http.StatusAccepted {
			t.Fatalf("press %d: %d", i, w.Code)
		}
	}
	w := do(t, a, press)
	wantProblem(t, w, http.StatusTooManyRequests, "RATE_LIMITED")
	if got := w.Header().Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q", got)
	}
	for _, req := range []request{
		{method: http.MethodPost, target: "/voucher/seckill/abc"},
		{method: http.MethodPost, target: "/voucher/buy/5"},
		{method: http.MethodGet, target: "/order/5"},
		{method: http.MethodGet, target: "/order"},
		{method: http.MethodGet, target: eventsPath},
		{method: http.MethodPost, target: "/order/5/pay"},
		{method: http.MethodPost, target: "/order/5/cancel"},
		{method: http.MethodPost, target: "/order/5/refund"},
	} {
		wantProblem(t, do(t, a, req), http.StatusTooManyRequests, "RATE_LIMITED")
	}
	w = do(t, a, request{method: http.MethodPost, target: "/voucher-order/seckill/5", header: map[string]string{"Accept-Language": "zh-CN"}})
	if want := `{"success":false,"code":"RATE_LIMITED","errorMsg":"操作过于频繁，请稍后再试"}`; w.Code != http.StatusTooManyRequests || w.Body.String() != want {
		t.Errorf("plain envelope: %d %s", w.Code, w.Body)
	}
	if n := bought.Load(); n != 3 {
		t.Errorf("the desk was asked %d times", n)
	}
	for what, c := range map[string]struct {
		req    request
		status int
	}{
		"another user":          {request{method: http.MethodPost, target: "/voucher/seckill/5", header: map[string]string{"Authorization": token(t, buyerID+1, "")}}, http.StatusAccepted},
		"an admin of that id":   {request{method: http.MethodPost, target: "/voucher/seckill/5", header: map[string]string{"Authorization": token(t, buyerID, RoleAdmin)}}, http.StatusAccepted},
		"what is open to all":   {request{method: http.MethodGet, target: "/voucher/list/1"}, http.StatusOK},
		"what is not for users": {request{method: http.MethodPost, target: "/voucher/5/pause"}, http.StatusForbidden},
		"a bad token":           {request{method: http.MethodGet, target: "/order", header: map[string]string{"Authorization": "x"}}, http.StatusUnauthorized},
	} {
		if w := do(t, a, c.req); w.Code != c.status {
			t.Errorf("%s: %d, want %d", what, w.Code, c.status)
		}
	}
	ahead.Store(int64(time.Second))
	if w := do(t, a, press); w.Code != http.StatusAccepted {
		t.Errorf("after the Retry-After: %d %s", w.Code, w.Body)
	}
	wantProblem(t, do(t, a, press), http.StatusTooManyRequests, "RATE_LIMITED")
}

// Without a rate a user may ask as often as he likes.
func TestNoUserRate(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for range 10 * DefaultUserBurst {
		if w := do(t, a, request{method: http.MethodPost, target: "/voucher/seckill/5"}); w.Code != http.StatusAccepted {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
}

func BenchmarkUserLimit(b *testing.B) {
	for name, users := range map[string]int64{"the same user": 1, "another user each time": 1 << 40} {
		b.Run(name, func(b *testing.B) {
			l := newUserLimit(10, 30, time.Now())
			b.ReportAllocs()
			var i int64
			for b.Loop() {
				i++
				l.allow(1+i%users, time.Now())
			}
		})
	}
}
