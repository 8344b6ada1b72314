package report

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/day"
	"seckill/internal/kit/invalid"
)

// todayJSON is what today has brought.
type todayJSON struct {
	Since    time.Time `json:"since"` // midnight
	Zone     string    `json:"zone"`  // whose midnight: a name of the IANA database
	Received moneyJSON `json:"received"`
	Returned moneyJSON `json:"returned"`
}

type moneyJSON struct {
	Payments int64 `json:"payments"`
	Amount   int64 `json:"amount"` // cents
}

// today answers GET /admin/today: the money of the day, by the service's time zone.
func (h handlers) today(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	_, bad := param.ParseQuery(c.Request)
	if err := invalid.Join(bad); err != nil {
		return httpkit.Answer{}, err
	}
	since := day.Begin(h.core.Now(), h.core.Zone)
	taken, err := h.reports.Taken(c.Request.Context(), who.Only(), since)
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: todayJSON{
		Since: httpkit.ShownTime(since), Zone: h.core.Zone.String(),
		Received: moneyJSON{taken.Received.Payments, taken.Received.Cents},
		Returned: moneyJSON{taken.Returned.Payments, taken.Returned.Cents},
	}}}, nil
}
