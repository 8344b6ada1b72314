package httpkit

import (
	"github.com/gin-gonic/gin"

	"seckill/internal/bulkhead"
)

// Access is who may call a route.
type Access int8

// Who may call.
const (
	ForAll Access = iota
	ForBuyers
	ForAdmins
	ForTills
	ForCrowds // of the rehearsal in the path; the handler looks at which
)

// Format is how a route writes its errors.
type Format int8

// The formats of errors.
const (
	ProblemDocument Format = iota // RFC 9457, with the error's own status
	PlainEnvelope                 // the tutorial's: business refusals are 200
)

// Handler does the work of one route. It never writes, except for streams; serve writes what it returns.
type Handler func(c *gin.Context, who Identity) (Answer, error)

// Route is one row of the routing table.
type Route struct {
	Method, Path string
	Class        bulkhead.Class // whose permits it takes, in flight and of the stores; 0: it uses no store
	Access       Access
	Format       Format
	QueryToken   bool // the token may stand in the query: for browsers' EventSource, which sends no headers
	Limited      bool // the limits of the sale in its path hold
	Uncounted    bool // not among the requests in flight: it uses no store, or has a bound of its own
	Off          bool // a part that it needs is not configured
	Handle       Handler
}

// Refuse returns a handler that always fails with err.
func Refuse(err error) Handler {
	return func(*gin.Context, Identity) (Answer, error) { return Answer{}, err }
}
