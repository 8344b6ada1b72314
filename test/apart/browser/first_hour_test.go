package browser

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"seckill/test/box"
)

// TestFirstHour follows docs/first-hour.md like a new user: it buys and pays a coupon on the shop's page; creates a
// sale for tomorrow in the console, checks it, and rehearses it with the command shown there; looks at the interface's
// description; redeems the coupon at a till; and finds it in the report. It logs how long each step took.
func TestFirstHour(t *testing.T) {
	t.Parallel()
	s := embeddedShop(t)
	began := time.Now()
	step := func(name string) {
		t.Helper()
		t.Logf("%6.1f s  %s", time.Since(began).Seconds(), name)
		began = time.Now()
	}
	buyer := open(t, s.url("/"), phone())
	buyer.click(button("grab"))
	buyer.click("[data-act=demo]")
	buyer.click(button("unpaid"))
	step("the first coupon is bought")
	buyer.click("form[method=post] button")
	buyer.sees(".paid", "The shop has been told")
	buyer.click("a.back")
	buyer.sees(".order .tag", "Paid")
	step("and paid")

	console := open(t, s.url(s.signInLink()), desktop())
	console.sees("h1", "Start")
	step("the console is open")
	console.click("[data-act=create]")
	console.sees("dialog", "New sale")
	for field, value := range map[string]string{
		"title": "Noodles for two", "payValue": "10", "actualValue": "100", "stock": "50",
	} {
		evaluate[bool](console, fmt.Sprintf("document.querySelector('#f-%s').value = '', true", field))
		console.enter("#f-"+field, value)
	}
	console.setsTime("beginTime", console.inHours(24))
	console.setsTime("endTime", console.inHours(26))
	console.click("[data-act=save]")
	console.sees(".tag", "Not started")
	step("a sale for tomorrow is created")
	console.click("[data-act=before]")
	console.sees("[data-line='sale.window'][data-level=ok]", "50 units from")
	step("and checked")
	console.click("[data-act=rehearse]")
	console.click("[data-act=yes]")
	console.sees("[data-state=waiting] .command", "loadgen -url")
	command := evaluate[string](console, "document.querySelector('.command').innerText")
	arguments, found := strings.CutPrefix(command, "SECKILL_JWT_SECRET=$(cat data/secret) bin/loadgen ")
	if !found {
		t.Errorf("the command cannot be pasted: %s", command)
	}
	words := strings.Fields(arguments)
	crowd := exec.CommandContext(t.Context(), box.Loadgen(t), words...)
	crowd.Env = []string{"SECKILL_JWT_SECRET=" + box.Secret}
	if out, err := crowd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", words, err, out)
	}
	console.sees("[data-state=done] [data-line='rehearsal.soldOut'][data-level=ok]", "50 units within")
	step("and rehearsed")
	console.picture("first-hour-rehearsed-desktop", true)

	docs := console.tab(s.url("/docs"))
	docs.sees("h1", "seckill")
	step("the interface is looked at")

	buyer.click(".order [data-act=code]")
	buyer.sees(".coupon-code", "-")
	code := evaluate[string](buyer, "document.querySelector('.coupon-code').innerText")
	till := open(t, s.url("/till"), s.asTill(phone()))
	till.enter("#code", code)
	till.click("[data-act=check]")
	till.click("[data-act=redeem]")
	till.sees(".result.good .says", "Redeemed")
	buyer.sees(".coupon-used", "Redeemed")
	step("the coupon is redeemed")

	console.visit(s.url("/admin#/sales"))
	console.click("[data-sale='1'] a")
	console.sees("[data-money]", "Revenue ¥10")
	console.click(".actions > [data-act=report]")
	console.sees("h1", "Report: 100 for 10")
	console.sees(tile("paid"), "1")
	step("and stands in the report")
}
