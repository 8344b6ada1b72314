package guard

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"seckill/internal/authtoken"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order/partition"
	"seckill/internal/testkit/apitest"
	"seckill/internal/testkit/featuretest"
)

// Each of three instances has a third of a share, and the answer says so.
func TestProposalKnowsTheInstances(t *testing.T) {
	t.Parallel()
	three := func(context.Context) ([]partition.Instance, error) { return make([]partition.Instance, 3), nil }
	api := featuretest.Serve(t, []httpkit.Route{ProposalRoute(three)}, nil, apitest.State{})
	w := do(t, api, apitest.Request{
		Method: http.MethodGet, Target: "/admin/guards/proposal?units=500&crowd=5000",
		Header: map[string]string{"Authorization": apitest.Token(t, apitest.AdminID, authtoken.RoleAdmin)},
	})
	var got struct{ Data proposalJSON }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	if d := got.Data; d.Instances != 3 || d.Guards.Units.PerAddress != 8 || d.Guards.Tickets.DelayMs != 10_000 ||
		d.NetworksForAll != 12 || d.LeftOfTwo != 410 {
		t.Errorf("%s", w.Body)
	}
}
