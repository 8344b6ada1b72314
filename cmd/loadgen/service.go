package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"seckill/internal/checker"
	"seckill/internal/httpload"
)

// service sends requests of an admin and of buyers outside the load. Use it from one goroutine at a time.
type service struct {
	conn   *httpload.Conn
	tokens *tokens
}

func newService(p *plan) (*service, error) {
	conn, err := httpload.New(p.servers[0], p.timeout)
	return &service{conn: conn, tokens: &p.tokens}, err
}

func (s *service) close() { s.conn.Close() }

// refusal is the error of an answer that refuses the request.
type refusal struct {
	status int
	code   string
	text   string
}

func (e *refusal) Error() string { return fmt.Sprintf("answered %d %s %s", e.status, e.code, e.text) }

// isRefused reports whether the service refused a request for good, so that a retry is pointless.
func isRefused(err error) bool {
	r := (*refusal)(nil)
	return errors.As(err, &r) && r.status < http.StatusInternalServerError && r.status != http.StatusTooManyRequests
}

// call sends a request and reads the answer's data. next is where the following page starts, "" if there is none.
func (s *service) call(ctx context.Context, r httpload.Request, data any) (next string, err error) {
	a, err := s.conn.Do(ctx, r)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
	}
	var envelope struct {
		Success  bool            `json:"success"`
		Data     json.RawMessage `json:"data"`
		Next     string          `json:"next"`
		Code     string          `json:"code"`
		ErrorMsg string          `json:"errorMsg"`
		Errors   json.RawMessage `json:"errors"`
	}
	err = json.Unmarshal(a.Body, &envelope)
	if err != nil || !envelope.Success {
		return "", fmt.Errorf("%s %s: %w", r.Method, r.Path,
			&refusal{a.Status, envelope.Code, strings.TrimSpace(envelope.ErrorMsg + " " + string(envelope.Errors))})
	}
	if err = json.Unmarshal(envelope.Data, data); err != nil {
		return "", fmt.Errorf("%s %s: data: %w", r.Method, r.Path, err)
	}
	return envelope.Next, nil
}

// voucher is a seckill voucher as in the service's answers.
type voucher struct {
	ID               int64     `json:"id"`
	ShopID           int64     `json:"shopId"`
	Stock            *int64    `json:"stock"`
	Issued           int64     `json:"issued"`
	BeginTime        time.Time `json:"beginTime"`
	SaleState        string    `json:"saleState"`
	ServerTime       time.Time `json:"serverTime"`
	PayWithinSeconds int64     `json:"payWithinSeconds"`
}

// voucher reads a voucher as the first buyer, because a rehearsal is shown only to its buyers.
func (s *service) voucher(ctx context.Context, id int64) (v voucher, err error) {
	_, err = s.call(ctx, httpload.Request{
		Method: http.MethodGet, Path: "/voucher/" + strconv.FormatInt(id, 10), Token: s.tokens.of(0),
	}, &v)
	if no := (*refusal)(nil); errors.As(err, &no) && no.status == http.StatusNotFound {
		err = fmt.Errorf(
			"%w (a rehearsal's voucher is shown only to its own buyers: is SECKILL_JWT_SECRET the service's?)", err)
	}
	if err == nil && v.Stock == nil {
		err = fmt.Errorf("voucher %d is an ordinary one: it has no sale", id)
	}
	return v, err
}

// create creates a voucher that is on sale now and remains so for longer than the rehearsal.
func (s *service) create(ctx context.Context, p *plan) (int64, error) {
	now := time.Now()
	draft := map[string]any{
		"shopId": p.shop, "title": "Rehearsal " + now.UTC().Format(time.DateTime), "rules": "Made by loadgen.",
		"payValue": 1000, "actualValue": 10_000, "stock": p.stock,
		"beginTime": now.Add(-time.Minute), "endTime": now.Add(2*p.duration + p.settle + 24*time.Hour),
	}
	body, err := json.Marshal(draft)
	if err != nil {
		return 0, err
	}
	var v voucher
	_, err = s.call(ctx,
		httpload.Request{Method: http.MethodPost, Path: "/voucher/seckill", Token: s.tokens.admin(), Body: body}, &v)
	return v.ID, err
}

// orderView is an order as its owner or an admin sees it.
type orderView struct {
	ID        string `json:"id"`
	VoucherID int64  `json:"voucherId"`
	UserID    int64  `json:"userId"`
	Status    string `json:"status"`
	Reason    string `json:"reason"`
}

func (o orderView) order() (checker.Order, error) {
	id, err := strconv.ParseInt(o.ID, 10, 64)
	return checker.Order{
		ID: id, User: o.UserID, Voucher: o.VoucherID, Status: checker.StatusNamed(o.Status), Reason: o.Reason,
	}, err
}

// order returns an order as its owner sees it.
func (s *service) order(ctx context.Context, token string, id int64) (checker.Order, error) {
	var o orderView
	_, err := s.call(ctx,
		httpload.Request{Method: http.MethodGet, Path: "/order/" + strconv.FormatInt(id, 10), Token: token}, &o)
	if err != nil {
		return checker.Order{}, err
	}
	return o.order()
}

// orders returns all orders that a path lists, page by page. token is called for each page.
func (s *service) orders(
	ctx context.Context, path string, token func() string, voucherID int64,
) (list []checker.Order, err error) {
	for next := ""; ; {
		page := path
		if next != "" {
			page += "&before=" + next
		}
		var views []orderView
		if next, err = s.call(ctx, httpload.Request{Method: http.MethodGet, Path: page, Token: token()},
			&views); err != nil {
			return nil, err
		}
		for _, view := range views {
			o, err := view.order()
			if err != nil {
				return nil, err
			}
			if o.Voucher == voucherID {
				list = append(list, o)
			}
		}
		if next == "" {
			return list, nil
		}
	}
}
