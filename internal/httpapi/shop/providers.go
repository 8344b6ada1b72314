package shop

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
)

// Provider is a payment provider as staff see it.
type Provider struct {
	Name    string
	Set     bool  // it is in the settings; false: refunds wait for it
	Default bool  // new payments begin with it
	Waiting int64 // refunds that it is to be asked for, or about
	// Reason is why its last calls from this instance had no clear answer; "" if the last one had.
	Reason, Detail string
	Count          int64     // of these calls in a row
	Since, Last    time.Time // of the first and the last of them
}

// providerJSON is a payment provider as admins read it.
type providerJSON struct {
	Name    string        `json:"name"`
	Set     bool          `json:"set"`
	Default bool          `json:"default"`
	Waiting int64         `json:"waitingRefunds"`
	Failure *failuresJSON `json:"failure,omitempty"`
}

// failuresJSON is what the last calls to a provider came to.
type failuresJSON struct {
	Reason string       `json:"reason"`
	Detail string       `json:"detail,omitempty"`
	Count  int64        `json:"count"`
	Since  httpkit.Time `json:"sinceTime"`
	Last   httpkit.Time `json:"lastTime"`
}

// listProviders answers GET /admin/provider.
func (a *API) listProviders(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	all, err := a.cfg.Providers(c.Request.Context())
	views := make([]providerJSON, len(all))
	for i, p := range all {
		views[i] = providerJSON{Name: p.Name, Set: p.Set, Default: p.Default, Waiting: p.Waiting}
		if p.Reason != "" {
			views[i].Failure = &failuresJSON{
				p.Reason, p.Detail, p.Count, httpkit.ShownTime(p.Since), httpkit.ShownTime(p.Last),
			}
		}
	}
	return httpkit.Data(http.StatusOK, views, err)
}
