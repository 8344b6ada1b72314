package guard

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order/partition"
	"seckill/internal/voucher"
	"seckill/internal/voucher/guards"
)

// maxCrowd is the largest crowd for which guards can be proposed.
const maxCrowd = 1_000_000_000

// ProposalRoute returns the route that proposes settings of guards. instances returns how many instances run, or
// order.ErrUnavailable.
func ProposalRoute(instances func(ctx context.Context) ([]partition.Instance, error)) httpkit.Route {
	propose := func(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
		values, badQuery := param.ParseQuery(c.Request)
		units, badUnits := values.Number("units", 0, maxCrowd)
		crowd, badCrowd := values.Number("crowd", 0, maxCrowd)
		perUser, badPerUser := values.Number("perUser", 1, voucher.MaxPerUser)
		if err := invalid.Join(badQuery, badUnits, badCrowd, badPerUser); err != nil {
			return httpkit.Answer{}, err
		}
		running, err := instances(c.Request.Context())
		p := guards.Proposal{Units: units, Crowd: crowd, PerUser: perUser, Instances: int64(max(len(running), 1))}
		return httpkit.Data(http.StatusOK, proposalJSON{
			Units: p.Units, Crowd: p.Crowd, Instances: p.Instances, AddressPeople: p.AddressPeople(),
			NetworkPeople: p.NetworkPeople(), NetworksForAll: p.NetworksForAll(), LeftOfTwo: p.LeftOfTwo(),
			Guards: p.Guards(),
		}, err)
	}
	return httpkit.Staff("GET /admin/guards/proposal", propose, httpkit.ByHandler,
		httpkit.Query("units", "crowd", "perUser"))
}

// proposalJSON is the proposed settings, and the crowd that they are meant for.
type proposalJSON struct {
	Units          int64            `json:"units"`
	Crowd          int64            `json:"crowd"`
	Instances      int64            `json:"instances"`
	AddressPeople  int64            `json:"addressPeople"`
	NetworkPeople  int64            `json:"networkPeople"`
	NetworksForAll int64            `json:"networksForAll"`
	LeftOfTwo      int64            `json:"leftOfTwoNetworks"`
	Guards         *guards.Settings `json:"guards"`
}
