package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	codeValid  = 2 * time.Minute
	mostCodes  = 10_000 // that wait to be used; when there are more, the older ones go
	tokenValid = 2 * time.Hour
)

// login answers the tutorial's user routes.
type login struct {
	secret []byte
	log    *slog.Logger
	now    func() time.Time

	mu    sync.Mutex
	codes map[string]code // by telephone number
}

// code is the code that was sent to a telephone number. It signs a person in once.
type code struct {
	text    string
	expires time.Time
}

// envelope is the tutorial's answer.
type envelope struct {
	Success  bool            `json:"success"`
	ErrorMsg string          `json:"errorMsg,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
}

// newLogin returns the handler of the three routes.
func newLogin(secret []byte, log *slog.Logger, now func() time.Time) http.Handler {
	l := &login{secret: secret, log: log, now: now, codes: map[string]code{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /user/code", l.sendCode)
	mux.HandleFunc("POST /user/login", l.signIn)
	mux.HandleFunc("GET /user/me", l.me)
	return mux
}

var phone = regexp.MustCompile(`^1[3-9]\d{9}$`)

// sendCode answers POST /user/code?phone=….
func (l *login) sendCode(w http.ResponseWriter, r *http.Request) {
	number := r.FormValue("phone")
	if !phone.MatchString(number) {
		answer(w, http.StatusOK, envelope{ErrorMsg: "手机号格式错误！"})
		return
	}
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		answer(w, http.StatusInternalServerError, envelope{ErrorMsg: "请稍后重试"})
		return
	}
	c := code{fmt.Sprintf("%06d", n), l.now().Add(codeValid)}
	l.mu.Lock()
	if len(l.codes) >= mostCodes {
		clear(l.codes)
	}
	l.codes[number] = c
	l.mu.Unlock()
	l.log.Info("a code was asked for; a real service would send it", "phone", number, "code", c.text)
	answer(w, http.StatusOK, envelope{Success: true})
}

// signIn answers POST /user/login: the data is the token, which the tutorial's page keeps in sessionStorage as "token".
func (l *login) signIn(w http.ResponseWriter, r *http.Request) {
	const longest = 4 << 10
	var given struct {
		Phone string `json:"phone"`
		Code  string `json:"code"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, longest)).Decode(&given); err != nil {
		answer(w, http.StatusBadRequest, envelope{ErrorMsg: "请求格式错误"})
		return
	}
	if !l.use(given.Phone, given.Code) {
		answer(w, http.StatusOK, envelope{ErrorMsg: "验证码错误"})
		return
	}
	answer(w, http.StatusOK, envelope{Success: true, Data: fmt.Appendf(nil, "%q", l.token(given.Phone))})
}

// use reports whether the code was sent to the number and not used yet. A wrong one is not tried twice.
func (l *login) use(number, text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, sent := l.codes[number]
	delete(l.codes, number)
	return sent && hmac.Equal([]byte(c.text), []byte(text)) && l.now().Before(c.expires)
}

// token returns a signed token for the coupon service: the user's id, here their number, and the expiry.
func (l *login) token(number string) string {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		encode(fmt.Appendf(nil, `{"sub":%q,"exp":%d}`, number, l.now().Add(tokenValid).Unix()))
	return signed + "." + encode(l.sign(signed))
}

func (l *login) sign(text string) []byte {
	mac := hmac.New(sha256.New, l.secret)
	_, _ = mac.Write([]byte(text)) // a hash never fails
	return mac.Sum(nil)
}

// me answers GET /user/me, by which the page knows that somebody is signed in.
func (l *login) me(w http.ResponseWriter, r *http.Request) {
	number, ok := l.read(r.Header.Get("Authorization"))
	if !ok {
		answer(w, http.StatusUnauthorized, envelope{ErrorMsg: "请先登录"})
		return
	}
	answer(w, http.StatusOK, envelope{
		Success: true,
		Data:    fmt.Appendf(nil, `{"id":%s,"nickName":"user_%s","icon":""}`, number, number[len(number)-4:]),
	})
}

// read returns the number in a token of ours that has not expired.
func (l *login) read(token string) (number string, ok bool) {
	dot := strings.LastIndexByte(token, '.')
	if dot < 0 {
		return "", false
	}
	signature, err := base64.RawURLEncoding.DecodeString(token[dot+1:])
	if err != nil || !hmac.Equal(signature, l.sign(token[:dot])) {
		return "", false
	}
	_, payload, _ := strings.Cut(token[:dot], ".")
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return "", false
	}
	var claims struct {
		Sub string `json:"sub"`
		Exp int64  `json:"exp"`
	}
	if json.Unmarshal(text, &claims) != nil || !l.now().Before(time.Unix(claims.Exp, 0)) {
		return "", false
	}
	return claims.Sub, phone.MatchString(claims.Sub)
}

func answer(w http.ResponseWriter, status int, e envelope) {
	text, err := json.Marshal(e)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"success":false}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the caller may have gone
}
