package voucher

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a voucher's fields; the columns of tb_voucher are as wide.
const (
	MaxTitle = 255              // characters
	MaxRules = 1024             // characters
	MaxMoney = 1_000_000_000_00 // cents
	MaxStock = 100_000_000
)

// Problem is one thing that is wrong with a field of a request: which, why, and what is allowed.
type Problem struct {
	Field   string `json:"field"`   // the name as in the request, camelCase
	Reason  string `json:"reason"`  // what is wrong, in English
	Allowed string `json:"allowed"` // what would be right, in English
}

// InvalidError lists everything that is wrong with a request, not only the first thing.
type InvalidError struct{ Problems []Problem }

func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		parts[i] = fmt.Sprintf("%s %s (allowed: %s)", p.Field, p.Reason, p.Allowed)
	}
	return strings.Join(parts, "; ")
}

// Draft is a voucher that somebody wants to create.
type Draft struct {
	ShopID      int64
	Title       string
	SubTitle    string
	Rules       string
	PayValue    int64         // cents
	ActualValue int64         // cents
	PayWithin   time.Duration // how long an order may stay unpaid; 0 is DefaultPayWithin
}

// SaleDraft is the sale of a seckill voucher that somebody wants to create.
type SaleDraft struct {
	Stock int64
	Begin time.Time // may be in the past: the sale is then on at once
	End   time.Time // exclusive; after Begin and after now
}

// check returns the draft as a voucher, or everything that is wrong with it.
func (d Draft) check() (Voucher, []Problem) {
	var ps []Problem
	bad := func(field, reason, allowed string) { ps = append(ps, Problem{field, reason, allowed}) }
	d.Title, d.SubTitle = strings.TrimSpace(d.Title), strings.TrimSpace(d.SubTitle)
	text := func(field, s string, least, most int) {
		allowed := fmt.Sprintf("%d to %d characters of valid UTF-8", least, most)
		switch n := utf8.RuneCountInString(s); {
		case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
			bad(field, "holds bytes that are not text", allowed)
		case n < least:
			bad(field, "is missing or blank", allowed)
		case n > most:
			bad(field, fmt.Sprintf("has %d characters, which is too long", n), allowed)
		}
	}
	number := func(field string, n, least, most int64) {
		if n < least || n > most {
			bad(field, fmt.Sprintf("is %d", n), fmt.Sprintf("a whole number from %d to %d", least, most))
		}
	}
	number("shopId", d.ShopID, 1, MaxID)
	text("title", d.Title, 1, MaxTitle)
	text("subTitle", d.SubTitle, 0, MaxTitle)
	text("rules", d.Rules, 0, MaxRules)
	number("payValue", d.PayValue, 0, MaxMoney)
	number("actualValue", d.ActualValue, 1, MaxMoney)
	return Voucher{
		ShopID: d.ShopID, Title: d.Title, SubTitle: d.SubTitle, Rules: d.Rules,
		PayValue: d.PayValue, ActualValue: d.ActualValue, Kind: Ordinary, Status: OnShelf,
	}, ps
}

// check returns the sale, or everything that is wrong with it at the time now.
func (d SaleDraft) check(now time.Time) (Sale, []Problem) {
	var ps []Problem
	// Redis compares milliseconds, the ledger keeps as much.
	d.Begin, d.End = d.Begin.UTC().Truncate(time.Millisecond), d.End.UTC().Truncate(time.Millisecond)
	if d.Stock < 1 || d.Stock > MaxStock {
		ps = append(ps, Problem{"stock", fmt.Sprintf("is %d", d.Stock), fmt.Sprintf("a whole number from 1 to %d", int64(MaxStock))})
	}
	times := func(field string, t time.Time) bool {
		if t.Year() < 2000 || t.Year() > 9999 {
			ps = append(ps, Problem{field, "is missing or out of range", "a time such as 2026-01-02T20:00:00Z, in the years 2000 to 9999"})
			return false
		}
		return true
	}
	begin, end := times("beginTime", d.Begin), times("endTime", d.End)
	switch {
	case begin && end && !d.End.After(d.Begin):
		ps = append(ps, Problem{"endTime", "is not after beginTime", "a time after beginTime"})
	case end && !d.End.After(now):
		ps = append(ps, Problem{"endTime", "is in the past", "a time after " + now.UTC().Format(time.RFC3339)})
	}
	return Sale{Stock: d.Stock, Issued: d.Stock, Begin: d.Begin, End: d.End}, ps
}
