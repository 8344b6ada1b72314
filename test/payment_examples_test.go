package test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seckill/internal/kit/signature"
	"seckill/internal/testkit/child"
	"seckill/internal/testkit/server"
	"seckill/test/box"
)

// TestPaymentExamples runs the examples of payment providers beside the built server: one takes a payment, sends a part
// of it back, and tells of a dispute, as docs/coupons.md says. Then server payment try finds nothing wrong with it.
func TestPaymentExamples(t *testing.T) {
	t.Parallel()
	for name, program := range map[string][]string{
		"node": {"node", "provider.mjs"}, "python": {"python3", "provider.py"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret, listen := signature.NewSecret(), box.FreeAddr(t)
			service := box.NewServer(t, name, map[string]string{})
			site := startExample(t, program, secret, service.URL("/payment/callback/cards"))
			service.Settings["SECKILL_DATA_DIR"] = t.TempDir()
			service.Settings["SECKILL_JWT_SECRET"] = box.Secret
			service.Settings["SECKILL_PAYMENT_PROVIDERS"] = "cards=" + site
			service.Settings["SECKILL_PAYMENT_PROVIDER_SECRETS"] = "cards=" + secret
			if err := service.Start(); err != nil {
				t.Fatal(err)
			}
			e := example{t, service, box.NewClient(t)}
			e.life()

			tried := startExample(t, program, secret, "http://"+listen+"/payment/callback/try")
			out := box.Command(t, map[string]string{"PROVIDER_SECRET": secret}, "payment", "try", "-listen", listen,
				"-pay", "do=pay", "-wait", "1m", tried)
			if out.Code != 0 || !strings.Contains(out.Stdout, "ok  refund: the rest") {
				t.Errorf("exit code %d:\n%s%s", out.Code, out.Stdout, out.Stderr)
			}
		})
	}
}

// startExample starts an example, and returns its address once it answers.
func startExample(t *testing.T, program []string, secret, notices string) string {
	t.Helper()
	root, err := child.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	debians := map[string]string{"node": "nodejs", "python3": "python3"}
	interpreter, err := server.Program(t.Context(), program[0], debians[program[0]])
	if err != nil {
		t.Fatal(err)
	}
	at := box.FreeAddr(t)
	_, port, _ := strings.Cut(at, ":")
	cmd := exec.CommandContext(t.Context(), interpreter, filepath.Join(root, "examples", "payment", program[1]))
	cmd.Env = append(os.Environ(), "PROVIDER_SECRET="+secret, "SERVICE_URL="+notices, "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	box.Eventually(t, program[1]+" answers", func() error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/", http.NoBody)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		return res.Body.Close()
	})
	return "http://" + at + "/"
}

// example is a shop whose payments an example takes.
type example struct {
	*testing.T

	server *box.Server
	client *box.Client
}

// life buys, pays, has a part sent back, and disputes the rest.
func (e example) life() {
	e.Helper()
	order, pay := e.paid()
	e.post(http.StatusAccepted, box.AdminToken(), "/admin/payment/"+pay.PaymentID+"/refund",
		map[string]any{"amount": 1, "why": "a scratch"}, "one")
	e.await(order, `"refundedAmount":1`)
	e.press(pay.PayURL, "dispute")
	e.await(order, `"dispute":"open"`)
}

type paying struct{ PayURL, PaymentID string }

// paid has buyer 42 buy, and pay on the example's page.
func (e example) paid() (order string, pay paying) {
	e.Helper()
	v := box.Decode[box.Voucher](e, e.post(http.StatusCreated, box.AdminToken(), "/voucher/seckill",
		box.SeckillDraft(1, 10, time.Now().Add(-time.Minute), time.Now().Add(time.Hour)), ""))
	box.Eventually(e, "bought", func() error {
		r, err := e.client.Do(e.Context(), box.Request{
			Method: http.MethodPost, URL: e.server.URL(fmt.Sprintf("/voucher/seckill/%d?wait=30s", v.ID)),
			Token: box.BuyerToken(42),
		})
		if err == nil && r.StatusCode != http.StatusCreated {
			err = fmt.Errorf("%d %s", r.StatusCode, r.Body)
		}
		if err == nil {
			order = box.Decode[box.Placed](e, r).OrderID
		}
		return err
	})
	pay = box.Decode[paying](e, e.post(http.StatusOK, box.BuyerToken(42), "/order/"+order+"/pay", nil, ""))
	e.press(pay.PayURL, "pay")
	e.await(order, `"status":"paid"`)
	return order, pay
}

func (e example) post(want int, token, path string, body any, key string) box.Reply {
	e.Helper()
	r := box.Request{Method: http.MethodPost, URL: e.server.URL(path), Token: token, Body: body}
	if key != "" {
		r.Header = map[string]string{"Idempotency-Key": key}
	}
	return e.client.Must(e, want, r)
}

// press presses a button on the page where buyers pay.
func (e example) press(page, button string) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, page,
		strings.NewReader(url.Values{"do": {button}}.Encode()))
	if err != nil {
		e.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		e.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
		e.Errorf("%s: %d, %v", button, res.StatusCode, err)
	}
}

// await waits until staff see the text with the order.
func (e example) await(order, text string) {
	e.Helper()
	box.Eventually(e, text, func() error {
		r, err := e.client.Do(e.Context(), box.Request{
			Method: http.MethodGet, URL: e.server.URL("/admin/order/" + order), Token: box.AdminToken(),
		})
		if err == nil && !strings.Contains(string(r.Body), text) {
			err = fmt.Errorf("%d %s", r.StatusCode, r.Body)
		}
		return err
	})
}
