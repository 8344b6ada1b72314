package rig

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// TestToken: what is signed here by hand is what a library reads.
func TestToken(t *testing.T) {
	t.Parallel()
	token := string(sign(42, time.Now().Add(time.Minute).Unix()))
	parsed, err := jwt.Parse(token, func(*jwt.Token) (any, error) { return []byte(secret), nil }, jwt.WithValidMethods([]string{"HS256"}))
	if err != nil {
		t.Fatal(err)
	}
	if sub, err := parsed.Claims.GetSubject(); err != nil || sub != "42" {
		t.Errorf("subject %q, %v", sub, err)
	}
}

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	good := "HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\ncontent-length: 2\r\n\r\n{}"
	r := bufio.NewReader(strings.NewReader(good + good + "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"))
	for _, want := range [][2]int{{202, 0}, {201, 202}} {
		if status, err := ReadAnswer(r, want[0], want[1]); err != nil || status != 202 {
			t.Fatal(status, err)
		}
	}
	if _, err := ReadAnswer(r, 202, 409); err == nil || !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "busy") {
		t.Errorf("another status: %v", err)
	}
	for what, answer := range map[string]string{
		"without a length": "HTTP/1.1 202 Accepted\r\n\r\n",
		"cut off":          good[:len(good)-1],
		"of another kind":  "SSH-2.0-OpenSSH_9.2\r\n",
	} {
		if _, err := ReadAnswer(bufio.NewReader(strings.NewReader(answer)), 202, 0); err == nil {
			t.Errorf("an answer %s passes", what)
		}
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
