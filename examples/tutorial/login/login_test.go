package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const number = "13800138000"

// site is a login with its log and clock.
type site struct {
	t       *testing.T
	handler http.Handler
	log     bytes.Buffer
	now     time.Time
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)}
	s.handler = newLogin([]byte(strings.Repeat("k", minSecret)), slog.New(slog.NewTextHandler(&s.log, nil)),
		func() time.Time { return s.now })
	return s
}

// ask returns the status and the answer.
func (s *site) ask(method, target, body, token string) (status int, e envelope) {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, target, strings.NewReader(body))
	r.Header.Set("authorization", token)
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		s.t.Fatalf("%s %s answers %q: %v", method, target, w.Body, err)
	}
	return w.Code, e
}

// code asks for one and reads it from the log.
func (s *site) code() string {
	s.t.Helper()
	if _, e := s.ask(http.MethodPost, "/user/code?phone="+number, "", ""); !e.Success {
		s.t.Fatalf("no code: %+v", e)
	}
	found := regexp.MustCompile(`code=(\d{6})`).FindAllStringSubmatch(s.log.String(), -1)
	return found[len(found)-1][1]
}

func (s *site) signIn(code string) envelope {
	s.t.Helper()
	_, e := s.ask(http.MethodPost, "/user/login", `{"phone":"`+number+`","code":"`+code+`"}`, "")
	return e
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	code := s.code()
	in := s.signIn(code)
	token := strings.Trim(string(in.Data), `"`)
	if status, me := s.ask(http.MethodGet, "/user/me", "", token); status != http.StatusOK || !me.Success {
		t.Fatalf("signed in with %+v: %d %+v", in, status, me)
	}
	if s.signIn(code).Success {
		t.Error("a code was taken twice")
	}
	s.now = s.now.Add(tokenValid)
	if status, _ := s.ask(http.MethodGet, "/user/me", "", token); status != http.StatusUnauthorized {
		t.Errorf("after the token's life: %d", status)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if _, e := s.ask(http.MethodPost, "/user/code?phone=110", "", ""); e.Success || e.ErrorMsg == "" {
		t.Errorf("no telephone number: %+v", e)
	}
	code := s.code()
	if s.signIn("x").Success || s.signIn(code).Success {
		t.Error("after a wrong code the right one was taken")
	}
	code = s.code()
	s.now = s.now.Add(codeValid)
	if s.signIn(code).Success {
		t.Error("a code was taken too late")
	}
	if status, e := s.ask(http.MethodPost, "/user/login", "{", ""); status != http.StatusBadRequest || e.Success {
		t.Errorf("no JSON: %d %+v", status, e)
	}
	for _, token := range []string{"", "x", "a.b.c", "a.e30." + strings.Repeat("A", 43)} {
		if status, e := s.ask(http.MethodGet, "/user/me", "", token); status != http.StatusUnauthorized || e.Success {
			t.Errorf("token %q: %d %+v", token, status, e)
		}
	}
}
