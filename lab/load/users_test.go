package load

import (
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// TestToken: a library can read the tokens that are signed here by hand.
func TestToken(t *testing.T) {
	t.Parallel()
	token := Token(42, `,"role":"admin"`)
	parsed, err := jwt.Parse(token, func(*jwt.Token) (any, error) { return []byte(Secret), nil },
		jwt.WithValidMethods([]string{"HS256"}))
	if err != nil {
		t.Fatal(err)
	}
	if sub, err := parsed.Claims.GetSubject(); err != nil || sub != "42" {
		t.Errorf("subject %q, %v", sub, err)
	}
	if claims, _ := parsed.Claims.(jwt.MapClaims); claims["role"] != "admin" {
		t.Errorf("claims %v", claims)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	micros := make([]uint32, 200)
	for i := range micros {
		micros[i] = uint32(200 - i)
	}
	for q, want := range map[float64]int64{0.5: 100, 0.99: 198, 1: 200, 0: 1} {
		if got := Percentile(micros, q).Microseconds(); got != want {
			t.Errorf("percentile %v is %d µs, want %d", q, got, want)
		}
	}
}
