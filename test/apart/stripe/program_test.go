package stripe

import (
	"context"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"seckill/internal/kit/signature"
	"seckill/internal/testkit/child"
	"seckill/providers/stripe/standin"
	"seckill/test/box"
)

const (
	apiKey        = "sk_test_standin"
	webhookSecret = "whsec_of_the_endpoint"
)

// program is seckill-stripe as a process, with the stand-in for Stripe.
type program struct {
	*testing.T

	stripe  *standin.Server
	addr    string
	secret  string // shared with the service
	command func() *exec.Cmd
	process *child.Process
}

// newProgram builds seckill-stripe for notices to an address, and does not start it.
func newProgram(t *testing.T, notices string, o standin.Options) *program {
	t.Helper()
	root, err := child.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "seckill-stripe")
	if err := child.Build(t.Context(), filepath.Join(root, "providers", "stripe"), ".", binary); err != nil {
		t.Fatal(err)
	}
	o.Key, o.Currencies, o.Retry = apiKey, []string{"CNY", "EUR"}, 100*time.Millisecond
	p := &program{T: t, stripe: standin.New(o), addr: box.FreeAddr(t), secret: signature.NewSecret()}
	at := httptest.NewServer(p.stripe)
	p.stripe.SetBase(at.URL)
	p.stripe.AddEndpoint("http://"+p.addr+"/stripe/", webhookSecret, "*")
	t.Cleanup(func() {
		p.stripe.Close()
		at.Close()
	})
	env := child.Environment("STRIPE_API_KEY="+apiKey, "STRIPE_API_URL="+at.URL, "STRIPE_WEBHOOK_SECRET="+webhookSecret,
		"SECKILL_URL="+notices, "SECKILL_PAYMENT_SECRET="+p.secret, "LISTEN="+p.addr)
	p.command = func() *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary)
		cmd.Env = env
		return cmd
	}
	t.Cleanup(func() {
		if p.process != nil {
			p.process.Kill()
		}
	})
	return p
}

// start starts the program, or kills it and starts it again.
func (p *program) start() {
	p.Helper()
	if p.process != nil {
		p.process.Kill()
	}
	var err error
	if p.process, err = child.Start(p.command()); err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(p.Context(), box.Patience)
	defer cancel()
	if err := p.process.Await(ctx, child.Answers("http://"+p.addr+"/healthz")); err != nil {
		p.Fatal(err)
	}
}
