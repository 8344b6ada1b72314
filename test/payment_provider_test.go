package test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"seckill/internal/kit/signature"
	"seckill/internal/testkit"
	"seckill/test/box"
)

// TestProviderSetNoMore takes a provider over HTTP out of the settings while a refund waits for it: the start, the list
// before a sale, and staff are told; once it is set again, behind another one, the money goes back.
func TestProviderSetNoMore(t *testing.T) {
	t.Parallel()
	_, prefix := testkit.Redis(t)
	dsn, secret := testkit.MySQL(t), signature.NewSecret()
	site := box.EmptySite(t, testkit.RedisAddr(t), prefix, dsn)
	site.Add(t, testkit.RedisAddr(t), dsn, map[string]string{
		"SECKILL_PAYMENT_PROVIDER": "auto", "SECKILL_PAYMENT_SECRET": "",
	})
	server := site.Servers[0]
	cards := "cards=" + startExample(t, []string{"python3", "provider.py"}, secret,
		server.URL("/payment/callback/cards"))
	providers := func(list string) {
		t.Helper()
		server.Settings = maps.Clone(server.Settings)
		server.Settings["SECKILL_PAYMENT_PROVIDERS"] = list
		var secrets []string
		for provider := range strings.SplitSeq(list, ",") {
			name, _, _ := strings.Cut(provider, "=")
			secrets = append(secrets, name+"="+secret)
		}
		server.Settings["SECKILL_PAYMENT_PROVIDER_SECRETS"] = strings.Join(secrets, ",")
	}
	providers(cards)
	site.Start(t)
	e := example{t, server, site.Client}
	order, _ := e.paid()
	hasLine(t, server, "payments are taken by a provider over HTTP", "provider=cards", "new=true")

	const bank = "bank=http://127.0.0.1:1/"
	providers(bank)
	if err := server.KillAndStart(); err != nil {
		t.Fatal(err)
	}
	e.post(http.StatusAccepted, box.BuyerToken(42), "/order/"+order+"/refund", nil, "")
	expectOutput(t, site, 3, []string{"warning  payment.unset", "cards: refunds that wait", ": 1"}, "check")
	seen := site.Client.Must(t, http.StatusOK, box.Request{
		Method: http.MethodGet, URL: site.URL("/admin/provider"), Token: box.AdminToken(),
	})
	if text := string(seen.Body); !strings.Contains(text, `"cards"`) || !strings.Contains(text, `"waitingRefunds":1`) {
		t.Errorf("staff see %s", text)
	}

	providers(bank + "," + cards)
	if err := server.KillAndStart(); err != nil {
		t.Fatal(err)
	}
	e.await(order, `"status":"refunded"`)
}

// hasLine waits until a line of a server's log has all the words.
func hasLine(t *testing.T, server *box.Server, words ...string) {
	t.Helper()
	box.Eventually(t, fmt.Sprint("a line with ", words), func() error {
	lines:
		for line := range strings.Lines(server.Log.String()) {
			for _, word := range words {
				if !strings.Contains(line, word) {
					continue lines
				}
			}
			return nil
		}
		return fmt.Errorf("no line has %q", words)
	})
}

// TestPaymentTryRefuses starts the conformance run wrongly, and against providers that do one thing wrong that the
// setting up of a program easily does.
func TestPaymentTryRefuses(t *testing.T) {
	t.Parallel()
	secret := signature.NewSecret()
	for name, tc := range map[string]struct {
		secret, notices string // "": those of the provider
		args            []string
		code            int
		words           []string
	}{
		"no secret":         {secret: "-", code: 2, words: []string{"PROVIDER_SECRET is not set"}},
		"an empty secret":   {secret: " ", code: 2, words: []string{"PROVIDER_SECRET is not set"}},
		"no base64":         {secret: "whsec_?", code: 2, words: []string{"PROVIDER_SECRET is", "no base64"}},
		"no address":        {args: []string{"-wait", "1s"}, code: 2, words: []string{"it takes the URL"}},
		"another scheme":    {args: []string{"ftp://127.0.0.1/"}, code: 2, words: []string{"no URL of a provider"}},
		"nobody listens":    {args: []string{"http://127.0.0.1:1/"}, code: 3, words: []string{"WRONG", "unreachable"}},
		"another secret":    {secret: signature.NewSecret(), code: 3, words: []string{"WRONG  signed", "answers 401"}},
		"notices elsewhere": {notices: "/notices", code: 3, words: []string{"WRONG  paid: the notice", `"/notices"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			listen := box.FreeAddr(t)
			settings := map[string]string{"PROVIDER_SECRET": secret}
			switch tc.secret {
			case "":
			case "-":
				delete(settings, "PROVIDER_SECRET")
			default:
				settings["PROVIDER_SECRET"] = strings.TrimSpace(tc.secret)
			}
			args := append([]string{"payment", "try", "-listen", listen, "-pay", "do=pay", "-wait", "1m"}, tc.args...)
			if tc.args == nil {
				path := tc.notices
				if path == "" {
					path = "/payment/callback/try"
				}
				args = append(args, startExample(t, []string{"python3", "provider.py"}, secret, "http://"+listen+path))
			}
			got := box.Command(t, settings, args...)
			if got.Code != tc.code {
				t.Errorf("exit code %d, want %d", got.Code, tc.code)
			}
			for _, word := range tc.words {
				if !strings.Contains(got.Stdout+got.Stderr, word) {
					t.Errorf("there is no %q", word)
				}
			}
			if t.Failed() {
				t.Logf("%v:\n%s%s", args, got.Stdout, got.Stderr)
			}
		})
	}
}
