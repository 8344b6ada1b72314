package httpapi

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"seckill/internal/testkit/apitest"
)

// buckets are a model of rateLimit: each user's tokens, counted in the time that adding them takes.
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

// Whatever users do, each has a bucket, no fuller and no emptier than it should be.
func TestUserLimitIsABucketForEachUser(t *testing.T) {
	t.Parallel()
	var neighbours []int64 // of one shard, so that they age each other's generations
	for user := int64(1); len(neighbours) < 8; user++ {
		if shardOfUser(user) == 0 {
			neighbours = append(neighbours, user)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		rate, burst := rapid.IntRange(1, 50).Draw(t, "rate"), rapid.IntRange(1, 20).Draw(t, "burst")
		l := newUserLimit(rate, burst, apitest.Noon())
		model := buckets{l.token, l.filled, map[int64]time.Duration{}, map[int64]time.Time{}}
		now := apitest.Noon()
		for range rapid.IntRange(1, 300).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(l.filled)/4).Draw(t, "later")))
			if rapid.IntRange(0, 20).Draw(t, "silence") == 0 {
				now = now.Add(l.filled * 3 / 2)
			}
			user := rapid.SampledFrom(neighbours).Draw(t, "user")
			got, want := l.allow(user, now), model.allow(user, now)
			if got != want {
				t.Fatalf("user %d after %s: %t, want %t", user, now.Sub(apitest.Noon()), got, want)
			}
		}
	})
}

// With more users than the capacity, no user is refused who keeps to the rate.
func TestUserLimitAtCapacity(t *testing.T) {
	t.Parallel()
	l := newUserLimit(10, 2, apitest.Noon())
	for i := range l.shards {
		l.shards[i].capacity = 2
	}
	for tenth := range 100 {
		for user := range int64(1000) {
			if !l.allow(user, apitest.Noon().Add(time.Duration(tenth)*100*time.Millisecond)) {
				t.Fatalf("user %d is refused in turn %d", user, tenth)
			}
		}
	}
}

// Users are forgotten when their buckets are full again, and sooner beyond the capacity.
func TestUserLimitForgets(t *testing.T) {
	t.Parallel()
	const capacity, users = 16, 1000
	l := newUserLimit(10, 30, apitest.Noon()) // full after three seconds
	known := func(now time.Time) (n int) {
		for user := range int64(users) {
			l.allow(user, now)
		}
		for i := range l.shards {
			n += len(l.shards[i].younger) + len(l.shards[i].older)
		}
		return n
	}
	for i, want := range []int{users, 2 * users, 2 * users} {
		if n := known(apitest.Noon().Add(time.Duration(i) * 3 * time.Second)); n != want {
			t.Errorf("%d users known in turn %d, want %d", n, i, want)
		}
	}
	for i := range l.shards {
		l.shards[i].capacity = capacity
	}
	for range 3 {
		if n := known(apitest.Noon().Add(9 * time.Second)); n > 2*capacity*limitShards || n < users {
			t.Errorf("%d users known", n)
		}
	}
	for i := range l.shards {
		if n := len(l.shards[i].younger); n > capacity {
			t.Errorf("shard %d knows %d users", i, n)
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
