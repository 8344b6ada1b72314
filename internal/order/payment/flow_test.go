package payment_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"seckill/internal/order/payment"
)

// Notices may come in any order and any number of times: the flow is the same in the end.
func TestFlowOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	const amount = 1000
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		notices := make([]payment.Notice, 1+random.IntN(5))
		for i := range notices {
			kind := payment.NoticeReturned + payment.NoticeKind(random.IntN(4))
			notices[i] = payment.Notice{Kind: kind, Amount: 1 + random.Int64N(amount)}
		}
		want := flowAfter(t, notices)
		for range 4 {
			other := append([]payment.Notice{}, notices...)
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

func flowAfter(t *testing.T, notices []payment.Notice) (f payment.Flow) {
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
	returned := func(n int64) payment.Notice { return payment.Notice{Kind: payment.NoticeReturned, Amount: n} }
	of := func(k payment.NoticeKind, n int64) payment.Notice { return payment.Notice{Kind: k, Amount: n} }
	for name, tc := range map[string]struct {
		notices []payment.Notice
		want    payment.Flow
		rest    int64
		bars    bool
	}{
		"nothing":       {nil, payment.Flow{}, 1000, false},
		"a part":        {[]payment.Notice{returned(300)}, payment.Flow{Returned: 300}, 700, false},
		"an older part": {[]payment.Notice{returned(500), returned(300)}, payment.Flow{Returned: 500}, 500, false},
		"all":           {[]payment.Notice{returned(300), returned(1000)}, payment.Flow{Returned: 1000}, 0, false},
		"disputed": {
			[]payment.Notice{of(payment.NoticeDisputed, 400)},
			payment.Flow{Dispute: 1, Disputed: 400},
			1000, true,
		},
		"won": {
			[]payment.Notice{of(payment.NoticeDisputed, 400), of(payment.NoticeDisputeWon, 400)},
			payment.Flow{Dispute: 2, Disputed: 400},
			1000, false,
		},
		"won, and told late": {
			[]payment.Notice{of(payment.NoticeDisputeWon, 400), of(payment.NoticeDisputed, 900)},
			payment.Flow{Dispute: 2, Disputed: 400},
			1000, false,
		},
		"lost in part": {
			[]payment.Notice{of(payment.NoticeDisputed, 400), of(payment.NoticeDisputeLost, 300)},
			payment.Flow{Dispute: 3, Disputed: 300},
			700, true,
		},
		"won, then lost": {
			[]payment.Notice{of(payment.NoticeDisputeWon, 400), of(payment.NoticeDisputeLost, 400)},
			payment.Flow{Dispute: 3, Disputed: 400},
			600, true,
		},
		"lost, then won": {
			[]payment.Notice{of(payment.NoticeDisputeLost, 400), of(payment.NoticeDisputeWon, 400)},
			payment.Flow{Dispute: 3, Disputed: 400},
			600, true,
		},
		"a part, lost": {
			[]payment.Notice{returned(300), of(payment.NoticeDisputeLost, 700)},
			payment.Flow{Returned: 300, Dispute: 3, Disputed: 700},
			0, true,
		},
		"gone twice": {
			[]payment.Notice{returned(1000), of(payment.NoticeDisputeLost, 1000)},
			payment.Flow{Returned: 1000, Dispute: 3, Disputed: 1000},
			0, true,
		},
	} {
		got := flowAfter(t, tc.notices)
		p := payment.Payment{Amount: 1000, Flow: got}
		if got != tc.want || p.Rest() != tc.rest || p.AllGone() != (tc.rest == 0) ||
			slices.Contains(payment.BarringDisputes(), got.Dispute) != tc.bars {
			t.Errorf("%s: %+v, rest %d", name, got, p.Rest())
		}
	}
	for _, n := range []int64{-1, 0, 1001} {
		f, err := (payment.Flow{}).After(returned(n), 1000)
		if !errors.Is(err, payment.ErrWrongAmount) || f != (payment.Flow{}) {
			t.Errorf("%d cents: %+v, %v", n, f, err)
		}
	}
	if (payment.Payment{}).AllGone() {
		t.Error("all of nothing has gone back")
	}
}

// What a provider says is one line of text that turns nothing around, in errors, too.
func TestRefusalIsOneLine(t *testing.T) {
	t.Parallel()
	const strange, plain = "a\nb\u2028c\u202ed\x00", "a b c d"
	if got := payment.CheckedRefusal(strange); got != plain {
		t.Errorf("%q", got)
	}
	long := &payment.RefusedError{Reason: strange + strings.Repeat("x", 2*payment.MaxRefusal)}
	if got := long.Error(); !strings.Contains(got, `"`+plain) || len(got) > 100+payment.MaxRefusal {
		t.Errorf("%s", got)
	}
}
