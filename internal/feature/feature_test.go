package feature_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/internal/feature"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/sqlstore/sqlkit"
	"seckill/internal/voucher"
)

// gate is a gatekeeper that the tests never ask.
type gate struct{ httpkit.Gatekeeper }

// TestOpen checks that all features have the members of all, that their parts are combined, and what errors do.
func TestOpen(t *testing.T) {
	t.Parallel()
	var seen feature.Core
	guarding := feature.Feature{Name: "guarding", Open: func(core feature.Core) (feature.Parts, error) {
		seen = core
		if core.Front.Gatekeeper != (httpkit.NoGuards{}) {
			t.Errorf("the first feature sees the gatekeeper %v", core.Front.Gatekeeper)
		}
		return feature.Parts{
			Gatekeeper: gate{}, Hooks: []sqlkit.Hook{{}},
			Metrics: []prometheus.Collector{prometheus.NewGauge(prometheus.GaugeOpts{Name: "x"})},
			Jobs:    []func(context.Context) error{nil},
			Void:    func(userID int64, _ time.Time) bool { return userID == 7 },
		}, nil
	}}
	figures := func(context.Context, voucher.Voucher) (any, error) { return 7, nil }
	showing := feature.Feature{Name: "showing", Open: func(core feature.Core) (feature.Parts, error) {
		if core.Front.Gatekeeper != (gate{}) {
			t.Errorf("the second feature sees the gatekeeper %v", core.Front.Gatekeeper)
		}
		return feature.Parts{
			Routes: []httpkit.Route{{}}, Members: feature.Members{"guards": {Sale: figures}},
		}, nil
	}}
	wrong := failing("misset", feature.ErrSettings)
	all, err := feature.List{guarding, wrong, showing}.Open(feature.Core{})
	if all.Gatekeeper != (gate{}) || len(all.Metrics) != 1 || len(all.Jobs) != 1 || len(all.Routes) != 1 ||
		!seen.Front.Members.Has("guards") || all.Hooks[0].Feature != "guarding" || !all.Void(7, time.Time{}) {
		t.Errorf("%+v", all)
	}
	if !errors.Is(err, feature.ErrSettings) || err.Error() != "misset: the settings are wrong" {
		t.Errorf("the settings: %v", err)
	}
	broken := errors.New("no secret")
	_, err = feature.List{wrong, failing("failing", broken), showing}.Open(feature.Core{})
	if !errors.Is(err, broken) || err.Error() != "failing: no secret" {
		t.Errorf("%v", err)
	}
	none, err := feature.List{}.Open(feature.Core{})
	if err != nil || none.Void(7, time.Time{}) {
		t.Errorf("without features: %+v, %v", none, err)
	}
	for name, shown := range map[string]any{"guards": 7, "coupon": nil} {
		if got, err := all.Members.Of(name).Sale(t.Context(), voucher.Voucher{}); err != nil || got != shown {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func failing(name string, with error) feature.Feature {
	return feature.Feature{Name: name, Open: func(feature.Core) (feature.Parts, error) { return feature.Parts{}, with }}
}
