package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"seckill/cmd/server/wiring"
	"seckill/internal/authtoken"
	"seckill/internal/config"
	"seckill/internal/voucher"
)

const (
	demoShop  = 1
	demoStock = 100
	// demoSearch is how many vouchers are searched for a voucher to try the service with.
	demoSearch = 100
	demoTTL    = 24 * time.Hour // the life of the printed tokens, and of tokens that pages hand out
	demoLead   = 2 * time.Minute
	readyPoll  = 20 * time.Millisecond
)

// newSignInCode returns the code in the link to the embedded mode's console, with which the person who started the
// service signs in, once; "" outside that mode.
func newSignInCode(cfg config.Config) string {
	if demoTokens(cfg) == 0 {
		return ""
	}
	return rand.Text()
}

// welcome creates the demonstration vouchers if the data is new, and prints addresses, tokens and commands to try, for
// people who started the service without any configuration.
func (p *process) welcome(ctx context.Context) error {
	for p.shop.Reconciler.Ready() != nil { // until then nothing is on sale
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(readyPoll):
		}
	}
	demo, err := demoVoucher(ctx, p.stores, p.shop.Vouchers, p.redeems())
	if err != nil {
		return fmt.Errorf("the demonstration sale: %w", err)
	}
	user := time.Now().Unix() // at each start another user, who has not bought anything yet
	sign := func(user int64, role string) (string, error) {
		rules := wiring.TokenRules(p.cfg, p.stores.Secret)
		life := wiring.Within(demoTTL, rules.Life(role))
		return authtoken.Sign(rules, authtoken.Account{User: user, Role: role}, life, time.Now())
	}
	buyer, err := sign(user, "")
	if err != nil {
		return err
	}
	admin, err := sign(1, authtoken.RoleAdmin)
	if err != nil {
		return err
	}
	url := cmp.Or(strings.TrimSuffix(p.cfg.HTTP.PublicURL, "/"), "http://"+reachable(p.public.addr()))
	// Browsers do not send the part behind the #, so no log contains it.
	console := url + "/admin#sign-in=" + p.signInCode
	open := "Pages are switched off (SECKILL_PAGES)."
	if p.cfg.HTTP.Pages {
		till := ""
		if p.redeems() {
			till = fmt.Sprintf("  a till         %s/till   (its token: %s token -user 7 -role till -shop %d)\n",
				url, os.Args[0], demoShop)
		}
		open = fmt.Sprintf(`Open in a browser:

  the shop       %[1]s
  the console    %[2]s   (signs you in, once; on this machine)
%[3]s  the interface  %[1]s/docs`, url, console, till)
	}
	try := "Nothing is on sale in shop 1 to try it with; create a sale in the console, or with the admin's token."
	if demo != 0 {
		try = fmt.Sprintf(`Buy a coupon (as user %[5]d), read the order, see what is on sale:

  curl -X POST %[1]s/voucher/seckill/%[2]d -H "Authorization: Bearer %[4]s"
  curl %[1]s/order -H "Authorization: Bearer %[4]s"
  curl %[1]s/voucher/list/%[3]d`, url, demo, demoShop, buyer, user)
	}
	_, err = fmt.Fprintf(p.env.Out, `
The coupon service is running in the EMBEDDED mode: everything in this one process,
orders in %s. It is for trying out; a real sale
runs on Redis and MySQL (see the README). Ctrl-C stops it.

%s

%s

An admin's token (the buyer's above and it are valid for a day at most; others: %s token --help):

  %s

`, p.stores.Home.SQLitePath, open, try, os.Args[0], admin)
	return err
}

// redeems reports whether vouchers may be redeemable here.
func (p *process) redeems() bool { return p.features.Members.Has("coupon") }

// demoDrafts returns the vouchers of the first start: one on sale, one whose sale begins while people look around, and
// an ordinary one. The README buys the first; if it is redeemable, the paid order is a coupon for a till.
func demoDrafts(now time.Time, redeemable bool) []demoDraft {
	return []demoDraft{
		{voucher.Draft{
			ShopID: demoShop, Title: "100 for 10", SubTitle: "Demonstration sale",
			Rules: "One to a person. Made at the first start, to try the service with.", PayValue: 10_00,
			ActualValue: 100_00, PerUser: 1, Redemption: voucher.Redemption{ByCode: redeemable},
		}, &voucher.SaleDraft{Stock: demoStock, Begin: now, End: now.AddDate(1, 0, 0)}},
		{voucher.Draft{
			ShopID: demoShop, Title: "50 for 1", SubTitle: "Demonstration of a countdown",
			Rules: "One to a person. The button opens by the service's clock.", PayValue: 1_00,
			ActualValue: 50_00, PerUser: 1,
		}, &voucher.SaleDraft{Stock: demoStock, Begin: now.Add(demoLead), End: now.AddDate(1, 0, 0)}},
		{voucher.Draft{
			ShopID: demoShop, Title: "50 for 45", SubTitle: "Ordinary coupon, always there",
			Rules: "As many as you like, for as long as it is shown.", PayValue: 45_00, ActualValue: 50_00,
		}, nil},
	}
}

// demoDraft is a demonstration voucher; a nil sale makes it an ordinary one.
type demoDraft struct {
	voucher voucher.Draft
	sale    *voucher.SaleDraft
}

// demoVoucher returns the id of a voucher that is on sale in shop 1, or 0. On the first start it creates the missing
// demonstration vouchers: a first start that died half-way has created some already.
func demoVoucher(
	ctx context.Context, s *wiring.Stores, vouchers *voucher.Service, redeemable bool,
) (int64, error) {
	found, err := vouchers.All(ctx, voucher.Search{ShopID: demoShop, Before: math.MaxInt64, Limit: demoSearch})
	if err != nil {
		return 0, err
	}
	shown := found.Vouchers
	if s.Home.Fresh {
		created, err := createDemo(ctx, vouchers, shown, redeemable)
		if err != nil {
			return 0, err
		}
		shown = append(shown, created...)
		if err := s.Home.MarkSettled(); err != nil {
			return 0, err
		}
	}
	for _, v := range shown {
		if v.Live != nil && v.Live.State == voucher.StateOnSale {
			return v.ID, nil
		}
	}
	return 0, nil
}

// createDemo creates the missing demonstration vouchers.
func createDemo(
	ctx context.Context, vouchers *voucher.Service, there []voucher.Shown, redeemable bool,
) (created []voucher.Shown, err error) {
	for _, d := range demoDrafts(time.Now(), redeemable) {
		if slices.ContainsFunc(there, func(v voucher.Shown) bool { return v.Title == d.voucher.Title }) {
			continue
		}
		var v voucher.Shown
		if d.sale == nil {
			v, err = vouchers.CreateOrdinary(ctx, voucher.Author{}, d.voucher)
		} else {
			v, err = vouchers.CreateSeckill(ctx, voucher.Author{}, d.voucher, *d.sale)
		}
		if err != nil {
			return nil, err
		}
		created = append(created, v)
	}
	return created, nil
}

// demoTokens returns the life of the tokens that pages hand out for trying the service; 0 outside the embedded mode,
// where they hand out none.
func demoTokens(cfg config.Config) time.Duration {
	if cfg.Embedded() && cfg.HTTP.Pages {
		return wiring.Within(demoTTL, cfg.JWT.MaxLife)
	}
	return 0
}

// reachable turns a listening address into one to connect to.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return addr
}
