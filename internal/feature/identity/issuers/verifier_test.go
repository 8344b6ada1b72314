package issuers

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"seckill/internal/testkit/idp"
	"seckill/internal/voucher"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func goodClaims() map[string]any {
	return map[string]any{
		"iss": "https://login.example", "sub": "alice", "aud": "shop", "iat": noon.Add(-time.Minute).Unix(),
		"exp": noon.Add(time.Hour).Unix(), "grade": 3,
	}
}

// What an exchange costs besides the look for its account, by algorithm.
func BenchmarkVerify(b *testing.B) {
	keys := idp.Keys(b)
	set := idp.Set(b, keys)
	v := NewVerifier([]Issuer{{
		Name: "https://login.example", Audience: "shop", AudienceIn: "aud", Kind: IDToken,
		Algorithms: []Algorithm{RS256, ES256, EdDSA}, Claims: Claims{User: "sub"},
	}}, func(Issuer) Source {
		return func(context.Context) ([]byte, error) { return set, nil }
	}, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
	for a, key := range keys {
		token := key.Sign(b, map[string]any{"kid": a}, goodClaims())
		b.Run(a, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Verify(b.Context(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Tokens of each algorithm are taken, and nothing that differs in one way from them.
func TestVerify(t *testing.T) {
	t.Parallel()
	mine, others := idp.Keys(t), idp.Keys(t)
	set := idp.Set(t, mine)
	v := NewVerifier([]Issuer{{
		Name: "https://login.example", Audience: "shop", AudienceIn: "aud", Kind: IDToken,
		Algorithms: []Algorithm{RS256, ES256, EdDSA}, Claims: Claims{User: "sub", Level: "grade"},
	}}, func(Issuer) Source {
		return func(context.Context) ([]byte, error) { return set, nil }
	}, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
	for a, s := range mine {
		kid := map[string]any{"kid": a}
		who, err := v.Verify(t.Context(), s.Sign(t, kid, goodClaims()))
		if err != nil || who.Subject != "alice" || who.Level != 3 || !who.SignedIn.Equal(noon.Add(-time.Minute)) {
			t.Errorf("%s: %+v, %v", a, who, err)
		}
		if _, err := v.Verify(t.Context(), others[a].Sign(t, kid, goodClaims())); !errors.Is(err, ErrRefused) {
			t.Errorf("%s with another key: %v", a, err)
		}
		for name, change := range map[string]map[string]any{
			"expired": {"exp": noon.Add(-2 * time.Minute).Unix()}, "no exp": {"exp": nil}, "exp text": {"exp": "1"},
			"early": {"nbf": noon.Add(2 * time.Minute).Unix()}, "no iat": {"iat": nil},
			"iat ahead": {"iat": noon.Add(2 * time.Minute).Unix()},
			"old":       {"iat": noon.Add(-25 * time.Hour).Unix()}, "issuer": {"iss": "https://login.example/"},
			"audience": {"aud": "Shop"}, "no audience": {"aud": nil}, "aud a number": {"aud": []any{"shop", 1}},
			"another party": {"azp": "web"}, "no user": {"sub": nil}, "user a number": {"sub": 7},
			"user too long": {"sub": strings.Repeat("x", 256)},
		} {
			claims := goodClaims()
			maps.Copy(claims, change)
			if _, err := v.Verify(t.Context(), s.Sign(t, kid, claims)); !errors.Is(err, ErrRefused) {
				t.Errorf("%s, %s: %v", a, name, err)
			}
		}
		for name, header := range map[string]map[string]any{
			"unknown kid": {"kid": "x"}, "kid of another": {"kid": "secret"}, "access token": {"typ": "at+jwt"},
			"critical": {"crit": []string{"exp"}}, "alg none": {"alg": "none"}, "alg HS256": {"alg": "HS256"},
		} {
			h := maps.Clone(kid)
			maps.Copy(h, header)
			if _, err := v.Verify(t.Context(), s.Sign(t, h, goodClaims())); !errors.Is(err, ErrRefused) {
				t.Errorf("%s, %s: %v", a, name, err)
			}
		}
	}
	for name, key := range map[string][]byte{"the set's secret": make([]byte, 32), "the public key": set} {
		token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims(goodClaims()))
		token.Header["kid"] = "secret"
		signed, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Verify(t.Context(), signed); !errors.Is(err, ErrRefused) {
			t.Errorf("HS256 with %s: %v", name, err)
		}
	}
}

// A numeric issuer's user is a number below those of accounts, written in the one way.
func TestNumericSubjects(t *testing.T) {
	t.Parallel()
	key := idp.Keys(t)["EdDSA"]
	set := idp.Set(t, map[string]idp.Key{"1": key})
	v := NewVerifier([]Issuer{{
		Name: "https://login.example", Audience: "shop", AudienceIn: "aud", Kind: IDToken, Numeric: true,
		Algorithms: []Algorithm{EdDSA}, Claims: Claims{User: "sub"},
	}}, func(Issuer) Source {
		return func(context.Context) ([]byte, error) { return set, nil }
	}, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
	for subject, want := range map[any]int64{
		"1": 1, "42": 42, "4503599627370495": voucher.FirstAccount - 1,
		"4503599627370496": 0, "7999999999999999": 0, "8000000000000000": 0, "9007199254740992": 0,
		"9223372036854775808": 0, "99999999999999999999": 0, "0": 0, "-1": 0, "+1": 0, "01": 0, " 1": 0, "1 ": 0,
		"1.0": 0, "1e3": 0, "0x1": 0, "1_0": 0, "": 0, "١": 0, "alice": 0, 42: 0,
	} {
		claims := goodClaims()
		claims["sub"] = subject
		who, err := v.Verify(t.Context(), key.Sign(t, map[string]any{"kid": "1"}, claims))
		if who.Number != want || (err == nil) != (want > 0) || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%v is %+v, %v; want %d", subject, who, err, want)
		}
	}
}

// TestMisfitIsLogged holds tokens that the issuer signed and that are refused against the log: who sets an issuer up is
// told what does not fit, once; what others have signed and what is only old is not told.
func TestMisfitIsLogged(t *testing.T) {
	t.Parallel()
	mine, others := idp.Keys(t)[string(ES256)], idp.Keys(t)[string(ES256)]
	for name, c := range map[string]struct {
		signer idp.Key
		change map[string]any
		logged int
	}{
		"another audience": {mine, map[string]any{"aud": "Shop"}, 1},
		"old":              {mine, map[string]any{"iat": noon.Add(-25 * time.Hour).Unix()}, 0},
		"a stranger's":     {others, map[string]any{"aud": "Shop"}, 0},
	} {
		var log strings.Builder
		set := idp.Set(t, map[string]idp.Key{string(ES256): mine})
		v := NewVerifier([]Issuer{{
			Name: "https://login.example", Audience: "shop", AudienceIn: "aud", Kind: IDToken,
			Algorithms: []Algorithm{ES256}, Claims: Claims{User: "sub"},
		}}, func(Issuer) Source {
			return func(context.Context) ([]byte, error) { return set, nil }
		}, func() time.Time { return noon }, slog.New(slog.NewTextHandler(&log, nil)))
		claims := goodClaims()
		maps.Copy(claims, c.change)
		for range 3 {
			token := c.signer.Sign(t, map[string]any{"kid": string(ES256)}, claims)
			if _, err := v.Verify(t.Context(), token); !errors.Is(err, ErrRefused) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != c.logged {
			t.Errorf("%s is logged %d times, want %d: %s", name, n, c.logged, log.String())
		}
	}
}
