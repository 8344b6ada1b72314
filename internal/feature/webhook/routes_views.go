package webhook

import (
	"seckill/internal/feature/webhook/dispatch"
	"seckill/internal/httpapi/httpkit"
	"seckill/internal/kit/words"
	"seckill/internal/order"
)

// endpointJSON is the JSON form of a webhook endpoint.
type endpointJSON struct {
	ID             int64                `json:"id"`
	ShopID         int64                `json:"shopId"`             // 0: all shops
	ShopName       string               `json:"shopName,omitempty"` // in a list; absent: the shop has none
	URL            string               `json:"url"`
	Description    string               `json:"description"`
	Types          string               `json:"types"` // comma-separated; empty: all
	Disabled       bool                 `json:"disabled"`
	DisabledTime   *httpkit.Time        `json:"disabledTime,omitempty"`
	DisabledWhy    string               `json:"disabledWhy,omitempty"` // in the caller's language
	DisabledCode   dispatch.FailureCode `json:"disabledCode,omitempty"`
	CreateTime     httpkit.Time         `json:"createTime"`
	OldSecretUntil *httpkit.Time        `json:"oldSecretUntil,omitempty"` // until then the old secret signs, too
	Failures       int64                `json:"failures"`                 // since the last success
	FailingSince   *httpkit.Time        `json:"failingSince,omitempty"`
	RetryTime      *httpkit.Time        `json:"retryTime,omitempty"` // when a failing endpoint is tried next
	SuccessTime    *httpkit.Time        `json:"successTime,omitempty"`
	LastError      string               `json:"lastError,omitempty"` // in the caller's language
	LastFailure    *dispatch.Failure    `json:"lastFailure,omitempty"`
	Replaying      bool                 `json:"replaying"`
	// Secret is only present when it is new.
	Secret dispatch.Secret `json:"secret,omitempty"`
}

func endpointView(e dispatch.Endpoint, l words.Language) endpointJSON {
	last := failedView(e.LastFailure, l)
	return endpointJSON{
		ID: e.ID, ShopID: e.ShopID, URL: e.URL, Description: e.Description, Types: dispatch.JoinTypes(e.Types),
		Disabled: e.Disabled, DisabledTime: httpkit.TimeView(e.DisabledAt),
		DisabledWhy: e.DisabledWhy.In(l), DisabledCode: e.DisabledWhy,
		CreateTime: httpkit.ShownTime(e.CreatedAt), OldSecretUntil: httpkit.TimeView(e.OldSecretUntil),
		Failures: e.Health.Failures, FailingSince: httpkit.TimeView(e.Health.FailingSince),
		RetryTime: httpkit.TimeView(e.Health.RetryAt), SuccessTime: httpkit.TimeView(e.SuccessAt),
		LastError: last.Error, LastFailure: last.Failure, Replaying: e.Replaying(),
	}
}

func secretView(e dispatch.Endpoint, l words.Language) endpointJSON {
	v := endpointView(e, l)
	v.Secret = e.Secret
	return v
}

// failed has the reason why an attempt failed, in words of the caller's language, and as a code with data.
type failed struct {
	Error   string            `json:"error,omitempty"`
	Failure *dispatch.Failure `json:"failure,omitempty"`
}

func failedView(f dispatch.Failure, l words.Language) failed {
	if f == (dispatch.Failure{}) {
		return failed{}
	}
	return failed{Error: f.In(l), Failure: &f}
}

// subjectJSON is the JSON form of an event's subject, as in its body.
type subjectJSON struct {
	Kind order.SubjectKind `json:"kind"`
	ID   string            `json:"id"`
}

// deliveryJSON is the JSON form of a dispatch.Delivery.
type deliveryJSON struct {
	EventID  string         `json:"eventId"` // its webhook-id
	Type     dispatch.Type  `json:"type"`
	Subject  subjectJSON    `json:"subject"`
	At       httpkit.Time   `json:"at"`
	State    dispatch.State `json:"state"`
	Attempts int64          `json:"attempts,omitempty"` // failed attempts
	failed                  // the last attempt's
	DueTime  *httpkit.Time  `json:"dueTime,omitempty"`  // when it is sent next
	DeadTime *httpkit.Time  `json:"deadTime,omitempty"` // when it became a dead letter
}

func deliveryView(d dispatch.Delivery, l words.Language) deliveryJSON {
	return deliveryJSON{
		EventID: d.Event.ID(), Type: d.Event.Type,
		Subject: subjectJSON{Kind: d.Event.Subject.Kind(), ID: d.Event.Subject.ID()},
		At:      httpkit.ShownTime(d.Event.At), State: d.State, Attempts: d.Attempts, failed: failedView(d.Failure, l),
		DueTime: httpkit.TimeView(d.DueAt), DeadTime: httpkit.TimeView(d.DeadAt),
	}
}

// testJSON is the result of a test event.
type testJSON struct {
	EventID    string `json:"eventId"` // its webhook-id
	Taken      bool   `json:"taken"`
	TookMillis int64  `json:"tookMs"`
	failed
}

// replayedJSON has the number of events that will be sent again at most: it includes events of types that the endpoint
// does not want, which are not sent.
type replayedJSON struct {
	Events int64 `json:"events"`
}
