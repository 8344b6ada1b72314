package issuers

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
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
		"one of each kind":     {string(mine), "", 3},
		"also of other kinds":  {`{"keys":[` + ed + `,{"kty":"oct","k":"AAAA"},{"kty":"EC","crv":"P-384"}]}`, "", 1},
		"for encryption":       {but(`"use":"enc"`), "has no key", 0},
		"to sign with":         {but(`"key_ops":["sign"]`), "has no key", 0},
		"another algorithm's":  {but(`"alg":"ES256"`), "has no key", 0},
		"only a secret":        {`{"keys":[{"kty":"oct","k":"AAAA","alg":"HS256"}]}`, "has no key", 0},
		"nothing":              {``, "is no JSON object", 0},
		"a page":               {`<html>`, "is no JSON object", 0},
		"no keys":              {`{}`, "has no key", 0},
		"a text as key":        {`{"keys":["x"]}`, "no object as key 0", 0},
		"one kid twice":        {`{"keys":[` + ed + `,` + ed + `]}`, "two keys", 0},
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
		keys, err := parseKeys([]byte(tc.set))
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) ||
			len(keys) != tc.keys {
			t.Errorf("%s: %d keys, %v; want %d, %q", name, len(keys), err, tc.keys, tc.want)
		}
	}
}
