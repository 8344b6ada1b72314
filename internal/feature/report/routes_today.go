package report

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
)

// todayJSON is what today has brought.
type todayJSON struct {
	Since    httpkit.Time `json:"since"` // midnight
	Zone     string       `json:"zone"`  // whose midnight: a name of the IANA database
	Currency string       `json:"currency"`
	Received moneyJSON    `json:"received"`
	Returned moneyJSON    `json:"returned"`
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
	taken, err := h.reports.Taken(c.Request.Context(), who.Only())
	if err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: todayJSON{
		Since: httpkit.ShownTime(taken.Since), Zone: h.core.Zone.String(), Currency: h.core.Currency,
		Received: moneyJSON{taken.Received.Payments, taken.Received.Cents},
		Returned: moneyJSON{taken.Returned.Payments, taken.Returned.Cents},
	}}}, nil
}
