package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"

	"seckill/internal/voucher"
)

// TestDemoBuyer: each asker becomes somebody else, who is let in as a buyer, for as long as was said, and as no admin.
func TestDemoBuyer(t *testing.T) {
	t.Parallel()
	now := noon
	a := newAPI(t, func(cfg *Config) {
		cfg.DemoBuyers, cfg.Now = time.Hour, func() time.Time { return now }
		cfg.Tokens.Issuer, cfg.Tokens.Audience = "login", "seckill"
	})
	users := map[int64]bool{}
	var token string
	for range 20 {
		w := do(t, a, request{method: http.MethodPost, target: "/demo/buyer", header: map[string]string{"Authorization": ""}})
		var answer struct {
			Success bool
			Data    demoBuyerJSON
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusCreated || !answer.Success {
			t.Fatalf("%d %s: %v", w.Code, w.Body, err)
		}
		got := answer.Data
		if got.UserID < firstDemoUser || got.UserID > voucher.MaxID || users[got.UserID] || !got.Expires.Equal(noon.Add(time.Hour)) {
			t.Errorf("%+v, want somebody new, from %d on, until %s", got, firstDemoUser, noon.Add(time.Hour))
		}
		users[got.UserID] = true
		who, err := a.auth.believe(got.Token)
		if err != nil || who != (identity{userID: got.UserID}) {
			t.Errorf("his token says %+v: %v", who, err)
		}
		token = got.Token
	}
	bearer := map[string]string{"Authorization": token}
	if w := do(t, a, request{method: http.MethodGet, target: "/order", header: bearer}); w.Code != http.StatusOK {
		t.Errorf("as a buyer: %d %s", w.Code, w.Body)
	}
	wantProblem(t, do(t, a, request{method: http.MethodGet, target: "/admin/order", header: bearer}), http.StatusForbidden, "FORBIDDEN")
	now = noon.Add(time.Hour)
	wantProblem(t, do(t, a, request{method: http.MethodGet, target: "/order", header: bearer}), http.StatusUnauthorized, "UNAUTHENTICATED")
}

// TestNoDemoBuyer: a service that was not told to hands out nobody, whatever is asked.
func TestNoDemoBuyer(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, header := range []string{"", "Bearer " + strconv.Itoa(1)} {
		w := do(t, a, request{method: http.MethodPost, target: "/demo/buyer", header: map[string]string{"Authorization": header}})
		wantProblem(t, w, http.StatusNotFound, "NOT_FOUND")
	}
}
