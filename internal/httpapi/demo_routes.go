package httpapi

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"seckill/internal/voucher"
)

// firstDemoUser is the least id of a demo buyer: beyond those that people choose when they try things out.
const firstDemoUser int64 = 1 << 52

// demoBuyerJSON is a buyer made on the spot.
type demoBuyerJSON struct {
	UserID  int64     `json:"userId"`
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
}

// demoBuyer answers POST /demo/buyer: somebody new, who has bought nothing, and a token that says so. Nothing is kept of
// him. Pages of other origins cannot read the answer unless they may call the service anyway, and an admin it never makes.
func (a *API) demoBuyer(*gin.Context, identity) (answer, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(voucher.MaxID-firstDemoUser))
	if err != nil {
		return answer{}, fmt.Errorf("a demo buyer's id: %w", err)
	}
	rules, now, user := a.cfg.Tokens, a.cfg.Now(), firstDemoUser+n.Int64()
	token, err := SignToken(rules.Secret, user, "", a.cfg.DemoBuyers, rules.Issuer, rules.Audience, now)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, envelope: envelope{
		Data: demoBuyerJSON{UserID: user, Token: token, Expires: shownTime(now.Add(a.cfg.DemoBuyers))},
	}}, nil
}
