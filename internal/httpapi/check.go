package httpapi

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/httpapi/httpkit"
	"seckill/internal/httpapi/param"
	"seckill/internal/invalid"
	"seckill/internal/preflight"
	"seckill/internal/voucher"
	"seckill/internal/words"
)

// checkJSON is the list before a sale as it is shown.
type checkJSON struct {
	At    time.Time       `json:"at"`
	Go    bool            `json:"go"`
	Lines []checkLineJSON `json:"lines"`
}

type checkLineJSON struct {
	Name  string          `json:"name"`
	Level preflight.Level `json:"level"`
	What  string          `json:"what"`
	Do    string          `json:"do,omitempty"`
}

// check answers GET /admin/check: the list before a sale, in the caller's language. A store that hangs or is away is
// a line of it.
func (a *API) check(c *gin.Context, _ httpkit.Identity) (httpkit.Answer, error) {
	values, badQuery := param.ParseQuery(c.Request)
	voucherID, badVoucher := values.ID("voucherId", voucher.MaxID)
	if err := invalid.Join(badQuery, badVoucher, values.Only("voucherId")); err != nil {
		return httpkit.Answer{}, err
	}
	facts, err := a.cfg.Check(c.Request.Context(), voucherID)
	if err != nil {
		return httpkit.Answer{}, err
	}
	now := a.cfg.Now()
	lines := preflight.List(facts, now)
	view := checkJSON{At: httpkit.ShownTime(now), Go: preflight.Go(lines), Lines: checkLines(lines, a.speak(c))}
	return httpkit.Answer{Status: http.StatusOK, Envelope: httpkit.Envelope{Data: view}}, nil
}

func checkLines(lines []preflight.Line, in words.Language) []checkLineJSON {
	shown := make([]checkLineJSON, len(lines))
	for i, l := range lines {
		shown[i] = checkLineJSON{Name: l.Name, Level: l.Level, What: l.What(in), Do: l.Do(in)}
	}
	return shown
}

// speak returns the language in which texts of the answer are written, and says so in its header.
func (a *API) speak(c *gin.Context) words.Language {
	l := a.languages.choose(c.Request.Header)
	h := c.Writer.Header()
	h["Content-Language"] = a.languages.names[l]
	h.Add("Vary", "Accept-Language")
	return l
}
