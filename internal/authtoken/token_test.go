package authtoken

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/internal/voucher"
)

const plainHeader = `{"alg":"HS256","typ":"JWT"}`

// signed returns a token with any claims.
func signed(claims string) string { return sign(secret, []byte(plainHeader), []byte(claims)) }

// verifier returns a Verifier with the rules and the tests' secret.
func verifier(t testing.TB, r Rules) *Verifier {
	t.Helper()
	r.Secret = secret
	v, err := NewVerifier(r)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// at returns the time d after noon in seconds since 1970, as claims have it.
func at(d time.Duration) int64 { return noon.Add(d).Unix() }

// TestVerify checks each rule of the package comment, with a token on either side of it.
func TestVerify(t *testing.T) {
	t.Parallel()
	hour := at(time.Hour)
	with := func(claim string) string { return fmt.Sprintf(`{"sub":"42","exp":%d,%s}`, hour, claim) }
	buyer, admin := &Identity{UserID: 42}, &Identity{UserID: 42, Role: RoleAdmin}
	for _, c := range []struct {
		what, claims string
		rules        Rules
		want         *Identity // nil: not valid
	}{
		{"plain", fmt.Sprintf(`{"sub":"42","exp":%d}`, hour), Rules{}, buyer},
		{"admin", with(`"role":"admin"`), Rules{}, admin},
		{"escaped", with(`"r\u006fle":"adm\u0069n"`), Rules{}, admin},
		{"ROLE is not role", with(`"ROLE":"admin"`), Rules{}, buyer},
		{"Role beside role", with(`"role":"buyer","Role":"admin"`), Rules{}, buyer},
		{"other role", with(`"role":"Admin"`), Rules{}, buyer},
		{"role twice", with(`"role":"buyer","role":"admin"`), Rules{}, nil},
		{"role twice, once escaped", with(`"role":"buyer","rol\u0065":"admin"`), Rules{}, nil},
		{"sub twice", with(`"sub":"43"`), Rules{}, nil},
		{"unknown twice", with(`"x":1,"x":1`), Rules{}, nil},
		{"twice within an ignored claim", with(`"x":{"a":1,"a":2}`), Rules{}, buyer},
		{"role is a list", with(`"role":["admin"]`), Rules{}, nil},
		{"EXP alone", fmt.Sprintf(`{"sub":"42","EXP":%d}`, hour), Rules{}, nil},
		{"no exp", `{"sub":"42"}`, Rules{}, nil},
		{"exp null", `{"sub":"42","exp":null}`, Rules{}, nil},
		{"exp as text", fmt.Sprintf(`{"sub":"42","exp":"%d"}`, hour), Rules{}, nil},
		{"exp now", fmt.Sprintf(`{"sub":"42","exp":%d}`, at(0)), Rules{}, nil},
		{"exp in a second", fmt.Sprintf(`{"sub":"42","exp":%d}`, at(time.Second)), Rules{}, buyer},
		{"exp within this second", fmt.Sprintf(`{"sub":"42","exp":%d.9}`, at(0)), Rules{}, nil},
		{"exp with exponent", `{"sub":"42","exp":4e9}`, Rules{}, buyer},
		{"exp after the year 9999", `{"sub":"42","exp":253402300800}`, Rules{}, nil},
		{"exp negative", `{"sub":"42","exp":-1}`, Rules{}, nil},
		{"nbf now", with(fmt.Sprintf(`"nbf":%d`, at(0))), Rules{}, buyer},
		{"nbf in a second", with(fmt.Sprintf(`"nbf":%d`, at(time.Second))), Rules{}, nil},
		{"nbf null", with(`"nbf":null`), Rules{}, buyer},
		{"nbf overflows", with(`"nbf":9223372036854775808`), Rules{}, nil},
		{"nbf beyond float64", with(`"nbf":1e400`), Rules{}, nil},
		{"nbf as text", with(`"nbf":"0"`), Rules{}, nil},
		{"iat overflows", with(`"iat":1e30`), Rules{}, nil},
		{"iat negative", with(`"iat":-5`), Rules{}, nil},
		{"iat in the future", with(fmt.Sprintf(`"iat":%d`, at(time.Minute))), Rules{}, buyer},
		{"sub with zero", strings.Replace(with(`"x":1`), "42", "042", 1), Rules{}, nil},
		{"sub 0", strings.Replace(with(`"x":1`), "42", "0", 1), Rules{}, nil},
		{"sub beyond", strings.Replace(with(`"x":1`), "42", "9007199254740992", 1), Rules{}, nil},
		{"sub number", strings.Replace(with(`"x":1`), `"42"`, "42", 1), Rules{}, nil},
		{"jti number", with(`"jti":1`), Rules{}, nil},
		{"issuer", with(`"iss":"login"`), Rules{Issuer: "login"}, buyer},
		{"issuer with escapes", with(`"iss":"https:\/\/login"`), Rules{Issuer: "https://login"}, buyer},
		{"other issuer", with(`"iss":"Login"`), Rules{Issuer: "login"}, nil},
		{"no issuer", with(`"x":1`), Rules{Issuer: "login"}, nil},
		{"any issuer", with(`"iss":"login"`), Rules{}, buyer},
		{"issuer number", with(`"iss":1`), Rules{}, nil},
		{"audience", with(`"aud":"shop"`), Rules{Audience: "shop"}, buyer},
		{"one audience of several", with(`"aud":["x", "shop"]`), Rules{Audience: "shop"}, buyer},
		{"other audience", with(`"aud":["x"]`), Rules{Audience: "shop"}, nil},
		{"no audience", with(`"aud":[]`), Rules{Audience: "shop"}, nil},
		{"audience of numbers", with(`"aud":["shop",1]`), Rules{Audience: "shop"}, nil},
		{"any audience", with(`"aud":"x"`), Rules{}, buyer},
		{"short life", with(fmt.Sprintf(`"iat":%d`, at(0))), Rules{MaxLife: time.Hour}, buyer},
		{"long life", with(fmt.Sprintf(`"iat":%d`, at(-time.Second))), Rules{MaxLife: time.Hour}, nil},
		{"bounded life without iat", with(`"x":1`), Rules{MaxLife: time.Hour}, nil},
		{"bounded life from the future", with(fmt.Sprintf(`"iat":%d`,
			at(10*time.Minute))), Rules{MaxLife: 50 * time.Minute}, nil},
		{"bounded life, the issuer's clock ahead", with(fmt.Sprintf(`"iat":%d`,
			at(time.Minute))), Rules{MaxLife: 59 * time.Minute}, buyer},
		{"admin's life", with(fmt.Sprintf(`"role":"admin","iat":%d`,
			at(0))), Rules{MaxLife: time.Hour, AdminMaxLife: time.Minute}, nil},
		{"an admin's bound does not apply to buyers", with(`"x":1`), Rules{AdminMaxLife: time.Minute}, buyer},
		{"not UTF-8", with("\"x\":\"\xff\""), Rules{}, nil},
		{"control character", with("\"x\":\"\x01\""), Rules{}, nil},
		{"something follows", with(`"x":1`) + "{}", Rules{}, nil},
		{"no object", `["sub","42"]`, Rules{}, nil},
		{"null", `null`, Rules{}, nil},
		{"nothing", ``, Rules{}, nil},
		{"deep", with(`"x":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000)), Rules{}, buyer},
		{"white space", " \r\n\t" + with(` "x" : [ ] `) + "\n", Rules{}, buyer},
	} {
		who, err := verifier(t, c.rules).Verify(signed(c.claims), noon)
		switch {
		case c.want == nil && (err == nil || who != Identity{}):
			t.Errorf("%s: %+v, %v, want an error", c.what, who, err)
		case c.want != nil &&
			(err != nil || who.UserID != c.want.UserID || who.Role != c.want.Role || !who.Expires.After(noon)):
			t.Errorf("%s: %+v, %v", c.what, who, err)
		}
	}
}

// TestHeaders checks which headers are valid.
func TestHeaders(t *testing.T) {
	t.Parallel()
	v := verifier(t, Rules{})
	for header, valid := range map[string]bool{
		plainHeader:                                true,
		`{"typ":"JWT","alg":"HS256"}`:              true,
		`{"alg":"HS256"}`:                          true,
		"\t" + `{"kid":"7", "alg" : "HS\u003256"}`: true,
		`{"alg":"HS256","typ":5,"jwk":{}}`:         true,
		`{"alg":"HS256","Crit":["exp"]}`:           true,
		`{"alg":"HS256","crit":["exp"]}`:           false,
		`{"alg":"HS256","crit":[]}`:                false,
		`{"alg":"HS256","cr\u0069t":["x"]}`:        false,
		`{"alg":"HS256","alg":"HS256"}`:            false,
		`{"alg":"none","alg":"HS256"}`:             false,
		`{"Alg":"HS256"}`:                          false,
		`{"alg":"hs256"}`:                          false,
		`{"alg":"HS512"}`:                          false,
		`{"alg":"none"}`:                           false,
		`{"alg":["HS256"]}`:                        false,
		`{"alg":null}`:                             false,
		`{}`:                                       false,
		`null`:                                     false,
		``:                                         false,
		`{"alg":"HS256"}x`:                         false,
		`{"alg":"HS256","x":1e999}`:                false,
	} {
		_, err := v.Verify(sign(secret, []byte(header), fmt.Appendf(nil, `{"sub":"42","exp":%d}`, at(time.Hour))), noon)
		if (err == nil) != valid {
			t.Errorf("%s: %v", header, err)
		}
	}
}

// TestSpellings checks that a token has exactly one valid spelling.
func TestSpellings(t *testing.T) {
	t.Parallel()
	v := verifier(t, Rules{})
	good := signed(fmt.Sprintf(`{"sub":"42","exp":%d}`, at(time.Hour)))
	if _, err := v.Verify(good, noon); err != nil {
		t.Fatal(err)
	}
	for i := range len(good) {
		for _, c := range []byte("AB_-.=\n\r ") {
			if good[i] == c {
				continue
			}
			if who, err := v.Verify(good[:i]+string(c)+good[i+1:], noon); err == nil {
				t.Fatalf("byte %d as %q: %+v", i, c, who)
			}
			if who, err := v.Verify(good[:i]+string(c)+good[i:], noon); err == nil {
				t.Fatalf("%q before byte %d: %+v", c, i, who)
			}
		}
		if who, err := v.Verify(good[:i], noon); err == nil {
			t.Fatalf("%d bytes: %+v", i, who)
		}
	}
	long := signed(fmt.Sprintf(`{"sub":"42","exp":%d,"x":%q}`, at(time.Hour), strings.Repeat("x", MaxLength)))
	if _, err := v.Verify(long, noon); !errors.Is(err, errLength) {
		t.Errorf("a long token: %v", err)
	}
	text := good[:len(good)-signatureLength-1]
	for _, odd := range []string{text + "\n", text + "\r", strings.Replace(text, ".", "\r\n.", 1), "\n" + text, text +
		"=", text[:len(text)-1] + "R"} {
		if who, err := v.Verify(signText(secret, odd), noon); err == nil {
			t.Errorf("signed as %q: %+v", odd, who)
		}
	}
	for _, encoding := range []*base64.Encoding{base64.URLEncoding, base64.StdEncoding} {
		h, c := encoding.EncodeToString([]byte(plainHeader+" ")), encoding.EncodeToString(fmt.Appendf(nil,
			`{"sub":"42","exp":%d,"x":"???>>>"}`, at(time.Hour)))
		if who, err := v.Verify(signText(secret, h+"."+c), noon); err == nil {
			t.Errorf("in another alphabet or with padding: %+v", who)
		}
	}
}

// TestPrevious checks that tokens of the current and the previous key are valid, and those of a third key are not.
func TestPrevious(t *testing.T) {
	t.Parallel()
	r := Rules{Previous: previous}
	v := verifier(t, r)
	claims := fmt.Appendf(nil, `{"sub":"42","exp":%d}`, at(time.Hour))
	for _, c := range []struct {
		key   []byte
		valid bool
	}{{secret, true}, {previous, true}, {[]byte(strings.Repeat("x", MinSecret)), false}, {
		nil, false,
	}, {secret[:31], false}} {
		if _, err := v.Verify(sign(c.key, []byte(plainHeader), claims), noon); (err == nil) != c.valid {
			t.Errorf("signed with %q: %v", c.key, err)
		}
	}
	if _, err := verifier(t, Rules{}).Verify(sign(previous, []byte(plainHeader), claims),
		noon); !errors.Is(err, errSignature) {
		t.Errorf("after the previous key was removed: %v", err)
	}
}

// TestCallersKeys checks that the verifier copies its keys: callers may change theirs later.
func TestCallersKeys(t *testing.T) {
	t.Parallel()
	key := append([]byte(nil), secret...)
	v, err := NewVerifier(Rules{Secret: key})
	if err != nil {
		t.Fatal(err)
	}
	clear(key)
	if _, err := v.Verify(signed(fmt.Sprintf(`{"sub":"42","exp":%d}`, at(time.Hour))), noon); err != nil {
		t.Error(err)
	}
}

// TestManyAtOnce checks that concurrent checks do not disturb each other.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	v := verifier(t, Rules{Previous: previous})
	var running sync.WaitGroup
	for user := range int64(8) {
		running.Go(func() {
			rules := Rules{Secret: [][]byte{secret, previous}[user%2]}
			token, err := Sign(rules, Account{User: user + 1}, time.Hour, noon)
			if err != nil {
				t.Error(err)
			}
			for range 500 {
				if who, err := v.Verify(token, noon); err != nil || who.UserID != user+1 {
					t.Errorf("%+v, %v", who, err)
					return
				}
				if _, err := v.Verify(token+"A", noon); err == nil {
					t.Error("a token that is too long is valid")
				}
			}
		})
	}
	running.Wait()
}

// No token may name the pseudonym of somebody who was forgotten.
func TestPseudonyms(t *testing.T) {
	t.Parallel()
	r := Rules{Secret: secret}
	v, err := NewVerifier(r)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[int64]error{
		voucher.FirstForgotten - 1: nil, voucher.FirstForgotten: errForgotten, voucher.MaxID: errForgotten,
	} {
		s, err := Sign(r, Account{User: id}, time.Hour, noon)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Verify(s, noon); !errors.Is(err, want) {
			t.Errorf("user %d: %v, want %v", id, err, want)
		}
	}
}

func TestSign(t *testing.T) {
	t.Parallel()
	r := Rules{Secret: secret, Issuer: `log"in`, Audience: "shop", MaxLife: time.Hour, AdminMaxLife: time.Second}
	v, err := NewVerifier(r)
	if err != nil {
		t.Fatal(err)
	}
	for role, ttl := range map[string]time.Duration{"": time.Hour, RoleAdmin: time.Second} {
		s, err := Sign(r, Account{User: voucher.FirstForgotten - 1, Role: role}, ttl, noon)
		if err != nil {
			t.Fatal(err)
		}
		who, err := v.Verify(s, noon)
		if err != nil || who.UserID != voucher.FirstForgotten-1 || who.Role != role ||
			!who.Expires.Equal(noon.Add(ttl)) {
			t.Errorf("%+v, %v", who, err)
		}
		if _, err := (reference{r}).verify(s, noon); err != nil {
			t.Errorf("the reference: %v", err)
		}
	}
}

// TestTillsHaveShops checks that only tills and merchants have a shop, and only if the claim is a valid shop id.
func TestTillsHaveShops(t *testing.T) {
	t.Parallel()
	r := Rules{Secret: secret}
	v := verifier(t, r)
	s, err := Sign(r, Account{User: 7, Role: RoleTill, Shop: 9}, time.Hour, noon)
	if err != nil {
		t.Fatal(err)
	}
	if who, err := v.Verify(s, noon); err != nil || who.Shop != 9 || who.UserID != 7 || who.Role != RoleTill {
		t.Errorf("%+v, %v", who, err)
	}
	for _, claims := range []string{
		`"role":"admin","shop":9`, `"shop":9`, `"role":"Till","shop":9`, `"role":"till"`,
		`"role":"till","shop":"9"`, `"role":"till","shop":0`, `"role":"till","shop":-9`, `"role":"till","shop":9.5`,
		`"role":"merchant"`, `"role":"merchant","shop":0`, `"role":"till","shop":9007199254740992`,
		`"role":"till","shop":null`, `"role":"till","shop":[9]`,
	} {
		who, err := v.Verify(signed(fmt.Sprintf(`{"sub":"42","exp":%d,%s}`, at(time.Hour), claims)), noon)
		if err != nil || who.Shop != 0 {
			t.Errorf("%s: %+v, %v; want no shop", claims, who, err)
		}
	}
	for _, shop := range []int64{0, -1, voucher.MaxID + 1} {
		if s, err := Sign(r, Account{User: 7, Role: RoleMerchant, Shop: shop}, time.Hour, noon); err == nil {
			t.Errorf("a till of the invalid shop %d got the token %s", shop, s)
		}
	}
}

// TestAccountClaims checks that level and since are read from whole numbers only.
func TestAccountClaims(t *testing.T) {
	t.Parallel()
	r := Rules{Secret: secret}
	v := verifier(t, r)
	s, err := Sign(r, Account{User: 7, Level: 3, Since: noon.Add(-48 * time.Hour)}, time.Hour, noon)
	if err != nil {
		t.Fatal(err)
	}
	if who, err := v.Verify(s, noon); err != nil || who.Level != 3 ||
		!who.Since.Equal(noon.Add(-48*time.Hour)) || who.UserID != 7 {
		t.Errorf("%+v, %v", who, err)
	}
	for _, value := range []string{
		`"3"`, `3.0`, `3e0`, `-3`, `null`, `[3]`, `true`, `{"a":3}`, `9007199254740992000`, `0`,
	} {
		who, err := v.Verify(signed(fmt.Sprintf(`{"sub":"42","exp":%d,"level":%s,"since":%s}`,
			at(time.Hour), value, value)), noon)
		if err != nil || who.Level != 0 || !who.Since.IsZero() {
			t.Errorf("%s: %+v, %v; want neither level nor since", value, who, err)
		}
	}
	for _, level := range []int64{-1, voucher.MaxID + 1} {
		if s, err := Sign(r, Account{User: 7, Level: level}, time.Hour, noon); err == nil {
			t.Errorf("the invalid level %d got the token %s", level, s)
		}
	}
}

func TestSignRefuses(t *testing.T) {
	t.Parallel()
	good := Rules{Secret: secret, MaxLife: time.Hour}
	for name, tc := range map[string]struct {
		rules Rules
		of    Account
		ttl   time.Duration
	}{
		"short secret": {Rules{Secret: secret[:31]}, Account{User: 1}, time.Hour},
		"user 0":       {good, Account{User: 0}, time.Hour},
		"user 2^53":    {good, Account{User: voucher.MaxID + 1}, time.Hour},
		"role":         {good, Account{User: 1, Role: "root"}, time.Hour},
		"no shop":      {good, Account{User: 1, Role: RoleMerchant}, time.Hour},
		"an admin's":   {good, Account{User: 1, Role: RoleAdmin, Shop: 9}, time.Hour},
		"a buyer's":    {good, Account{User: 1, Shop: 9}, time.Hour},
		"long ago":     {good, Account{User: 1, Since: time.Unix(-1, 0)}, time.Hour},
		"no time":      {good, Account{User: 1}, 0},
		"long life":    {good, Account{User: 1}, time.Hour + time.Second},
	} {
		if s, err := Sign(tc.rules, tc.of, tc.ttl, noon); err == nil || s != "" {
			t.Errorf("%s: %q, %v", name, s, err)
		}
	}
}

func TestNewVerifierRefuses(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]Rules{
		"no secret":      {},
		"short secret":   {Secret: secret[:31]},
		"short previous": {Secret: secret, Previous: previous[:31]},
		"short admins'":  {Secret: secret, Admin: admins[:31]},
		"short retired":  {Secret: secret, Admin: admins, AdminPrevious: retired[:31]},
		"only retired":   {Secret: secret, AdminPrevious: retired},
		"one for all":    {Secret: secret, Admin: secret},
		"the previous":   {Secret: secret, Previous: previous, Admin: previous},
		"retired to all": {Secret: secret, Admin: admins, AdminPrevious: secret},
		"negative life":  {Secret: secret, MaxLife: -1},
		"admin's life":   {Secret: secret, AdminMaxLife: -1},
	} {
		if _, err := NewVerifier(r); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
