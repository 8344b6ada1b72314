package order_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"seckill/internal/order"
)

// Notices may come in any order and any number of times: the flow is the same in the end.
func TestFlowOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	const amount = 1000
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		notices := make([]order.Notice, 1+random.IntN(5))
		for i := range notices {
			kind := order.NoticeReturned + order.NoticeKind(random.IntN(4))
			notices[i] = order.Notice{Kind: kind, Amount: 1 + random.Int64N(amount)}
		}
		want := flowAfter(t, notices)
		for range 4 {
			other := append([]order.Notice{}, notices...)
			for range 2 {
				other = append(other, notices[random.IntN(len(notices))])
			}
			random.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
			if got := flowAfter(t, other); got != want {
				t.Fatalf("%+v gives %+v; %+v gives %+v", notices, want, other, got)
			}
		}
	}
}

func flowAfter(t *testing.T, notices []order.Notice) (f order.Flow) {
	t.Helper()
	for _, n := range notices {
		var err error
		if f, err = f.After(n, 1000); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestFlow(t *testing.T) {
	t.Parallel()
	returned := func(n int64) order.Notice { return order.Notice{Kind: order.NoticeReturned, Amount: n} }
	of := func(k order.NoticeKind, n int64) order.Notice { return order.Notice{Kind: k, Amount: n} }
	for name, tc := range map[string]struct {
		notices []order.Notice
		want    order.Flow
		rest    int64
		bars    bool
	}{
		"nothing":       {nil, order.Flow{}, 1000, false},
		"a part":        {[]order.Notice{returned(300)}, order.Flow{Returned: 300}, 700, false},
		"an older part": {[]order.Notice{returned(500), returned(300)}, order.Flow{Returned: 500}, 500, false},
		"all":           {[]order.Notice{returned(300), returned(1000)}, order.Flow{Returned: 1000}, 0, false},
		"disputed": {
			[]order.Notice{of(order.NoticeDisputed, 400)},
			order.Flow{Dispute: 1, Disputed: 400},
			1000, true,
		},
		"won": {
			[]order.Notice{of(order.NoticeDisputed, 400), of(order.NoticeDisputeWon, 400)},
			order.Flow{Dispute: 2, Disputed: 400},
			1000, false,
		},
		"won, and told late": {
			[]order.Notice{of(order.NoticeDisputeWon, 400), of(order.NoticeDisputed, 900)},
			order.Flow{Dispute: 2, Disputed: 400},
			1000, false,
		},
		"lost in part": {
			[]order.Notice{of(order.NoticeDisputed, 400), of(order.NoticeDisputeLost, 300)},
			order.Flow{Dispute: 3, Disputed: 300},
			700, true,
		},
		"won, then lost": {
			[]order.Notice{of(order.NoticeDisputeWon, 400), of(order.NoticeDisputeLost, 400)},
			order.Flow{Dispute: 3, Disputed: 400},
			600, true,
		},
		"lost, then won": {
			[]order.Notice{of(order.NoticeDisputeLost, 400), of(order.NoticeDisputeWon, 400)},
			order.Flow{Dispute: 3, Disputed: 400},
			600, true,
		},
		"a part, lost": {
			[]order.Notice{returned(300), of(order.NoticeDisputeLost, 700)},
			order.Flow{Returned: 300, Dispute: 3, Disputed: 700},
			0, true,
		},
		"gone twice": {
			[]order.Notice{returned(1000), of(order.NoticeDisputeLost, 1000)},
			order.Flow{Returned: 1000, Dispute: 3, Disputed: 1000},
			0, true,
		},
	} {
		got := flowAfter(t, tc.notices)
		p := order.Payment{Amount: 1000, Flow: got}
		if got != tc.want || p.Rest() != tc.rest || p.AllGone() != (tc.rest == 0) || got.Dispute.Bars() != tc.bars {
			t.Errorf("%s: %+v, rest %d", name, got, p.Rest())
		}
	}
	for _, n := range []int64{-1, 0, 1001} {
		f, err := (order.Flow{}).After(returned(n), 1000)
		if !errors.Is(err, order.ErrWrongAmount) || f != (order.Flow{}) {
			t.Errorf("%d cents: %+v, %v", n, f, err)
		}
	}
	if (order.Payment{}).AllGone() {
		t.Error("all of nothing has gone back")
	}
}

// What a provider says is one line of text that turns nothing around, in errors, too.
func TestRefusalIsOneLine(t *testing.T) {
	t.Parallel()
	const strange, plain = "a\nb\u2028c\u202ed\x00", "a b c d"
	if got := order.CheckedRefusal(strange); got != plain {
		t.Errorf("%q", got)
	}
	long := &order.RefusedError{Reason: strange + strings.Repeat("x", 2*order.MaxRefusal)}
	if got := long.Error(); !strings.Contains(got, `"`+plain) || len(got) > 100+order.MaxRefusal {
		t.Errorf("%s", got)
	}
}
