package upgrade

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"seckill/internal/checker"
	"seckill/test/box"
)

// fixture is what a version left behind when its only instance was killed.
type fixture struct {
	Voucher int64    `json:"voucher"`
	Units   int64    `json:"units"`
	Answers []answer `json:"answers"` // to buyers, in order
	redis   snapshot // in a file of its own
	sql     string   // the same
}

// answer is the answer to a buyer.
type answer struct {
	User   int64 `json:"user"`
	Order  int64 `json:"order"`
	Cancel bool  `json:"cancel,omitempty"` // they cancelled it
}

// fixtures are the states in which a version is killed, by name.
func fixtures() map[string]func(*testing.T, release) fixture {
	return map[string]func(*testing.T, release) fixture{"running": captureRunning, "rebuilding": captureRebuilding}
}

// fixture returns what is left of a sale.
func (s *sale) fixture() fixture {
	f := fixture{Voucher: s.voucher, Units: s.units, redis: s.dump(), sql: s.dumpSQL()}
	for _, a := range s.answers {
		switch {
		case a.Outcome != checker.Accepted:
			s.Fatalf("an answer is %s, want every buyer accepted", a)
		default:
			f.Answers = append(f.Answers, answer{User: a.User, Order: a.Order, Cancel: a.Action == checker.Cancel})
		}
	}
	return f
}

// buyers lets n new users buy.
func (s *sale) buyers(n int) {
	s.Helper()
	for range n {
		s.buyUntilAnswered(s.Context(), s.users.Add(1))
	}
}

// captureRunning kills an instance in the middle of a sale: orders are recorded, one is cancelled, one has become a dead
// letter, some are with the recorder, and some wait undelivered in the stream.
func captureRunning(t *testing.T, r release) fixture {
	s := ownStores(t)
	settings := s.settings()
	settings["SECKILL_RECORD_BATCH"] = "2" // so that it does not read everything at once
	i := launch(t, r, "before", settings)
	sale := s.open(i, 40)
	sale.use(i)
	sale.buyers(10)
	box.Eventually(s, "the first rows", s.drained)
	sale.cancel(t.Context(), 1, sale.winners()[1])

	resume := s.stopRecording()
	sale.buyers(10)
	s.removeField(20)
	s.must(s.rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: s.rdb.StreamKey(), Values: []string{"note", "hello"}}).Err())
	resume()
	box.Eventually(s, "the dead letters", func() error {
		return errors.Join(s.drained(), equal("dead letters", s.length(s.rdb.DeadKey()), 2))
	})
	resume = s.stopRecording()
	sale.buyers(12)
	i.kill()
	resume()
	s.must(equal("epochs", s.epoch(sale.voucher), 1)) // too early for the audit to find the dead letter
	groups, err := s.rdb.XInfoGroups(t.Context(), s.rdb.StreamKey()).Result()
	s.must(err)
	if len(groups) != 1 || groups[0].Pending == 0 || groups[0].Pending >= 12 {
		t.Fatalf("groups are %+v; want one, with some of the 12 entries pending", groups)
	}
	return sale.fixture()
}

func equal(what string, got, want int64) error {
	if got != want {
		return fmt.Errorf("%d %s, want %d", got, what, want)
	}
	return nil
}

// removeField removes the field e from a user's entry, which must not be delivered yet.
func (s *stores) removeField(user int64) {
	s.Helper()
	entries, err := s.rdb.XRange(s.Context(), s.rdb.StreamKey(), "-", "+").Result()
	s.must(err)
	for _, e := range entries {
		if e.Values["u"] == fmt.Sprint(user) {
			s.must(s.rdb.XDel(s.Context(), s.rdb.StreamKey(), e.ID).Err())
			values := []any{"v", e.Values["v"], "u", e.Values["u"], "o", e.Values["o"], "s", e.Values["s"]}
			s.must(s.rdb.XAdd(s.Context(), &redis.XAddArgs{Stream: s.rdb.StreamKey(), Values: values}).Err())
			return
		}
	}
	s.Fatalf("user %d has no entry in the stream", user)
}

// captureRebuilding empties Redis while orders of a sale wait in it, and kills the instance when it has handed in its
// recovery report and before the rebuild goes on, which waits a second for others. Then only the report has these orders.
func captureRebuilding(t *testing.T, r release) fixture {
	s := ownStores(t)
	i := s.start(r, "before")
	sale := s.open(i, 40)
	sale.use(i)
	sale.buyers(6)
	box.Eventually(s, "the first rows", s.drained)
	resume := s.stopRecording()
	sale.buyers(6)
	s.must(s.rdb.FlushAll(t.Context()).Err())
	box.Eventually(s, "a recovery report", func() error {
		n, err := s.rdb.HLen(t.Context(), s.key("heard", sale.voucher)).Result()
		if err == nil && n == 0 {
			err = errNotYet
		}
		return err
	})
	i.kill()
	resume()
	mode, err := s.rdb.HGet(t.Context(), s.rdb.SaleKey(sale.voucher), "mode").Result()
	s.must(err)
	if n := s.length(s.rdb.StreamKey()); mode != "rebuild" || n != 0 {
		t.Fatalf("the sale is %s, with %d entries; want it to be rebuilt, with none", mode, n)
	}
	return sale.fixture()
}
