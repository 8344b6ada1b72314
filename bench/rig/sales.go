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
)

// Sell creates a sale of the stock, as an admin does, and makes it the server's voucher. Every user may buy again.
func (s *Server) Sell(ctx context.Context, stock int64) (err error) {
	s.Voucher, err = s.createSale(ctx, stock)
	return err
}

// CreateSales creates n sales of the stock, several at a time.
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

func (s *Server) createSale(ctx context.Context, stock int64) (int64, error) {
	token := signText(fmt.Sprintf(`{"sub":"9000001","role":"admin","exp":%d}`, inAnHour()))
	answer, err := post(ctx, "http://"+s.Addr+"/voucher/seckill", token,
		fmt.Sprintf(`{"shopId":1,"title":"benchmark","payValue":1000,"actualValue":10000,"stock":%d,"beginTime":%q,"endTime":%q}`,
			stock, time.Now().Add(-time.Minute).Format(time.RFC3339), time.Now().Add(24*time.Hour).Format(time.RFC3339)))
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

// BuyOne buys a unit of a voucher as a user whom NewUsers does not sign for, and waits for the order's row.
func (s *Server) BuyOne(ctx context.Context, voucher int64) error {
	const outsider = 9_000_002
	_, err := post(ctx, fmt.Sprintf("http://%s/voucher/seckill/%d?wait=10s", s.Addr, voucher),
		signText(fmt.Sprintf(`{"sub":"%d","exp":%d}`, outsider, inAnHour())), "")
	return err
}

// post sends one request and returns its answer, which must be a 201.
func post(ctx context.Context, url, token, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end below
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusCreated {
		err = fmt.Errorf("%s answers %s: %s", url, resp.Status, answer)
	}
	return answer, err
}
