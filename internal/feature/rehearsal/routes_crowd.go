package rehearsal

import (
	"math"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/jsonbody"
	"seckill/internal/httpapi/param"
	"seckill/internal/kit/invalid"
	"seckill/internal/order"
)

// orders answers GET /rehearsal/:id/order: the orders of one rehearsal, as GET /admin/order lists them.
func (h handlers) orders(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, err := played(c, who)
	if err != nil {
		return httpkit.Answer{}, err
	}
	values, badQuery := param.ParseQuery(c.Request)
	n, badLimit := values.Limit()
	cursor, badCursor := values.Before()
	if err := invalid.Join(badQuery, badLimit, badCursor); err != nil {
		return httpkit.Answer{}, err
	}
	if _, err := h.rehearsals.Find(c.Request.Context(), id); err != nil { // the id may be a real sale's
		return httpkit.Answer{}, err
	}
	page, err := h.front.Orders(c.Request.Context(), order.Filter{VoucherID: id}, cursor, n)
	return httpkit.Answer{Status: http.StatusOK, Envelope: page}, err
}

// report answers POST /rehearsal/:id/report.
func (h handlers) report(c *gin.Context, who httpkit.Identity) (httpkit.Answer, error) {
	id, err := played(c, who)
	if err != nil {
		return httpkit.Answer{}, err
	}
	var (
		f                 Figures
		soldOut, p50, p99 int64 // microseconds
		done              bool
	)
	required, integer := jsonbody.Required, jsonbody.Integer
	err = h.front.Bodies.Read(c,
		required(jsonbody.Bool("done", &done)), required(integer("buyers", &f.Buyers)),
		required(integer("arrived", &f.Arrived)), required(integer("requests", &f.Requests)),
		required(integer("accepted", &f.Accepted)), required(integer("unclear", &f.Unclear)),
		integer("soldOutMicros", &soldOut), integer("p50Micros", &p50), integer("p99Micros", &p99),
		integer("findings", &f.Findings), jsonbody.Bool("early", &f.Early))
	if err != nil {
		return httpkit.Answer{}, err
	}
	if err := wholeFigures(&f, soldOut, p50, p99); err != nil {
		return httpkit.Answer{}, err
	}
	return httpkit.Data(http.StatusOK, struct{}{}, h.rehearsals.Report(c.Request.Context(), id, f, done))
}

// longestMicros is an hour, in microseconds. No rehearsal lasts as long.
const longestMicros = int64(time.Hour / time.Microsecond)

// wholeFigures checks the ranges of a report's numbers and fills in its times.
func wholeFigures(f *Figures, soldOut, p50, p99 int64) error {
	var problems invalid.Problems
	for _, n := range []struct {
		name     string
		is, most int64
	}{
		{"buyers", f.Buyers, math.MaxInt32},
		{"arrived", f.Arrived, math.MaxInt32},
		{"requests", f.Requests, math.MaxInt64},
		{"accepted", f.Accepted, math.MaxInt64},
		{"unclear", f.Unclear, math.MaxInt64},
		{"findings", f.Findings, math.MaxInt64},
		{"soldOutMicros", soldOut, longestMicros},
		{"p50Micros", p50, longestMicros},
		{"p99Micros", p99, longestMicros},
	} {
		problems.Number(n.name, n.is, 0, n.most)
	}
	f.SoldOut, f.P50, f.P99 = time.Duration(soldOut)*time.Microsecond, time.Duration(p50)*time.Microsecond,
		time.Duration(p99)*time.Microsecond
	return problems.Err()
}

// played returns the id of the rehearsal in the path if the caller is its crowd or an admin.
func played(c *gin.Context, who httpkit.Identity) (int64, error) {
	id, err := httpkit.PathVoucher(c)
	if err == nil && !who.Admin() && who.Crowd != id {
		err = httpkit.ErrForbidden
	}
	return id, err
}
