package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"seckill/lab/load"
)

// Sell creates a sale with that stock, as an admin does, and makes it the server's voucher. Every user may buy again.
func (s *Server) Sell(ctx context.Context, stock int64) (err error) {
	s.Voucher, err = s.createSale(ctx, stock)
	return err
}

// CreateSales creates n sales with that stock, several at a time.
func (s *Server) CreateSales(ctx context.Context, n int, stock int64) ([]int64, error) {
	ids := make([]int64, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range ids {
		group.Go(func() (err error) {
			ids[i], err = s.createSale(ctx, stock)
			return err
		})
	}
	return ids, group.Wait()
}

// admin returns an admin's token.
func admin() string { return load.Token(9_000_001, `,"role":"admin"`) }

// createSale creates a sale.
func (s *Server) createSale(ctx context.Context, stock int64) (int64, error) {
	answer, err := post(ctx, "http://"+s.Addr+"/voucher/seckill", admin(),
		fmt.Sprintf(`{"shopId":%d,"title":"benchmark","payValue":1000,"actualValue":10000,"stock":%d,`+
			`"beginTime":%q,"endTime":%q%s}`,
			Shop, stock, time.Now().Add(-time.Minute).Format(time.RFC3339),
			time.Now().Add(24*time.Hour).Format(time.RFC3339), s.Terms))
	if err != nil {
		return 0, err
	}
	var created struct {
		Data struct {
			ID        int64  `json:"id"`
			SaleState string `json:"saleState"`
		} `json:"data"`
	}
	if err = json.Unmarshal(answer, &created); err != nil || created.Data.SaleState != "on_sale" {
		return 0, fmt.Errorf("creating a voucher: %s", answer)
	}
	return created.Data.ID, nil
}

// Shop is the shop of every sale.
const Shop = 1

// ListPath is where the list of the shop is read.
func ListPath() string { return fmt.Sprintf("/voucher/list/%d", Shop) }

// FillShop adds that many ordinary vouchers to the shop, each with these rules.
func (s *Server) FillShop(ctx context.Context, vouchers int, rules string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range vouchers {
		group.Go(func() error {
			_, err := post(ctx, "http://"+s.Addr+"/voucher", admin(),
				fmt.Sprintf(`{"shopId":%d,"title":"voucher %d","rules":%q,"payValue":1000,"actualValue":10000}`,
					Shop, i, rules))
			return err
		})
	}
	return group.Wait()
}

// ListLength waits until the shop's list shows that many vouchers, and returns its length in bytes.
func (s *Server) ListLength(ctx context.Context, vouchers int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		body, err := get(ctx, "http://"+s.Addr+ListPath())
		if err != nil {
			return 0, err
		}
		var list struct {
			Total int `json:"total"`
		}
		if err = json.Unmarshal(body, &list); err != nil {
			return 0, fmt.Errorf("the list of the shop: %w", err)
		}
		if list.Total == vouchers {
			return len(body), nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("the list shows %d vouchers, want %d", list.Total, vouchers)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// reportTimeout bounds the reading of one file: a hundred thousand orders take seconds even on an idle machine.
const reportTimeout = 3 * time.Minute

// ReportFile reads a file of the report of the server's sale, as an admin does.
func (s *Server) ReportFile(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/admin/voucher/%d/%s",
		s.Addr, s.Voucher, name), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+admin())
	return do(req, http.StatusOK)
}

// get reads a page, whose status must be 200.
func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	return do(req, http.StatusOK)
}

// BuyOne buys a unit of a voucher as a user outside of NewUsers, and waits for the order's row.
func (s *Server) BuyOne(ctx context.Context, voucher int64) error {
	const outsider = 9_000_002
	_, err := post(ctx, fmt.Sprintf("http://%s/voucher/seckill/%d?wait=10s", s.Addr, voucher),
		load.Token(outsider, ""), "")
	return err
}

// post sends a request and returns its answer, whose status must be 201.
func post(ctx context.Context, url, token, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	return do(req, http.StatusCreated)
}

// do sends a request and returns its answer, which must have the status.
func do(req *http.Request, want int) ([]byte, error) {
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != want {
		err = fmt.Errorf("%s answers %s: %s", req.URL, resp.Status, answer)
	}
	return answer, err
}
