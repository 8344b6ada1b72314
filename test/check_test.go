package test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"seckill/test/box"
)

// TestCheck: the list before a sale, against real stores. Whether it is a go depends on how they are set up and on how busy this machine is;
// what is wrong on purpose must be a no, and what is right is not.
func TestCheck(t *testing.T) {
	t.Parallel()
	s := box.RealSite(t, 2)
	id := s.CreateWindow(t, 40, time.Now().Add(2*time.Hour), time.Now().Add(3*time.Hour))
	flags := []string{"check", "-voucher", strconv.FormatInt(id, 10)}
	check := func(words []string, args ...string) {
		t.Helper()
		// The servers of the tests keep no append-only file.
		expectOutput(t, s, 3, append([]string{"NO-GO", "redis.durability", "appendonly"}, words...), append(flags, args...)...)
	}
	check([]string{"40 units from", "ok       sale.units", "ok       redis.clock", "ok       ledger.clock", "nothing since it was created", "2: ", "payment.provider"})
	check([]string{"共 40 份", "时钟", "2 个："}, "-lang", "zh")

	box.NewClient(t).Must(t, http.StatusOK, box.Request{
		Method: http.MethodPost, URL: s.URL("/voucher/" + strconv.FormatInt(id, 10) + "/pause"), Token: box.AdminToken(),
	})
	check([]string{"no       sale.window", "the sale is paused", "warning  sale.changes", "pause"})
	expectOutput(t, s, 2, []string{"-lang is", "en, zh"}, "check", "-lang", "fr")
	expectOutput(t, s, 1, []string{"no voucher 4711"}, "check", "-voucher", "4711")
}
