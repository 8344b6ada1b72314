package issuers

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"seckill/internal/testkit/idp"
)

// Sets that are not taken, with why.
func TestKeySets(t *testing.T) {
	t.Parallel()
	mine := idp.Set(t, idp.Keys(t))
	ed := `{"kty":"OKP","crv":"Ed25519","kid":"1","x":"` + strings.Repeat("A", 43) + `"}`
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	but := func(more string) string { return `{"keys":[` + strings.Replace(ed, `"kid"`, more+`,"kid"`, 1) + `]}` }
	zero := strings.Repeat("A", 43)
	offCurve := `{"keys":[{"kty":"EC","crv":"P-256","x":"` + zero + `","y":"` + zero + `"}]}`
	rsaKey := func(n, e string) string { return fmt.Sprintf(`{"kty":"RSA","kid":"r","n":%q,"e":%q}`, n, e) }
	short := base64.RawURLEncoding.EncodeToString(weak.N.Bytes())
	long := base64.RawURLEncoding.EncodeToString(append([]byte{0xff}, make([]byte, maxRSA/8)...))
	whole := base64.RawURLEncoding.EncodeToString(append([]byte{0xff}, make([]byte, 255)...))
	for name, tc := range map[string]struct {
		set  string
		want string // in the error; "": it is taken
		keys int
	}{
		"one of each kind":    {string(mine), "", 3},
		"also of other kinds": {`{"keys":[` + ed + `,{"kty":"oct","k":"AAAA"},{"kty":"EC","crv":"P-384"}]}`, "", 1},
		"for encryption":      {but(`"use":"enc"`), "has no usable key", 0},
		"to sign with":        {but(`"key_ops":["sign"]`), "has no usable key", 0},
		"another algorithm's": {but(`"alg":"ES256"`), "has no usable key", 0},
		"only a secret":       {`{"keys":[{"kty":"oct","k":"AAAA","alg":"HS256"}]}`, "has no usable key", 0},
		"nothing":             {``, "is no JSON object", 0},
		"a page":              {`<html>`, "is no JSON object", 0},
		"no keys":             {`{}`, "has no usable key", 0},
		"a text as key":       {`{"keys":["x"]}`, "key 0 is no object", 0},
		"one kid twice":       {`{"keys":[` + ed + `,` + ed + `]}`, "", 1},
		"two keys of one kid": {
			`{"keys":[` + ed + `,` + strings.Replace(ed, "AAAA", "BBBB", 1) + `]}`, "of the same kid", 0,
		},
		"three of one kid": {
			`{"keys":[` + ed + `,` + strings.Replace(ed, "AAAA", "BBBB", 1) + `,` + ed + `]}`, "of the same kid", 0,
		},
		"too many":             {`{"keys":[` + strings.Repeat(ed+",", maxKeys) + ed + `]}`, "has 101 keys", 0},
		"a short Ed25519":      {`{"keys":[` + strings.Replace(ed, "AAAA", "", 1) + `]}`, "no x of 32 bytes", 0},
		"a point off P-256":    {offCurve, "no point", 0},
		"a short P-256":        {`{"keys":[{"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"}]}`, "32 bytes", 0},
		"RSA of 1024 bits":     {`{"keys":[` + rsaKey(short, "AQAB") + `]}`, "has 1024 bits", 0},
		"RSA beyond all bound": {`{"keys":[` + rsaKey(long, "AQAB") + `]}`, "bits (allowed", 0},
		"RSA with exponent 1":  {`{"keys":[` + rsaKey(whole, "AQ") + `]}`, "the exponent 1", 0},
		"RSA with exponent 4":  {`{"keys":[` + rsaKey(whole, "BA") + `]}`, "the exponent 4", 0},
		"RSA without exponent": {`{"keys":[` + rsaKey(whole, "") + `]}`, "the exponent 0", 0},
		"RSA with padding":     {`{"keys":[` + rsaKey(whole+"=", "AQAB") + `]}`, "no n and e", 0},
	} {
		keys, _, err := parseKeys([]byte(tc.set))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) ||
			len(keys) != tc.keys {
			t.Errorf("%s: %d keys, %v; want %d, %q", name, len(keys), err, tc.keys, tc.want)
		}
	}
}

// A provider's one odd key does not spoil its good one: RFC 7517, section 5, ignores keys that cannot be used. Each is
// logged once, not with every fetch.
func TestOddKeysBesideAGoodOne(t *testing.T) {
	t.Parallel()
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	rsaKey := func(kid string, n []byte, e string) string {
		return fmt.Sprintf(`{"kty":"RSA","kid":%q,"n":%q,"e":%q}`, kid, text(n), e)
	}
	point := func(x, y int) string {
		return fmt.Sprintf(`{"kty":"EC","crv":"P-256","kid":"odd","x":%q,"y":%q}`,
			strings.Repeat("A", x), strings.Repeat("A", y))
	}
	okp := func(kid, x string) string {
		return fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","kid":%q,"x":%q}`, kid, x)
	}
	whole, good := append([]byte{0xff}, make([]byte, 255)...), okp("good", strings.Repeat("A", 43))
	for name, tc := range map[string]struct {
		odd     string
		skipped string // part of the reason; "": none
		usable  bool   // the good key stays usable
	}{
		"RSA of 1024 bits": {rsaKey("odd", weak.N.Bytes(), "AQAB"), "has 1024 bits", true},
		"RSA of 8200 bits": {
			rsaKey("odd", append([]byte{0xff}, make([]byte, 1024)...), "AQAB"), "bits (allowed", true,
		},
		"RSA with exponent 1":  {rsaKey("odd", whole, "AQ"), "the exponent 1", true},
		"RSA without exponent": {rsaKey("odd", whole, ""), "the exponent 0", true},
		"RSA with padding": {
			strings.Replace(rsaKey("odd", whole, "AQAB"), `","e"`, `==","e"`, 1), "no n and e", true,
		},
		"x without its leading zero":    {point(42, 43), "32 bytes", true},
		"a point off P-256":             {point(43, 43), "no point", true},
		"a short Ed25519":               {okp("odd", strings.Repeat("A", 40)), "32 bytes", true},
		"a text":                        {`"x"`, "no object", true},
		"a number as kid":               {`{"kty":"OKP","crv":"Ed25519","kid":7,"x":"A"}`, "no object", true},
		"the same key twice":            {good, "", true},
		"another key of the good kid":   {okp("good", strings.Repeat("B", 42)+"A"), "of the same kid", false},
		"another kind of the good kid":  {strings.Replace(point(43, 43), `"odd"`, `"good"`, 1), "no point", true},
		"a secret key":                  {`{"kty":"oct","kid":"odd","k":"AAAA"}`, "", true},
		"a key to encrypt with":         {`{"kty":"RSA","use":"enc","kid":"odd","n":"AA","e":"AQAB"}`, "", true},
		"a curve that is not used here": {`{"kty":"EC","crv":"P-384","kid":"odd","x":"AA","y":"AA"}`, "", true},
	} {
		for order, set := range []string{tc.odd + "," + good, good + "," + tc.odd} {
			keys, skipped, err := parseKeys([]byte(`{"keys":[` + set + `]}`))
			reasons := strings.Join(skipped, "; ")
			if usable := keys[keyID{"good", EdDSA}] != nil; usable != tc.usable || (err == nil) != tc.usable ||
				(tc.skipped == "") != (reasons == "") || !strings.Contains(reasons, tc.skipped) {
				t.Errorf("%s, %d: usable %t, skipped %q, %v; want %t, %q", name, order, usable, reasons, err, tc.usable,
					tc.skipped)
			}
		}
	}
}

func TestOddKeysAreLoggedOnce(t *testing.T) {
	t.Parallel()
	var logged strings.Builder
	set := `{"keys":["x",{"kty":"OKP","crv":"Ed25519","kid":"1","x":"` + strings.Repeat("A", 43) + `"}]}`
	p := &provided{set: []byte(set)}
	s := newKeySet(p)
	s.log = slog.New(slog.NewTextHandler(&logged, nil))
	for range 3 {
		s.mu.Lock()
		s.running = make(chan struct{})
		s.mu.Unlock()
		s.attempt(t.Context())
	}
	if n := strings.Count(logged.String(), "is skipped"); n != 1 {
		t.Errorf("logged %d times: %s", n, &logged)
	}
	logged.Reset()
	first := newKeySet(&provided{set: []byte(`{"keys":[]}`)})
	first.log, first.running = s.log, make(chan struct{})
	first.attempt(t.Context())
	if got := logged.String(); !strings.Contains(got, "cannot sign in") || strings.Contains(got, "0001-01-01") {
		t.Errorf("without any last ones: %s", got)
	}
}
