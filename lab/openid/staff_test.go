package openid

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"seckill/test/box"
)

// member is one of the staff who has signed in.
type member struct {
	token, theirs string // the service's token, and the provider's that it was made of
	signedIn      time.Time
}

// createSale has ada sign in and create the sale, in shop 3.
func (r *run) createSale() {
	r.t.Helper()
	created := r.site.Client.Must(r.t, http.StatusCreated, box.Request{
		Method: http.MethodPost, URL: r.site.URL("/voucher/seckill"), Token: r.staff()["ada"].token,
		Body: box.SeckillDraft(3, users, time.Now().Add(-time.Minute), time.Now().Add(time.Hour)),
	})
	r.sale = box.Decode[box.Voucher](r.t, created).ID
}

// staff signs in ada, an admin, olga, the merchant of shop 3, and otto, that of shop 4.
func (r *run) staff() map[string]member {
	r.t.Helper()
	all := map[string]member{}
	for _, name := range []string{"ada", "olga", "otto"} {
		m := member{theirs: r.p.signIn(r.t, name), signedIn: time.Now()}
		got := r.site.Client.Must(r.t, http.StatusCreated, box.Request{
			Method: http.MethodPost, URL: r.site.URL("/session"),
			Body: map[string]string{"token": m.theirs, "for": "console"},
		})
		m.token = box.Decode[struct{ Token string }](r.t, got).Token
		all[name] = m
	}
	return all
}

// work has staff change the sale at each instance: who may does, and the merchant of the other shop knows no such sale.
func (r *run) work(staff map[string]member) {
	r.t.Helper()
	for name, want := range map[string]string{"ada": "200", "olga": "200", "otto": "404 NOT_FOUND"} {
		for instance := range r.site.Servers {
			if got := r.change(instance, staff[name].token); got != want {
				r.t.Errorf("%s changes the sale: %s, want %s", name, got, want)
			}
		}
	}
}

// change changes the sale's subtitle, and returns status and code.
func (r *run) change(instance int, token string) string {
	r.t.Helper()
	got, err := r.site.Client.Do(r.t.Context(), box.Request{
		Method: http.MethodPatch, URL: r.site.Servers[instance].URL(fmt.Sprintf("/voucher/%d", r.sale)), Token: token,
		Body: map[string]string{"subTitle": time.Now().Format(time.RFC3339Nano)},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", got.StatusCode, got.Code))
}

// awaitEnd has staff work until they are refused, which is when their hour is over, and not before. The provider's
// token is then worth nothing either.
func (r *run) awaitEnd(staff map[string]member) {
	r.t.Helper()
	const refused = "401 UNAUTHENTICATED"
	for _, name := range []string{"ada", "olga"} {
		m := staff[name]
		for {
			got, after := r.change(0, m.token), time.Since(m.signedIn)
			if got == refused {
				if after < staffLife-2*time.Second {
					r.t.Errorf("%s is signed out after %v, want %v", name, after, staffLife)
				}
				r.t.Logf("%s worked for %v", name, after)
				break
			}
			if got != "200" || after > staffLife+2*time.Second {
				r.t.Fatalf("%s changes the sale after %v: %s", name, after, got)
			}
			time.Sleep(250 * time.Millisecond)
		}
		again, err := r.site.Client.Do(r.t.Context(), box.Request{
			Method: http.MethodPost, URL: r.site.URL("/session"),
			Body: map[string]string{"token": m.theirs, "for": "console"},
		})
		if err != nil || again.StatusCode != http.StatusUnauthorized {
			r.t.Errorf("%s exchanges the provider's token again: %d %s, %v", name, again.StatusCode, again.Body, err)
		}
	}
}
