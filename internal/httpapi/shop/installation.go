package shop

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/order/partition"
)

// partitionJSON is a partition as admins see it. It lacks Redis's part while Redis is down or has other data.
type partitionJSON struct {
	Number    int              `json:"number"`
	State     partition.State  `json:"state"`
	Since     *httpkit.Time    `json:"since,omitempty"` // absent if its state has never changed
	Sales     int              `json:"sales"`           // sales that are not retired
	Away      bool             `json:"away,omitempty"`
	OtherData bool             `json:"otherData,omitempty"`
	Figures   *partitionFigure `json:"figures,omitempty"`
	Instances int              `json:"instances"`
	Missing   []string         `json:"missing,omitempty"` // live instances that do not work in the partition
}

// partitionFigure is Redis's part of a partition.
type partitionFigure struct {
	At          httpkit.Time `json:"at"`
	Node        string       `json:"node,omitempty"` // host:port, in a cluster
	Waiting     int64        `json:"waiting"`        // entries of accepted orders without a row
	WaitingMS   int64        `json:"waitingMs"`
	DeadLetters int64        `json:"deadLetters"`
	Added       int64        `json:"added"`       // entries since the stream was made
	ProcessorMS int64        `json:"processorMs"` // processor time of the node since it started
}

// listPartitions answers GET /admin/partition.
func (a *API) listPartitions(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	all, err := a.cfg.Partitions(c.Request.Context())
	views := make([]partitionJSON, len(all))
	for i, p := range all {
		views[i] = partitionView(p)
	}
	return httpkit.Data(http.StatusOK, views, err)
}

func partitionView(c partition.Contents) partitionJSON {
	view := partitionJSON{
		Number: c.Number, State: c.State, Since: httpkit.TimeView(c.Since), Sales: c.Sales,
		Instances: c.Instances, Missing: c.Missing,
	}
	view.OtherData = errors.Is(c.Away, partition.ErrFormat)
	view.Away = c.Away != nil && !view.OtherData
	if w := c.Waiting; c.Away == nil && c.State != partition.Removed {
		view.Figures = &partitionFigure{
			At: httpkit.ShownTime(w.At), Node: w.Node, Waiting: w.Orders, WaitingMS: w.Oldest.Milliseconds(),
			DeadLetters: w.DeadLetters, Added: w.Added, ProcessorMS: w.Processor.Milliseconds(),
		}
	}
	return view
}

// Provider is a payment provider as admins read it.
type Provider struct {
	Name    string            `json:"name"`
	Set     bool              `json:"set"`            // it is in the settings; false: refunds wait for it
	Default bool              `json:"default"`        // new payments begin with it
	Waiting int64             `json:"waitingRefunds"` // refunds that it is to be asked for, or about
	Failure *ProviderFailures `json:"failure,omitempty"`
}

// ProviderFailures is the current run of calls from this instance to a provider that got no clear answer.
type ProviderFailures struct {
	Reason string       `json:"reason"` // of the last one
	Detail string       `json:"detail,omitempty"`
	Count  int64        `json:"count"`
	Since  httpkit.Time `json:"sinceTime"` // the time of the first one
	Last   httpkit.Time `json:"lastTime"`
}

// listProviders answers GET /admin/provider.
func (a *API) listProviders(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	all, err := a.cfg.Providers(c.Request.Context())
	if all == nil {
		all = []Provider{} // a list, even if it is empty
	}
	return httpkit.Data(http.StatusOK, all, err)
}
