package feature_test

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/feature"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/voucher"
)

// gate is a gatekeeper that the tests never ask.
type gate struct{ httpkit.Gatekeeper }

// TestOpen checks that a feature sees the members of those before it, that all parts are combined, and that an error
// names its feature.
func TestOpen(t *testing.T) {
	t.Parallel()
	guarding := feature.Feature{Name: "guarding", Open: func(core feature.Core) (feature.Parts, error) {
		if core.Members.Guards != nil || core.Members.Coupons == nil {
			t.Errorf("the feature sees the members %+v", core.Members)
		}
		figures := func(context.Context, voucher.Voucher) (any, error) { return 7, nil }
		return feature.Parts{
			Gatekeeper: gate{}, Members: feature.Members{Guards: figures},
			Metrics: []prometheus.Collector{prometheus.NewGauge(prometheus.GaugeOpts{Name: "x"})},
			Jobs:    []func(context.Context) error{nil},
		}, nil
	}}
	showing := feature.Feature{Name: "showing", Open: func(core feature.Core) (feature.Parts, error) {
		if core.Members.Guards == nil || core.Members.Coupons == nil {
			t.Errorf("the feature sees the members %+v", core.Members)
		}
		return feature.Parts{Routes: []httpkit.Route{{}}}, nil
	}}
	core := feature.Core{Members: feature.Members{
		Coupons: func(context.Context, []int64, bool) (map[int64]feature.Coupon, error) { return nil, nil },
	}}
	all, err := feature.List{guarding, {Name: "of rules only"}, showing}.Open(core)
	if err != nil || all.Gatekeeper != (gate{}) || len(all.Metrics) != 1 || len(all.Jobs) != 1 ||
		len(all.Routes) != 1 || all.Members.Guards == nil {
		t.Errorf("%+v, %v", all, err)
	}
	broken := errors.New("no secret")
	failing := feature.Feature{Name: "failing", Open: func(feature.Core) (feature.Parts, error) {
		return feature.Parts{}, broken
	}}
	if _, err := (feature.List{failing, showing}).Open(core); !errors.Is(err, broken) ||
		err.Error() != "failing: no secret" {
		t.Errorf("%v", err)
	}
}
