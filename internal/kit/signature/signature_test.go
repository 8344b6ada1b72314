package signature_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/internal/kit/signature"
)

// The example of the specification and of its libraries.
const (
	id     = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	body   = `{"test": 2432232314}`
	signed = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	at     = "1614265330"
)

func keys(t *testing.T, secrets ...string) (all [][]byte) {
	t.Helper()
	for _, s := range secrets {
		key, err := signature.Key(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, key)
	}
	return all
}

func TestSignAsTheSpecification(t *testing.T) {
	t.Parallel()
	if got := signature.Sign(keys(t, secret), id, time.Unix(1614265330, 0), []byte(body)); got != signed {
		t.Errorf("signed with %q, want %q", got, signed)
	}
}

func TestReadAndCheck(t *testing.T) {
	t.Parallel()
	other := signature.NewSecret()
	for name, tc := range map[string]struct {
		id, at, signatures, body string
		secrets                  []string
		unread, forged           bool
	}{
		"the example":          {id, at, signed, body, []string{secret}, false, false},
		"among others":         {id, at, "v1a,x v1,AAAA " + signed, body, []string{secret}, false, false},
		"a previous secret":    {id, at, signed, body, []string{other, secret}, false, false},
		"another secret":       {id, at, signed, body, []string{other}, false, true},
		"another body":         {id, at, signed, body + " ", []string{secret}, false, true},
		"another id":           {"msg_2", at, signed, body, []string{secret}, false, true},
		"another time":         {id, "1614265331", signed, body, []string{secret}, false, true},
		"another form of time": {id, "+" + at, signed, body, []string{secret}, false, true},
		"no secrets":           {id, at, signed, body, nil, false, true},
		"no id":                {"", at, signed, body, nil, true, false},
		"a long id":            {strings.Repeat("x", 257), at, signed, body, nil, true, false},
		"no time":              {id, "", signed, body, nil, true, false},
		"no number":            {id, "2021-02-25", signed, body, nil, true, false},
		"no signature":         {id, at, "", body, nil, true, false},
		"another version":      {id, at, "v2,AAAA", body, nil, true, false},
		"eight before it":      {id, at, strings.Repeat("v1,AAAA ", 8) + signed, body, []string{secret}, false, true},
	} {
		h := http.Header{}
		h.Set(signature.IDHeader, tc.id)
		h.Set(signature.TimeHeader, tc.at)
		h.Set(signature.SignatureHeader, tc.signatures)
		read, err := signature.Read(h)
		if errors.Is(err, signature.ErrHeader) != tc.unread {
			t.Errorf("%s: %v", name, err)
		}
		if !tc.unread && read.Signs(keys(t, tc.secrets...), []byte(tc.body)) == tc.forged {
			t.Errorf("%s: forged %t, want %t", name, !tc.forged, tc.forged)
		}
	}
}

func TestSecretsOfOtherForms(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ", "whsec_***",
		"whsec_" + strings.Repeat("MfKQ", 22),
	} {
		if _, err := signature.Key(s); !errors.Is(err, signature.ErrSecret) {
			t.Errorf("%q is a secret: %v", s, err)
		}
	}
	if first, second := signature.NewSecret(), signature.NewSecret(); first == second {
		t.Error("two secrets are the same")
	}
}
