package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	"seckill/internal/authtoken"
	"seckill/internal/config"
	"seckill/internal/voucher"
)

const (
	demoShop  = 1
	demoStock = 100
	// demoSearch is how many vouchers are looked at for one to try with.
	demoSearch = 100
	demoTTL    = 24 * time.Hour // of the tokens that are printed, and of demo buyers
	readyPoll  = 20 * time.Millisecond
)

// welcome makes the demonstration sale when the data is new, and tells people who started the service with nothing
// configured what they have and what to try.
func welcome(ctx context.Context, out io.Writer, s *stores, shop *shop, cfg config.Config, addr string) error {
	for shop.reconciler.Ready() != nil { // until then nothing is on sale
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(readyPoll):
		}
	}
	demo, err := demoVoucher(ctx, s, shop.vouchers)
	if err != nil {
		return fmt.Errorf("the demonstration sale: %w", err)
	}
	user := time.Now().Unix() // at each start a user who has bought nothing yet
	sign := func(user int64, role string) (string, error) {
		rules := tokenRules(cfg, s.secret)
		return authtoken.Sign(rules, user, role, within(demoTTL, rules.Life(role == authtoken.RoleAdmin)), time.Now())
	}
	buyer, err := sign(user, "")
	if err != nil {
		return err
	}
	admin, err := sign(1, authtoken.RoleAdmin)
	if err != nil {
		return err
	}
	url := "http://" + reachable(addr)
	try := "Nothing is on sale in shop 1 to try it with; create a sale with the admin's token."
	if demo != 0 {
		try = fmt.Sprintf(`Buy a coupon (as user %[5]d):

  curl -X POST %[1]s/voucher/seckill/%[2]d -H "Authorization: Bearer %[4]s"

Read the order, and see what is on sale:

  curl %[1]s/order -H "Authorization: Bearer %[4]s"
  curl %[1]s/voucher/list/%[3]d`, url, demo, demoShop, buyer, user)
	}
	look := ""
	if cfg.HTTP.Pages {
		look = "\nOpen " + url + " in a browser to buy as people do.\n"
	}
	_, err = fmt.Fprintf(out, `
The coupon service is running in the EMBEDDED mode: everything in this one process,
orders in %s. It is for trying out; a real sale
runs on Redis and MySQL (see the README). Ctrl-C stops it.
%s
%s

An admin's token (the buyer's above and it are valid for a day at most; others: server token --help):

  %s

`, s.home.SQLitePath, look, try, admin)
	return err
}

// demoVoucher returns the id of a voucher that is on sale in shop 1, or 0. On the first start that is the demonstration
// sale, created then; a first start that died half-way has created it already, or the next one does.
func demoVoucher(ctx context.Context, s *stores, vouchers *voucher.Service) (int64, error) {
	shown, _, err := vouchers.All(ctx, demoShop, math.MaxInt64, demoSearch)
	if err != nil {
		return 0, err
	}
	for _, v := range shown {
		if v.Live != nil && v.Live.State == voucher.StateOnSale {
			return v.ID, s.home.MarkSettled()
		}
	}
	if !s.home.Fresh || len(shown) > 0 {
		return 0, nil
	}
	now := time.Now()
	v, err := vouchers.CreateSeckill(ctx, voucher.Author{}, voucher.Draft{
		ShopID: demoShop, Title: "100 for 10", SubTitle: "Demonstration sale",
		Rules: "One to a person. Made at the first start, to try the service with.", PayValue: 10_00, ActualValue: 100_00,
	}, voucher.SaleDraft{PerUser: 1, Stock: demoStock, Begin: now, End: now.AddDate(1, 0, 0)})
	if err != nil {
		return 0, err
	}
	return v.ID, s.home.MarkSettled()
}

// demoBuyers is how long demo buyers may buy: in the embedded mode, where its page offers them, and nowhere else.
func demoBuyers(cfg config.Config) time.Duration {
	if cfg.Embedded() && cfg.HTTP.Pages {
		return within(demoTTL, cfg.JWT.MaxLife)
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
